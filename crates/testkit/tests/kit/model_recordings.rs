//! The recordings of the real CLIs are of the pinned versions, complete, and tell nothing of the machine they were
//! made on.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_testkit::clis::Cli;

/// What an adapter cannot be tested without.
const NEEDED: [&str; 8] =
    ["tool", "resume", "rate_limit", "overflow", "auth", "server_error", "cut", "model_not_found"];

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn files(cli: Cli) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir().join(cli.name())).expect("every CLI has recordings");
    entries.map(|e| e.expect("a directory entry").path()).collect()
}

#[test]
fn every_cli_has_the_cases_that_adapters_need() {
    for cli in Cli::SIX {
        for case in NEEDED {
            let path = dir().join(cli.name()).join(format!("{case}.jsonl"));
            assert!(path.is_file(), "record it: agent-clis record --case {case} {}", cli.name());
        }
    }
}

#[test]
fn every_recording_is_of_the_pinned_version() {
    for cli in Cli::AGENTS {
        for path in files(cli).iter().filter(|p| p.to_string_lossy().ends_with(".meta.json")) {
            let meta: Value = serde_json::from_str(&read(path)).expect("the meta file is JSON");
            assert_eq!(meta["version"], cli.version(), "{}: record it again", path.display());
        }
    }
}

#[test]
fn no_recording_names_the_machine_it_was_made_on() {
    for path in Cli::AGENTS.into_iter().flat_map(files) {
        // The home of every run is there, in place of a real one; the other is inside of a program that Bun made.
        let text = read(&path).replace("/scratch/home/", "").replace("/$bunfs/root/", "");
        for trace in ["/root/", "/home/", "/work/", "/tmp/wl-"] {
            assert!(!text.contains(trace), "{} contains {trace}", path.display());
        }
    }
}
