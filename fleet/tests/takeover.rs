//! Workers that are killed or frozen: their loops end on another worker, and nothing is done twice.

mod server;
mod world;

use rustix::process::Signal;
use world::Fleet;

/// Kills the first worker at a fault point and lets a second one finish; returns how often the loop lost its files.
async fn killed_at(fault: &str) -> Option<usize> {
    let mut fleet = Fleet::with_a_loop(false).await?;
    let mut one = fleet.worker("one", Some(fault));
    let ended = tokio::task::spawn_blocking(move || one.0.wait().unwrap()).await.unwrap();
    assert!(!ended.success(), "the worker was not killed at {fault}");
    let _two = fleet.worker("two", None);
    let row = fleet.ends_well().await;
    Some(fleet.moves(&row.entry.id).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_ends_on_another_worker_after_a_kill_between_turn_and_commit() {
    if let Some(moves) = killed_at("checkpoint.before:2").await {
        assert_eq!(moves, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_that_was_pushed_before_a_kill_is_not_made_again() {
    let _ = killed_at("publish.after:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_ends_on_another_worker_after_a_kill_during_a_turn() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let one = fleet.worker("one", None);
    fleet.turn_runs().await;
    one.signal(Signal::KILL);
    let _two = fleet.worker("two", None);
    let row = fleet.ends_well().await;
    assert_eq!(fleet.moves(&row.entry.id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_worker_writes_nothing_after_its_loop_was_taken() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let mut one = fleet.worker("one", None);
    fleet.turn_runs().await;
    one.signal(Signal::STOP);
    let _two = fleet.worker("two", None);
    let before = fleet.ends_well().await;
    one.signal(Signal::TERM);
    one.signal(Signal::CONT);
    // It leaves only when nothing of the loop runs any more.
    let left = tokio::task::spawn_blocking(move || one.0.wait().unwrap()).await.unwrap();
    assert!(left.success());
    let after = fleet.ends_well().await;
    assert_eq!(before.head, after.head);
}
