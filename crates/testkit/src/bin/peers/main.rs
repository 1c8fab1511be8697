//! `cargo run --release -p windlass-testkit --bin peers -- [install|run] [--windlass FILE] [--sizes 100,1000] [--write FILE]`
//!
//! The same scripted agents through Windlass and through what users would pick instead; one table in Markdown. Never shipped.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a terminal")]

mod peer;
mod trials;

use std::path::PathBuf;
use std::process::ExitCode;

use peer::Peer;
use trials::{Bench, Row};

struct Wanted {
    install: bool,
    windlass: PathBuf,
    sizes: Vec<u64>,
    overhead: bool,
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    let wanted = match wanted() {
        Ok(wanted) => wanted,
        Err(message) => {
            eprintln!("error: {message}");
            eprintln!("hint: peers [install|run] [--windlass FILE] [--sizes 100,1000] [--overhead no] [--write FILE]");
            return ExitCode::from(2);
        }
    };
    let mut there = Vec::new();
    for peer in Peer::ALL {
        let missing = if wanted.install {
            peer.install(&wanted.windlass).err()
        } else {
            (!peer.program(&wanted.windlass).exists()).then(|| "not installed; run `peers install`".to_owned())
        };
        match missing {
            None => there.push(peer),
            Some(why) => eprintln!("{} is left out: {why}", peer.name()),
        }
    }
    if wanted.install {
        return if there.len() == Peer::ALL.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let bench = Bench { windlass: wanted.windlass.clone(), sizes: wanted.sizes.clone(), overhead: wanted.overhead };
    let rows = bench.rows(&there);
    let text = page(&bench, &there, &rows);
    print!("{text}");
    if let Some(path) = &wanted.write
        && let Err(error) = std::fs::write(path, text)
    {
        eprintln!("error: cannot write {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn wanted() -> Result<Wanted, String> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("windlass")));
    let mut wanted = Wanted {
        install: false,
        windlass: beside.unwrap_or_default(),
        sizes: vec![100, 1000],
        overhead: true,
        write: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(word) = args.next() {
        match word.as_str() {
            "run" => continue,
            "install" => {
                wanted.install = true;
                continue;
            }
            _ => {}
        }
        let value = args.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--windlass" => {
                // Trials run elsewhere.
                let found = PathBuf::from(&value).canonicalize();
                wanted.windlass = found.map_err(|error| format!("{value}: {error}"))?;
            }
            "--overhead" => wanted.overhead = value != "no",
            "--write" => wanted.write = Some(PathBuf::from(value)),
            "--sizes" => {
                let sizes: Result<Vec<u64>, _> = value.split(',').map(str::parse).collect();
                wanted.sizes =
                    sizes.map_err(|_| format!("--sizes needs megabytes, such as 100,1000, not '{value}'"))?;
            }
            other => return Err(format!("{other} is not recognized")),
        }
    }
    Ok(wanted)
}

/// What else the machine did, which rows of time depend on.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // One is the trial that just ended.
    if load > 1.0 + 0.25 * processors as f64 {
        format!(
            "**Measured on a busy machine (load {load:.1} on {processors} processors): rows of time say nothing; the others do not depend on it.**"
        )
    } else {
        format!("The machine had nothing else to do (load {load:.1} on {processors} processors).")
    }
}

/// The whole page, as `docs/peers.md` has it.
fn page(bench: &Bench, peers: &[Peer], rows: &[Row]) -> String {
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let given: Vec<String> = std::env::args().skip(1).collect();
    let given = given.join(" ");
    let mut text = format!(
        "# Windlass and its peers\n\nMade by `cargo run --release -p windlass-testkit --bin peers -- {given}` on {date} \
         (`peers install` first). Each program runs the same scripted agents, with its best flags; the code is in \
         `crates/testkit/src/bin/peers`. {}\n\n| |",
        load()
    );
    peers.iter().for_each(|peer| text.push_str(&format!(" {} |", peer.name())));
    text.push_str("\n|---|");
    peers.iter().for_each(|_| text.push_str("---|"));
    text.push_str("\n| version |");
    peers.iter().for_each(|peer| text.push_str(&format!(" {} |", peer.version(&bench.windlass))));
    text.push('\n');
    for row in rows {
        text.push_str(&format!("| {} |", row.what));
        row.cells.iter().for_each(|cell| text.push_str(&format!(" {cell} |")));
        text.push('\n');
    }
    for peer in Peer::ALL.iter().filter(|peer| !peers.contains(peer)) {
        text.push_str(&format!("\n{} was not installed on this machine.\n", peer.name()));
    }
    text.push_str(
        "\nMemory is that of the largest process of the program, without its agents. No program ran in a sandbox.\n",
    );
    text.push_str("\nBy design, without being a fault:\n\n");
    for peer in peers.iter().filter(|peer| !peer.lacks().is_empty()) {
        text.push_str(&format!("- **{}** lacks {}.\n", peer.name(), peer.lacks()));
    }
    text
}
