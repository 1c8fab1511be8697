//! Makes the story of a failing run shorter, by leaving out faults that it fails without.

use crate::dice::{Fault, Plan};
use crate::run::run;
use crate::violation::Invariant;

/// The smallest plan that was found to break the same invariant, and how many runs that took.
pub fn shrink(plan: &Plan, invariant: Invariant, most_runs: u32) -> (Plan, u32) {
    let mut best = plan.clone();
    let mut runs = 0;
    let mut fails = |plan: &Plan| {
        runs += 1;
        run(plan, false).violation.is_some_and(|violation| violation.invariant == invariant)
    };
    for fault in Fault::ALL {
        let mut smaller = best.clone();
        smaller.without.insert(*fault);
        if smaller != best && fails(&smaller) {
            best = smaller;
        }
    }
    // What is left is tried one by one, the last first: what came late is rarely the cause.
    let mut happened = run(&best, false).happened;
    happened.reverse();
    for one in happened.into_iter().take(most_runs as usize) {
        let mut smaller = best.clone();
        smaller.skip.insert(one);
        if fails(&smaller) {
            best = smaller;
        }
    }
    (best, runs)
}
