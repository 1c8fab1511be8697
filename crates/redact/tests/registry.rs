//! How often ordinary sources are taken for secrets: those of the dependencies that Cargo keeps on this machine.
//!
//! `cargo test --release -p windlass-redact --test registry -- --ignored --nocapture` prints the figure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_redact::secrets::{Rules, Scan};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}

#[test]
#[ignore = "reads every source in Cargo's registry"]
#[allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it reads the registry and prints a figure")]
fn at_most_one_in_a_thousand_ordinary_files_is_held() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).expect("a home");
    let mut all = Vec::new();
    files(&home.join("registry/src"), &mut all);
    let rules = Rules::default();
    let (mut held, mut kinds, mut bytes) = (0, BTreeMap::<String, usize>::new(), 0);
    for path in &all {
        let Ok(text) = std::fs::read(path) else { continue };
        bytes += text.len();
        let mut scan = Scan::new(rules.clone());
        scan.push(&text);
        let places = scan.finish();
        if let Some(first) = places.first() {
            held += 1;
            *kinds.entry(first.name.clone()).or_default() += 1;
            let value: String = String::from_utf8_lossy(&first.value).chars().take(48).collect();
            println!("{}:{}: {} {value:?}", path.display(), first.line, first.name);
        }
    }
    println!("{held} of {} files held ({} MB): {kinds:?}", all.len(), bytes >> 20);
    assert!(held * 1000 <= all.len(), "{held} of {}", all.len());
}
