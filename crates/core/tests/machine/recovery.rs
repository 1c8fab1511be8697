//! What a crash, a shutdown or a late answer does to a loop.

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnReport};
use windlass_core::machine::{
    Counted, Effect, Event, GateKey, Input, Interrupt, Phase, Refusal, Restore, SessionUse, TimerKind, Verdict, replay,
};
use windlass_core::spec::{CommitPolicy, LoopSpec, SessionPolicy, WorkspaceKind};
use windlass_core::stop::{Status, StopReason};

/// A loop in its second iteration, the agent's session known or not.
fn in_iteration_two(spec: LoopSpec, session: Option<&str>) -> Driven {
    let mut driven = Driven::working(spec);
    driven.end_turn_and_checkpoint(TurnReport { session: session.map(Into::into), ..finished() });
    assert_eq!(driven.turn(), key(2, 1));
    driven
}

fn second_attempt(session: SessionUse, recovery: bool) -> Event {
    Event::TurnStarted {
        turn: key(2, 2),
        turn_id: "l1.2.coder.2".into(),
        session,
        steering: vec![],
        answers: vec![],
        agent: 0,
        recovery,
    }
}

#[test]
// promise: recovery-4
fn a_cut_off_turn_whose_session_is_known_goes_on_in_its_tree_with_a_recovery_note() {
    let mut driven = in_iteration_two(promise_loop(), Some("s1"));
    driven.pass(HOUR);
    driven.ok(Input::Attach { alive_until: None });
    assert_eq!(
        driven.end_turn(cut_off()),
        [
            Event::TurnEnded { turn: key(2, 1), report: cut_off(), again: true, counts_as: Counted::CutOff },
            Event::PhaseEntered { phase: Phase::Prepare, iteration: 2 },
        ]
    );
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore: Restore::Keep }]);
    let events = driven.ok(workspace_opened());
    assert_eq!(events.last(), Some(&second_attempt(SessionUse::Resume { session: "s1".into() }, true)));
    assert_eq!(driven.state.iteration, 2, "a cut-off attempt does not count toward the limit");
}

#[test]
// promise: recovery-4
fn a_cut_off_turn_without_a_session_starts_fresh_on_the_checkpoint_and_its_tree_is_saved() {
    let mut driven = in_iteration_two(promise_loop(), None);
    driven.end_turn(cut_off());
    let restore = Restore::Reset { commit: "commit-1.coder.1".into(), cut_turn: key(2, 1), moved: false };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);
    let events = driven.ok(workspace_opened());
    assert_eq!(events.last(), Some(&second_attempt(SessionUse::Fresh, false)));
}

#[test]
fn the_users_checkout_and_a_tree_without_commits_are_never_put_back() {
    let mut in_place = promise_loop();
    in_place.workspace.kind = WorkspaceKind::InPlace;
    let commit_off = LoopSpec { commit: CommitPolicy::Off, ..promise_loop() };
    for spec in [in_place, commit_off] {
        let mut driven = in_iteration_two(spec, None);
        driven.end_turn(cut_off());
        assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore: Restore::Keep }]);
        let events = driven.ok(workspace_opened());
        assert_eq!(events.last(), Some(&second_attempt(SessionUse::Fresh, true)), "it is told what lies there");
    }
}

#[test]
fn with_a_fresh_policy_a_cut_off_turn_does_not_go_on_in_the_session_of_the_iteration_before() {
    let spec = LoopSpec { session: SessionPolicy::Fresh, ..promise_loop() };
    let mut driven = in_iteration_two(spec.clone(), Some("s1"));
    driven.end_turn(cut_off());
    let restore = Restore::Reset { commit: "commit-1.coder.1".into(), cut_turn: key(2, 1), moved: false };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);

    let mut driven = in_iteration_two(spec, Some("s1"));
    driven.ok(Input::SessionSeen { turn: key(2, 1), session: "s2".into() });
    driven.end_turn(cut_off());
    let events = driven.ok(workspace_opened());
    assert_eq!(events.last(), Some(&second_attempt(SessionUse::Resume { session: "s2".into() }, true)));
}

#[test]
fn the_third_cut_off_in_a_row_ends_the_loop_and_other_ends_in_between_start_the_count_again() {
    let mut driven = Driven::working(promise_loop());
    for report in [cut_off(), cut_off(), failed(ErrorKind::UnknownSession), cut_off(), cut_off()] {
        driven.end_turn(report);
        driven.ok(workspace_opened());
    }
    driven.end_turn(cut_off());
    assert_eq!(driven.state.stop_reason(), Some(StopReason::CutOff { times: 3 }));
}

#[test]
fn a_driver_that_leaves_interrupts_the_turn_and_the_next_one_goes_on_with_it() {
    let mut driven = in_iteration_two(promise_loop(), Some("s1"));
    assert_eq!(driven.ok(Input::Shutdown), [Event::TurnInterrupted { turn: key(2, 1), why: Interrupt::Shutdown }]);
    assert_eq!(driven.refused(Input::Shutdown), Refusal::AlreadyAsked);
    driven.end_turn(interrupted());
    assert_eq!(driven.state.status(), Status::Running, "nothing is written about the driver");
    driven.pass(HOUR);
    assert_eq!(driven.ok(Input::Attach { alive_until: None }), [Event::DriverAttached { alive_until: None }]);
    let events = driven.ok(workspace_opened());
    assert_eq!(events.last(), Some(&second_attempt(SessionUse::Resume { session: "s1".into() }, true)));
    assert_eq!(driven.state.counters.cut_offs, 0);
}

#[test]
fn a_journal_that_ends_anywhere_wants_what_was_wanted_there() {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    driven.end_turn_and_checkpoint(claimed());
    let before = driven.effects();
    assert_eq!(before, [Effect::RunGate { gate: GateKey { on: 1_u32.into(), index: 0, attempt: 1 } }]);
    let state = replay(driven.journal.clone()).unwrap();
    assert_eq!(windlass_core::machine::effects(&state), before);
    assert_eq!(state, driven.state);
}

#[test]
fn a_journal_without_a_creation_is_an_error() {
    assert!(replay([]).is_err());
    assert!(replay([(start_of_time(), Event::DriverAttached { alive_until: None })]).is_err());
}

#[test]
// promise: recovery-9
fn late_answers_are_refused() {
    let mut driven = in_iteration_two(promise_loop(), Some("s1"));
    let report = finished();
    let checkpoint = checkpoint_of(key(1, 1));
    let gate = GateKey { on: 1_u32.into(), index: 0, attempt: 1 };
    let late = [
        Input::turn_ended(key(1, 1), report.clone()),
        Input::turn_ended(key(2, 2), report),
        Input::SessionSeen { turn: key(1, 1), session: "s9".into() },
        Input::UsageSeen { turn: key(1, 1), usage: usage(100.0, 1) },
        Input::Stalled { turn: key(1, 1) },
        Input::Checkpointed { turn: key(1, 1), checkpoint },
        Input::GateEnded { gate, report: gate_report("cargo test", Verdict::Pass, None) },
        Input::TimerFired { timer: TimerKind::Wait },
        Input::TimerFired { timer: TimerKind::Duration },
        Input::TimerFired { timer: TimerKind::TurnTimeout(key(1, 1)) },
        Input::TimerFired { timer: TimerKind::TurnTimeout(key(2, 1)) },
        workspace_opened(),
    ];
    for input in late {
        assert_eq!(driven.refused(input.clone()), Refusal::Stale, "{input:?}");
    }
}
