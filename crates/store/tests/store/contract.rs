//! What every store must do. `stores.rs` runs it against the stores of this crate; the fleet against its own.

use std::sync::Arc;

use crate::support::{at, entry, event, event_with, holder, item, new_loop, step};
use jiff::Timestamp;
use windlass_store::{
    CatalogueEntry, Create, Held, LOOP, ListFilter, NewEvent, Rows, Seat, Store, StoreError, StoredEvent,
};

type Shared = Arc<dyn Store>;

/// Calls a macro with the names of all stories.
macro_rules! each_story {
    ($run:ident) => {
        $run! {
            a_created_loop_is_found_by_id_and_by_name
            an_empty_store_answers_with_nothing
            a_name_is_unique_in_its_project_for_ever
            an_id_is_unique
            a_removed_loop_is_gone_and_its_name_is_free
            events_are_numbered_from_one_without_gaps
            a_read_starts_after_a_sequence_number_and_stops_at_its_limit
            an_append_with_another_head_is_a_conflict_and_writes_nothing
            an_append_changes_the_projection_but_not_the_identity
            an_unknown_loop_is_refused
            an_append_without_the_lease_is_refused
            a_lease_is_exclusive_until_it_is_released
            a_dead_holder_is_replaced_by_its_token_and_fenced_off
            of_two_that_replace_the_same_holder_one_wins
            acquiring_again_with_the_same_token_renews_the_holder
            a_lease_that_was_taken_over_is_not_released_by_its_former_holder
            a_command_is_taken_once_with_the_events_it_caused
            a_command_posted_twice_is_one_command
            a_refused_command_is_consumed_and_answered_without_an_event
            a_command_can_be_answered_later_but_only_once
            a_step_that_takes_a_missing_command_writes_nothing
            a_command_of_another_loop_cannot_be_taken
            commands_are_pending_in_the_order_they_came
            a_list_is_newest_first
            groups_are_listed_apart_and_share_names_with_loops
            a_list_is_filtered_bounded_and_has_summaries_on_demand
            closed_loops_are_counted_by_status
            the_parts_of_a_list_are_the_list
            a_list_shows_the_holder_and_the_head
            every_text_and_size_comes_back_as_it_was
            a_time_comes_back_to_the_nanosecond
            a_time_that_cannot_be_kept_is_refused
            many_tasks_append_to_many_loops
            many_tasks_race_for_one_loop
            a_chain_runs_over_all_events_and_is_the_same_for_the_same_events
            a_chain_is_checked_up_to_an_event
        }
    };
}
pub(crate) use each_story;

async fn holder_of(store: &Shared) -> Option<windlass_store::Holder> {
    store.holder("a").await.unwrap().map(|Held { holder, .. }| holder)
}

fn kinds_of(events: &[StoredEvent]) -> Vec<(u64, &str)> {
    events.iter().map(|event| (event.seq, event.kind.as_str())).collect()
}

pub(crate) async fn a_created_loop_is_found_by_id_and_by_name(store: Shared) {
    let new = Create {
        entry: entry("a", "/p", "fix"),
        events: vec![event("loop_created"), event("phase_entered")],
        holder: None,
    };
    assert_eq!(store.create(new).await.unwrap(), 2);
    let found = store.get("a").await.unwrap().unwrap();
    assert_eq!(found.entry, entry("a", "/p", "fix"));
    assert_eq!((found.head, &found.holder), (2, &None));
    assert_eq!(store.find("/p", "fix").await.unwrap(), Some(found));
    assert_eq!(store.find("/q", "fix").await.unwrap(), None);
    let events = store.read("a", 0, 10).await.unwrap();
    assert_eq!(kinds_of(&events), [(1, "loop_created"), (2, "phase_entered")]);
}

pub(crate) async fn an_empty_store_answers_with_nothing(store: Shared) {
    assert_eq!(store.get("a").await.unwrap(), None);
    assert_eq!(store.read("a", 0, 10).await.unwrap(), []);
    assert_eq!(store.list(ListFilter::default()).await.unwrap(), []);
    assert_eq!(store.holder("a").await.unwrap(), None);
    assert_eq!(store.pending("a").await.unwrap(), []);
    assert_eq!(store.answer("c").await.unwrap(), None);
}

pub(crate) async fn a_name_is_unique_in_its_project_for_ever(store: Shared) {
    let create = |id: &str, project: &str, name: &str| Create {
        entry: entry(id, project, name),
        events: vec![event("loop_created")],
        holder: Some(holder("t")),
    };
    store.create(create("a", "/p", "fix")).await.unwrap();
    let mut end = step("a", 1, "t");
    end.entry.open = false;
    end.entry.status = "completed".into();
    store.append(end).await.unwrap();

    let refused = store.create(create("b", "/p", "fix")).await;
    assert!(matches!(refused, Err(StoreError::NameTaken { name }) if name == "fix"));
    assert_eq!(store.get("b").await.unwrap(), None);
    assert_eq!(store.read("b", 0, 10).await.unwrap(), []);
    assert_eq!(store.holder("b").await.unwrap(), None);
    store.create(create("b", "/q", "fix")).await.unwrap();
    store.create(create("c", "/p", "Fix")).await.unwrap();
}

pub(crate) async fn a_removed_loop_is_gone_and_its_name_is_free(store: Shared) {
    new_loop(&*store, "a", "mine").await;
    new_loop(&*store, "b", "mine").await;
    let refused = store.remove("a", "nobody").await;
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    store.post("a", item("command")).await.unwrap();
    store.remove("a", "mine").await.unwrap();
    assert!(store.get("a").await.unwrap().is_none() && store.find("/p", "a").await.unwrap().is_none());
    assert!(store.read("a", 0, 10).await.unwrap().is_empty());
    assert_eq!(store.answer("command").await.unwrap(), None);
    assert!(store.holder("a").await.unwrap().is_none());
    let left = store.list(ListFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|listed| listed.entry.id.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(matches!(store.remove("a", "mine").await, Err(StoreError::UnknownLoop { .. })));
    new_loop(&*store, "a", "mine").await;
    assert_eq!(store.check_chain("a", u64::MAX).await.unwrap().events, 1);
}

pub(crate) async fn an_id_is_unique(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let again = Create { entry: entry("a", "/q", "other"), events: vec![], holder: None };
    assert!(matches!(store.create(again).await, Err(StoreError::IdTaken { id }) if id == "a"));
    assert_eq!(store.find("/q", "other").await.unwrap(), None);
}

pub(crate) async fn events_are_numbered_from_one_without_gaps(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let mut three = step("a", 1, "t");
    three.events = vec![event("x"), event("y"), event("z")];
    assert_eq!(store.append(three).await.unwrap(), 4);
    assert_eq!(store.append(step("a", 4, "t")).await.unwrap(), 5);
    let events = store.read("a", 0, 10).await.unwrap();
    let expected = [(1, "loop_created"), (2, "x"), (3, "y"), (4, "z"), (5, "turn_ended")];
    assert_eq!(kinds_of(&events), expected);
    assert_eq!(events[1].body, event("x").body);
}

pub(crate) async fn a_read_starts_after_a_sequence_number_and_stops_at_its_limit(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let mut many = step("a", 1, "t");
    many.events = vec![event("x"); 9];
    store.append(many).await.unwrap();
    let seqs = |events: Vec<StoredEvent>| -> Vec<u64> { events.iter().map(|event| event.seq).collect() };
    assert_eq!(seqs(store.read("a", 3, 4).await.unwrap()), [4, 5, 6, 7]);
    assert_eq!(seqs(store.read("a", 8, usize::MAX).await.unwrap()), [9, 10]);
    assert_eq!(seqs(store.read("a", 0, 0).await.unwrap()), [0; 0]);
    assert_eq!(seqs(store.read("a", 10, 5).await.unwrap()), [0; 0]);
    assert_eq!(seqs(store.read("a", u64::MAX, 5).await.unwrap()), [0; 0]);
}

pub(crate) async fn an_append_with_another_head_is_a_conflict_and_writes_nothing(store: Shared) {
    new_loop(&*store, "a", "t").await;
    store.post("a", item("c")).await.unwrap();
    let before = store.get("a").await.unwrap();
    for expected_seq in [0, 2, u64::MAX] {
        let mut wrong = step("a", 1, "t");
        wrong.expected_seq = expected_seq;
        wrong.consumed = vec!["c".into()];
        let refused = store.append(wrong).await;
        assert!(matches!(refused, Err(StoreError::Conflict { expected, found: 1 }) if expected == expected_seq));
    }
    assert_eq!(store.get("a").await.unwrap(), before);
    assert_eq!(store.read("a", 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.pending("a").await.unwrap(), [item("c")]);
}

pub(crate) async fn an_append_changes_the_projection_but_not_the_identity(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let mut end = step("a", 1, "t");
    end.entry = CatalogueEntry {
        kind: "queue".into(),
        goal: "reworded".into(),
        recipe: "audited".into(),
        status: "exhausted".into(),
        open: false,
        iterations: 7,
        max_iterations: None,
        stop_reason: Some("max_iterations".into()),
        created_at: at(99),
        updated_at: at(50),
        stopped_at: Some(at(51)),
        summary: r#"{"status":"exhausted"}"#.into(),
        ..entry("other", "/other", "other")
    };
    let written = end.entry.clone();
    store.append(end).await.unwrap();
    let expected = CatalogueEntry {
        id: "a".into(),
        kind: LOOP.into(),
        project: "/p".into(),
        name: "a".into(),
        created_at: at(0),
        ..written
    };
    assert_eq!(store.get("a").await.unwrap().unwrap().entry, expected);
    assert_eq!(store.find("/other", "other").await.unwrap(), None);
}

pub(crate) async fn an_unknown_loop_is_refused(store: Shared) {
    let unknown = |error: StoreError| matches!(error, StoreError::UnknownLoop { id } if id == "a");
    assert!(unknown(store.append(step("a", 0, "t")).await.unwrap_err()));
    assert!(unknown(store.acquire("a", holder("t"), None).await.unwrap_err()));
    assert!(unknown(store.release("a", "t").await.unwrap_err()));
    assert!(unknown(store.post("a", item("c")).await.unwrap_err()));
    assert_eq!(store.answer("c").await.unwrap(), None);
}

pub(crate) async fn an_append_without_the_lease_is_refused(store: Shared) {
    let new = Create { entry: entry("a", "/p", "a"), events: vec![], holder: None };
    store.create(new).await.unwrap();
    let lost = store.append(step("a", 0, "t")).await;
    assert!(matches!(lost, Err(StoreError::LeaseLost { loop_id }) if loop_id == "a"));
    store.acquire("a", holder("t"), None).await.unwrap();
    assert_eq!(store.append(step("a", 0, "t")).await.unwrap(), 1);
    store.release("a", "t").await.unwrap();
    assert!(matches!(store.append(step("a", 1, "t")).await, Err(StoreError::LeaseLost { .. })));
}

pub(crate) async fn a_lease_is_exclusive_until_it_is_released(store: Shared) {
    new_loop(&*store, "a", "one").await;
    let held = store.acquire("a", holder("two"), None).await;
    assert!(matches!(held, Err(StoreError::Held(by)) if *by == holder("one")));
    let held = store.acquire("a", holder("two"), Some("three")).await;
    assert!(matches!(held, Err(StoreError::Held(by)) if *by == holder("one")));
    store.release("a", "one").await.unwrap();
    assert_eq!(store.holder("a").await.unwrap(), None);
    store.acquire("a", holder("two"), Some("one")).await.unwrap();
    assert_eq!(holder_of(&store).await, Some(holder("two")));
}

pub(crate) async fn a_dead_holder_is_replaced_by_its_token_and_fenced_off(store: Shared) {
    new_loop(&*store, "a", "dead").await;
    store.acquire("a", holder("alive"), Some("dead")).await.unwrap();
    assert!(matches!(store.append(step("a", 1, "dead")).await, Err(StoreError::LeaseLost { .. })));
    assert_eq!(store.append(step("a", 1, "alive")).await.unwrap(), 2);
    // Fencing is reported before the conflict: the former holder must not re-read and retry.
    assert!(matches!(store.append(step("a", 1, "dead")).await, Err(StoreError::LeaseLost { .. })));
}

pub(crate) async fn of_two_that_replace_the_same_holder_one_wins(store: Shared) {
    new_loop(&*store, "a", "dead").await;
    let contenders = (0..8).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mine = holder(&format!("heir-{n}"));
            (n, store.acquire("a", mine, Some("dead")).await)
        })
    });
    let mut winners = Vec::new();
    for contender in contenders.collect::<Vec<_>>() {
        match contender.await.unwrap() {
            (n, Ok(())) => winners.push(format!("heir-{n}")),
            (_, Err(error)) => assert!(matches!(error, StoreError::Held(_)), "{error:?}"),
        }
    }
    let current = holder_of(&store).await.unwrap();
    assert_eq!(winners, [current.token]);
}

pub(crate) async fn acquiring_again_with_the_same_token_renews_the_holder(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let mut moved = holder("t");
    moved.seat = Seat::Worker { id: crate::support::WORKER.into(), name: "renamed".into() };
    store.acquire("a", moved.clone(), None).await.unwrap();
    assert_eq!(holder_of(&store).await, Some(moved));
}

pub(crate) async fn a_lease_that_was_taken_over_is_not_released_by_its_former_holder(store: Shared) {
    new_loop(&*store, "a", "dead").await;
    store.acquire("a", holder("alive"), Some("dead")).await.unwrap();
    store.release("a", "dead").await.unwrap();
    assert_eq!(holder_of(&store).await, Some(holder("alive")));
}

pub(crate) async fn a_command_is_taken_once_with_the_events_it_caused(store: Shared) {
    new_loop(&*store, "a", "t").await;
    store.post("a", item("c")).await.unwrap();
    assert_eq!(store.pending("a").await.unwrap(), [item("c")]);
    assert_eq!(store.answer("c").await.unwrap(), Some(None));

    let mut taking = step("a", 1, "t");
    taking.consumed = vec!["c".into()];
    taking.answers = vec![("c".into(), r#"{"ok":true}"#.into())];
    assert_eq!(store.append(taking).await.unwrap(), 2);
    assert_eq!(store.pending("a").await.unwrap(), []);
    assert_eq!(store.answer("c").await.unwrap(), Some(Some(r#"{"ok":true}"#.into())));

    let mut again = step("a", 2, "t");
    again.consumed = vec!["c".into()];
    assert!(matches!(store.append(again).await, Err(StoreError::NotPending { id }) if id == "c"));
    assert_eq!(store.read("a", 0, 10).await.unwrap().len(), 2);
}

pub(crate) async fn a_command_posted_twice_is_one_command(store: Shared) {
    new_loop(&*store, "a", "t").await;
    new_loop(&*store, "b", "t").await;
    store.post("a", item("c")).await.unwrap();
    store.post("a", item("c")).await.unwrap();
    store.post("b", item("c")).await.unwrap();
    assert_eq!(store.pending("a").await.unwrap(), [item("c")]);
    assert_eq!(store.pending("b").await.unwrap(), []);

    let mut taking = step("a", 1, "t");
    taking.consumed = vec!["c".into()];
    store.append(taking).await.unwrap();
    store.post("a", item("c")).await.unwrap();
    assert_eq!(store.pending("a").await.unwrap(), []);
}

pub(crate) async fn a_refused_command_is_consumed_and_answered_without_an_event(store: Shared) {
    new_loop(&*store, "a", "t").await;
    store.post("a", item("c")).await.unwrap();
    let mut refusing = step("a", 1, "t");
    refusing.events.clear();
    refusing.consumed = vec!["c".into()];
    refusing.answers = vec![("c".into(), r#"{"refused":"not paused"}"#.into())];
    assert_eq!(store.append(refusing).await.unwrap(), 1);
    assert_eq!(store.pending("a").await.unwrap(), []);
    assert_eq!(store.answer("c").await.unwrap().flatten().unwrap(), r#"{"refused":"not paused"}"#);
}

pub(crate) async fn a_command_can_be_answered_later_but_only_once(store: Shared) {
    new_loop(&*store, "a", "t").await;
    store.post("a", item("c")).await.unwrap();
    let answering = |seq: u64| {
        let mut answering = step("a", seq, "t");
        answering.answers = vec![("c".into(), format!("{seq}"))];
        answering
    };
    let early = store.append(answering(1)).await;
    assert!(matches!(early, Err(StoreError::NotTaken { id }) if id == "c"));
    let mut taking = step("a", 1, "t");
    taking.consumed = vec!["c".into()];
    store.append(taking).await.unwrap();
    assert_eq!(store.answer("c").await.unwrap(), Some(None));
    store.append(answering(2)).await.unwrap();
    assert_eq!(store.answer("c").await.unwrap(), Some(Some("2".into())));
    assert!(matches!(store.append(answering(3)).await, Err(StoreError::NotTaken { .. })));
    assert_eq!(store.answer("c").await.unwrap(), Some(Some("2".into())));
}

pub(crate) async fn a_step_that_takes_a_missing_command_writes_nothing(store: Shared) {
    new_loop(&*store, "a", "t").await;
    store.post("a", item("c")).await.unwrap();
    let before = store.get("a").await.unwrap();
    for consumed in [vec!["c", "missing"], vec!["c", "c"]] {
        let mut wrong = step("a", 1, "t");
        wrong.consumed = consumed.into_iter().map(str::to_owned).collect();
        wrong.answers = vec![("c".into(), "1".into())];
        assert!(matches!(store.append(wrong).await, Err(StoreError::NotPending { .. })));
    }
    let mut wrong = step("a", 1, "t");
    wrong.consumed = vec!["c".into()];
    wrong.answers = vec![("c".into(), "1".into()), ("missing".into(), "2".into())];
    assert!(matches!(store.append(wrong).await, Err(StoreError::NotTaken { .. })));
    assert_eq!(store.get("a").await.unwrap(), before);
    assert_eq!(store.read("a", 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.pending("a").await.unwrap(), [item("c")]);
    assert_eq!(store.answer("c").await.unwrap(), Some(None));
}

pub(crate) async fn a_command_of_another_loop_cannot_be_taken(store: Shared) {
    new_loop(&*store, "a", "t").await;
    new_loop(&*store, "b", "t").await;
    store.post("b", item("c")).await.unwrap();
    let mut wrong = step("a", 1, "t");
    wrong.consumed = vec!["c".into()];
    assert!(matches!(store.append(wrong).await, Err(StoreError::NotPending { .. })));
    assert_eq!(store.pending("b").await.unwrap(), [item("c")]);
}

pub(crate) async fn commands_are_pending_in_the_order_they_came(store: Shared) {
    new_loop(&*store, "a", "t").await;
    for id in ["z", "m", "a", "k"] {
        store.post("a", item(id)).await.unwrap();
    }
    let mut taking = step("a", 1, "t");
    taking.consumed = vec!["m".into()];
    store.append(taking).await.unwrap();
    assert_eq!(store.pending("a").await.unwrap(), [item("z"), item("a"), item("k")]);
}

pub(crate) async fn a_list_is_newest_first(store: Shared) {
    for (id, second) in [("a", 5), ("b", 9), ("c", 5), ("d", 1)] {
        let mut entry = entry(id, "/p", id);
        entry.created_at = at(second);
        store.create(Create { entry, events: vec![], holder: None }).await.unwrap();
    }
    let listed = store.list(ListFilter::default()).await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|row| row.entry.id.as_str()).collect();
    assert_eq!(ids, ["b", "c", "a", "d"]);
}

pub(crate) async fn groups_are_listed_apart_and_share_names_with_loops(store: Shared) {
    let group = CatalogueEntry { kind: "tries".into(), created_at: at(1), ..entry("g", "/p", "fix") };
    let created = Create { entry: group.clone(), events: vec![event("tries_created")], holder: Some(holder("t")) };
    assert_eq!(store.create(created).await.unwrap(), 1);
    new_loop(&*store, "a", "t").await;
    let listed = |rows: Rows| {
        let store = Arc::clone(&store);
        async move {
            let found = store.list(ListFilter { rows, ..ListFilter::default() }).await.unwrap();
            found.into_iter().map(|listed| listed.entry.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(listed(Rows::default()).await, ["a"], "what asks for loops sees no group");
    assert_eq!(listed(Rows::Groups).await, ["g"]);
    assert_eq!(listed(Rows::All).await, ["g", "a"]);
    assert_eq!(store.find("/p", "fix").await.unwrap().unwrap().entry, group);
    let taken = Create { entry: entry("b", "/p", "fix"), events: Vec::new(), holder: None };
    assert!(matches!(store.create(taken).await, Err(StoreError::NameTaken { .. })));
    let more = step("g", 1, "t");
    assert_eq!(store.append(more).await.unwrap(), 2, "a journal and a lease as a loop has");
    assert_eq!(store.check_chain("g", u64::MAX).await.unwrap().events, 2);
}

pub(crate) async fn a_list_is_filtered_bounded_and_has_summaries_on_demand(store: Shared) {
    for (n, (project, open)) in [("/p", true), ("/q", true), ("/p", false), ("/p", true)].into_iter().enumerate() {
        let id = format!("l{n}");
        let mut entry = entry(&id, project, &id);
        entry.open = open;
        entry.created_at = at(i64::try_from(n).unwrap());
        store.create(Create { entry, events: vec![], holder: None }).await.unwrap();
    }
    let ids = |filter: ListFilter| {
        let store = Arc::clone(&store);
        async move {
            let listed = store.list(filter).await.unwrap();
            listed.into_iter().map(|row| row.entry.id).collect::<Vec<_>>().join(" ")
        }
    };
    let of_p = ListFilter { project: Some("/p".into()), ..ListFilter::default() };
    assert_eq!(ids(ListFilter::default()).await, "l3 l2 l1 l0");
    assert_eq!(ids(of_p.clone()).await, "l3 l2 l0");
    assert_eq!(ids(ListFilter { open_only: true, ..of_p.clone() }).await, "l3 l0");
    assert_eq!(ids(ListFilter { open_only: true, ..ListFilter::default() }).await, "l3 l1 l0");
    assert_eq!(ids(ListFilter { limit: Some(2), ..of_p.clone() }).await, "l3 l2");
    let some = Some(["l0", "l1", "l3", "it's \"none\""].map(str::to_owned).to_vec());
    assert_eq!(ids(ListFilter { ids: some.clone(), ..ListFilter::default() }).await, "l3 l1 l0");
    assert_eq!(ids(ListFilter { ids: some, ..of_p.clone() }).await, "l3 l0");
    assert_eq!(ids(ListFilter { ids: Some(Vec::new()), ..of_p.clone() }).await, "");
    assert_eq!(ids(ListFilter { limit: Some(0), ..of_p.clone() }).await, "");
    assert_eq!(ids(ListFilter { project: Some("/none".into()), ..of_p.clone() }).await, "");

    let short = store.list(of_p.clone()).await.unwrap();
    assert!(short.iter().all(|row| row.entry.summary.is_empty()));
    let full = store.list(ListFilter { summaries: true, ..of_p }).await.unwrap();
    assert_eq!(full[0].entry.summary, r#"{"id":"l3"}"#);
}

pub(crate) async fn the_parts_of_a_list_are_the_list(store: Shared) {
    for n in 0..600 {
        let id = format!("l{n}");
        let project = if n % 7 == 0 { "/q" } else { "/p" };
        // Many of the same moment, so that a part ends among them.
        let entry = CatalogueEntry { created_at: at(n / 200), ..entry(&id, project, &id) };
        store.create(Create { entry, events: vec![], holder: None }).await.unwrap();
    }
    for project in [None, Some("/p".to_owned()), Some("/none".to_owned())] {
        let filter = ListFilter { project, summaries: true, ..ListFilter::default() };
        let (mut parts, mut after) = (Vec::new(), None);
        loop {
            let (part, next) = store.list_part(filter.clone(), after).await.unwrap();
            parts.extend(part);
            after = next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(parts, store.list(filter).await.unwrap());
    }
}

pub(crate) async fn closed_loops_are_counted_by_status(store: Shared) {
    let rows = [
        ("/p", "completed", false, LOOP),
        ("/p", "completed", false, LOOP),
        ("/q", "errored", false, LOOP),
        ("/q", "completed", false, LOOP),
        ("/p", "running", true, LOOP),
        ("/p", "completed", false, "tries"),
    ];
    for (n, (project, status, open, kind)) in rows.into_iter().enumerate() {
        let id = format!("l{n}");
        let entry = CatalogueEntry { status: status.into(), open, kind: kind.into(), ..entry(&id, project, &id) };
        store.create(Create { entry, events: vec![], holder: None }).await.unwrap();
    }
    let counted = |counts: [(&str, usize); 2]| counts.map(|(status, count)| (status.to_owned(), count)).into();
    let all = store.count_closed(None).await.unwrap();
    assert_eq!(all, counted([("completed", 3), ("errored", 1)]), "neither open loops nor groups count");
    assert_eq!(store.count_closed(Some("/q")).await.unwrap(), counted([("completed", 1), ("errored", 1)]));
    assert_eq!(store.count_closed(Some("/none")).await.unwrap(), std::collections::BTreeMap::new());
}

pub(crate) async fn a_list_shows_the_holder_and_the_head(store: Shared) {
    new_loop(&*store, "a", "t").await;
    new_loop(&*store, "b", "u").await;
    store.append(step("a", 1, "t")).await.unwrap();
    store.release("b", "u").await.unwrap();
    let listed = store.list(ListFilter::default()).await.unwrap();
    let seen: Vec<_> =
        listed.into_iter().map(|row| (row.entry.id, row.head, row.holder.map(|held| held.holder))).collect();
    assert_eq!(seen, [("b".into(), 1, None), ("a".into(), 2, Some(holder("t")))]);
}

pub(crate) async fn every_text_and_size_comes_back_as_it_was(store: Shared) {
    let name = "größe-шаг-歩み-🪢-'\"%_";
    let project = "/home/ü ser/?#%00/проект";
    let new = Create { entry: entry("a", project, name), events: vec![], holder: None };
    store.create(new).await.unwrap();
    let mut odd = holder("t");
    odd.seat = Seat::Worker { id: crate::support::WORKER.into(), name: name.into() };
    store.acquire("a", odd.clone(), None).await.unwrap();

    let texts = ["", "\u{1F9F5} naïve — 日本語", "line\nbreak\ttab\u{1b}[0m", &"ю".repeat(512 * 1024)];
    let mut writing = step("a", 0, "t");
    writing.events = texts.iter().map(|text| event_with("said", text)).collect();
    writing.entry.summary = texts[3].to_owned();
    writing.entry.goal = "say \"hi\"\u{7f}\u{200b}".into();
    let expected: Vec<_> = writing.events.iter().map(|event| event.body.clone()).collect();
    store.append(writing).await.unwrap();

    let bodies: Vec<_> = store.read("a", 0, 10).await.unwrap().into_iter().map(|event| event.body).collect();
    assert!(bodies == expected, "bodies differ");
    assert!(bodies[3].len() > 1024 * 1024);
    let found = store.find(project, name).await.unwrap().unwrap();
    assert!(found.entry.summary == texts[3], "summary differs");
    assert_eq!(found.entry.goal, "say \"hi\"\u{7f}\u{200b}");
    assert_eq!(found.holder.map(|held| held.holder), Some(odd));
}

pub(crate) async fn a_time_comes_back_to_the_nanosecond(store: Shared) {
    let times = ["1969-12-31T23:59:59.999999999Z", "2026-11-03T00:00:00Z", "2262-04-11T23:47:16.854775807Z"];
    new_loop(&*store, "a", "t").await;
    let mut writing = step("a", 1, "t");
    writing.events = times.map(|time| NewEvent { at: time.parse().unwrap(), ..event("x") }).to_vec();
    store.append(writing).await.unwrap();
    let read = store.read("a", 1, 10).await.unwrap();
    let read: Vec<String> = read.iter().map(|event| event.at.to_string()).collect();
    assert_eq!(read, times);
}

pub(crate) async fn a_time_that_cannot_be_kept_is_refused(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let before = store.get("a").await.unwrap();
    let mut writing = step("a", 1, "t");
    writing.events.push(NewEvent { at: Timestamp::MAX, ..event("x") });
    let refused = store.append(writing).await;
    assert!(matches!(refused, Err(StoreError::TimeOutOfRange { at }) if at == Timestamp::MAX));
    assert_eq!(store.get("a").await.unwrap(), before);
    assert_eq!(store.read("a", 1, 10).await.unwrap(), []);
}

pub(crate) async fn many_tasks_append_to_many_loops(store: Shared) {
    let tasks = (0..8).map(|task| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 0..5 {
                new_loop(&*store, &format!("{task}-{n}"), "t").await;
            }
            for seq in 1..=10 {
                for n in 0..5 {
                    let id = format!("{task}-{n}");
                    assert_eq!(store.append(step(&id, seq, "t")).await.unwrap(), seq + 1);
                    // What was acknowledged is there for the next reader.
                    assert_eq!(store.get(&id).await.unwrap().unwrap().head, seq + 1);
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(store.list(ListFilter::default()).await.unwrap().len(), 40);
    for task in 0..8 {
        for n in 0..5 {
            let events = store.read(&format!("{task}-{n}"), 0, 100).await.unwrap();
            let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=11).collect::<Vec<_>>());
        }
    }
}

pub(crate) async fn many_tasks_race_for_one_loop(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let tasks = (0..8).map(|task| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let (mut seq, mut won) = (1, 0);
            while won < 10 {
                let mut mine = step("a", seq, "t");
                mine.events = vec![event_with("won", &format!("{task}")); 2];
                match store.append(mine).await {
                    Ok(head) => (seq, won) = (head, won + 1),
                    Err(StoreError::Conflict { found, .. }) => seq = found,
                    Err(error) => panic!("{error:?}"),
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let events = store.read("a", 1, 1000).await.unwrap();
    assert_eq!(events.len(), 160);
    // The two events of a step are adjacent: no other step is between them.
    assert!(events.chunks(2).all(|pair| pair[0].body == pair[1].body));
}

pub(crate) async fn a_chain_runs_over_all_events_and_is_the_same_for_the_same_events(store: Shared) {
    new_loop(&*store, "a", "t").await;
    new_loop(&*store, "b", "t").await;
    let first = store.check_chain("a", u64::MAX).await.unwrap();
    assert_eq!((first.events, first.broken_at), (1, None));
    assert_eq!(first, store.check_chain("b", u64::MAX).await.unwrap());
    store.append(step("a", 1, "t")).await.unwrap();
    let mut two = step("b", 1, "t");
    two.events.push(event("phase_entered"));
    store.append(two).await.unwrap();
    let (a, b) = (store.check_chain("a", u64::MAX).await.unwrap(), store.check_chain("b", u64::MAX).await.unwrap());
    assert_eq!((a.events, b.events, a.broken_at, b.broken_at), (2, 3, None, None));
    assert_ne!(a.head, first.head);
    // Of the bytes alone: the same in every store, forever.
    assert_eq!(first.head.to_string(), "101ef7da5aaa81b92f2097896b32dd9ad5f6beeb4adbff06eb8c02770008a34e");
    assert!(matches!(store.check_chain("none", 1).await, Err(StoreError::UnknownLoop { .. })));
}

pub(crate) async fn a_chain_is_checked_up_to_an_event(store: Shared) {
    new_loop(&*store, "a", "t").await;
    let first = store.check_chain("a", u64::MAX).await.unwrap();
    store.append(step("a", 1, "t")).await.unwrap();
    assert_eq!(store.check_chain("a", 1).await.unwrap(), first);
    assert_eq!(store.check_chain("a", 9).await.unwrap(), store.check_chain("a", 2).await.unwrap());
    let nothing = store.check_chain("a", 0).await.unwrap();
    assert_eq!((nothing.events, nothing.broken_at), (0, None));
}
