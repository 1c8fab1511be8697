//! What holds for every loop, whatever happens to it: checked over thousands of random input sequences.
#![allow(clippy::wildcard_enum_match_arm, reason = "a property looks at a few events and passes over the rest")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_core::agent::{ErrorKind, TurnOutcome};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Counted, Event, Input, Interrupt, Opener, Phase, Restore, SessionUse};
use windlass_core::spec::{CommitPolicy, WorkspaceKind};
use windlass_core::stop::{End, Status, StopReason};

use crate::walk::{rules, walks};

/// To look further: `PROPTEST_RNG_SEED=$RANDOM PROPTEST_CASES=100000 cargo test -p windlass-core --test machine properties`.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    // promise: recovery-8
    fn replay_equals_live(walk in walks()) {
        rules::replay_equals_live(&walk)?;
    }

    #[test]
    // promise: done-12
    fn completed_is_absorbing_and_other_ends_accept_only_to_be_opened_again(walk in walks()) {
        rules::completed_is_absorbing_and_other_ends_accept_only_to_be_opened_again(&walk)?;
    }

    #[test]
    // promise: bounds-2
    fn limits_are_never_exceeded(walk in walks()) {
        rules::limits_are_never_exceeded(&walk)?;
    }

    #[test]
    // promise: recovery-9
    fn an_answer_is_accepted_when_it_is_wanted_and_refused_when_it_is_stale(walk in walks()) {
        rules::an_answer_is_accepted_when_it_is_wanted_and_refused_when_it_is_stale(&walk)?;
    }

    #[test]
    // promise: done-11
    fn every_stretch_has_exactly_one_stop_reason(walk in walks()) {
        rules::every_stretch_has_exactly_one_stop_reason(&walk)?;
    }

    #[test]
    fn a_loop_wants_something_exactly_when_it_is_under_way(walk in walks()) {
        rules::a_loop_wants_something_exactly_when_it_is_under_way(&walk)?;
    }

    #[test]
    fn a_turn_starts_at_most_once_and_attempts_and_iterations_are_counted_without_holes(walk in walks()) {
        let mut last: Option<TurnKey> = None;
        for (_, event) in walk.events() {
            let Event::TurnStarted { turn, turn_id, .. } = event else { continue };
            let next = match last {
                None => crate::driven::key(1, 1),
                Some(last) if last.iteration == turn.iteration => last.next_attempt(),
                Some(last) => crate::driven::key(last.iteration + 1, 1),
            };
            prop_assert_eq!(*turn, next);
            prop_assert_eq!(turn_id, &format!("l1.{turn}"));
            last = Some(*turn);
        }
    }

    #[test]
    fn no_more_claims_are_refused_than_made(walk in walks()) {
        rules::no_more_claims_are_refused_than_made(&walk)?;
    }

    #[test]
    // promise: context-11
    fn steering_is_told_once_unless_its_turn_is_tried_again_and_never_lost(walk in walks()) {
        let mut pending: Vec<String> = Vec::new();
        let mut told: Vec<String> = Vec::new();
        let mut closing: Vec<String> = Vec::new();
        for given in &walk.given {
            for event in given.events() {
                match event {
                    Event::SteeringQueued { id, .. } => pending.push(id.clone()),
                    Event::TurnStarted { steering, .. } => {
                        prop_assert_eq!(sorted(steering), sorted(&pending), "a turn is told all that is pending");
                        told = std::mem::take(&mut pending);
                    }
                    Event::TurnEnded { report, .. } => {
                        let interrupt = given.before.turn().and_then(|turn| turn.interrupt.clone());
                        if is_tried_again(&report.outcome, interrupt.as_ref()) {
                            pending.append(&mut told);
                        }
                        closing = std::mem::take(&mut told);
                    }
                    Event::Checkpointed { .. } => closing.clear(),
                    // A turn whose work is lost is told again.
                    Event::LoopMoved { .. } if given.before.turn().is_none() => pending.append(&mut closing),
                    // A loop that rests without waiting for its turn tells it again.
                    Event::LoopStopped { .. } | Event::LoopPaused { .. } => pending.append(&mut told),
                    _ => {}
                }
            }
            let undelivered: Vec<String> =
                given.after.undelivered_steering().map(|message| message.id.clone()).collect();
            prop_assert_eq!(sorted(&undelivered), sorted(&pending));
        }
    }

    #[test]
    fn a_turn_that_came_to_no_end_is_tried_again_in_the_same_iteration(walk in walks()) {
        let mut due: Option<TurnKey> = None;
        for (given, event) in walk.events() {
            match event {
                Event::TurnEnded { turn, report, .. } => {
                    let interrupt = given.before.turn().and_then(|turn| turn.interrupt.clone());
                    due = is_tried_again(&report.outcome, interrupt.as_ref()).then_some(*turn);
                }
                // The target of the loop was reached before the turn was tried again.
                Event::Checkpointed { .. } | Event::IterationJudged { .. } => due = None,
                // A person went back to before it.
                Event::RolledBack { .. } => due = None,
                Event::TurnStarted { turn, .. } => {
                    if let Some(due) = due.take() {
                        prop_assert_eq!(*turn, due.next_attempt());
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    // promise: recovery-6
    fn the_third_cut_off_in_a_row_ends_the_loop(walk in walks()) {
        let mut row = 0;
        let mut last_end = None;
        for given in &walk.given {
            for event in given.events() {
                match event {
                    Event::TurnEnded { counts_as, .. } => {
                        row = if *counts_as == Counted::CutOff { row + 1 } else { 0 };
                        if row == 3 {
                            let asked_to_stop = given.before.wish.is_some();
                            let ended = given.after.stop_reason() == Some(StopReason::CutOff { times: 3 });
                            prop_assert!(ended || asked_to_stop, "{:?}", given.after.status());
                        }
                        prop_assert!(row <= 3 || given.after.status().is_ended());
                    }
                    Event::LoopStopped { status, .. } => last_end = Some(*status),
                    Event::RolledBack { .. } => row = 0,
                    Event::LoopOpened { by, .. } => {
                        let ended_by_itself = matches!(last_end.take(), Some(End::Errored | End::Stalled));
                        let anew = matches!(by, Opener::Restart | Opener::Continue);
                        row = if anew || ended_by_itself { 0 } else { row };
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn the_work_of_a_turn_that_is_not_tried_again_is_committed_before_the_next_turn(walk in walks()) {
        if walk.driven.state.spec.workspace.kind == WorkspaceKind::External {
            return Ok(());
        }
        let mut uncommitted = None;
        for (given, event) in walk.events() {
            match event {
                Event::TurnEnded { turn, report, .. } => {
                    let interrupt = given.before.turn().and_then(|turn| turn.interrupt.clone());
                    uncommitted = (!is_tried_again(&report.outcome, interrupt.as_ref())).then_some(*turn);
                }
                Event::Checkpointed { turn, .. } if Some(*turn) == uncommitted => uncommitted = None,
                // What was undone is saved elsewhere; what was lost is done again.
                Event::RolledBack { .. } | Event::LoopMoved { .. } => uncommitted = None,
                Event::TurnStarted { .. } => prop_assert_eq!(uncommitted, None),
                _ => {}
            }
        }
        let mut closed = BTreeSet::new();
        for record in &walk.driven.state.iterations {
            prop_assert!(closed.insert(record.turn), "{} was closed twice", record.turn);
        }
    }

    #[test]
    // promise: done-1
    fn a_completed_loop_is_verified_by_every_gate_on_the_commit_it_records(walk in walks()) {
        for (given, event) in walk.events() {
            let Event::LoopStopped { status: End::Completed, verified, head_commit, .. } = event else { continue };
            let state = &given.after;
            prop_assert!(!*verified || !state.spec.gates.is_empty());
            prop_assert_eq!(state.gates.len(), state.spec.gates.len());
            for gate in state.gates.values() {
                prop_assert!(gate.verdict.passed());
                prop_assert_eq!(&gate.commit, head_commit);
            }
        }
    }

    #[test]
    fn a_promise_loop_completes_only_by_a_claim_of_a_finished_turn(walk in walks()) {
        for (given, event) in walk.events() {
            let Event::LoopStopped { status: End::Completed, .. } = event else { continue };
            if given.after.spec.done.promise().is_some() {
                let last = given.after.last_turn.as_ref().unwrap();
                prop_assert!(last.report.claim && last.report.outcome.is_finished());
                prop_assert_eq!(given.after.undelivered_steering().count(), 0);
            }
        }
    }

    #[test]
    // promise: control-2
    fn after_a_stop_or_a_pause_is_asked_for_no_turn_starts(walk in walks()) {
        rules::after_a_stop_or_a_pause_is_asked_for_no_turn_starts(&walk)?;
    }

    #[test]
    fn tree_and_memory_of_the_agent_move_together(walk in walks()) {
        let mut restored = Restore::Keep;
        let mut known: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for given in &walk.given {
            let spec = &given.before.spec;
            if let Input::WorkspaceOpened { .. } = given.input {
                restored = given.before.restore();
                let never = spec.commit == CommitPolicy::Off || spec.workspace.kind == WorkspaceKind::InPlace;
                prop_assert!(!never || restored == Restore::Keep);
            }
            for event in given.events() {
                match event {
                    Event::SessionFound { turn, session } => {
                        known.entry(turn.iteration).or_default().insert(session.clone());
                    }
                    Event::TurnEnded { turn, report, .. } => {
                        known.entry(turn.iteration).or_default().extend(report.session.clone());
                    }
                    Event::TurnStarted { turn, session, recovery, .. } if turn.attempt > 1 => match (&restored, session) {
                        (Restore::Reset { .. }, SessionUse::Resume { .. }) => prop_assert!(false, "put back under a session"),
                        (Restore::Reset { .. }, _) => prop_assert!(!recovery, "nothing is left to recover"),
                        (Restore::Keep, SessionUse::Resume { session })
                            if spec.session == windlass_core::spec::SessionPolicy::Fresh =>
                        {
                            let own = known.get(&turn.iteration).is_some_and(|sessions| sessions.contains(session));
                            prop_assert!(own, "{turn} goes on in a session of an earlier iteration");
                        }
                        (Restore::Keep, _) => {}
                    },
                    _ => {}
                }
            }
        }
    }

    #[test]
    // promise: gates-5
    fn what_could_not_be_tried_is_no_verdict(walk in walks()) {
        rules::what_could_not_be_tried_is_no_verdict(&walk)?;
    }

    #[test]
    // promise: questions-3
    fn open_questions_hold_the_next_iteration(walk in walks()) {
        rules::open_questions_hold_the_next_iteration(&walk)?;
    }

    #[test]
    // promise: done-8
    fn only_judged_changes_on_a_commit_are_verified(walk in walks()) {
        rules::only_judged_changes_on_a_commit_are_verified(&walk)?;
    }

    #[test]
    fn a_decision_is_a_function_of_its_arguments(walk in walks()) {
        rules::a_decision_is_a_function_of_its_arguments(&walk)?;
    }
}

/// The walks are worth nothing if they do not get around.
#[test]
fn the_walks_reach_every_event_every_end_every_phase_and_every_refusal() {
    let mut runner = TestRunner::deterministic();
    let mut missing: BTreeSet<String> = [
        // `Decide` is passed, never rested in.
        "prepare checkpoint gates work",
        "queued running waiting paused completed exhausted cancelled stalled errored",
        "Stale Ended Completed UnderWay NotUnderWay LimitStands AlreadyAsked NoSuchLimit NoSession",
        "completed max_iterations duration budget tokens gates_failed cancelled stall no_progress agent_failed",
        "agent_missing error_max_retries workspace_missing cut_off",
        "loop_created loop_opened driver_attached phase_entered workspace_opened iteration_started turn_started",
        "session_found usage_reported turn_interrupted turn_ended session_lost checkpointed gate_ended iteration_judged",
        "claim_refused progress_stalled wait_started wait_ended pause_requested loop_paused stop_requested",
        "question_asked question_answered NoQuestion Answered WhichQuestion",
        "steering_queued loop_stopped not_tried merged loop_queued queue_left loop_moved",
    ]
    .iter()
    .flat_map(|names| names.split(' ').map(str::to_owned))
    .collect();
    for _ in 0..40_000 {
        let walk = walks().new_tree(&mut runner).unwrap().current();
        for (_, event) in &walk.driven.journal {
            missing.remove(event.name());
            if let Event::LoopStopped { stop_reason, .. } = event {
                missing.remove(stop_reason.name());
            }
        }
        for given in &walk.given {
            missing.remove(given.before.status().name());
            if given.after.status() == Status::Running {
                missing.remove(given.after.phase().name());
                assert_ne!(given.after.phase(), Phase::Decide);
            }
            if let Err(refusal) = &given.result {
                missing.remove(format!("{refusal:?}").split([' ', '{']).next().unwrap());
            }
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("no walk came to {missing:?}");
}

/// The rule in its own words, not the machine's.
fn is_tried_again(outcome: &TurnOutcome, interrupt: Option<&Interrupt>) -> bool {
    let ended_for_good = match outcome {
        TurnOutcome::Finished => true,
        TurnOutcome::Failed { kind, .. } => {
            matches!(kind, ErrorKind::Other | ErrorKind::ModelNotFound | ErrorKind::ContextOverflow)
        }
        TurnOutcome::Interrupted => matches!(interrupt, Some(Interrupt::TurnTimeout | Interrupt::Limit { .. })),
        TurnOutcome::RateLimited { .. }
        | TurnOutcome::NotStarted { .. }
        | TurnOutcome::NotTried { .. }
        | TurnOutcome::CutOff => false,
    };
    !ended_for_good
}

fn sorted(ids: &[String]) -> BTreeSet<&String> {
    ids.iter().collect()
}
