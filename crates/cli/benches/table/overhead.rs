//! What Windlass adds to each iteration, against a shell loop that does the least one would do by hand.
//!
//! Invariant: both sides start the same agent in repositories made alike, and commit each time. Two lengths are
//! measured and subtracted, so that making a workspace and starting the program do not count.

use std::path::Path;

use windlass_testkit::World;

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, repository, run_to_limit, to_its_limit};
use crate::report::Row;

const FILES: usize = 100;
const SHORT: usize = 2;

pub fn rows(scale: Scale) -> Vec<Row> {
    let world = World::new();
    let long = SHORT + scale.of(20, 1);
    let agent = world.install_script("appending-agent", "echo line >> work.txt\n");
    let agent = agent.to_str().expect("the world's paths are UTF-8");
    let mut number = 0;
    let mut per_iteration = |measure: &dyn Fn(&Path, usize) -> f64| {
        let mut of = |iterations| {
            number += 1;
            let repo = repository(&world, &format!("repo-{number}"), FILES);
            let took = measure(repo.path(), iterations);
            std::fs::remove_dir_all(repo.path()).expect("the world is writable");
            took
        };
        (of(long) - of(SHORT)) / (long - SHORT) as f64
    };
    let by_hand = |repo: &Path, iterations: usize| {
        let mut command = world.command("bash");
        let script = r#"i=0; while [ $i -lt $1 ]; do "$0"; git add -A && git commit -q -m x; i=$((i+1)); done"#;
        command.current_dir(repo).args(["-c", script, agent, &iterations.to_string()]);
        ms(timed(|| quietly(command)).1)
    };
    let ours = |repo: &Path, iterations: usize| {
        let command = run_to_limit(&world, repo, agent, iterations, &[]);
        ms(timed(|| to_its_limit(command)).1)
    };
    let count = scale.of(11, 1);
    let (mut reference, mut measured) = (Vec::new(), Vec::new());
    for round in 0..=count {
        let (by_hand, ours) = (per_iteration(&by_hand), per_iteration(&ours));
        // The first pair warms the caches.
        if round > 0 {
            reference.push(by_hand);
            measured.push(ours);
        }
    }
    let pairs = Pairs { reference, ours: measured };
    let what = format!("one iteration with checkpoint and journal ({FILES} files)");
    let reference = "bash `while`: agent, `git add -A && git commit`";
    vec![Row::of_times(&what, reference, &pairs, "≤ 1.25×", |ratio, _| ratio <= 1.25)]
}
