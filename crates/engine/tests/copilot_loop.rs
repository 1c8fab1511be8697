//! The tracker's public operations: each is a decision of the machine, none a second truth.

use std::sync::Arc;

use uuid::Uuid;
use windlass_core::profile::AgentProfile;
use windlass_core::spec::AgentChoice;
use windlass_engine::clock::ManualClock;
use windlass_engine::copilot_loop::{LoopTracker, Registration, TrackError, check_completion_promise};

fn tracker() -> LoopTracker {
    LoopTracker::new(Arc::new(ManualClock::at("2026-11-15T12:00:00Z".parse().unwrap())))
}

fn registration(max_iterations: u32, promise: Option<&str>) -> Registration {
    Registration {
        max_iterations,
        completion_promise: promise.map(str::to_owned),
        original_prompt: "Build the feature".into(),
        session_id: String::new(),
        agent: AgentChoice { name: "copilot".into(), profile: AgentProfile::of_command(vec!["copilot".into()]) },
        working_dir: Some("/project".into()),
        language: "zh-Hant".into(),
    }
}

#[tokio::test]
// promise: tracker-1
async fn five_runs_and_the_fifth_is_the_last() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(5, None)).await.unwrap();
    assert!(tracker.has_active_loop(&workspace).await);
    assert_eq!(tracker.get(&workspace).await.unwrap().iteration, 0);
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(tracker.increment_and_check(&workspace).await);
    }
    assert_eq!(answers, [true, true, true, true, false]);
    tracker.remove(&workspace).await;
    assert!(!tracker.has_active_loop(&workspace).await);
    assert_eq!(tracker.get(&workspace).await, None);
}

#[test]
// promise: tracker-5
fn the_promise_is_an_exact_substring() {
    let output = "done <promise>COMPLETE-HUNTER</promise>";
    assert!(check_completion_promise(output, "<promise>COMPLETE-HUNTER</promise>"));
    assert!(!check_completion_promise(output, "<promise>OTHER</promise>"));
    assert!(!check_completion_promise(output, ""));
}

#[tokio::test]
// promise: tracker-6
async fn the_follow_up_is_the_prompt_and_the_word() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(5, None)).await.unwrap();
    assert_eq!(tracker.get(&workspace).await.unwrap().build_follow_up_prompt(), "Build the feature\n\n繼續");
}

#[tokio::test]
// promise: tracker-2
async fn the_count_never_passes_the_limit() {
    for max in [1, 2, 100] {
        let (tracker, workspace) = (tracker(), Uuid::now_v7());
        tracker.register(workspace, registration(max, None)).await.unwrap();
        for run in 1..=max + 3 {
            let goes_on = tracker.increment_and_check(&workspace).await;
            let tracked = tracker.get(&workspace).await.unwrap();
            assert!(tracked.iteration <= tracked.max_iterations);
            assert_eq!(goes_on, run < max, "run {run} of {max}");
            assert_eq!(tracked.can_continue(), run < max);
        }
    }
}

#[tokio::test]
// promise: tracker-2
async fn a_limit_out_of_range_is_clamped() {
    for (asked, given) in [(0, 1), (1, 1), (100, 100), (1000, 100)] {
        let (tracker, workspace) = (tracker(), Uuid::now_v7());
        tracker.register(workspace, registration(asked, None)).await.unwrap();
        assert_eq!(tracker.get(&workspace).await.unwrap().max_iterations, given);
    }
}

#[tokio::test]
// promise: tracker-3
async fn a_second_registration_is_refused_and_changes_nothing() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(5, None)).await.unwrap();
    tracker.increment_and_check(&workspace).await;
    let refused = tracker.register(workspace, registration(9, Some("x"))).await;
    assert!(matches!(refused, Err(TrackError::AlreadyActive(id)) if id == workspace));
    let tracked = tracker.get(&workspace).await.unwrap();
    assert_eq!((tracked.iteration, tracked.max_iterations), (1, 5));
}

#[tokio::test]
// promise: tracker-4
async fn the_session_id_is_updated_and_unknown_workspaces_are_left_alone() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.update_session_id(&workspace, "nobody".into()).await;
    assert_eq!(tracker.get(&workspace).await, None);
    tracker.register(workspace, registration(5, Some("DONE"))).await.unwrap();
    assert_eq!(tracker.get(&workspace).await.unwrap().session_id, "");
    tracker.update_session_id(&workspace, "s-1".into()).await;
    tracker.increment_and_check(&workspace).await;
    assert_eq!(tracker.get(&workspace).await.unwrap().session_id, "s-1");
    assert_eq!(tracker.get_completion_promise(&workspace).await.as_deref(), Some("DONE"));
}

#[tokio::test]
// promise: tracker-5
async fn an_empty_promise_is_no_promise() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(5, Some(""))).await.unwrap();
    assert_eq!(tracker.get_completion_promise(&workspace).await, None);
}

#[tokio::test]
// promise: tracker-4
async fn an_untracked_workspace_has_no_loop() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    assert!(!tracker.increment_and_check(&workspace).await);
    assert!(!tracker.has_active_loop(&workspace).await);
    tracker.remove(&workspace).await;
}

#[tokio::test]
// promise: tracker-7
async fn a_stop_is_never_taken_for_the_limit() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(5, None)).await.unwrap();
    tracker.stop(&workspace).await;
    assert!(!tracker.increment_and_check(&workspace).await);
    // The workspace is free again: nothing of the stopped loop is left.
    tracker.register(workspace, registration(2, None)).await.unwrap();
    assert_eq!(tracker.get(&workspace).await.unwrap().iteration, 0);
}

#[tokio::test]
// promise: tracker-8
async fn workspaces_count_for_themselves_and_clones_share_them() {
    let tracker = tracker();
    let other = tracker.clone();
    let (one, two) = (Uuid::now_v7(), Uuid::now_v7());
    tracker.register(one, registration(5, None)).await.unwrap();
    other.register(two, registration(3, None)).await.unwrap();
    tracker.increment_and_check(&one).await;
    other.increment_and_check(&one).await;
    assert_eq!(other.get(&one).await.unwrap().iteration, 2);
    assert_eq!(tracker.get(&two).await.unwrap().iteration, 0);
}

#[tokio::test]
// promise: tracker-9
async fn an_ended_loop_stands_in_nobodys_way() {
    let (tracker, workspace) = (tracker(), Uuid::now_v7());
    tracker.register(workspace, registration(1, None)).await.unwrap();
    assert!(!tracker.increment_and_check(&workspace).await);
    assert!(!tracker.has_active_loop(&workspace).await);
    tracker.register(workspace, registration(2, None)).await.unwrap();
    let tracked = tracker.get(&workspace).await.unwrap();
    assert_eq!((tracked.iteration, tracked.max_iterations), (0, 2));
}
