//! What ridding an agent's output of secrets costs, against a copy of the same bytes in memory.

use std::path::Path;

use windlass_redact::secrets::{KnownSecret, Redactor, Rules};

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::report::Row;

const MEGABYTE: usize = 1_000_000;
/// As much as the shim reads at once.
const PIECE: usize = 64 * 1024;
const KNOWN: usize = 12;

pub fn rows(scale: Scale) -> Vec<Row> {
    let recorded = recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings"));
    let megabytes = scale.of(32, 1);
    let output: Vec<u8> = recorded.iter().copied().cycle().take(megabytes * MEGABYTE).collect();
    let known = |number| KnownSecret::new(format!("TOKEN_{number}"), format!("{number}-value-of-a-token"));
    let rules = Rules::new(&(0..KNOWN).filter_map(known).collect::<Vec<_>>());
    let (mut copied, mut redacted) = (Vec::with_capacity(output.len()), Vec::with_capacity(output.len()));
    let reference = || {
        copied.clear();
        ms(timed(|| output.chunks(PIECE).for_each(|piece| copied.extend_from_slice(piece))).1)
    };
    let ours = || {
        redacted.clear();
        let mut redactor = Redactor::new(rules.clone());
        let took = timed(|| {
            output.chunks(PIECE).for_each(|piece| redacted.extend_from_slice(redactor.push(piece)));
            redacted.extend_from_slice(redactor.finish());
        });
        ms(took.1)
    };
    let pairs = Pairs::take(scale.of(11, 1), reference, ours);
    let what = format!("redaction of {megabytes} MB that agents printed, {KNOWN} values known by name");
    let most = megabytes as f64 * 2.0;
    vec![Row::of_times(&what, "a copy in memory", &pairs, "≥ 500 MB/s", move |_, ours| ours <= most)]
}

/// Everything that real agents printed, one after the other.
fn recorded(dir: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(dir).expect("the recordings are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(recorded(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            all.extend(std::fs::read(path).expect("readable"));
        }
    }
    all
}
