//! What an iteration costs after many others, and in a data directory with many loops, against one without a past.
//!
//! Invariant: both sides run the same agent in repositories made alike. Two lengths are measured and subtracted, so that
//! starting the program and replaying a long journal do not count.

use windlass_testkit::World;

use crate::Scale;
use crate::history::fill_history;
use crate::measure::{Pairs, ms, timed};
use crate::place::{repository, run_to_limit, to_its_limit, windlass};
use crate::report::Row;

const FILES: usize = 100;
const SHORT: usize = 2;
/// With this the reference begins.
const FEW: usize = 10;

pub fn rows(scale: Scale) -> Vec<Row> {
    vec![after_many(scale), beside_many(scale)]
}

/// A loop in a world of its own, at so many iterations.
struct Begun {
    world: World,
    repo: windlass_testkit::Repo,
}

impl Begun {
    fn after(iterations: usize) -> Self {
        let world = World::new();
        let repo = repository(&world, "begun", FILES);
        let agent = world.install_script("appending-agent", "echo line >> work.txt\n");
        let agent = agent.to_str().expect("the world's paths are UTF-8");
        to_its_limit(run_to_limit(&world, repo.path(), agent, iterations, &["--name", "begun"]));
        Self { world, repo }
    }

    /// Milliseconds for one more iteration.
    fn one_more(&self, more: usize) -> f64 {
        let of = |count: usize| {
            let mut command = self.world.windlass(windlass());
            command.current_dir(self.repo.path()).args(["resume", "begun", "--max-iterations", &format!("+{count}")]);
            ms(timed(|| to_its_limit(command)).1)
        };
        (of(SHORT + more) - of(SHORT)) / more as f64
    }
}

fn after_many(scale: Scale) -> Row {
    let many = scale.of(2_000, FEW + 2);
    let more = scale.of(20, 1);
    let long = Begun::after(many);
    // Begun again for each pair, or it would have a past too.
    let pairs = Pairs::take(scale.of(7, 1), || Begun::after(FEW).one_more(more), || long.one_more(more));
    let what = format!("one iteration after {many} others");
    Row::of_times(&what, &format!("after {FEW}"), &pairs, "≤ 1.1×", |ratio, _| ratio <= 1.1)
}

fn beside_many(scale: Scale) -> Row {
    let loops = scale.of(10_000, 20);
    let more = scale.of(20, 1);
    let (alone, beside) = (Begun::after(FEW), Begun::after(FEW));
    fill_history(&beside.world, loops);
    let pairs = Pairs::take(scale.of(7, 1), || alone.one_more(more), || beside.one_more(more));
    let what = format!("one iteration with {loops} loops in history");
    Row::of_times(&what, "with one", &pairs, "≤ 1.1×", |ratio, _| ratio <= 1.1)
}
