//! Turns that go wrong: failures, rate limits, stalls, lost sessions.

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::machine::{
    CheckpointReport, Claims, Counted, Effect, Event, GateKey, Input, Interrupt, Opener, Phase, Refusal, Restore,
    SessionUse, Timer, TimerKind, Verdict, WorkspaceFailure,
};
use windlass_core::prompt;
use windlass_core::sandbox::{NetworkAccess, SandboxLevel, SandboxSpec};
use windlass_core::spec::{Done, Limits, LoopSpec, OnFailure};
use windlass_core::stop::{End, Outcome, PauseReason, Status, StopReason, WaitReason};
use windlass_core::trouble::{Step, Trouble, TroubleKind};
use windlass_core::usage::Usage;

fn at_most(max_iterations: u32) -> LoopSpec {
    LoopSpec { limits: Limits { max_iterations: Some(max_iterations), ..Limits::default() }, ..promise_loop() }
}

fn entered(phase: Phase, iteration: u32) -> Event {
    Event::PhaseEntered { phase, iteration }
}

fn resumed() -> SessionUse {
    SessionUse::Resume { session: "s1".into() }
}

fn stopped(stop_reason: StopReason, verified: bool, iterations: u32, head_commit: &str) -> Event {
    Event::LoopStopped {
        status: stop_reason.end(),
        outcome: (stop_reason == StopReason::Completed).then_some(if verified {
            Outcome::Verified
        } else {
            Outcome::Claimed
        }),
        stop_reason,
        verified,
        iterations,
        head_commit: Some(head_commit.into()),
        usage: Usage::default(),
    }
}

#[test]
// promise: failures-1
fn a_failed_turn_is_committed_and_ends_the_loop_even_if_it_claims_to_be_done() {
    let mut driven = Driven::working(promise_loop());
    let report = TurnReport { claim: true, ..failed(ErrorKind::Other) };
    assert_eq!(names(&driven.end_turn(report)), ["turn_ended", "phase_entered"]);
    assert_eq!(
        driven.checkpoint()[1..],
        [
            entered(Phase::Decide, 1),
            stopped(StopReason::AgentFailed { message: "oops".into() }, false, 1, "commit-1.coder.1"),
        ]
    );
    assert_eq!(driven.state.claims.made, 0);
}

#[test]
// promise: failures-2
fn a_policy_of_going_on_makes_the_next_iteration_after_a_growing_pause() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..promise_loop() });
    let mut waits = Vec::new();
    for _ in 0..3 {
        driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
        waits.push(wait_of(&mut driven));
    }
    assert_eq!(waits, [10_000, 20_000, 40_000]);
    assert_eq!(driven.state.iteration, 4);
}

#[test]
// promise: failures-3
fn retries_in_a_row_are_counted_and_a_good_turn_starts_the_count_again() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Retry { times: 1 }, ..at_most(100) });
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    wait_of(&mut driven);
    driven.end_turn_and_checkpoint(finished());
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    wait_of(&mut driven);
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    assert_eq!(driven.state.stop_reason(), Some(StopReason::ErrorMaxRetries { message: "oops".into() }));
}

/// Lets the loop's wait pass, and opens the workspace if that is what it wants then; how long it was.
fn wait_of(driven: &mut Driven) -> u64 {
    let Status::Waiting { until, .. } = driven.state.status() else {
        panic!("{:?}", driven.state.status());
    };
    let ms = until.as_millisecond() - driven.now.as_millisecond();
    driven.now = until;
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    if driven.state.phase() == Phase::Prepare {
        driven.ok(workspace_opened());
    }
    ms.try_into().unwrap()
}

#[test]
// promise: failures-4
fn a_rate_limit_waits_for_the_given_time_and_is_no_failure_and_no_iteration() {
    let mut driven = Driven::working(promise_loop());
    let until = "2026-01-01T05:00:00Z".parse().unwrap();
    let report = TurnReport {
        session: Some("s1".into()),
        ..TurnReport::bare(TurnOutcome::RateLimited { until: Some(until), message: "until 5".into() })
    };
    let why = WaitReason::RateLimit { message: "until 5".into() };
    assert_eq!(driven.end_turn(report)[1..], [Event::WaitStarted { until, why: why.clone() }]);
    assert_eq!(driven.state.status(), Status::Waiting { until, why });
    assert_eq!(driven.effects(), [Effect::SetTimer { timer: Timer { kind: TimerKind::Wait, at: until } }]);

    driven.pass(HOUR);
    assert_eq!(driven.refused(Input::TimerFired { timer: TimerKind::Wait }).to_string(), stale());
    driven.now = until;
    assert_eq!(driven.ok(Input::TimerFired { timer: TimerKind::Wait }), [Event::WaitEnded, entered(Phase::Prepare, 1)]);
    assert_eq!(
        driven.ok(workspace_opened())[1..],
        [Event::TurnStarted {
            agent: 0,
            turn: key(1, 2),
            turn_id: "l1.1.coder.2".into(),
            session: resumed(),
            steering: vec![],
            answers: vec![],
            recovery: true,
        }]
    );
}

fn stale() -> &'static str {
    "stale result ignored"
}

#[test]
fn a_rate_limit_without_a_time_waits_longer_each_time_and_for_ever() {
    let mut driven = Driven::working(promise_loop());
    let waits: Vec<u64> = (0..30)
        .map(|n| {
            let outcome = TurnOutcome::RateLimited { until: None, message: "later".into() };
            driven.end_turn(if n % 2 == 0 { TurnReport::bare(outcome) } else { failed(ErrorKind::RateLimit) });
            wait_of(&mut driven) / MINUTE
        })
        .collect();
    assert_eq!(waits[..6], [5, 10, 20, 40, 60, 60]);
    assert_eq!((driven.state.iteration, driven.turn().attempt), (1, 31));
}

#[test]
fn a_rate_limit_whose_time_has_passed_is_not_tried_again_without_a_pause() {
    let mut driven = Driven::working(promise_loop());
    driven.pass(HOUR);
    let outcome = TurnOutcome::RateLimited { until: Some(start_of_time()), message: "soon".into() };
    driven.end_turn(TurnReport::bare(outcome));
    assert_eq!(wait_of(&mut driven), 10_000);
}

#[test]
fn an_overloaded_provider_is_asked_again_with_back_off_and_given_up_in_the_end() {
    let mut driven = Driven::working(promise_loop());
    let waits: Vec<u64> = (0..20)
        .map(|n| {
            driven.end_turn(failed(if n % 2 == 0 { ErrorKind::Overloaded } else { ErrorKind::Network }));
            wait_of(&mut driven) / 1_000
        })
        .collect();
    assert_eq!(waits[..7], [10, 20, 40, 80, 160, 300, 300]);
    driven.end_turn(failed(ErrorKind::Overloaded));
    assert_eq!(driven.state.stop_reason(), Some(StopReason::ProviderLimit { message: "oops".into() }));
}

#[test]
fn an_overload_does_not_count_as_a_failure_of_the_agent() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Retry { times: 1 }, ..promise_loop() });
    for _ in 0..5 {
        driven.end_turn(failed(ErrorKind::Overloaded));
        wait_of(&mut driven);
    }
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    assert_eq!(wait_of(&mut driven), 10_000);
}

#[test]
fn the_third_stall_in_a_row_ends_the_loop_as_stalled() {
    let mut driven = Driven::working(promise_loop());
    for attempt in 1..=2 {
        let turn = key(1, attempt);
        assert_eq!(driven.ok(Input::Stalled { turn }), [Event::TurnInterrupted { turn, why: Interrupt::Stall }]);
        assert_eq!(driven.effects(), [Effect::EndTurn { turn }]);
        assert_eq!(
            driven.end_turn(interrupted()),
            [
                Event::TurnEnded { turn, report: interrupted(), again: true, counts_as: Counted::Stall },
                entered(Phase::Prepare, 1)
            ]
        );
        driven.ok(workspace_opened());
    }
    driven.ok(Input::Stalled { turn: key(1, 3) });
    assert_eq!(driven.end_turn(interrupted())[1..], [stopped(StopReason::Stall { stalls: 3 }, false, 1, "base")]);
    assert_eq!(driven.state.status(), Status::Ended { end: End::Stalled });
}

#[test]
// promise: bounds-12
fn a_turn_has_a_time_limit_of_its_own_and_is_committed_when_it_runs_into_it() {
    let mut driven = Driven::working(promise_loop());
    let timer = TimerKind::TurnTimeout(key(1, 1));
    driven.pass(HOUR - 1);
    assert_eq!(driven.refused(Input::TimerFired { timer }).to_string(), stale());
    driven.pass(1);
    assert_eq!(
        driven.ok(Input::TimerFired { timer }),
        [Event::TurnInterrupted { turn: key(1, 1), why: Interrupt::TurnTimeout }]
    );
    assert_eq!(names(&driven.end_turn(interrupted())), ["turn_ended", "phase_entered"]);
    driven.checkpoint();
    let message = "the turn timed out".into();
    assert_eq!(driven.state.stop_reason(), Some(StopReason::AgentFailed { message }));
}

#[test]
// promise: sessions-4
fn a_session_that_is_lost_is_replaced_by_a_fresh_one_on_the_checkpoint() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(finished());
    let turn = key(2, 1);
    assert_eq!(
        driven.end_turn(failed(ErrorKind::UnknownSession))[1..],
        [Event::SessionLost { turn, message: "oops".into() }, entered(Phase::Prepare, 2)]
    );
    let restore = Restore::Reset { commit: "commit-1.coder.1".into(), cut_turn: turn, moved: false };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);
    assert_eq!(
        driven.ok(workspace_opened())[1..],
        [Event::TurnStarted {
            agent: 0,
            turn: key(2, 2),
            turn_id: "l1.2.coder.2".into(),
            session: SessionUse::Fresh,
            steering: vec![],
            answers: vec![],
            recovery: false,
        }]
    );
}

#[test]
fn an_agent_that_loses_every_session_has_failed() {
    let mut driven = Driven::working(promise_loop());
    for _ in 0..2 {
        driven.end_turn(failed(ErrorKind::UnknownSession));
        driven.ok(workspace_opened());
    }
    driven.end_turn(failed(ErrorKind::UnknownSession));
    assert_eq!(driven.stop_reason(), "agent_failed");
}

#[test]
// promise: failures-7
fn an_agent_that_is_not_logged_in_waits_for_a_person_and_goes_on_with_the_same_turn() {
    let mut driven = Driven::working(promise_loop());
    let why = PauseReason::Auth { message: "oops".into() };
    assert_eq!(driven.end_turn(failed(ErrorKind::Auth))[1..], [Event::LoopPaused { why }]);
    assert_eq!(driven.effects(), []);
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), key(1, 2));
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_loop() {
    for (missing, reason) in [(true, "agent_missing"), (false, "agent_failed")] {
        let mut driven = Driven::working(promise_loop());
        driven.end_turn(TurnReport::bare(TurnOutcome::NotStarted { message: "no".into(), missing }));
        assert_eq!(driven.stop_reason(), reason);
    }
}

#[test]
fn a_workspace_that_cannot_be_opened_ends_the_loop() {
    let failures = [
        (WorkspaceFailure::Missing { message: "gone".into() }, "workspace_missing"),
        (WorkspaceFailure::Setup { message: "npm ci failed".into() }, "setup_failed"),
    ];
    for (failure, reason) in failures {
        let mut driven = Driven::created(promise_loop());
        driven.start();
        driven.ok(Input::WorkspaceFailed { failure });
        assert_eq!(driven.stop_reason(), reason);
    }
}

fn trouble() -> Trouble {
    Trouble { kind: TroubleKind::Sandbox, message: "no user namespaces".into() }
}

/// What is wanted cannot be tried, until the loop rests; how often that was.
fn in_trouble(driven: &mut Driven) -> u32 {
    for times in 1..10 {
        let effect = driven.effects().remove(0);
        driven.ok(Input::NotTried { effect, trouble: trouble() });
        let Status::Waiting { until, why } = &driven.state.status() else { return times };
        assert!(matches!(why, WaitReason::Infrastructure { .. }), "{why:?}");
        driven.now = *until;
        driven.ok(Input::TimerFired { timer: TimerKind::Wait });
        if matches!(driven.effects()[..], [Effect::OpenWorkspace { .. }]) && driven.state.workspace.is_some() {
            driven.ok(workspace_opened());
        }
    }
    panic!("the loop never rests");
}

#[track_caller]
fn assert_paused_for(driven: &Driven, step: Step) {
    let why = PauseReason::Infrastructure { step, trouble: trouble() };
    assert_eq!(driven.state.status(), Status::Paused { why });
}

#[test]
fn time_that_is_up_while_a_commit_is_retried_does_not_complete_the_loop_without_it() {
    let mut driven = Driven::working(LoopSpec { done: Done::Duration { ms: MINUTE }, ..promise_loop() });
    driven.end_turn(finished());
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    driven.ok(Input::NotTried { effect: Effect::Checkpoint { turn }, trouble: trouble() });
    driven.pass(2 * MINUTE);
    assert_eq!(driven.refused(Input::TimerFired { timer: TimerKind::Duration }), Refusal::Stale);
    let timers = driven.effects();
    assert!(matches!(&timers[..], [Effect::SetTimer { timer }] if timer.kind == TimerKind::Wait), "{timers:?}");
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    driven.checkpoint();
    assert_eq!(driven.stop_reason(), "completed");
}

#[test]
// promise: gates-5
fn gate_that_could_not_be_tried_is_tried_again_and_then_pauses_the_loop() {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(in_trouble(&mut driven), 4);
    assert_paused_for(&driven, Step::Gate);
    assert!(driven.state.gates.is_empty() && driven.state.claims == Claims::default());
    driven.ok(open(Opener::Resume));
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.outcome(), Some(Outcome::Verified), "nothing was lost by it");
}

#[test]
// promise: failures-9
fn turn_that_could_not_be_tried_is_no_failure_of_the_agent() {
    let mut driven = Driven::working(promise_loop());
    assert_eq!(in_trouble(&mut driven), 4);
    assert_paused_for(&driven, Step::Turn);
    assert_eq!((driven.state.iteration, driven.state.counters.failures), (1, 0));
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), key(1, 5));
    assert!(!driven.state.turn().unwrap().recovery, "no attempt ever ran");
}

#[test]
// promise: failures-9
fn checkpoint_that_could_not_be_made_keeps_the_turn_and_is_made_later() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(claimed());
    assert_eq!(in_trouble(&mut driven), 4);
    assert_paused_for(&driven, Step::Checkpoint);
    driven.ok(open(Opener::Resume));
    driven.checkpoint();
    assert_eq!(driven.state.outcome(), Some(Outcome::Claimed));
}

#[test]
// promise: failures-9
fn workspace_that_could_not_be_opened_pauses_the_loop() {
    let mut driven = Driven::created(promise_loop());
    driven.start();
    assert_eq!(in_trouble(&mut driven), 4);
    assert_paused_for(&driven, Step::Workspace);
}

#[test]
fn stop_during_trouble_cancels_the_loop() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(claimed());
    driven.ok(Input::Stop);
    let effect = driven.effects().remove(0);
    driven.ok(Input::NotTried { effect, trouble: trouble() });
    assert_eq!(driven.stop_reason(), "cancelled");
}

#[test]
fn trouble_with_something_no_longer_wanted_is_stale() {
    let mut driven = Driven::working(promise_loop());
    let gate = Effect::RunGate { gate: GateKey { on: 1_u32.into(), index: 0, attempt: 1 } };
    assert_eq!(driven.refused(Input::NotTried { effect: gate, trouble: trouble() }), Refusal::Stale);
}

#[test]
// promise: failures-11
fn work_before_a_context_overflow_is_committed_judged_and_continued_in_a_fresh_session() {
    let mut driven = Driven::working(LoopSpec {
        gates: vec![gate("cargo test")],
        limits: Limits { max_iterations: Some(9), ..Limits::default() },
        ..promise_loop()
    });
    for iteration in 1..=5 {
        driven.end_turn_and_checkpoint(failed(ErrorKind::ContextOverflow));
        driven.judge(Verdict::Fail);
        assert_eq!(driven.turn(), key(iteration + 1, 1), "an overflow after work is no failure, however often");
        assert!(!matches!(driven.state.turn().unwrap().session, SessionUse::Resume { .. }));
    }
    let prompt = prompt::build(&driven.state, &prompt::Facts::default(), &|text| text.len() / 4);
    assert!(prompt.contains("ran out of context") && prompt.contains("gates failed after your last turn"), "{prompt}");
}

#[test]
fn context_overflow_without_any_work_fails_the_third_time() {
    let mut driven = Driven::working(promise_loop());
    for _ in 0..3 {
        let turn = driven.turn();
        driven.end_turn(failed(ErrorKind::ContextOverflow));
        let checkpoint = CheckpointReport { files_changed: 0, created: false, ..checkpoint_of(turn) };
        driven.ok(Input::Checkpointed { turn, checkpoint });
    }
    assert_eq!(driven.stop_reason(), "agent_failed");
}

/// A loop whose network is closed, or a list.
fn networked(network: NetworkAccess) -> LoopSpec {
    let sandbox = SandboxSpec { level: SandboxLevel::Workspace, network, ..SandboxSpec::default() };
    LoopSpec { sandbox, ..promise_loop() }
}

fn refuse(driven: &mut Driven, host: &str) {
    driven.ok(Input::NetworkDenied { host: host.into(), why: "it is not on the list".into(), count: 1 });
}

#[test]
// promise: safety-10
fn a_host_that_the_network_rule_refused_is_named_where_the_provider_does_not_answer() {
    let mut driven = Driven::working(networked(NetworkAccess::List));
    refuse(&mut driven, "api.example.com:443");
    let events = driven.end_turn(failed(ErrorKind::Network));
    let told = "oops; Windlass's network rule denied api.example.com:443; allow it with --network-host \
                api.example.com:443";
    let Some(Event::WaitStarted { why, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!(why, &WaitReason::NoAnswer { message: told.into() });
    wait_of(&mut driven);
    // Something else that failed is not the network's doing, unless it names the host.
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    assert_eq!(driven.state.stop_reason(), Some(StopReason::AgentFailed { message: "oops".into() }));
    let mut driven = Driven::working(networked(NetworkAccess::List));
    for host in ["telemetry.example:443", "api.example.com:443"] {
        refuse(&mut driven, host);
    }
    let message = "cannot reach api.example.com".to_owned();
    driven.end_turn_and_checkpoint(TurnReport::bare(TurnOutcome::Failed { kind: ErrorKind::Other, message }));
    let Some(StopReason::AgentFailed { message }) = &driven.state.stop_reason() else { panic!("{:?}", driven.state) };
    assert!(message.contains("denied api.example.com:443; allow") && !message.contains("telemetry"), "{message}");
}

#[test]
fn a_closed_network_is_named_and_nobody_waits_for_it() {
    for refused in [None, Some("api.example.com:443")] {
        let mut driven = Driven::working(networked(NetworkAccess::Deny));
        refused.into_iter().for_each(|host| refuse(&mut driven, host));
        driven.end_turn(failed(ErrorKind::Network));
        let Some(StopReason::AgentFailed { message }) = &driven.state.stop_reason() else {
            panic!("{:?}", driven.state)
        };
        assert!(message.contains("(--network deny); allow"), "{message}");
        assert!(refused.is_none_or(|host| message.contains(host)), "{message}");
    }
    let mut open = Driven::working(networked(NetworkAccess::Allow));
    open.end_turn(failed(ErrorKind::Network));
    wait_of(&mut open);
}
