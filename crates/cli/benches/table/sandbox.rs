//! What the sandbox with the view of this machine adds to each turn, against the same loop without one; a container, against `docker run`.
//!
//! Invariant: in a loop there is nothing to commit, so that a turn is little but the start of a process. Two lengths are
//! measured and subtracted.

use std::path::Path;

use windlass_testkit::docker::{Dockerd, IMAGE};
use windlass_testkit::{World, sandbox_works};

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, repository, run_to_limit, to_its_limit};
use crate::report::Row;

const SHORT: usize = 2;

/// Says something else each time: a loop whose turns all say the same stalls.
const AGENT: &str = "date +%N";

pub fn rows(scale: Scale) -> Vec<Row> {
    bubblewrap(scale).into_iter().collect()
}

pub fn container_rows(scale: Scale) -> Vec<Row> {
    docker(scale).into_iter().collect()
}

/// Milliseconds for one turn. The view is that of the person who measures: their home directory, and all that `PATH` leads to.
fn per_turn(world: &World, repo: &Path, level: &str, turns: usize) -> f64 {
    let of = |iterations| {
        let mut command = run_to_limit(world, repo, AGENT, iterations, &["--sandbox", level, "--commit", "off"]);
        let own = ["HOME", "PATH"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(own);
        ms(timed(|| to_its_limit(command)).1)
    };
    (of(SHORT + turns) - of(SHORT)) / turns as f64
}

fn bubblewrap(scale: Scale) -> Option<Row> {
    if !sandbox_works() {
        return None;
    }
    let world = World::new();
    let repo = repository(&world, "repo", 100);
    let turns = scale.of(20, 1);
    let one = |level| per_turn(&world, repo.path(), level, turns);
    let pairs = Pairs::take(scale.of(11, 1), || one("off"), || one("workspace"));
    let added = pairs.median_difference();
    let what = format!("one turn in the sandbox (adds {added:.1} ms)");
    Some(Row::of_times(&what, "the same turn without one", &pairs, "≤ 15 ms added", move |_, _| added <= 15.0))
}

fn docker(scale: Scale) -> Option<Row> {
    let daemon = Dockerd::get()?;
    let world = daemon.world();
    let repo = repository(&world, "repo", 100);
    let mut runs = world.command("docker");
    if !runs.arg("--version").status().is_ok_and(|status| status.success()) {
        return None;
    }
    let plain = || {
        let mut command = world.command("docker");
        command.args(["run", "--rm", "--network", "none", "--read-only", "-v", "/usr:/usr:ro", IMAGE, "true"]);
        ms(timed(|| quietly(command)).1)
    };
    let turns = scale.of(5, 1);
    let one = || per_turn(&world, repo.path(), "docker", turns);
    let pairs = Pairs::take(scale.of(11, 1), plain, one);
    Some(Row::of_times("one turn in a container", "`docker run --rm IMAGE true`", &pairs, "≤ 1.5×", |ratio, _| {
        ratio <= 1.5
    }))
}
