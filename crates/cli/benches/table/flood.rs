//! An agent that prints a gigabyte, against `cat` from the same generator into a file.
//!
//! Invariant: on both sides every byte goes through one pipe into one file. Windlass also reads it back, looks for
//! the promise, and shows it.

use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;

use windlass_testkit::World;

use crate::Scale;
use crate::measure::{Pairs, median, quartiles, timed};
use crate::memory::Peak;
use crate::place::{myself, quietly, repository, run_to_limit};
use crate::report::Row;

/// As long as a line of a program's output tends to be.
const LINE: usize = 80;
const MOST_MB: f64 = 64.0;

pub fn rows(scale: Scale) -> Vec<Row> {
    let bytes = scale.of(1 << 30, 1 << 20);
    let views = [
        ("words to /dev/null", None, false),
        ("words to a file", Some("shown"), false),
        ("`--json` to /dev/null", None, true),
        ("`--json` to a file", Some("shown"), true),
    ];
    views.map(|(name, shown, json)| row(scale, bytes, name, shown, json)).into()
}

fn row(scale: Scale, bytes: usize, name: &str, shown: Option<&str>, json: bool) -> Row {
    let world = World::new();
    let repo = repository(&world, "flooded", 1);
    let generator = format!("{} flood-now {bytes}", myself());
    let file = world.root().join("cat");
    let by_cat = || {
        let mut command = world.command("sh");
        command.args(["-c", &format!("{generator} | cat > {}", file.display())]);
        let ((), took) = timed(|| quietly(command));
        assert_eq!(std::fs::metadata(&file).map(|meta| meta.len()).ok(), Some(bytes as u64));
        std::fs::remove_file(&file).expect("the world is writable");
        took.as_secs_f64()
    };
    let mut peaks = Vec::new();
    let ours = || {
        let more: &[&str] = if json { &["--json"] } else { &[] };
        let mut command = run_to_limit(&world, repo.path(), &generator, 1, more);
        let shown = shown.map(|name| world.root().join(name));
        command.stdout(match &shown {
            Some(path) => Stdio::from(File::create(path).expect("the world is writable")),
            None => Stdio::null(),
        });
        let (peak, took) = timed(|| Peak::of(command, 3));
        peaks.push(peak.mb);
        // Or the next sample would wait for this one's pages to be written.
        std::fs::remove_dir_all(world.data_dir().join("transcripts")).expect("there was a turn");
        if let Some(path) = shown {
            std::fs::remove_file(path).expect("the world is writable");
        }
        took.as_secs_f64()
    };
    let pairs = Pairs::take(scale.of(5, 1), by_cat, ours);
    let speed = |seconds: f64| format!("{:.0} MB/s", bytes as f64 / 1e6 / seconds);
    let ratios = pairs.inverse_ratios();
    let (ratio, most) = (median(&ratios), peaks.iter().copied().fold(0.0, f64::max));
    Row {
        what: format!("1 GB of output in lines of {LINE}, {name}"),
        reference: format!("`cat > file`: {}", speed(median(&pairs.reference))),
        ours: format!("{}, peak {most:.0} MB", speed(median(&pairs.ours))),
        ratio,
        spread: quartiles(&ratios),
        count: ratios.len(),
        aim: format!("≥ 0.8×, ≤ {MOST_MB:.0} MB"),
        met: ratio >= 0.8 && most <= MOST_MB,
    }
}

/// Prints so many bytes in lines, as fast as they are taken.
pub fn generate(words: &[String]) {
    let mut left: usize = words.first().and_then(|word| word.parse().ok()).expect("how many bytes");
    let line: Vec<u8> = (0..LINE).map(|at| if at + 1 == LINE { b'\n' } else { b'a' + (at % 26) as u8 }).collect();
    let block = line.repeat((128 << 10) / LINE);
    let mut out =
        File::from(std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned().expect("stdout is open"));
    while left > 0 {
        let now = left.min(block.len());
        out.write_all(&block[..now]).expect("somebody reads");
        left -= now;
    }
}
