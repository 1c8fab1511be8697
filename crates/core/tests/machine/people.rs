//! What people do to a loop: stop, pause, resume, restart, steer.

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::machine::{
    Effect, Event, GateKey, Input, Interrupt, Opener, Phase, Raise, Refusal, RefusedBecause, Restore, SessionUse,
    TimerKind, Verdict, WorkspaceFailure,
};
use windlass_core::spec::{Done, Limits, LoopSpec, WorkspaceKind};
use windlass_core::stop::{End, PauseReason, Status, StopReason};

fn with_gate() -> LoopSpec {
    LoopSpec { gates: vec![gate("cargo test"), gate("cargo fmt --check")], ..promise_loop() }
}

/// A loop in each place where it can be while it is under way.
fn in_every_phase() -> Vec<Driven> {
    let mut prepare = Driven::created(with_gate());
    prepare.start();
    let work = Driven::working(with_gate());
    let mut checkpoint = Driven::working(with_gate());
    checkpoint.end_turn(claimed());
    let mut gates = Driven::working(with_gate());
    gates.end_turn_and_checkpoint(claimed());
    let mut waiting = Driven::working(with_gate());
    waiting.end_turn(failed(ErrorKind::Overloaded));
    let mut paused = Driven::working(with_gate());
    paused.end_turn(failed(ErrorKind::Auth));
    vec![Driven::created(with_gate()), prepare, work, checkpoint, gates, waiting, paused]
}

fn cancelled(driven: &Driven) -> bool {
    driven.state.stop_reason() == Some(StopReason::Cancelled)
        && driven.state.status() == Status::Ended { end: End::Cancelled }
        && driven.effects().is_empty()
}

#[test]
// promise: done-11, control-1
fn a_stop_in_any_phase_ends_the_loop_as_cancelled_and_as_nothing_else() {
    for mut driven in in_every_phase() {
        let place = format!("{} {}", driven.state.status().name(), driven.state.phase().name());
        let events = driven.ok(Input::Stop);
        assert_eq!(events[0], Event::StopRequested, "{place}");
        match (place.as_str(), driven.effects().as_slice()) {
            ("running work", [Effect::EndTurn { .. }]) => {
                assert_eq!(driven.refused(Input::Stop), Refusal::AlreadyAsked);
                let events = driven.end_turn(interrupted());
                assert_eq!(names(&events), ["turn_ended", "loop_stopped"]);
            }
            // The claim stands in the journal, but a person's stop is never shown as completed.
            ("running checkpoint", [Effect::Checkpoint { .. }]) => {
                let events = driven.checkpoint();
                assert_eq!(names(&events), ["checkpointed", "phase_entered", "loop_stopped"]);
            }
            (_, effects) => assert_eq!(effects, [], "{place}"),
        }
        assert!(cancelled(&driven), "{place}: {:?}", driven.state.status());
        assert_eq!(driven.refused(Input::Stop), Refusal::Ended { end: End::Cancelled });
    }
}

#[test]
// promise: control-2
fn a_stop_starts_no_further_turn_however_the_turn_ends() {
    let endings = [
        finished(),
        claimed(),
        cut_off(),
        interrupted(),
        failed(ErrorKind::Other),
        failed(ErrorKind::Overloaded),
        failed(ErrorKind::Auth),
        failed(ErrorKind::UnknownSession),
        TurnReport::bare(TurnOutcome::RateLimited { until: None, message: "later".into() }),
        TurnReport::bare(TurnOutcome::NotStarted { message: "no".into(), missing: true }),
    ];
    for report in endings {
        let mut driven = Driven::working(with_gate());
        driven.ok(Input::Stop);
        driven.end_turn(report.clone());
        if driven.state.phase() == Phase::Checkpoint {
            driven.checkpoint();
        }
        assert!(cancelled(&driven), "{report:?}: {:?}", driven.state.stop_reason());
    }
}

#[test]
fn a_stop_in_a_turn_that_runs_into_a_limit_commits_its_work_and_is_still_a_stop() {
    let mut driven = Driven::working(promise_loop());
    driven.pass(HOUR);
    driven.ok(Input::TimerFired { timer: TimerKind::TurnTimeout(key(1, 1)) });
    driven.ok(Input::Stop);
    assert_eq!(names(&driven.end_turn(interrupted())), ["turn_ended", "phase_entered"]);
    driven.checkpoint();
    assert!(cancelled(&driven));
}

#[test]
fn a_claim_that_a_stop_came_before_is_judged_when_the_loop_is_resumed() {
    for spec in [promise_loop(), with_gate()] {
        let mut driven = Driven::working(spec);
        driven.end_turn(claimed());
        driven.ok(Input::Stop);
        driven.checkpoint();
        driven.ok(open(Opener::Resume));
        while driven.state.phase() == Phase::Gates {
            driven.judge(Verdict::Pass);
        }
        assert_eq!(driven.stop_reason(), "completed");
    }
}

#[test]
fn a_stop_between_two_gates_keeps_the_verdict_that_is_in() {
    let mut driven = Driven::working(with_gate());
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    driven.ok(Input::Stop);
    let late = Input::GateEnded {
        gate: GateKey { on: 1_u32.into(), index: 1, attempt: 1 },
        report: driven.gate_report(Verdict::Fail),
    };
    assert_eq!(driven.refused(late), Refusal::Stale);
    assert_eq!(names(&driven.ok(open(Opener::Resume))), ["loop_opened"]);
    assert_eq!(driven.effects(), [Effect::RunGate { gate: GateKey { on: 1_u32.into(), index: 1, attempt: 1 } }]);
}

#[test]
fn stop_ends_an_external_loop_at_once_and_its_turn_is_tried_again_when_resumed() {
    let mut spec = promise_loop();
    spec.workspace.kind = WorkspaceKind::External;
    let mut driven = Driven::working(spec);
    driven.ok(Input::Stop);
    assert!(cancelled(&driven));
    let late = Input::turn_ended(key(1, 1), claimed());
    assert_eq!(driven.refused(late), Refusal::Stale);
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.turn(), key(1, 2));
}

#[test]
// promise: control-3
fn pause_lets_the_turn_end_and_judges_it_before_the_loop_rests() {
    let mut driven = Driven::working(with_gate());
    assert_eq!(driven.ok(Input::Pause { now: false }), [Event::PauseRequested { now: false }]);
    assert_eq!(driven.refused(Input::Pause { now: false }), Refusal::AlreadyAsked);
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    let events = driven.judge(Verdict::Pass);
    assert_eq!(names(&events), ["gate_ended", "iteration_judged", "loop_paused"]);
    assert_eq!(driven.effects(), []);
    assert_eq!(names(&driven.ok(open(Opener::Resume))), ["loop_opened", "iteration_started", "turn_started"]);
    assert_eq!(driven.turn(), key(2, 1));
}

#[test]
fn a_claim_that_holds_completes_a_loop_that_was_to_pause() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Pause { now: false });
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(driven.stop_reason(), "completed");
}

#[test]
fn pause_now_interrupts_the_turn_which_goes_on_in_its_session_when_resumed() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::SessionSeen { turn: key(1, 1), session: "s1".into() });
    assert_eq!(
        driven.ok(Input::Pause { now: true }),
        [Event::PauseRequested { now: true }, Event::TurnInterrupted { turn: key(1, 1), why: Interrupt::Pause },]
    );
    assert_eq!(driven.end_turn(interrupted())[1..], [Event::LoopPaused { why: PauseReason::Person }]);
    driven.ok(open(Opener::Resume));
    assert_eq!(
        driven.ok(workspace_opened())[1..],
        [Event::TurnStarted {
            agent: 0,
            turn: key(1, 2),
            turn_id: "l1.1.coder.2".into(),
            session: SessionUse::Resume { session: "s1".into() },
            steering: vec![],
            answers: vec![],
            recovery: true,
        }]
    );
}

#[test]
fn pause_after_the_turn_can_become_pause_now() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Pause { now: false });
    driven.ok(Input::Pause { now: true });
    assert_eq!(driven.refused(Input::Pause { now: true }), Refusal::AlreadyAsked);
    driven.end_turn(interrupted());
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Person });
}

#[test]
fn pause_now_in_prepare_in_gates_and_in_a_wait_rests_at_once() {
    for mut driven in in_every_phase() {
        let place = format!("{} {}", driven.state.status().name(), driven.state.phase().name());
        match place.as_str() {
            "running prepare" | "running gates" | "waiting prepare" => {
                let events = driven.ok(Input::Pause { now: true });
                assert_eq!(names(&events), ["pause_requested", "loop_paused"], "{place}");
            }
            "running work" | "running checkpoint" => {
                driven.ok(Input::Pause { now: true });
                assert_eq!(driven.state.status(), Status::Running, "{place}");
            }
            _ => assert_eq!(driven.refused(Input::Pause { now: true }), Refusal::NotUnderWay, "{place}"),
        }
    }
}

#[test]
fn a_pause_before_a_turn_is_tried_again_rests_before_that_turn() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(cut_off());
    driven.ok(Input::Pause { now: false });
    assert_eq!(names(&driven.ok(workspace_opened())), ["workspace_opened", "loop_paused"]);
}

#[test]
fn a_pause_does_not_take_a_stop_back() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(finished());
    driven.ok(Input::Stop);
    assert_eq!(driven.refused(Input::Pause { now: true }), Refusal::AlreadyAsked);
    driven.checkpoint();
    assert!(cancelled(&driven));
}

fn exhausted() -> Driven {
    let limits = Limits { max_iterations: Some(1), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, ..promise_loop() });
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(driven.state.status(), Status::Ended { end: End::Exhausted });
    driven
}

fn resume_with(raise: Raise) -> Input {
    Input::Open { by: Opener::Resume, raise }
}

#[test]
// promise: bounds-9
fn an_exhausted_loop_is_resumed_only_with_a_raised_limit() {
    let mut driven = exhausted();
    let limit = StopReason::MaxIterations { max: 1 };
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit: limit.clone() });
    assert_eq!(driven.refused(open(Opener::Restart)), Refusal::LimitStands { limit });
    let raise = Raise { budget_usd: 1.0, ..Raise::default() };
    assert_eq!(driven.refused(resume_with(raise)), Refusal::NoSuchLimit { limit: "budget_usd" });

    let raise = Raise { max_iterations: 2, ..Raise::default() };
    assert_eq!(
        driven.ok(resume_with(raise.clone())),
        [
            Event::LoopOpened { by: Opener::Resume, raise, goal: None, target: None },
            Event::IterationStarted { iteration: 2 },
            Event::TurnStarted {
                agent: 0,
                turn: key(2, 1),
                turn_id: "l1.2.coder.1".into(),
                session: SessionUse::Resume { session: "s1".into() },
                steering: vec![],
                answers: vec![],
                recovery: false,
            },
        ]
    );
    driven.end_turn_and_checkpoint(finished());
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(driven.state.stop_reason(), Some(StopReason::MaxIterations { max: 3 }));
}

#[test]
fn a_turn_that_ran_out_of_time_while_it_waited_goes_on_when_there_is_more_time() {
    let limits = Limits { duration_ms: Some(MINUTE), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, ..promise_loop() });
    driven.end_turn(failed(ErrorKind::Overloaded));
    driven.pass(MINUTE);
    driven.ok(Input::TimerFired { timer: TimerKind::Duration });
    let limit = StopReason::Duration { limit_ms: MINUTE };
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit });
    driven.ok(resume_with(Raise { duration_ms: MINUTE, ..Raise::default() }));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), key(1, 2));
}

#[test]
fn the_target_of_a_refine_loop_can_be_raised() {
    let mut driven = Driven::working(LoopSpec {
        done: Done::Count { iterations: 1 },
        limits: Limits::default(),
        gates: vec![gate("cargo test")],
        ..promise_loop()
    });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Fail);
    let limit = StopReason::GatesFailed { gates: vec!["cargo test".into()] };
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit });
    driven.ok(resume_with(Raise { max_iterations: 1, ..Raise::default() }));
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.stop_reason(), "completed");
}

#[test]
// promise: control-4
fn restart_forgets_session_and_counters_and_goes_on_counting_iterations() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(finished());
    driven.ok(Input::Stalled { turn: key(2, 1) });
    driven.end_turn(interrupted());
    driven.ok(Input::Stop);
    assert_eq!(driven.state.counters.stalls, 1);
    driven.ok(open(Opener::Restart));
    assert_eq!(driven.state.counters, Default::default());
    assert!(driven.state.sessions.is_empty());
    let events = driven.ok(workspace_opened());
    assert_eq!(
        events.last(),
        Some(&Event::TurnStarted {
            agent: 0,
            turn: key(2, 2),
            turn_id: "l1.2.coder.2".into(),
            session: SessionUse::Fresh,
            steering: vec![],
            answers: vec![],
            recovery: false,
        })
    );
}

#[test]
fn resume_keeps_the_counters_unless_they_ended_the_loop() {
    let stalled_once = || {
        let mut driven = Driven::working(promise_loop());
        driven.ok(Input::Stalled { turn: key(1, 1) });
        driven.end_turn(interrupted());
        driven
    };
    let mut driven = stalled_once();
    driven.ok(Input::Pause { now: true });
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.state.counters.stalls, 1);

    let mut driven = stalled_once();
    driven.ok(Input::WorkspaceFailed { failure: WorkspaceFailure::Missing { message: "gone".into() } });
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.state.counters.stalls, 0);
}

#[test]
fn only_what_is_not_completed_and_not_under_way_can_be_opened() {
    let mut completed = Driven::working(promise_loop());
    completed.end_turn_and_checkpoint(claimed());
    assert_eq!(completed.refused(open(Opener::Resume)), Refusal::Completed);
    assert_eq!(completed.refused(open(Opener::Restart)), Refusal::Completed);

    let mut working = Driven::working(promise_loop());
    assert_eq!(working.refused(open(Opener::Resume)), Refusal::UnderWay);
    assert_eq!(exhausted().refused(open(Opener::Start)), Refusal::Ended { end: End::Exhausted });
}

fn steer(id: &str) -> Input {
    Input::Steer { id: id.into(), text: format!("{id}: use the other parser"), now: false }
}

fn told(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .find_map(|event| if let Event::TurnStarted { steering, .. } = event { Some(steering.clone()) } else { None })
        .expect("a turn started")
}

#[test]
// promise: context-11
fn steering_is_told_to_the_next_turn_once() {
    let mut driven = Driven::working(promise_loop());
    let text = "m1: use the other parser".to_owned();
    assert_eq!(driven.ok(steer("m1")), [Event::SteeringQueued { id: "m1".into(), text }]);
    assert_eq!(driven.refused(steer("m1")), Refusal::AlreadyAsked);
    driven.ok(steer("m2"));
    assert_eq!(told(&driven.end_turn_and_checkpoint(finished())), ["m1", "m2"]);
    assert_eq!(told(&driven.end_turn_and_checkpoint(finished())), Vec::<String>::new());
}

fn steer_now(id: &str) -> Input {
    Input::Steer { id: id.into(), text: "at once".into(), now: true }
}

#[test]
fn a_message_that_cannot_wait_interrupts_the_turn_which_goes_on_in_its_session_with_it() {
    let mut driven = Driven::working(promise_loop());
    let turn = driven.state.turn().unwrap().key;
    driven.ok(Input::SessionSeen { turn, session: "s1".into() });
    let queued = Event::SteeringQueued { id: "m1".into(), text: "at once".into() };
    assert_eq!(driven.ok(steer_now("m1")), [queued, Event::TurnInterrupted { turn, why: Interrupt::Steer }]);
    // The turn ends already: another message waits for the next one, which is near.
    assert_eq!(driven.ok(steer_now("m2")).len(), 1);
    driven.end_turn(interrupted());
    let events = driven.ok(workspace_opened());
    assert_eq!(told(&events), ["m1", "m2"]);
    let again = driven.state.turn().unwrap();
    assert_eq!((again.key.iteration, again.key.attempt), (1, 2));
    assert_eq!(again.session, SessionUse::Resume { session: "s1".into() });
    assert_eq!(driven.state.restore(), Restore::Keep);
}

#[test]
fn an_agent_without_a_session_is_not_interrupted_for_a_message_since_it_would_start_over() {
    let mut driven = Driven::working(promise_loop());
    assert_eq!(driven.refused(steer_now("m1")), Refusal::NoSession);
    driven.ok(steer("m1"));
    // Between turns there is nobody to interrupt.
    driven.end_turn(finished());
    driven.ok(steer_now("m2"));
}

#[test]
fn steering_is_told_again_when_its_turn_is_tried_again() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(steer("m1"));
    driven.end_turn_and_checkpoint(finished());
    driven.end_turn(cut_off());
    assert_eq!(told(&driven.ok(workspace_opened())), ["m1"]);
    driven.end_turn(failed(ErrorKind::Auth));
    driven.ok(open(Opener::Resume));
    assert_eq!(told(&driven.ok(workspace_opened())), ["m1"]);
    assert_eq!(told(&driven.end_turn_and_checkpoint(finished())), Vec::<String>::new());
}

#[test]
fn a_claim_is_not_accepted_while_a_message_has_not_reached_the_agent() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(steer("m1"));
    let events = driven.end_turn_and_checkpoint(claimed());
    assert!(events.contains(&Event::ClaimRefused { iteration: 1, because: RefusedBecause::SteeringPending }));
    assert_eq!(told(&events), ["m1"]);
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(driven.stop_reason(), "completed");
}

#[test]
fn a_message_that_came_before_a_pause_is_told_after_it_and_none_is_taken_after_the_end() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Pause { now: false });
    driven.end_turn_and_checkpoint(finished());
    driven.ok(steer("m1"));
    assert_eq!(told(&driven.ok(open(Opener::Resume))), ["m1"]);
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(driven.refused(steer("m2")), Refusal::Ended { end: End::Completed });
}

#[test]
// promise: control-10
fn queued_loop_runs_nothing_spends_no_time_and_goes_on_with_its_turn() {
    let limits = Limits { duration_ms: Some(HOUR), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, ..promise_loop() });
    assert_eq!(driven.ok(Input::Queue { max_running: 2 }), [Event::LoopQueued { max_running: 2 }]);
    assert_eq!((driven.state.status().name(), driven.effects().len()), ("queued", 0));
    assert_eq!(driven.refused(Input::Queue { max_running: 2 }), Refusal::AlreadyAsked);
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::UnderWay);
    driven.pass(10 * HOUR);
    driven.ok(Input::LeaveQueue { turn_began: false });
    assert_eq!(driven.state.elapsed_at(driven.now), 0);
    let turn = driven.state.turn().unwrap();
    assert_eq!((turn.key, turn.started_at), (key(1, 1), driven.now), "the turn's own time begins now");
    assert!(matches!(driven.effects()[0], Effect::RunTurn { turn, .. } if turn == key(1, 1)));
    assert_eq!(driven.refused(Input::LeaveQueue { turn_began: false }), Refusal::Stale);
}

#[test]
fn turn_that_began_before_its_loop_was_queued_keeps_its_time() {
    let mut driven = Driven::working(promise_loop());
    let began = driven.state.turn().unwrap().started_at;
    driven.pass(HOUR);
    driven.ok(Input::Attach { alive_until: None });
    driven.ok(Input::Queue { max_running: 2 });
    driven.pass(HOUR);
    driven.ok(Input::LeaveQueue { turn_began: true });
    assert_eq!(driven.state.turn().unwrap().started_at, began);
}

#[test]
// promise: control-10
fn queued_loop_is_paused_and_stopped_at_once() {
    for now in [false, true] {
        let mut driven = Driven::working(promise_loop());
        driven.ok(Input::Queue { max_running: 2 });
        let paused = Event::LoopPaused { why: PauseReason::Person };
        assert_eq!(driven.ok(Input::Pause { now }), [Event::PauseRequested { now }, paused]);
        driven.ok(open(Opener::Resume));
        driven.ok(workspace_opened());
        assert_eq!(driven.turn(), key(1, 2), "the same iteration");
    }
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Queue { max_running: 2 });
    driven.ok(Input::Stop);
    assert!(cancelled(&driven));
}

#[test]
// promise: control-10
fn loop_that_is_told_to_stop_is_not_queued_but_ended() {
    let mut in_turn = Driven::working(promise_loop());
    in_turn.ok(Input::Stop);
    assert_eq!(in_turn.refused(Input::Queue { max_running: 2 }), Refusal::AlreadyAsked);
    in_turn.end_turn(interrupted());
    assert!(cancelled(&in_turn));

    let mut in_checkpoint = Driven::working(promise_loop());
    in_checkpoint.end_turn(finished());
    in_checkpoint.ok(Input::Stop);
    assert_eq!(in_checkpoint.refused(Input::Queue { max_running: 1 }), Refusal::AlreadyAsked);
    assert_eq!(in_checkpoint.refused(Input::Pause { now: true }), Refusal::AlreadyAsked);
    in_checkpoint.checkpoint();
    assert!(cancelled(&in_checkpoint), "{:?}", in_checkpoint.state.status());
}
