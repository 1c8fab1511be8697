//! The promise loop, walked: claims, gates, sessions, progress.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at a few events and passes over the rest")]

use crate::driven::*;
use windlass_core::agent::TurnReport;
use windlass_core::machine::{
    CheckpointReport, Counted, Effect, Event, GateKey, GateMark, Input, Merge, MergeObstacle, Opener, Phase, Raise,
    Refusal, RefusedBecause, RefusedMerge, Restore, SessionUse, Smaller, StallStep, Timer, TimerKind, Verdict,
};
use windlass_core::prompt::Facts;
use windlass_core::spec::{CommitPolicy, Done, Limits, LoopSpec, OnLimit, SessionPolicy, WorkspaceKind};
use windlass_core::stop::{End, Outcome, PauseReason, Status, StopReason};
use windlass_core::usage::Usage;

fn with_gates(commands: &[&str]) -> LoopSpec {
    LoopSpec { gates: commands.iter().map(|command| gate(command)).collect(), ..promise_loop() }
}

fn at_most(max_iterations: u32) -> LoopSpec {
    LoopSpec { limits: Limits { max_iterations: Some(max_iterations), ..Limits::default() }, ..promise_loop() }
}

fn entered(phase: Phase, iteration: u32) -> Event {
    Event::PhaseEntered { phase, iteration }
}

fn turn_started(iteration: u32, session: SessionUse) -> Event {
    let turn = key(iteration, 1);
    Event::TurnStarted {
        turn,
        turn_id: format!("l1.{turn}"),
        session,
        steering: vec![],
        answers: vec![],
        agent: 0,
        recovery: false,
    }
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

fn checkpointed(iteration: u32) -> Event {
    let turn = key(iteration, 1);
    let summary = Some("Changed 1 file: src/lib.rs.".into());
    Event::Checkpointed { turn, checkpoint: checkpoint_of(turn), summary }
}

fn judged(iteration: u32, claim: bool, failing: &[&str], gates: &[GateMark]) -> Event {
    let failing = failing.iter().map(|gate| (*gate).to_owned()).collect();
    Event::IterationJudged { iteration, claim, failing, gates: gates.to_vec(), same: Some(1) }
}

#[test]
// promise: done-1
fn a_claim_that_every_gate_confirms_completes_the_loop() {
    let mut driven = Driven::created(with_gates(&["cargo test", "cargo fmt --check"]));
    assert_eq!(
        driven.start(),
        [
            Event::LoopOpened { by: Opener::Start, raise: Default::default(), goal: None, target: None },
            entered(Phase::Prepare, 0),
        ]
    );
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore: Restore::Keep }]);
    assert_eq!(
        driven.ok(workspace_opened()),
        [
            Event::WorkspaceOpened { opening: opening() },
            Event::IterationStarted { iteration: 1 },
            turn_started(1, SessionUse::Fresh),
        ]
    );
    let timeout = Timer { kind: TimerKind::TurnTimeout(key(1, 1)), at: "2026-01-01T01:00:00Z".parse().unwrap() };
    assert_eq!(
        driven.effects(),
        [Effect::RunTurn { turn: key(1, 1), session: SessionUse::Fresh }, Effect::SetTimer { timer: timeout },]
    );
    assert_eq!(
        driven.end_turn(claimed()),
        [
            Event::TurnEnded { turn: key(1, 1), report: claimed(), again: false, counts_as: Counted::Finished },
            entered(Phase::Checkpoint, 1)
        ]
    );
    assert_eq!(driven.effects(), [Effect::Checkpoint { turn: key(1, 1) }]);
    assert_eq!(driven.checkpoint(), [checkpointed(1), entered(Phase::Gates, 1)]);
    let first = GateKey { on: 1_u32.into(), index: 0, attempt: 1 };
    assert_eq!(driven.effects(), [Effect::RunGate { gate: first.clone() }]);
    let report = driven.gate_report(Verdict::Pass);
    assert_eq!(driven.judge(Verdict::Pass), [Event::GateEnded { gate: first, report, counts: true }]);
    let second = GateKey { on: 1_u32.into(), index: 1, attempt: 1 };
    assert_eq!(driven.effects(), [Effect::RunGate { gate: second.clone() }]);
    let report = driven.gate_report(Verdict::Pass);
    assert_eq!(
        driven.judge(Verdict::Pass),
        [
            Event::GateEnded { gate: second, report, counts: true },
            judged(1, true, &[], &[GateMark::Pass; 2]),
            stopped(StopReason::Completed, true, 1, "commit-1.coder.1"),
        ]
    );
    assert_eq!(driven.effects(), []);
    assert_eq!((driven.state.claims.made, driven.state.claims.refused), (1, 0));
}

#[test]
fn a_claim_without_gates_completes_the_loop_unverified() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(claimed());
    assert_eq!(
        driven.checkpoint(),
        [checkpointed(1), judged(1, true, &[], &[]), stopped(StopReason::Completed, false, 1, "commit-1.coder.1"),]
    );
    assert!(!driven.state.is_verified());
}

#[test]
// promise: sessions-1
fn a_turn_without_a_claim_is_followed_by_another_in_the_same_session() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn(finished());
    assert_eq!(
        driven.checkpoint()[1..],
        [judged(1, false, &[], &[]), Event::IterationStarted { iteration: 2 }, turn_started(2, resumed()),]
    );
}

#[test]
fn a_decision_shares_the_history_and_copies_only_what_it_changes() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(finished());
    let before = driven.state.clone();
    driven.end_turn(finished());
    assert!(driven.state.iterations.is_same_as(&before.iterations), "the turn's end adds no iteration");
    assert!(driven.state.spec.is_same_as(&before.spec));
    driven.checkpoint();
    assert_eq!(driven.state.iterations.len(), 2);
    assert!(driven.state.iterations[0].is_same_as(&before.iterations[0]), "an older iteration is not copied");
}

#[test]
// promise: work-10
fn a_claim_is_refused_while_a_file_is_held_back_and_the_agent_is_told() {
    let mut driven = Driven::working(with_gates(&["cargo test"]));
    driven.end_turn(claimed());
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    let files = vec!["conf.py (line 1: github-token)".to_owned()];
    let checkpoint = CheckpointReport { held_back: files.clone(), ..checkpoint_of(turn) };
    driven.ok(Input::Checkpointed { turn, checkpoint });
    let events = driven.judge(Verdict::Pass);
    assert!(events.contains(&Event::ClaimRefused { iteration: 1, because: RefusedBecause::HeldBack { files } }));
    let prompt = windlass_core::prompt::build(&driven.state, &Facts::default(), &|text| text.len());
    assert!(prompt.contains("- conf.py (line 1: github-token)"), "{prompt}");
    assert!(!prompt.contains("message"), "nobody sent one: {prompt}");
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.stop_reason(), "completed");
}

#[test]
// promise: done-2
fn a_claim_that_a_gate_refuses_is_journalled_and_the_loop_goes_on_until_the_gate_agrees() {
    let mut driven = Driven::working(with_gates(&["cargo test"]));
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(
        driven.judge(Verdict::Fail)[1..],
        [
            judged(1, true, &["cargo test"], &[GateMark::Fail]),
            Event::ClaimRefused { iteration: 1, because: RefusedBecause::Gates { failing: vec!["cargo test".into()] } },
            Event::IterationStarted { iteration: 2 },
            turn_started(2, resumed()),
        ]
    );
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(
        driven.judge(Verdict::Pass)[1..],
        [judged(2, true, &[], &[GateMark::Pass]), stopped(StopReason::Completed, true, 2, "commit-2.coder.1"),]
    );
    assert_eq!((driven.state.claims.made, driven.state.claims.refused), (2, 1));
}

#[test]
// promise: gates-5
fn a_gate_that_times_out_or_cannot_be_started_refuses_a_claim_too() {
    for verdict in [Verdict::TimedOut, Verdict::NotStarted] {
        let mut driven = Driven::working(with_gates(&["cargo test"]));
        driven.end_turn_and_checkpoint(claimed());
        assert!(names(&driven.judge(verdict)).contains(&"claim_refused"), "{verdict:?}");
    }
}

#[test]
fn gates_that_pass_without_a_claim_do_not_complete_a_promise_loop() {
    let mut driven = Driven::working(with_gates(&["cargo test"]));
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    assert_eq!((driven.state.iteration, driven.state.phase()), (2, Phase::Work));
}

#[test]
// promise: done-9
fn without_a_promise_the_end_of_each_turn_is_the_claim_of_a_gates_loop() {
    let mut driven = Driven::working(LoopSpec { done: Done::Gates, ..with_gates(&["cargo test"]) });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Fail);
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.status(), Status::Ended { end: End::Completed });
    assert_eq!((driven.state.claims.made, driven.state.claims.refused), (2, 1));
}

#[test]
// promise: bounds-2
fn at_most_three_iterations_are_exactly_three_runs() {
    let mut driven = Driven::working(at_most(3));
    for _ in 0..2 {
        driven.end_turn_and_checkpoint(finished());
    }
    driven.end_turn(finished());
    assert_eq!(
        driven.checkpoint()[1..],
        [judged(3, false, &[], &[]), stopped(StopReason::MaxIterations { max: 3 }, false, 3, "commit-3.coder.1"),]
    );
    let runs = driven.journal.iter().filter(|(_, event)| event.name() == "turn_started").count();
    assert_eq!(runs, 3);
}

#[test]
// promise: bounds-3
fn a_claim_in_the_last_allowed_iteration_completes_and_is_no_limit() {
    let mut driven = Driven::working(at_most(1));
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(driven.state.stop_reason(), Some(StopReason::Completed));
}

#[test]
// promise: done-9
fn a_loop_without_a_promise_ends_as_exhausted_and_not_as_if_all_were_well() {
    let mut driven = Driven::working(LoopSpec { done: Done::Promise { promise: None }, ..at_most(2) });
    driven.end_turn_and_checkpoint(finished());
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(driven.state.status(), Status::Ended { end: End::Exhausted });
}

#[test]
// promise: bounds-10
fn a_limit_can_ask_a_person_instead_of_ending_the_loop() {
    let mut driven = Driven::working(LoopSpec { on_limit: OnLimit::Pause, ..at_most(1) });
    driven.end_turn_and_checkpoint(finished());
    let limit = StopReason::MaxIterations { max: 1 };
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Limit { limit } });
}

#[test]
// promise: bounds-14
fn the_same_tree_with_the_same_failing_gates_is_nudged_then_started_afresh_then_ended() {
    let mut driven = Driven::working(LoopSpec {
        limits: Limits { max_iterations: Some(100), ..Limits::default() },
        ..with_gates(&["cargo test"])
    });
    let mut steps = Vec::new();
    for iteration in 1..=8 {
        driven.end_turn(finished());
        let turn = key(iteration, 1);
        let unchanged = checkpoint_of(key(1, 1));
        driven.ok(Input::Checkpointed { turn, checkpoint: unchanged });
        for event in driven.judge(Verdict::Fail) {
            match event {
                Event::ProgressStalled { iterations, step } => steps.push((iterations, step)),
                Event::TurnStarted { turn, session, .. } => {
                    assert_eq!(session == SessionUse::FreshInstead, turn.iteration == 6, "{turn}");
                }
                _ => {}
            }
        }
    }
    assert_eq!(steps, [(3, StallStep::Nudge), (5, StallStep::FreshSession), (8, StallStep::Stop)]);
    assert_eq!(driven.state.stop_reason(), Some(StopReason::NoProgress { iterations: 8 }));
    assert_eq!(driven.state.status(), Status::Ended { end: End::Stalled });
}

#[test]
fn a_changed_tree_or_other_failing_gates_are_progress() {
    let mut driven = Driven::working(LoopSpec {
        limits: Limits { max_iterations: Some(100), ..Limits::default() },
        ..with_gates(&["cargo test"])
    });
    for _ in 0..20 {
        driven.end_turn_and_checkpoint(finished());
        driven.judge(Verdict::Fail);
    }
    assert_eq!(driven.state.status(), Status::Running);
    assert_eq!(driven.state.counters.same, 1);
}

#[test]
// promise: sessions-4
fn a_resume_policy_without_a_known_session_starts_a_fresh_one_and_says_so() {
    let mut driven = Driven::working(promise_loop());
    let events = driven.end_turn_and_checkpoint(TurnReport { session: None, ..finished() });
    assert_eq!(events.last(), Some(&turn_started(2, SessionUse::FreshInstead)));
}

#[test]
// promise: sessions-1
fn the_session_is_the_one_the_run_reports_also_while_it_runs() {
    let mut driven = Driven::working(promise_loop());
    let turn = key(1, 1);
    assert_eq!(
        driven.ok(Input::SessionSeen { turn, session: "s7".into() }),
        [Event::SessionFound { turn, session: "s7".into() }]
    );
    assert_eq!(driven.ok(Input::SessionSeen { turn, session: "s7".into() }), []);
    let events = driven.end_turn_and_checkpoint(TurnReport { session: None, ..finished() });
    assert_eq!(events.last(), Some(&turn_started(2, SessionUse::Resume { session: "s7".into() })));
}

#[test]
// promise: sessions-2
fn a_fresh_policy_starts_every_turn_in_a_session_of_its_own() {
    let mut driven = Driven::working(LoopSpec { session: SessionPolicy::Fresh, ..promise_loop() });
    let events = driven.end_turn_and_checkpoint(finished());
    assert_eq!(events.last(), Some(&turn_started(2, SessionUse::Fresh)));
}

/// The loop after a claim on this checkpoint, with every gate passing.
fn completed(spec: LoopSpec, checkpoint: CheckpointReport) -> Driven {
    let gates = spec.gates.len();
    let mut driven = Driven::working(spec);
    driven.end_turn(claimed());
    driven.ok(Input::Checkpointed { turn: key(1, 1), checkpoint });
    for _ in 0..gates {
        driven.judge(Verdict::Pass);
    }
    assert_eq!(driven.stop_reason(), "completed");
    driven
}

fn nothing_changed() -> CheckpointReport {
    CheckpointReport {
        commit: Some("base".into()),
        tree: "tree-base".into(),
        files: Vec::new(),
        files_changed: 0,
        created: false,
        ..checkpoint_of(key(1, 1))
    }
}

#[test]
// promise: done-8
fn completed_loop_has_an_outcome_that_only_judged_changes_on_a_commit_make_verified() {
    let gated = || LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() };
    let mut in_place = gated();
    in_place.workspace.kind = WorkspaceKind::InPlace;
    let no_commits = LoopSpec { commit: CommitPolicy::Off, ..gated() };
    let uncommitted = CheckpointReport { commit: None, created: false, ..checkpoint_of(key(1, 1)) };
    let cases = [
        (gated(), checkpoint_of(key(1, 1)), Outcome::Verified),
        (promise_loop(), checkpoint_of(key(1, 1)), Outcome::Claimed),
        (gated(), nothing_changed(), Outcome::Unchanged),
        (promise_loop(), nothing_changed(), Outcome::Unchanged),
        (in_place, checkpoint_of(key(1, 1)), Outcome::CheckedInPlace),
        (no_commits, uncommitted, Outcome::CheckedInPlace),
    ];
    for (spec, checkpoint, outcome) in cases {
        let driven = completed(spec, checkpoint);
        assert_eq!(driven.state.outcome(), Some(outcome));
        assert_eq!(driven.state.is_verified(), outcome == Outcome::Verified);
    }
}

#[test]
fn smaller_commit_is_recorded_once_and_only_for_the_last_one() {
    let mut driven = completed(promise_loop(), checkpoint_of(key(1, 1)));
    let head = driven.state.head_commit().unwrap().to_owned();
    let smaller = Smaller { commit: "s1".into(), head, kept: 1, hunks: 3 };
    assert_eq!(names(&driven.ok(Input::Minimised { smaller: smaller.clone() })), ["minimised"]);
    assert_eq!(names(&driven.ok(Input::Minimised { smaller: smaller.clone() })), [""; 0]);
    assert_eq!((driven.state.smaller.clone(), driven.state.outcome()), (Some(smaller.clone()), Some(Outcome::Claimed)));
    let stale = Smaller { head: "another".into(), ..smaller.clone() };
    assert_eq!(driven.refused(Input::Minimised { smaller: stale }), Refusal::Stale);
    let mut driven = Driven::working(promise_loop());
    assert_eq!(driven.refused(Input::Minimised { smaller }), Refusal::UnderWay);
}

#[test]
fn merge_is_recorded_beside_the_outcome() {
    let mut driven = completed(promise_loop(), checkpoint_of(key(1, 1)));
    let merge = Merge { commit: "m1".into(), target: "main".into() };
    assert_eq!(names(&driven.ok(Input::Merged { merge: merge.clone() })), ["merged"]);
    assert_eq!(names(&driven.ok(Input::Merged { merge: merge.clone() })), [""; 0]);
    assert_eq!((driven.state.merged.clone(), driven.state.outcome()), (Some(merge.clone()), Some(Outcome::Claimed)));
    let mut driven = Driven::working(promise_loop());
    assert_eq!(driven.refused(Input::Merged { merge }), Refusal::UnderWay);
}

#[test]
// promise: api-11
fn refused_merge_is_kept_until_the_work_is_merged_or_goes_on() {
    let refused = RefusedMerge {
        target: "main".into(),
        why: MergeObstacle::Gate { command: "cargo test".into(), output_tail: "1 failed\n".into() },
    };
    let note = || Input::MergeRefused { refused: refused.clone() };
    let mut driven = completed(promise_loop(), checkpoint_of(key(1, 1)));
    assert_eq!(names(&driven.ok(note())), ["merge_refused"]);
    assert_eq!(names(&driven.ok(note())), [""; 0], "the same once more is no news");
    assert_eq!(driven.state.merge_refused, Some(refused.clone()));
    driven.ok(Input::Merged { merge: Merge { commit: "m1".into(), target: "main".into() } });
    assert_eq!(driven.state.merge_refused, None);
    driven.ok(note());
    driven.ok(Input::Continue { goal: None, target: None, raise: Raise::default() });
    assert_eq!(driven.state.merge_refused, None);
    assert_eq!(Driven::working(promise_loop()).refused(note()), Refusal::UnderWay);
}

#[test]
// promise: bounds-14
fn turns_that_change_nothing_and_say_nothing_new_end_the_loop_without_a_gate() {
    let same_words = || TurnReport { last_words: "Working on it.".into(), ..finished() };
    for report in [finished, same_words] as [fn() -> TurnReport; 2] {
        let mut driven = Driven::working(LoopSpec {
            limits: Limits { max_iterations: Some(50), ..Limits::default() },
            ..promise_loop()
        });
        while driven.state.is_open() {
            let turn = driven.turn();
            driven.end_turn(report());
            driven.ok(Input::Checkpointed { turn, checkpoint: nothing_changed() });
        }
        assert_eq!((driven.stop_reason(), driven.state.iteration), ("no_progress", 8));
    }
}

#[test]
fn turns_that_say_something_new_are_progress() {
    let mut driven = Driven::working(LoopSpec {
        limits: Limits { max_iterations: Some(12), ..Limits::default() },
        ..promise_loop()
    });
    while driven.state.is_open() {
        let turn = driven.turn();
        driven.end_turn(TurnReport { last_words: format!("Read file {}.", turn.iteration), ..finished() });
        driven.ok(Input::Checkpointed { turn, checkpoint: nothing_changed() });
    }
    assert_eq!((driven.stop_reason(), driven.state.iteration), ("max_iterations", 12));
}

#[test]
// promise: done-12
fn continue_reopens_a_completed_loop_with_as_many_iterations_again() {
    let mut driven = completed(LoopSpec { gates: vec![gate("cargo test")], ..at_most(3) }, checkpoint_of(key(1, 1)));
    driven.ok(Input::Merged { merge: Merge { commit: "m1".into(), target: "main".into() } });
    let events =
        driven.ok(Input::Continue { goal: Some("Now the docs".into()), target: None, raise: Raise::default() });
    assert_eq!(names(&events), ["loop_opened", "phase_entered"]);
    assert_eq!((driven.state.outcome(), &driven.state.merged, driven.state.gates.len()), (None, &None, 0));
    assert_eq!(driven.state.iteration_limit(), Some(4), "three more, as the first stretch had");
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), key(2, 1), "iterations keep counting");
    let prompt = windlass_core::prompt::build(&driven.state, &Facts::default(), &|text| text.len());
    assert!(prompt.starts_with("Now the docs"), "{prompt}");
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.outcome(), Some(Outcome::Verified), "the new claim is judged anew");
    driven.ok(Input::Continue { goal: None, target: None, raise: Raise::default() });
    assert_eq!((driven.state.iteration_limit(), driven.state.spec.goal.as_str()), (Some(5), "Now the docs"));
}

#[test]
// promise: done-12
fn continue_is_refused_unless_the_loop_is_completed() {
    let go_on = || Input::Continue { goal: None, target: None, raise: Raise::default() };
    let mut driven = Driven::created(promise_loop());
    assert_eq!(driven.refused(go_on()), Refusal::NotCompleted);
    driven.start();
    assert_eq!(driven.refused(go_on()), Refusal::UnderWay);
    driven.ok(Input::Stop);
    assert_eq!(driven.refused(go_on()), Refusal::NotCompleted);
}

#[test]
// promise: gates-4
fn replay_of_a_flaky_gate_takes_what_was_decided_then() {
    let mut driven = Driven::working(with_gates(&["cargo test"]));
    driven.end_turn_and_checkpoint(finished());
    let gate = GateKey { on: 1_u32.into(), index: 0, attempt: 1 };
    let report = driven.gate_report(Verdict::Fail);
    let ended = Event::GateEnded { gate, report, counts: false };
    let state = windlass_core::machine::evolve(driven.state.clone(), driven.now, &ended);
    assert!(state.gates.is_empty(), "whatever this release would decide");
}
