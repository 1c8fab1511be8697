//! How many loops run at once, counted from the leases, and loops that wait for a time without a worker.

mod server;
#[path = "../../crates/store/tests/store/support.rs"]
mod support;

use std::time::Duration;

use support::{at, entry, event};
use windlass_engine::outside::{LimitView, Wait, WaitsFor};
use windlass_fleet::{PgStore, Placing, Worker};
use windlass_store::{CatalogueEntry, Create, Holder, Seat, Store, StoreError};

async fn store() -> Option<PgStore> {
    let url = server::database().await?;
    let store = PgStore::connect(&url).await.unwrap();
    for name in ["one", "two"] {
        store.seen(&worker(name)).await.unwrap();
    }
    store.seen(&Worker { id: "desk".into(), name: "desk".into(), is_desk: true, slots: None }).await.unwrap();
    Some(store)
}

fn worker(name: &str) -> Worker {
    Worker { id: name.into(), name: name.into(), is_desk: false, slots: Some(9) }
}

fn holder(worker: &str, token: &str) -> Holder {
    Holder { seat: Seat::Worker { id: worker.into(), name: worker.into() }, token: token.into() }
}

async fn created(store: &PgStore, id: &str, project: &str, account: Option<&str>, status: &str) {
    let store = store.clone().placing(Placing { account: account.map(str::to_owned), ..Placing::default() });
    let row = CatalogueEntry { status: status.into(), created_at: at(0), ..entry(id, project, id) };
    store.create(Create { entry: row, events: vec![event("loop_created")], holder: None }).await.unwrap();
}

async fn offered(store: &PgStore, worker: &str) -> Vec<String> {
    store.waiting_for(worker, 100).await.unwrap().into_iter().map(|one| one.id).collect()
}

async fn why(store: &PgStore, id: &str) -> WaitsFor {
    store.queue().await.unwrap().loops.into_iter().find(|one| one.id == id).unwrap().waits_for
}

async fn limits(store: &PgStore) -> Vec<LimitView> {
    store.queue().await.unwrap().limits
}

fn shop(running: u32, waiting: u32) -> LimitView {
    LimitView { name: "project:shop".into(), max_running: Some(2), running, waiting, limited_until: None }
}

fn full() -> WaitsFor {
    WaitsFor::Limit { pool: "project:shop".into(), max_running: 2 }
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_of_a_project_holds_back_what_is_too_much_and_nothing_else() {
    let Some(store) = store().await else { return };
    store.limit("project:shop", Some(2)).await.unwrap();
    for id in ["a", "b", "c", "d"] {
        created(&store, id, "git:shop", None, "queued").await;
    }
    created(&store, "x", "git:other", None, "queued").await;
    assert_eq!(offered(&store, "one").await, ["a", "x", "b"], "only as many are offered as may run");
    store.acquire("a", holder("one", "1"), None).await.unwrap();
    store.acquire("b", holder("two", "2"), None).await.unwrap();
    assert_eq!((why(&store, "c").await, why(&store, "x").await), (full(), WaitsFor::Slot));
    assert_eq!(limits(&store).await, [shop(2, 2)]);
    let refused = store.acquire("c", holder("two", "3"), None).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::Limited { why } if why == "2 of 2 loops of project:shop run already"),
        "{refused}"
    );
    // A desk runs nothing; a worker that asks again for what it has is counted once.
    store.acquire("c", holder("desk", "4"), None).await.unwrap();
    store.release("c", "4").await.unwrap();
    store.acquire("a", holder("one", "1"), None).await.unwrap();
    store.release("a", "1").await.unwrap();
    store.acquire("c", holder("two", "5"), None).await.unwrap();
    assert_eq!(offered(&store, "one").await, ["x"]);
    // Without the limit, there is room for all.
    store.limit("project:shop", None).await.unwrap();
    assert_eq!(offered(&store, "one").await.len(), 3);
    assert_eq!(limits(&store).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_of_a_worker_that_is_gone_count_no_more() {
    let Some(store) = store().await else { return };
    store.limit("project:shop", Some(1)).await.unwrap();
    created(&store, "a", "git:shop", None, "queued").await;
    created(&store, "b", "git:shop", None, "queued").await;
    store.acquire("a", holder("one", "1"), None).await.unwrap();
    assert!(store.acquire("b", holder("two", "2"), None).await.is_err());
    let later = store.clone().lost_after(Duration::ZERO);
    assert_eq!(offered(&later, "two").await, ["a"]);
    later.acquire("a", holder("two", "3"), Some("1")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_workers_that_ask_at_once_only_as_many_get_a_loop_as_may_run() {
    let Some(store) = store().await else { return };
    store.limit("account:team", Some(3)).await.unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..24 {
        let (id, store) = (format!("loop{number}"), store.clone());
        created(&store, &id, &format!("git:{}", number % 5), Some("team"), "queued").await;
        asking.spawn(async move { store.acquire(&id, holder("one", &id), None).await });
    }
    let (got, refused): (Vec<_>, Vec<_>) = asking.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((got.len(), refused.len()), (3, 21));
    assert!(refused.iter().all(|refused| matches!(refused, Err(StoreError::Limited { .. }))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_that_one_limit_holds_back_does_not_take_the_room_of_another() {
    let Some(store) = store().await else { return };
    store.limit("project:shop", Some(1)).await.unwrap();
    store.limit("account:team", Some(0)).await.unwrap();
    created(&store, "a", "git:shop", Some("team"), "queued").await;
    created(&store, "b", "git:shop", None, "queued").await;
    assert_eq!(offered(&store, "one").await, ["b"]);
    assert_eq!(why(&store, "a").await, WaitsFor::Limit { pool: "account:team".into(), max_running: 0 });
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_loop_is_offered_when_its_time_has_come_and_to_the_worker_with_its_files_first() {
    let Some(store) = store().await else { return };
    created(&store, "a", "git:shop", None, "waiting").await;
    store.acquire("a", holder("one", "1"), None).await.unwrap();
    let wait = |seconds| Wait { time: Duration::from_secs_f64(seconds), limited: true };
    let lost = store.park("a", "other", wait(60.0)).await.unwrap_err();
    assert!(matches!(lost, StoreError::LeaseLost { .. }));
    store.park("a", "1", wait(60.0)).await.unwrap();
    assert!(!store.get("a").await.unwrap().unwrap().is_parked, "it is still held");
    store.release("a", "1").await.unwrap();
    assert!(store.get("a").await.unwrap().unwrap().is_parked);
    assert!(matches!(why(&store, "a").await, WaitsFor::Time { .. }));
    assert_eq!(offered(&store, "one").await, [] as [&str; 0]);
    let (seconds, worker) = store.parked("a").await.unwrap().unwrap();
    assert!((55.0..=60.0).contains(&seconds) && worker.as_deref() == Some("one"), "{seconds} {worker:?}");
    // Whoever takes it is its new place, and parks it again.
    store.acquire("a", holder("two", "2"), None).await.unwrap();
    assert_eq!(store.parked("a").await.unwrap(), None);
    store.park("a", "2", wait(0.0)).await.unwrap();
    store.release("a", "2").await.unwrap();
    assert_eq!(why(&store, "a").await, WaitsFor::Machine { worker: "two".into() });
    assert_eq!((offered(&store, "one").await.len(), offered(&store, "two").await.len()), (0, 1));
    // A worker that drains takes nothing.
    store.drain("two").await.unwrap();
    assert_eq!(offered(&store, "one").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn account_that_is_over_its_limit_takes_no_loop_until_then() {
    let Some(store) = store().await else { return };
    created(&store, "a", "git:a", Some("team"), "waiting").await;
    created(&store, "b", "git:b", Some("team"), "queued").await;
    created(&store, "c", "git:b", Some("mine"), "queued").await;
    store.acquire("a", holder("one", "1"), None).await.unwrap();
    store.park("a", "1", Wait { time: Duration::from_secs(60), limited: true }).await.unwrap();
    store.release("a", "1").await.unwrap();
    assert_eq!(offered(&store, "two").await, ["c"]);
    let WaitsFor::Account { account, until } = why(&store, "b").await else { panic!("{:?}", why(&store, "b").await) };
    assert_eq!(account, "team");
    let [limit] = limits(&store).await.try_into().unwrap();
    let of_team = LimitView {
        name: "account:team".into(),
        max_running: None,
        running: 0,
        waiting: 1,
        limited_until: Some(until),
    };
    assert_eq!(limit, of_team);
    let refused = store.acquire("b", holder("two", "2"), None).await.unwrap_err();
    assert!(refused.to_string().starts_with("account:team is rate-limited until "), "{refused}");
    // A wait for something else says nothing of the account.
    store.acquire("c", holder("two", "3"), None).await.unwrap();
    store.park("c", "3", Wait { time: Duration::from_secs(60), limited: false }).await.unwrap();
    assert_eq!(limits(&store).await.len(), 1);
}
