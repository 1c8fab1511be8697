//! A bounded number of seeds, and whether each invariant finds a defect that breaks it.

use windlass_simulate::{Bug, Coverage, Fault, Invariant, Plan, run, shrink};

/// Seeds within which a planted defect must be found.
const FIND_WITHIN: u64 = 25;

fn found(bug: Bug) -> Option<(Plan, Invariant)> {
    (0..FIND_WITHIN).find_map(|seed| {
        let plan = Plan { planted: Some(bug), ..Plan::of(seed) };
        run(&plan, false).violation.map(|violation| (plan, violation.invariant))
    })
}

#[test]
// promise: recovery-16
fn every_invariant_holds_in_a_bounded_number_of_seeds() {
    let mut coverage = Coverage::default();
    for seed in 0..15 {
        let outcome = run(&Plan::of(seed), false);
        assert_eq!(outcome.violation, None, "simulate --seed {seed}");
        coverage.add(&outcome.coverage);
    }
    assert!(coverage.faults.len() > Fault::ALL.len() / 2, "{}", coverage.report());
    assert!(coverage.events.len() > 25, "{}", coverage.report());
}

#[test]
fn seed_replays_exactly() {
    for seed in [5, 17] {
        let (first, again) = (run(&Plan::of(seed), true), run(&Plan::of(seed), true));
        assert_eq!(first.story, again.story);
        assert_eq!(first.journals, again.journals);
        assert!(first.appends > 0 && !first.happened.is_empty());
    }
}

#[test]
fn failing_seed_is_shrunk_to_the_faults_that_it_needs() {
    // Nothing but the planted defect is needed for a lost event.
    let (plan, invariant) = found(Bug::DropEvent).unwrap();
    let (smaller, _) = shrink(&plan, invariant, 20);
    assert!(smaller.without.len() > plan.without.len());
    assert_eq!(run(&smaller, false).violation.map(|violation| violation.invariant), Some(invariant));
    assert!(run(&smaller, false).happened.len() < run(&plan, false).happened.len().max(1));
}

macro_rules! planted {
    ($($name:ident: $bug:ident breaks $invariant:ident;)*) => {
        $(#[test]
        fn $name() {
            let found = found(Bug::$bug).map(|(_, invariant)| invariant);
            assert_eq!(found, Some(Invariant::$invariant));
        })*

        #[test]
        fn every_bug_and_every_invariant_has_its_test() {
            let tested = [$((Bug::$bug, Invariant::$invariant)),*];
            assert!(Bug::ALL.iter().all(|bug| tested.iter().any(|(one, _)| one == bug)));
            assert!(Invariant::ALL.iter().all(|invariant| tested.iter().any(|(_, one)| one == invariant)));
        }
    };
}

planted! {
    lost_event_is_found: DropEvent breaks NothingLost;
    doubled_event_is_found: AppendTwice breaks NothingDoubled;
    append_without_fence_is_found: NoFence breaks OneDriver;
    ignored_limit_is_found: IgnoreLimit breaks LimitsHeld;
    verdict_on_another_commit_is_found: WrongCommit breaks DoneOnlyIfJudged;
    ignored_stop_is_found: DeafToStop breaks StopEnds;
    lost_outcome_is_found: LoseOutcome breaks Progress;
    changed_event_is_found: ChangeEvent breaks ReplayEqualsLive;
}
