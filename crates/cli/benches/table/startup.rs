//! `windlass --version` against the cheapest program there is.

use windlass_testkit::World;

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, windlass};
use crate::report::Row;

pub fn rows(scale: Scale) -> Vec<Row> {
    let world = World::new();
    let reference = || ms(timed(|| quietly(world.command("/bin/true"))).1);
    let ours = || {
        let mut command = world.windlass(windlass());
        command.arg("--version");
        ms(timed(|| quietly(command)).1)
    };
    let pairs = Pairs::take(scale.of(101, 3), reference, ours);
    vec![Row::of_times("start-up: `windlass --version`", "`/bin/true`", &pairs, "≤ 10 ms", |_, ours| ours <= 10.0)]
}
