//! The small specs, explored as far as a test may take, and whether each invariant finds a defect that breaks it.

use windlass_simulate::explore::invariants::Invariant;
use windlass_simulate::explore::machine::Machine;
use windlass_simulate::explore::reached::Reached;
use windlass_simulate::explore::{Bound, Explored, explore, specs};

fn of(recipe: &str, planted: Option<Invariant>, bound: Bound) -> Explored {
    let spec = specs::all().into_iter().find(|(name, _)| *name == recipe).expect("there is such a spec").1;
    explore(&spec, Machine { planted }, bound)
}

#[test]
fn every_sequence_of_three_inputs_keeps_every_invariant() {
    for (name, _) in specs::all() {
        let found = of(name, None, Bound::Depth(3));
        assert_eq!(found.violation, None, "{name}");
        assert!(found.states > 150 && found.edges > 300, "{name}: {} states, {} edges", found.states, found.edges);
    }
}

#[test]
fn every_undisturbed_sequence_keeps_every_invariant() {
    let mut reached = Reached::default();
    for (name, _) in specs::all() {
        let found = of(name, None, Bound::Disturbances(0));
        assert_eq!(found.violation, None, "{name}");
        reached.add(&found.reached);
    }
    // What is out of the ordinary needs a disturbance; these do not.
    let all: Vec<&str> = windlass_core::machine::Phase::ALL.iter().map(|phase| phase.name()).collect();
    let missing: Vec<&&str> = all.iter().filter(|name| !reached.phases.contains(**name)).collect();
    assert_eq!(missing, [&"decide"], "a decision is no state to rest in");
    assert!(reached.ends.contains("completed") && reached.ends.contains("max_iterations"));
}

#[test]
fn exploring_twice_finds_the_same() {
    let (first, again) = (of("promise", None, Bound::Depth(3)), of("promise", None, Bound::Depth(3)));
    assert_eq!((first.states, first.edges, first.refused), (again.states, again.edges, again.refused));
    assert_eq!(first.reached, again.reached);
}

macro_rules! planted {
    ($($name:ident: $invariant:ident in $recipe:literal;)*) => {
        $(#[test]
        fn $name() {
            let planted = Some(Invariant::$invariant);
            let found = [Bound::Disturbances(0), Bound::Depth(4), Bound::Disturbances(1)]
                .into_iter()
                .find_map(|bound| of($recipe, planted, bound).violation);
            let violation = found.expect("the defect is found");
            assert_eq!(violation.invariant, Invariant::$invariant, "{violation:?}");
            assert!(!violation.story.is_empty(), "{violation:?}");
        })*

        #[test]
        fn every_invariant_has_its_test() {
            let tested = [$(Invariant::$invariant),*];
            assert!(Invariant::ALL.iter().all(|invariant| tested.contains(invariant)));
        }
    };
}

planted! {
    paused_loop_that_wants_something_is_found: WantsWhileRunning in "promise";
    ignored_limit_is_found: LimitsHeld in "promise";
    verdict_that_nobody_gave_is_found: DoneOnlyIfJudged in "promise";
    ignored_stop_is_found: StopEnds in "promise";
    wait_without_an_end_is_found: EndInReach in "promise";
    changed_event_is_found: ReplayEqualsLive in "promise";
    stale_answer_that_is_taken_is_found: AnswersMatch in "promise";
    input_after_the_end_is_found: EndedStays in "promise";
    turn_against_a_wish_is_found: WishHeld in "promise";
}
