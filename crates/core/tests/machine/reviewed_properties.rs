//! What holds for every loop in which somebody judges the work, whatever happens to it.
#![allow(clippy::wildcard_enum_match_arm, reason = "a property looks at a few events and passes over the rest")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_core::findings::Scope;
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Aim, Event, Opinion, Phase, ReviewEvent};
use windlass_core::stop::{End, Status};

use crate::walk::reviewed::reviewed_walks;
use crate::walk::{Walk, rules};

/// To look further: `PROPTEST_RNG_SEED=$RANDOM PROPTEST_CASES=100000 cargo test -p windlass-core --test machine reviewed_properties`.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// All rules look at the same walks: walking costs more than looking.
    #[test]
    fn a_reviewed_loop_keeps_every_rule(walk in reviewed_walks()) {
        what_holds_for_every_loop_holds_for_a_reviewed_one(&walk)?;
        turns_are_counted_without_holes_for_each_role(&walk)?;
        a_loop_is_completed_only_after_a_reviewer_agreed_to_what_is_recorded(&walk)?;
        nothing_that_blocks_is_open_and_every_gate_passes_when_a_loop_is_completed(&walk)?;
        sections_are_finished_in_order_and_each_once(&walk)?;
        a_person_is_asked_after_so_many_rejections_in_a_row_and_not_before(&walk)?;
        who_works_is_the_one_that_the_journal_names(&walk)?;
    }
}

fn what_holds_for_every_loop_holds_for_a_reviewed_one(walk: &Walk) -> Result<(), TestCaseError> {
    rules::replay_equals_live(walk)?;
    rules::completed_is_absorbing_and_other_ends_accept_only_to_be_opened_again(walk)?;
    rules::limits_are_never_exceeded(walk)?;
    rules::an_answer_is_accepted_when_it_is_wanted_and_refused_when_it_is_stale(walk)?;
    rules::every_stretch_has_exactly_one_stop_reason(walk)?;
    rules::a_loop_wants_something_exactly_when_it_is_under_way(walk)?;
    rules::no_more_claims_are_refused_than_made(walk)?;
    rules::after_a_stop_or_a_pause_is_asked_for_no_turn_starts(walk)?;
    rules::what_could_not_be_tried_is_no_verdict(walk)?;
    rules::only_judged_changes_on_a_commit_are_verified(walk)?;
    rules::open_questions_hold_the_next_iteration(walk)?;
    rules::a_decision_is_a_function_of_its_arguments(walk)
}

fn turns_are_counted_without_holes_for_each_role(walk: &Walk) -> Result<(), TestCaseError> {
    let mut started = BTreeSet::new();
    let mut last: BTreeMap<Role, u32> = BTreeMap::new();
    for (_, event) in walk.events() {
        let Event::TurnStarted { turn, .. } = event else { continue };
        prop_assert!(started.insert(*turn), "{turn} started twice");
        if turn.attempt > 1 {
            prop_assert!(started.contains(&TurnKey { attempt: turn.attempt - 1, ..*turn }), "{turn} has a hole");
        }
        let before = last.insert(turn.role, turn.iteration).unwrap_or(0);
        prop_assert!(turn.iteration >= before, "{turn} goes back");
        if turn.role == Role::Coder {
            prop_assert!(turn.iteration <= before + 1, "{turn} leaves iterations out");
        }
    }
    Ok(())
}

fn a_loop_is_completed_only_after_a_reviewer_agreed_to_what_is_recorded(walk: &Walk) -> Result<(), TestCaseError> {
    let mut agreed = None;
    for given in &walk.given {
        let head = || given.after.head_commit().map(str::to_owned);
        for event in given.events() {
            match event {
                Event::Review(ReviewEvent::Reviewed { ruling: Opinion::Clean { .. } | Opinion::Accepted, .. })
                    if given.before.review.as_ref().unwrap().aim() == Aim::Whole =>
                {
                    agreed = Some(head());
                }
                Event::Review(ReviewEvent::Reviewed { .. })
                | Event::IterationStarted { .. }
                | Event::RolledBack { .. } => agreed = None,
                Event::LoopStopped { status: End::Completed, head_commit, .. } => {
                    prop_assert_eq!(head_commit, &head());
                    let post_action = given.after.review.as_ref().unwrap().post_action.as_ref();
                    match post_action.filter(|record| record.undone_for.is_empty()) {
                        Some(_) => prop_assert!(agreed.is_some()),
                        None => prop_assert_eq!(agreed.as_ref(), Some(head_commit)),
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn nothing_that_blocks_is_open_and_every_gate_passes_when_a_loop_is_completed(
    walk: &Walk,
) -> Result<(), TestCaseError> {
    for (given, event) in walk.events() {
        let Event::LoopStopped { status: End::Completed, head_commit, .. } = event else { continue };
        let (spec, review) = given.after.reviewed().unwrap();
        prop_assert_eq!(review.findings().blocking(spec.warnings_block, Scope::All).count(), 0);
        let undone = review.post_action.as_ref().is_some_and(|record| !record.undone_for.is_empty());
        if undone {
            continue;
        }
        prop_assert_eq!(given.after.gates.len(), given.after.spec.gates.len());
        for gate in given.after.gates.values() {
            prop_assert!(gate.verdict.passed());
            prop_assert_eq!(&gate.commit, head_commit);
        }
    }
    Ok(())
}

fn sections_are_finished_in_order_and_each_once(walk: &Walk) -> Result<(), TestCaseError> {
    for (given, event) in walk.events() {
        let before = given.before.review.as_ref().unwrap();
        match event {
            Event::Review(ReviewEvent::SectionFinished { section, .. }) => {
                prop_assert_eq!(*section, before.finished().last().map_or(1, |last| last.number + 1));
                let clean = matches!(before.last, Some((_, Opinion::Clean { .. })));
                prop_assert!(clean, "section {section} was not found clean");
                let scope = Scope::Section { section: *section };
                let blocks = given.before.spec.review.as_ref().unwrap().warnings_block;
                prop_assert_eq!(before.findings().blocking(blocks, scope).count(), 0);
            }
            Event::LoopStopped { status: End::Completed, .. } => {
                let review = given.after.review.as_ref().unwrap();
                let finished: Vec<u32> = review.finished().iter().map(|section| section.number).collect();
                let all: Vec<u32> = (1..=review.section_count()).collect();
                let sectioned = review.section_count() > 1 && !given.after.accepts_features();
                prop_assert!(!sectioned || finished == all, "{finished:?} of {all:?}");
            }
            _ => {}
        }
    }
    Ok(())
}

fn a_person_is_asked_after_so_many_rejections_in_a_row_and_not_before(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        let (spec, review) = given.after.reviewed().unwrap();
        if given.after.status() == Status::Running {
            prop_assert!(review.rejections < spec.max_rejections, "{} and still running", review.rejections);
        }
        prop_assert!(review.rejections <= spec.max_rejections);
    }
    Ok(())
}

fn who_works_is_the_one_that_the_journal_names(walk: &Walk) -> Result<(), TestCaseError> {
    let mut seats: BTreeMap<Role, usize> = BTreeMap::new();
    for (_, event) in walk.events() {
        match event {
            Event::AgentChanged { role, index, .. } => {
                let before = seats.insert(role.seat(), *index).unwrap_or(0);
                prop_assert_eq!(*index, before + 1, "the next in the list, and never back");
            }
            Event::LoopOpened { by: windlass_core::machine::Opener::Restart, .. } => seats.clear(),
            Event::TurnStarted { turn, agent, .. } => {
                prop_assert_eq!(*agent, seats.get(&turn.role.seat()).copied().unwrap_or(0));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The walks are worth nothing if they do not get around.
#[test]
fn the_walks_reach_everything_that_only_reviewed_loops_have() {
    let mut runner = TestRunner::deterministic();
    let mut missing: BTreeSet<String> = [
        "plan review seal post_action undo",
        "awaiting_review paused completed",
        "NothingToRule AwaitsRuling NotYourRole Finding Plan",
        "planned aim_changed finding_written finding_resolved plan_adjusted verdict_given reported question_deferred",
        "review_skipped answer_unreadable reviewed rejected_unseen section_finished post_action_ended",
        "post_action_refused post_action_undone person_ruled milestone_amended agent_changed",
    ]
    .iter()
    .flat_map(|names| names.split(' ').map(str::to_owned))
    .collect();
    for _ in 0..5_000 {
        let walk = reviewed_walks().new_tree(&mut runner).unwrap().current();
        for (given, event) in walk.events() {
            missing.remove(event.name());
            missing.remove(given.after.status().name());
            if let Event::LoopStopped { stop_reason, .. } = event {
                missing.remove(stop_reason.name());
            }
        }
        for given in &walk.given {
            if given.after.status() == Status::Running {
                missing.remove(given.after.phase().name());
                assert_ne!(given.after.phase(), Phase::Decide);
            }
            if let Err(refusal) = &given.result {
                missing.remove(format!("{refusal:?}").split([' ', '{', '(']).next().unwrap());
            }
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("no walk came to {missing:?}");
}
