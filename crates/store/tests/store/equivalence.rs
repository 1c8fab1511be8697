//! Property: the memory store answers any sequence of calls as the SQLite store does.

use crate::support::{at, entry, event_with, holder, item, open};
use proptest::prelude::*;
use windlass_store::{Append, Create, InboxItem, LOOP, ListFilter, MemoryStore, Rows, Store};

/// Few ids, names and tokens, so that calls meet.
#[derive(Clone, Debug)]
enum Call {
    Create { id: u8, project: u8, name: u8, second: i64, open: bool, events: usize, holder: Option<u8> },
    Append { id: u8, behind: u64, events: usize, token: u8, consumed: Vec<u8>, answers: Vec<u8>, open: bool },
    Acquire { id: u8, token: u8, replacing: Option<u8> },
    Release { id: u8, token: u8 },
    Post { id: u8, item: u8 },
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let id = 0..3u8;
    let token = 0..2u8;
    let items = || prop::collection::vec(0..4u8, 0..3);
    let create = (id.clone(), 0..2u8, 0..2u8, 0..3i64, any::<bool>(), 0..3usize, prop::option::of(token.clone()))
        .prop_map(|(id, project, name, second, open, events, holder)| Call::Create {
            id,
            project,
            name,
            second,
            open,
            events,
            holder,
        });
    let behind = prop_oneof![8 => Just(0u64), 1 => 1..3u64];
    let append = (id.clone(), behind, 0..4usize, token.clone(), items(), items(), any::<bool>()).prop_map(
        |(id, behind, events, token, consumed, answers, open)| Call::Append {
            id,
            behind,
            events,
            token,
            consumed,
            answers,
            open,
        },
    );
    let acquire = (id.clone(), token.clone(), prop::option::of(token.clone()))
        .prop_map(|(id, token, replacing)| Call::Acquire { id, token, replacing });
    let release = (id.clone(), token).prop_map(|(id, token)| Call::Release { id, token });
    let post = (id, 0..4u8).prop_map(|(id, item)| Call::Post { id, item });
    let call = prop_oneof![3 => create, 6 => append, 3 => acquire, 1 => release, 3 => post];
    prop::collection::vec(call, 1..40)
}

/// The result as text, because errors have no equality.
async fn perform(store: &dyn Store, call: &Call) -> String {
    let id_of = |id: &u8| format!("l{id}");
    let token_of = |token: &u8| format!("t{token}");
    let item_of = |item: &u8| format!("i{item}");
    let events_of = |count: &usize| (0..*count).map(|n| event_with("e", &format!("{n}"))).collect();
    match call {
        Call::Create { id, project, name, second, open, events, holder: by } => {
            let mut entry = entry(&id_of(id), &format!("/{project}"), &format!("n{name}"));
            entry.created_at = at(*second);
            entry.open = *open;
            entry.kind = if *id == 2 { "tries" } else { LOOP }.into();
            let holder = by.as_ref().map(|token| holder(&token_of(token)));
            format!("{:?}", store.create(Create { entry, events: events_of(events), holder }).await)
        }
        Call::Append { id, behind, events, token, consumed, answers, open } => {
            let id = id_of(id);
            let head = store.get(&id).await.unwrap().map_or(0, |found| found.head);
            let mut entry = entry(&id, "/ignored", "ignored");
            entry.open = *open;
            entry.summary = format!("{{\"head\":{head}}}");
            entry.stopped_at = (!open).then(|| at(7));
            let step = Append {
                loop_id: id,
                expected_seq: head.saturating_sub(*behind),
                events: events_of(events),
                entry,
                token: token_of(token),
                consumed: consumed.iter().map(item_of).collect(),
                answers: answers.iter().map(|item| (item_of(item), format!("{head}"))).collect(),
            };
            format!("{:?}", store.append(step).await)
        }
        Call::Acquire { id, token, replacing } => {
            let (id, replacing) = (id_of(id), replacing.as_ref().map(token_of));
            let mine = holder(&token_of(token));
            format!("{:?}", store.acquire(&id, mine, replacing.as_deref()).await)
        }
        Call::Release { id, token } => {
            format!("{:?}", store.release(&id_of(id), &token_of(token)).await)
        }
        Call::Post { id, item: number } => {
            let item = InboxItem { at: at(i64::from(*number)), ..item(&item_of(number)) };
            format!("{:?}", store.post(&id_of(id), item).await)
        }
    }
}

/// All that can be read.
async fn everything(store: &dyn Store) -> String {
    let mut all = String::new();
    for id in ["l0", "l1", "l2"] {
        let events = store.read(id, 0, usize::MAX).await.unwrap();
        let found = store.get(id).await.unwrap();
        // The token is not in the debug form.
        let token = store.holder(id).await.unwrap().map(|held| held.holder.token);
        let pending = store.pending(id).await.unwrap();
        all.push_str(&format!("{found:#?} {token:?} {events:?} {pending:?}\n"));
    }
    for item in ["i0", "i1", "i2", "i3"] {
        all.push_str(&format!("{:?}\n", store.answer(item).await.unwrap()));
    }
    for (project, open_only, ids, limit) in [
        (None, false, None, None),
        (Some("/0"), false, None, None),
        (Some("/1"), true, None, Some(1)),
        (None, true, None, None),
        (None, true, Some(vec!["l2".to_owned(), "l0".to_owned()]), None),
        (None, false, Some(Vec::new()), None),
    ] {
        for rows in [Rows::Loops, Rows::Groups, Rows::All] {
            let (project, ids) = (project.map(str::to_owned), ids.clone());
            let filter = ListFilter { rows, project, open_only, ids, limit, summaries: open_only };
            all.push_str(&format!("{:#?}\n", store.list(filter).await.unwrap()));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_calls_gives_the_same_answers(calls in calls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let home = tempfile::tempdir().unwrap();
            let (memory, sqlite) = (MemoryStore::new(), open(&home.path().join("windlass.db")));
            for call in &calls {
                let (expected, found) = (perform(&memory, call).await, perform(&sqlite, call).await);
                prop_assert_eq!(expected, found, "{:?}", call);
            }
            prop_assert_eq!(everything(&memory).await, everything(&sqlite).await);
            Ok(())
        })?;
    }
}
