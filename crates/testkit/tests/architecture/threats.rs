//! The attacks of docs/threat-model.md and the tests that show them.
//!
//! Invariant: each row of its table names what shows it: a test that exists, or a file of browser tests, or the doctor.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::hold;
use crate::workspace::workspace_root;

const PAGE: &str = "docs/threat-model.md";

/// The names of all tests below a folder.
fn tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path: PathBuf = entry.path();
        if path.is_dir() {
            tests(&path, names);
        } else if path.extension().is_some_and(|e| e == "rs") {
            names.extend(test_names(&std::fs::read_to_string(&path).unwrap_or_default()));
        }
    }
}

fn test_names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut marked = false;
    // A runner without the harness lists its cases.
    let listed =
        text.split_once("crate::cases![").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    found.extend(listed.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    for line in text.lines().map(str::trim) {
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(name) = function.and_then(|rest| rest.split('(').next()) {
            if marked {
                found.push(name.to_owned());
            }
            marked = false;
        }
    }
    found
}

/// The last column of each row of a table whose first row ends with "shown by".
fn shown_by(page: &str) -> Vec<(usize, &str)> {
    let mut rows = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        let last = line.strip_suffix('|').and_then(|row| row.rsplit_once('|')).map(|(_, cell)| cell.trim());
        match last {
            Some("shown by") => inside = true,
            Some(cell) if inside && !cell.starts_with("--") => rows.push((at + 1, cell)),
            Some(_) => {}
            None => inside = false,
        }
    }
    rows
}

#[test]
fn every_attack_of_the_threat_model_has_a_test_that_exists() {
    let root = workspace_root();
    let page = std::fs::read_to_string(root.join(PAGE)).expect(PAGE);
    let mut known = BTreeSet::new();
    tests(&root.join("crates"), &mut known);
    let rows = shown_by(&page);
    let mut broken = Vec::new();
    for (line, cell) in &rows {
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            broken.push(format!("{PAGE}:{line}: names no test"));
        }
        for name in named {
            let there = match name {
                "doctor" => true,
                file if file.contains('/') => root.join(file).is_file(),
                test => known.contains(test),
            };
            if !there {
                broken.push(format!("{PAGE}:{line}: there is no test `{name}`"));
            }
        }
    }
    hold("every attack of the threat model has a test that exists", &broken);
    assert!(rows.len() > 20, "the table of {PAGE} is not read: {} rows", rows.len());
}

#[test]
fn tests_and_rows_are_read() {
    let text = "#[test]\nfn one() {}\nfn helper() {}\n  #[tokio::test]\n  // promise: a-1\n  async fn two() {}\n";
    assert_eq!(test_names(text), ["one", "two"]);
    let page = "| attack | by | shown by |\n|---|---|---|\n| a | b | `one` |\n\n| x | y |\n";
    assert_eq!(shown_by(page), [(3, "`one`")]);
}
