//! What the sandbox adds to each turn, against the same loop without one.
//!
//! Invariant: both sides are the same program with the same agent and nothing to commit, so that the difference is the
//! start of a process. Two lengths are measured and subtracted.

use windlass_testkit::{World, sandbox_works};

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{repository, run_to_limit, to_its_limit};
use crate::report::Row;

const SHORT: usize = 2;

pub fn rows(scale: Scale) -> Vec<Row> {
    if !sandbox_works() {
        return Vec::new();
    }
    let world = World::new();
    let long = SHORT + scale.of(20, 1);
    let repo = repository(&world, "repo", 100);
    let per_turn = |level: &str| {
        let of = |iterations| {
            let more = ["--sandbox", level, "--commit", "off"];
            let command = run_to_limit(&world, repo.path(), "true", iterations, &more);
            ms(timed(|| to_its_limit(command)).1)
        };
        (of(long) - of(SHORT)) / (long - SHORT) as f64
    };
    let (mut reference, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=scale.of(11, 1) {
        let (without, with) = (per_turn("off"), per_turn("workspace"));
        // The first pair warms the caches.
        if round > 0 {
            reference.push(without);
            ours.push(with);
        }
    }
    let pairs = Pairs { reference, ours };
    let added = pairs.median_difference();
    let what = format!("one turn in the sandbox (adds {added:.1} ms)");
    vec![Row::of_times(&what, "the same turn without one", &pairs, "≤ 15 ms added", move |_, _| added <= 15.0)]
}
