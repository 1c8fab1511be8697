//! `cargo bench -p windlass`: what Windlass costs, each row beside a reference measured in the same run.
//!
//! Invariants: reference and ours take turns, so that a busy machine burdens both; nothing is left behind and nothing
//! is listened on; without `--bench` (as `cargo test --all-targets` starts it) the numbers are tiny and mean nothing.
//!
//! `cargo bench -p windlass -- overhead list` measures only the rows whose group is named.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

mod checkpoint;
mod fleet;
mod flood;
mod growth;
mod history;
mod journal;
mod judging;
mod measure;
mod memory;
mod overhead;
mod place;
mod redaction;
mod report;
mod sandbox;
mod served;
mod startup;

use report::Row;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub full: bool,
}

impl Scale {
    pub fn of(self, full: usize, smoke: usize) -> usize {
        if self.full { full } else { smoke }
    }
}

/// A group's name, and what measures it.
type Group = (&'static str, fn(Scale) -> Vec<Row>);

const GROUPS: [Group; 13] = [
    ("overhead", overhead::rows),
    ("growth", growth::rows),
    ("sandbox", sandbox::rows),
    ("container", sandbox::container_rows),
    ("flood", flood::rows),
    ("redaction", redaction::rows),
    ("startup", startup::rows),
    ("list", history::rows),
    ("fleet", fleet::rows),
    ("checkpoint", checkpoint::rows),
    ("judging", judging::rows),
    ("journal", journal::rows),
    ("server", served::rows),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // This program is also the agent that floods, and the process that drives many loops.
    match words.first().map(String::as_str) {
        Some("flood-now") => return flood::generate(&words[1..]),
        Some("tick-now") => return served::tick(&words[1..]),
        Some("pour-now") => return served::pour(&words[1..]),
        Some("drive-many") => return fleet::drive_many(&words[1..]),
        _ => {}
    }
    let scale = Scale { full: words.iter().any(|word| word == "--bench") };
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    println!("{}", report::HEAD);
    for (name, measure) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|word| *word == name) {
            eprintln!("measuring: {name}");
            for row in measure(scale) {
                println!("{}", report::line(&row));
            }
        }
    }
    println!("{}", report::FOOT);
}
