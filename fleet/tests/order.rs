//! Which loop is taken next: by priority, then in turn from each project.

mod server;
#[path = "../../crates/store/tests/store/support.rs"]
mod support;

use support::{WORKER, at, entry, event, holder};
use windlass_fleet::{PgStore, Placing, Worker};
use windlass_store::{CatalogueEntry, Create, Holder, Store};

async fn queued(store: &PgStore, id: &str, project: &str, second: i64, held_by: Option<Holder>) {
    let row = CatalogueEntry { status: "queued".into(), created_at: at(second), ..entry(id, project, id) };
    store.create(Create { entry: row, events: vec![event("loop_created")], holder: held_by }).await.unwrap();
}

/// The same with a priority.
async fn queued_as(store: &PgStore, priority: u8, id: &str, project: &str, second: i64) {
    let store = store.clone().placing(Placing { priority, ..Placing::default() });
    queued(&store, id, project, second, None).await;
}

async fn order(store: &PgStore) -> Vec<String> {
    store.waiting().await.unwrap().into_iter().map(|waiting| waiting.id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_take_turns_and_the_oldest_of_each_is_first() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    for (second, id) in ["a1", "a2", "a3", "a4"].into_iter().enumerate() {
        queued(&store, id, "git:a", second as i64, None).await;
    }
    queued(&store, "b1", "git:b", 10, None).await;
    queued(&store, "b2", "git:b", 11, None).await;
    queued(&store, "c1", "git:c", 12, None).await;
    assert_eq!(order(&store).await, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
    assert_eq!(store.waiting_for("w", 2).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn priority_is_before_everything_and_loops_under_way_count() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    store.seen(&Worker { id: WORKER.into(), name: "w".into(), is_desk: false, slots: Some(1) }).await.unwrap();
    queued(&store, "a1", "git:a", 0, Some(holder("t"))).await;
    queued(&store, "a2", "git:a", 1, None).await;
    queued(&store, "a3", "git:a", 2, None).await;
    queued(&store, "b1", "git:b", 3, None).await;
    assert_eq!(order(&store).await, ["b1", "a2", "a3"], "the project with a loop under way is second");
    queued_as(&store, 1, "a4", "git:a", 4).await;
    queued_as(&store, 5, "c1", "git:c", 0).await;
    assert_eq!(order(&store).await, ["a4", "b1", "a2", "a3", "c1"]);
    // Its worker is gone: the loop waits again, and counts no more.
    let patient = store.clone().lost_after(std::time::Duration::ZERO);
    assert_eq!(order(&patient).await, ["a4", "b1", "a1", "a2", "a3", "c1"]);
}
