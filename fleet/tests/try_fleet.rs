//! `windlass-fleet try`, whole: with Temporal if it is available, and without.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What a test that could not run says past the capture of its output.
fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("\n*** SKIPPED: {test}: {why}\n").as_bytes());
}

/// The report of a trial, if PostgreSQL is installed.
fn tried(more: &[&str]) -> Option<Value> {
    if !Path::new("/usr/lib/postgresql").exists() {
        say_skipped("PostgreSQL is not installed (apt install postgresql)");
        return None;
    }
    // The cache of the person who runs the tests: Temporal's server is downloaded once.
    let said = Command::new(env!("CARGO_BIN_EXE_windlass-fleet")).args(["try", "--json"]).args(more).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("no report: {text}{}", String::from_utf8_lossy(&said.stderr)));
    assert!(said.status.success(), "{report:#}");
    Some(report)
}

fn is_well(report: &Value, kills: usize) {
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(report["loop"]["status"], "completed");
    assert_eq!(report["loop"]["commits"], report["loop"]["turns"]);
    assert_eq!(report["loop"]["broken_at"], Value::Null);
    assert_eq!(report["takeovers"], kills);
    assert_eq!(report["needless_takeovers"], 0);
    assert_eq!(report["processes_left"], 0);
    assert_eq!(report["removed"], true);
    assert_eq!(report["kills"].as_array().unwrap().len(), kills);
}

#[test]
fn loop_of_a_killed_worker_ends_on_another_one() {
    if let Some(report) = tried(&["--without-temporal"]) {
        is_well(&report, 1);
        assert_eq!(report["temporal"], Value::Null);
    }
}

#[test]
fn loop_of_a_killed_worker_ends_on_another_one_with_temporal() {
    if let Some(report) = tried(&["--kills", "2"]) {
        is_well(&report, 2);
        if report["temporal"].is_null() {
            say_skipped(&format!("Temporal is not available: {}", report["without_temporal"]));
        }
    }
}
