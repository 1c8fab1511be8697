//! Going back to an earlier checkpoint: tree and agent memory move together.

use crate::driven::*;
use windlass_core::machine::{Effect, Event, GateMark, Input, Opener, Raise, Refusal, SessionUse, Verdict, effects};
use windlass_core::prompt;
use windlass_core::spec::{Done, Limits, LoopSpec};
use windlass_core::stop::{End, Outcome, Status};

fn back_to(to_iteration: u32, commit: &str) -> Input {
    Input::RolledBack { to_iteration, commit: commit.into(), tree: format!("tree of {commit}"), saved: None }
}

/// Three iterations with a failing gate, then paused by a person.
fn paused_after_three(spec: LoopSpec) -> Driven {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..spec });
    for iteration in 1..=3 {
        driven.end_turn_and_checkpoint(finished());
        if iteration == 3 {
            driven.ok(Input::Pause { now: false });
        }
        driven.judge(Verdict::Fail);
    }
    assert!(matches!(driven.state.status(), Status::Paused { .. }), "{:?}", driven.state.status());
    driven
}

#[test]
fn a_loop_that_is_under_way_cannot_go_back() {
    let mut driven = Driven::working(promise_loop());
    assert_eq!(driven.refused(back_to(0, "c0")), Refusal::UnderWay);
    let mut driven = paused_after_three(promise_loop());
    assert_eq!(driven.refused(back_to(4, "c9")), Refusal::Stale, "there is no such iteration");
}

#[test]
fn after_going_back_the_next_iteration_starts_fresh_from_there() {
    let mut driven = paused_after_three(promise_loop());
    driven.ok(back_to(1, "c1"));
    assert_eq!(driven.state.head_commit(), Some("c1"));
    assert_eq!(driven.state.workspace.as_ref().unwrap().tree.as_deref(), Some("tree of c1"));
    assert!(driven.state.sessions.is_empty() && driven.state.gates.is_empty());
    let undone: Vec<bool> = driven.state.iterations.iter().map(|record| record.undone).collect();
    assert_eq!(undone, [false, true, true], "the history stays, marked");
    driven.ok(back_to(3, "c3"));
    assert!(driven.state.iterations.iter().all(|record| !record.undone), "and can be restored");
    driven.ok(back_to(1, "c1"));

    driven.ok(open(Opener::Resume));
    assert!(matches!(effects(&driven.state)[..], [Effect::OpenWorkspace { .. }]), "{:?}", effects(&driven.state));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), key(4, 1), "iterations keep counting");
    let session = &driven.state.turn().unwrap().session;
    assert!(!matches!(session, SessionUse::Resume { .. }), "{session:?}");
    let prompt = prompt::build(&driven.state, &prompt::Facts::default(), &|text: &str| text.len() / 4);
    assert!(prompt.contains("### Iteration 1 "), "{prompt}");
    assert!(!prompt.contains("### Iteration 2 ") && !prompt.contains("### Iteration 3 "), "{prompt}");
    assert!(!prompt.contains("cargo test"), "no verdict is about this tree: {prompt}");
}

#[test]
fn a_target_that_was_reached_is_judged_again_on_what_is_there_now() {
    let spec = LoopSpec {
        done: Done::Count { iterations: 2 },
        limits: Limits { max_iterations: Some(2), ..Limits::default() },
        gates: vec![gate("cargo test")],
        ..promise_loop()
    };
    let mut driven = Driven::working(spec);
    for _ in 0..2 {
        driven.end_turn_and_checkpoint(finished());
        driven.judge(Verdict::Fail);
    }
    assert_eq!(driven.state.status(), Status::Ended { end: End::Exhausted });
    driven.ok(back_to(1, "c1"));
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert!(matches!(effects(&driven.state)[..], [Effect::RunGate { .. }]), "{:?}", effects(&driven.state));
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.status(), Status::Ended { end: End::Completed });
    assert_eq!(driven.state.iterations[1].gates, [GateMark::Fail], "the undone iteration keeps its verdict");
}

#[test]
fn a_completed_loop_that_goes_back_is_no_longer_verified() {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    assert!(driven.state.is_verified());
    let events = driven.ok(back_to(0, "c0"));
    assert!(matches!(events[..], [Event::RolledBack { .. }]));
    assert_eq!(driven.state.outcome(), Some(Outcome::RolledBack));
    assert_eq!(driven.refused(Input::Open { by: Opener::Resume, raise: Raise::default() }), Refusal::Completed);
}
