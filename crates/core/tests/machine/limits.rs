//! Time, money and tokens: what bounds a loop, and the targets of a loop that works so long or so often.

use crate::driven::*;
use jiff::SignedDuration;
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::machine::{
    CheckpointReport, Effect, Event, GateKey, GateMark, Input, Interrupt, Opener, Phase, Raise, Timer, TimerKind,
    USAGE_EVERY_MS, Verdict, WorkspaceFailure,
};
use windlass_core::resources::ResourceSpec;
use windlass_core::spec::{Done, Limits, LoopSpec, OnFailure};
use windlass_core::stop::{End, Outcome, PauseReason, Status, StopReason};
use windlass_core::usage::Usage;

fn with_gates(commands: &[&str]) -> LoopSpec {
    LoopSpec { gates: commands.iter().map(|command| gate(command)).collect(), ..promise_loop() }
}

fn entered(phase: Phase, iteration: u32) -> Event {
    Event::PhaseEntered { phase, iteration }
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

fn no_longer_than(ms: u64) -> LoopSpec {
    LoopSpec { limits: Limits { duration_ms: Some(ms), ..Limits::default() }, ..promise_loop() }
}

#[test]
fn the_duration_limit_holds_inside_a_turn_whose_work_is_committed() {
    let mut driven = Driven::working(no_longer_than(10 * MINUTE));
    let at = "2026-01-01T00:10:00Z".parse().unwrap();
    assert_eq!(driven.effects().last(), Some(&Effect::SetTimer { timer: Timer { kind: TimerKind::Duration, at } }));
    driven.now = at;
    let limit = StopReason::Duration { limit_ms: 10 * MINUTE };
    assert_eq!(
        driven.ok(Input::TimerFired { timer: TimerKind::Duration }),
        [Event::TurnInterrupted { turn: key(1, 1), why: Interrupt::Limit { limit: limit.clone() } }]
    );
    driven.end_turn(interrupted());
    assert_eq!(driven.checkpoint()[1..], [entered(Phase::Decide, 1), stopped(limit, false, 1, "commit-1.coder.1")]);
}

#[test]
// promise: bounds-5
fn the_duration_limit_holds_while_the_loop_waits() {
    let mut driven = Driven::working(no_longer_than(10 * MINUTE));
    let until = Some("2026-01-01T05:00:00Z".parse().unwrap());
    driven.end_turn(TurnReport::bare(TurnOutcome::RateLimited { until, message: "later".into() }));
    driven.pass(10 * MINUTE);
    let events = driven.ok(Input::TimerFired { timer: TimerKind::Duration });
    assert_eq!(names(&events), ["wait_ended", "loop_stopped"]);
    assert_eq!(driven.stop_reason(), "duration");
}

#[test]
fn time_without_a_driver_or_in_a_pause_is_not_the_loops() {
    let mut driven = Driven::working(no_longer_than(10 * MINUTE));
    driven.pass(MINUTE);
    driven.ok(Input::Pause { now: true });
    driven.end_turn(interrupted());
    driven.pass(HOUR);
    driven.ok(open(Opener::Resume));
    driven.pass(MINUTE);
    driven.ok(workspace_opened());
    driven.pass(HOUR);
    driven.ok(Input::Attach { alive_until: None });
    driven.pass(MINUTE);
    assert_eq!(driven.state.elapsed_at(driven.now), 3 * MINUTE);
}

fn budget(budget_usd: f64) -> LoopSpec {
    LoopSpec { limits: Limits { budget_usd: Some(budget_usd), ..Limits::default() }, ..promise_loop() }
}

#[test]
// promise: bounds-6
fn the_budget_holds_inside_a_turn_where_the_agent_reports_its_use() {
    let mut driven = Driven::working(budget(1.0));
    driven.end_turn_and_checkpoint(costing(0.5, 10, finished()));
    let turn = key(2, 1);
    assert_eq!(driven.ok(Input::UsageSeen { turn, usage: usage(0.25, 1) }), []);
    let limit = StopReason::Budget { limit_usd: 1.0, spent_usd: 1.25 };
    assert_eq!(
        driven.ok(Input::UsageSeen { turn, usage: usage(0.75, 1) }),
        [
            Event::UsageReported { turn, usage: usage(0.75, 1) },
            Event::TurnInterrupted { turn, why: Interrupt::Limit { limit: limit.clone() } }
        ]
    );
    assert_eq!(driven.ok(Input::UsageSeen { turn, usage: usage(0.8, 1) }), [], "it is interrupted already");
    driven.end_turn_and_checkpoint(costing(0.8, 1, interrupted()));
    assert_eq!(driven.state.stop_reason(), Some(limit));
    assert_eq!(driven.state.used().total().cost_usd, Some(1.3));
}

#[test]
fn usage_of_a_running_turn_is_journalled_at_a_bounded_rate_and_counted_once() {
    let mut driven = Driven::working(promise_loop());
    let turn = key(1, 1);
    let seen = |usd, tokens| Input::UsageSeen { turn, usage: usage(usd, tokens) };
    let spent = |driven: &Driven| driven.state.used().total().cost_usd;
    driven.pass(USAGE_EVERY_MS - 1);
    assert_eq!(driven.ok(seen(0.25, 1)), [], "the turn has only begun");
    driven.pass(1);
    assert_eq!(driven.ok(seen(0.5, 2)), [Event::UsageReported { turn, usage: usage(0.5, 2) }]);
    assert_eq!(spent(&driven), Some(0.5));
    driven.pass(USAGE_EVERY_MS - 1);
    assert_eq!(driven.ok(seen(0.75, 3)), [], "too early");
    driven.pass(1);
    assert_eq!(driven.ok(seen(0.5, 2)), [], "it did not grow");
    assert_eq!(names(&driven.ok(seen(0.75, 3))), ["usage_reported"]);
    driven.end_turn_and_checkpoint(costing(1.0, 4, finished()));
    assert_eq!(spent(&driven), Some(1.0), "the final figure replaces what was reported");
    assert_eq!(driven.state.iterations[0].usage.cost_usd, Some(1.0));
}

#[test]
fn account_of_the_coder_is_journalled_when_it_changed_and_known_afterwards() {
    let mut driven = Driven::working(promise_loop());
    let turn = key(1, 1);
    let seen = |percent| Input::AccountSeen { turn, windows: vec![window(percent)] };
    assert_eq!(driven.ok(seen(40)), [Event::AccountReported { turn, windows: vec![window(40)] }]);
    assert_eq!(driven.ok(seen(40)), [], "nothing new");
    assert_eq!(names(&driven.ok(seen(83))), ["account_reported"]);
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(driven.state.account, [window(83)]);
    assert_eq!(driven.refused(seen(90)), windlass_core::machine::Refusal::Stale, "of a turn that is over");
}

#[test]
// promise: usage-5
fn usage_of_a_turn_that_was_cut_off_stays_counted_without_its_transcript() {
    let spent = |driven: &Driven| driven.state.used().total().cost_usd;
    let reported = || {
        let mut driven = Driven::working(promise_loop());
        driven.ok(Input::SessionSeen { turn: key(1, 1), session: "s".into() });
        driven.pass(USAGE_EVERY_MS);
        driven.ok(Input::UsageSeen { turn: key(1, 1), usage: usage(0.5, 2) });
        driven
    };
    let mut cut_off = reported();
    cut_off.end_turn(TurnReport::bare(TurnOutcome::CutOff));
    assert_eq!(spent(&cut_off), Some(0.5));
    let mut abandoned = reported();
    abandoned.ok(Input::WorkspaceFailed { failure: WorkspaceFailure::Missing { message: "gone".into() } });
    assert_eq!(spent(&abandoned), Some(0.5));
    assert_eq!(abandoned.state.session_usage["s"], usage(0.5, 2), "the session's later sums include it");
}

#[test]
// promise: bounds-6
fn a_token_limit_holds_between_turns() {
    let limits = Limits { max_tokens: Some(100), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, ..promise_loop() });
    driven.end_turn_and_checkpoint(costing(0.0, 99, finished()));
    driven.end_turn_and_checkpoint(costing(0.0, 1, finished()));
    assert_eq!(driven.state.stop_reason(), Some(StopReason::Tokens { limit: 100, used: 100 }));
}

#[test]
fn a_turn_without_a_cost_figure_does_not_switch_the_budget_off() {
    let mut driven = Driven::working(budget(1.0));
    driven.end_turn_and_checkpoint(costing(0.5, 10, finished()));
    let mut unknown = costing(0.0, 10, finished());
    unknown.usage.get_mut("m").unwrap().cost_usd = None;
    driven.end_turn_and_checkpoint(unknown);
    assert_eq!(driven.state.used().total().cost_usd, None);
    driven.end_turn_and_checkpoint(costing(0.5, 10, finished()));
    assert_eq!(driven.stop_reason(), "budget");
}

#[test]
fn a_turn_that_spent_the_budget_is_not_tried_again() {
    let mut driven = Driven::working(budget(1.0));
    let rate_limited = TurnReport::bare(TurnOutcome::RateLimited { until: None, message: "later".into() });
    driven.end_turn(costing(1.5, 10, rate_limited));
    driven.pass(HOUR);
    let events = driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    assert_eq!(names(&events), ["wait_ended", "loop_stopped"]);
    assert_eq!(driven.stop_reason(), "budget");
}

#[test]
fn a_refine_loop_is_complete_at_its_count_even_if_its_last_turn_failed_when_the_gates_pass_there() {
    let mut driven = Driven::working(LoopSpec {
        done: Done::Count { iterations: 2 },
        limits: Limits::default(),
        on_failure: OnFailure::Continue,
        ..with_gates(&["cargo test"])
    });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    assert_eq!(driven.effects(), [Effect::RunGate { gate: GateKey { on: 2_u32.into(), index: 0, attempt: 1 } }]);
    assert_eq!(
        driven.judge(Verdict::Pass)[1..],
        [
            Event::IterationJudged {
                iteration: 2,
                claim: true,
                failing: vec![],
                gates: vec![GateMark::Pass],
                same: Some(1),
            },
            stopped(StopReason::Completed, true, 2, "commit-2.coder.1"),
        ]
    );
}

#[test]
fn a_refine_loop_at_its_target_with_a_file_that_is_held_back_says_so() {
    for gates in [vec![], vec!["cargo test"]] {
        let mut driven = Driven::working(LoopSpec { done: Done::Count { iterations: 1 }, ..with_gates(&gates) });
        let turn = driven.turn();
        driven.end_turn(finished());
        let files = vec!["conf.py (line 1: github-token)".to_owned()];
        let checkpoint = CheckpointReport { held_back: files.clone(), ..checkpoint_of(turn) };
        driven.ok(Input::Checkpointed { turn, checkpoint });
        if !gates.is_empty() {
            driven.judge(Verdict::Pass);
        }
        assert_eq!(driven.state.stop_reason(), Some(StopReason::HeldBack { files }));
        assert_eq!(driven.state.status(), Status::Ended { end: End::Exhausted });
    }
}

#[test]
fn a_limit_of_disk_is_raised_where_there_is_one() {
    let resources = ResourceSpec { disk_bytes: Some(10), ..ResourceSpec::default() };
    let raise = Raise { disk_bytes: 5, ..Raise::default() };
    for (resources, raised) in [(resources, Some(15)), (ResourceSpec::default(), None)] {
        let mut driven = Driven::working(LoopSpec { resources, ..with_gates(&[]) });
        driven.ok(Input::Stop);
        driven.end_turn(interrupted());
        let opened = driven.give(Input::Open { by: Opener::Resume, raise: raise.clone() });
        assert_eq!(opened.is_ok(), raised.is_some());
        assert_eq!(driven.state.spec.resources.disk_bytes, raised);
    }
}

#[test]
fn a_refine_loop_with_failing_gates_at_its_target_is_exhausted() {
    let mut driven = Driven::working(LoopSpec { done: Done::Count { iterations: 1 }, ..with_gates(&["cargo test"]) });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Fail);
    assert_eq!(driven.state.stop_reason(), Some(StopReason::GatesFailed { gates: vec!["cargo test".into()] }));
    assert_eq!(driven.state.status(), Status::Ended { end: End::Exhausted });
}

#[test]
fn a_refine_loop_whose_time_is_up_inside_a_turn_is_judged_on_what_is_there() {
    let mut driven = Driven::working(LoopSpec {
        done: Done::Duration { ms: 10 * MINUTE },
        limits: Limits::default(),
        ..with_gates(&["cargo test"])
    });
    driven.pass(10 * MINUTE);
    driven.ok(Input::TimerFired { timer: TimerKind::Duration });
    driven.end_turn_and_checkpoint(interrupted());
    driven.judge(Verdict::Pass);
    assert_eq!((driven.stop_reason(), driven.state.is_verified()), ("completed", true));
}

#[test]
fn a_refine_loop_whose_time_is_up_in_a_wait_commits_and_judges_what_is_there() {
    let mut driven = Driven::working(LoopSpec {
        done: Done::Duration { ms: 10 * MINUTE },
        limits: Limits::default(),
        ..with_gates(&["cargo test"])
    });
    let until = Some("2026-01-01T05:00:00Z".parse().unwrap());
    driven.end_turn(TurnReport::bare(TurnOutcome::RateLimited { until, message: "later".into() }));
    driven.pass(10 * MINUTE);
    assert_eq!(
        driven.ok(Input::TimerFired { timer: TimerKind::Duration }),
        [Event::WaitEnded, entered(Phase::Checkpoint, 1)]
    );
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    assert_eq!((driven.stop_reason(), driven.state.is_verified()), ("completed", true));
}

#[test]
fn a_loop_without_disk_pauses_uncommitted_and_tries_the_turn_again_when_there_is_room() {
    let mut driven = Driven::working(promise_loop());
    let message = "only 1 MiB is free".to_owned();
    assert_eq!(
        driven.ok(Input::DiskShort { turn: key(1, 1), message: message.clone() }),
        [Event::TurnInterrupted { turn: key(1, 1), why: Interrupt::Disk { message: message.clone() } }]
    );
    let paused = Event::LoopPaused { why: PauseReason::Disk { message } };
    assert_eq!(driven.end_turn(interrupted())[1..], [paused]);
    driven.ok(open(Opener::Resume));
    let events = driven.ok(workspace_opened());
    assert_eq!(names(&events), ["workspace_opened", "turn_started"]);
    assert_eq!(driven.state.turn().map(|turn| turn.key), Some(key(1, 2)), "the same iteration");
    assert_eq!(driven.state.counters.failures, 0);
}

#[test]
fn a_turn_ended_by_a_limit_of_memory_has_failed_like_any_other() {
    let spec = LoopSpec { on_failure: OnFailure::Retry { times: 3 }, ..promise_loop() };
    let mut driven = Driven::working(spec);
    let outcome = TurnOutcome::Failed { kind: ErrorKind::ResourceLimit, message: "memory_limit".into() };
    driven.end_turn(TurnReport::bare(outcome));
    assert_eq!(driven.state.counters.failures, 1);
    assert_eq!(names(&driven.checkpoint()).last(), Some(&"wait_started"));
}

#[test]
// promise: bounds-5
fn duration_ends_a_gate_and_the_baseline() {
    let limits = Limits { duration_ms: Some(3_000), max_iterations: Some(5), ..Limits::default() };
    let spec = || LoopSpec { gates: vec![gate("cargo test")], limits: limits.clone(), ..promise_loop() };
    let mut gates = Driven::working(spec());
    gates.end_turn_and_checkpoint(claimed());
    let mut with_baseline = spec();
    with_baseline.workspace.baseline = true;
    let baseline = Driven::working(with_baseline);
    let mut with_setup = spec();
    with_setup.workspace.setup = vec!["npm ci".into()];
    let setup = Driven::working(with_setup);
    for mut driven in [gates, baseline, setup] {
        let effects = driven.effects();
        let [_, Effect::SetTimer { timer }] = effects[..] else { panic!("{effects:?}") };
        assert_eq!(timer.kind, TimerKind::Duration);
        driven.now = timer.at;
        driven.ok(Input::TimerFired { timer: timer.kind });
        assert_eq!(driven.stop_reason(), "duration");
        assert_eq!(driven.effects(), [], "what ran is not wanted any more");
    }
}

#[test]
// promise: bounds-5
fn time_that_a_cut_off_turn_ran_counts_and_the_time_without_a_driver_does_not() {
    let limits = Limits { duration_ms: Some(HOUR), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, ..promise_loop() });
    let started = driven.now;
    driven.pass(10 * HOUR);
    let alive_until = Some(started + SignedDuration::from_mins(59));
    driven.ok(Input::Attach { alive_until });
    assert_eq!(driven.state.elapsed_ms, 59 * MINUTE);
    driven.pass(MINUTE);
    driven.ok(Input::TimerFired { timer: TimerKind::Duration });
}
