//! What an iteration costs after many others, and in a data directory with many loops, against one without a past.
//!
//! Invariant: the agent notes when each of its turns begins, so that neither the start of the program nor the end of the loop counts.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use windlass_testkit::World;

use crate::Scale;
use crate::history::fill_history;
use crate::measure::{Pairs, median};
use crate::place::{repository, run_to_limit, to_its_limit, windlass};
use crate::report::Row;

const FILES: usize = 100;
/// With this the reference begins.
const FEW: usize = 10;
/// Longer than it ever takes.
const HOURS: &str = "4h";

pub fn rows(scale: Scale) -> Vec<Row> {
    vec![after_many(scale), beside_many(scale)]
}

/// Milliseconds from turn to turn.
fn steps(times: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(times).expect("the agent noted its times");
    let times: Vec<f64> = text.lines().map(|line| line.trim().parse::<f64>().expect("nanoseconds")).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]) / 1e6).collect()
}

/// An agent that notes when it was started, and does `last` in its turn of this number.
fn noting(world: &World, name: &str, times: &Path, (number, last): (usize, &str)) -> String {
    let times = times.display();
    let script = format!(
        "date +%s%N >> '{times}'\necho line >> work.txt\n\
         if [ $(wc -l < '{times}') -ge {number} ]; then {last}; fi\n"
    );
    world.install_script(name, &script).to_str().expect("the world's paths are UTF-8").to_owned()
}

/// `windlass stop` in this world, as a shell has it.
fn stop(world: &World, repo: &Path, name: &str) -> String {
    let command = world.windlass(windlass());
    let text = |value: &OsStr| value.to_str().expect("the world's variables are UTF-8").replace('\'', r"'\''");
    let set = |(key, value): (&OsStr, Option<&OsStr>)| value.map(|value| format!("{}='{}'", text(key), text(value)));
    let env = command.get_envs().filter_map(set).collect::<Vec<_>>().join(" ");
    format!("cd '{}' && env {env} '{}' stop {name}", text(repo.as_os_str()), text(windlass().as_os_str()))
}

/// One loop: what its first iterations after [`FEW`] cost, and what its last ones.
fn after_many(scale: Scale) -> Row {
    let many = scale.of(2_000, FEW + 2);
    let window = scale.of(100, 1);
    let world = World::new();
    let repo = repository(&world, "long", FILES);
    let times = world.root().join("times");
    let agent = noting(&world, "long-agent", &times, (many + window + 1, &stop(&world, repo.path(), "long")));
    let mut command = run_to_limit(&world, repo.path(), &agent, 0, &["--name", "long", "--duration", HOURS]);
    // It ends by the agent's word, and so with another exit code.
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    let steps = steps(&times);
    assert!(steps.len() >= many + window, "the loop ended after {} iterations", steps.len());
    let (few, many_more) = (&steps[FEW..FEW + window], &steps[many..many + window]);
    let pairs = Pairs { reference: few.to_vec(), ours: many_more.to_vec() };
    let what = format!("one iteration after {many} others");
    Row::of_times(&what, &format!("after {FEW}"), &pairs, "≤ 1.1×", |ratio, _| ratio <= 1.1)
}

fn beside_many(scale: Scale) -> Row {
    let loops = scale.of(10_000, 20);
    let window = scale.of(40, 1);
    let (alone, beside) = (World::new(), World::new());
    let made = std::cell::Cell::new(0);
    let one = |world: &World| {
        made.set(made.get() + 1);
        let number = made.get();
        let name = format!("loop-{number}");
        let repo = repository(world, &name, FILES);
        let times = world.root().join(format!("times-{number}"));
        let agent = noting(world, &format!("agent-{number}"), &times, (usize::MAX, ":"));
        to_its_limit(run_to_limit(world, repo.path(), &agent, FEW + window, &["--name", &name]));
        median(&steps(&times)[FEW - 1..])
    };
    one(&alone);
    one(&beside);
    fill_history(&beside, loops);
    let pairs = Pairs::take(scale.of(7, 1), || one(&alone), || one(&beside));
    let what = format!("one iteration with {loops} loops in history");
    Row::of_times(&what, "with a few", &pairs, "≤ 1.1×", |ratio, _| ratio <= 1.1)
}
