//! `agent-clis`: installs the real agent CLIs for the tests, says where they are, records what they print.
//!
//!     cargo run -p windlass-testkit --bin agent-clis -- install [--limit-s SECONDS] [NAME…]
//!     cargo run -p windlass-testkit --bin agent-clis -- where
//!     cargo run -p windlass-testkit --bin agent-clis -- record [--out DIR] [--case CASE]… [NAME…]
//!
//! Invariant: nothing outside the cache directory and, for `record`, the output directory is written.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod cases;
mod install;
mod limited;
mod record;
mod scrub;

use std::process::ExitCode;
use std::time::Duration;

use windlass_testkit::clis::Cli;

const USAGE: &str =
    "usage: agent-clis install [--limit-s SECONDS] [NAME…] | where | record [--out DIR] [--case CASE]… [NAME…]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("install") => install(&words[1..]),
        Some("where") => names(&words[1..], &Cli::ALL).map(|clis| install::show(&clis)),
        Some("record") => record::record(&words[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("agent-clis: {message}");
            ExitCode::FAILURE
        }
    }
}

fn install(words: &[String]) -> Result<(), String> {
    let (limit, words) = match words {
        [flag, seconds, rest @ ..] if flag == "--limit-s" => {
            let seconds = seconds.parse().map_err(|_| format!("{seconds} is no number of seconds\n{USAGE}"))?;
            (Duration::from_secs(seconds), rest)
        }
        _ => (install::LIMIT, words),
    };
    install::install(&names(words, &Cli::ALL)?, limit)
}

/// The CLIs that are named, or all of these.
fn names(words: &[String], all: &[Cli]) -> Result<Vec<Cli>, String> {
    if words.is_empty() {
        return Ok(all.to_vec());
    }
    let known = || Cli::ALL.map(Cli::name).join(", ");
    words
        .iter()
        .map(|w| Cli::by_name(w).ok_or_else(|| format!("no CLI is called {w}; there are {}", known())))
        .collect()
}
