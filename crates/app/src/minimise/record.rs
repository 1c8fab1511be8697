//! What gates said of candidates, in a file beside the loop's transcripts: a search that was cut off runs none of them again.
//!
//! Invariant: a line that was cut off is not read. Lines are only ever added; what was said of another base, head or set of gates
//! does not count.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::steps::MinimiseStep;

/// What a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Subject {
    pub(super) base: String,
    pub(super) head: String,
    /// The commands, hidden ones too, since the file is the engine's own.
    pub(super) gates: Vec<String>,
    pub(super) protect: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Subject(Subject),
    Judged { tree: String, passed: bool },
    Offered { commit: String },
    Step { step: MinimiseStep },
}

#[derive(Debug)]
pub(super) struct Record {
    file: PathBuf,
    /// Passed and failed runs of each tree.
    judged: HashMap<String, (u32, u32)>,
}

impl Record {
    pub(super) fn open(file: &Path, subject: &Subject) -> std::io::Result<Self> {
        let mut record = Self { file: file.to_owned(), judged: HashMap::new() };
        let mut same = false;
        for line in read(file) {
            match line {
                Line::Subject(known) => {
                    same = known == *subject;
                    record.judged.clear();
                }
                Line::Judged { tree, passed } if same => record.count(tree, passed),
                Line::Judged { .. } | Line::Offered { .. } | Line::Step { .. } => {}
            }
        }
        if !same {
            record.append(&[Line::Subject(subject.clone())])?;
        }
        Ok(record)
    }

    fn count(&mut self, tree: String, passed: bool) {
        let runs = self.judged.entry(tree).or_default();
        if passed {
            runs.0 += 1;
        } else {
            runs.1 += 1;
        }
    }

    /// Passed and failed runs.
    pub(super) fn runs(&self, tree: &str) -> (u32, u32) {
        self.judged.get(tree).copied().unwrap_or_default()
    }

    /// Whether it passes. One failed run is enough for it not to.
    pub(super) fn verdict(&self, tree: &str) -> Option<bool> {
        match self.runs(tree) {
            (0, 0) => None,
            (_, failed) => Some(failed == 0),
        }
    }

    /// Trees with a verdict.
    pub(super) fn known(&self) -> usize {
        self.judged.len()
    }

    pub(super) fn judged(&mut self, tree: &str, passed: bool, step: MinimiseStep) -> std::io::Result<()> {
        self.append(&[Line::Judged { tree: tree.to_owned(), passed }, Line::Step { step }])?;
        self.count(tree.to_owned(), passed);
        Ok(())
    }

    pub(super) fn offered(&self, commit: &str) -> std::io::Result<()> {
        self.append(&[Line::Offered { commit: commit.to_owned() }])
    }

    pub(super) fn step(&self, step: MinimiseStep) -> std::io::Result<()> {
        self.append(&[Line::Step { step }])
    }

    fn append(&self, lines: &[Line]) -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.file)?;
        // A line that was cut off must not swallow these.
        let mut text = "\n".to_owned();
        for line in lines {
            text += &serde_json::to_string(line).unwrap_or_default();
            text += "\n";
        }
        file.write_all(text.as_bytes())
    }
}

/// The steps of all calls, in order.
pub(super) fn steps(file: &Path) -> Vec<MinimiseStep> {
    let step = |line| match line {
        Line::Step { step } => Some(step),
        Line::Subject(_) | Line::Judged { .. } | Line::Offered { .. } => None,
    };
    read(file).into_iter().filter_map(step).collect()
}

/// Whether a commit was offered as the smaller one of a loop.
pub(crate) fn was_offered(file: &Path, commit: &str) -> bool {
    read(file).iter().any(|line| matches!(line, Line::Offered { commit: offered } if offered == commit))
}

fn read(file: &Path) -> Vec<Line> {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minimise::steps::Why;

    #[test]
    fn record_survives_a_cut_and_belongs_to_its_subject() {
        let dir = std::env::temp_dir().join(format!("windlass-record-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("minimise.jsonl");
        let subject = Subject { base: "a".into(), head: "b".into(), gates: vec!["true".into()], protect: Vec::new() };
        let step =
            |passed| MinimiseStep::Judged { run: 1, why: Why::Smaller, hunks: 2, passed, smallest: 2, duration_ms: 5 };
        let mut record = Record::open(&file, &subject).unwrap();
        record.judged("t1", true, step(true)).unwrap();
        record.judged("t2", true, step(true)).unwrap();
        record.judged("t2", false, step(false)).unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &whole[..whole.rfind("\"t2\"").unwrap()]).unwrap();
        let mut record = Record::open(&file, &subject).unwrap();
        assert_eq!((record.verdict("t1"), record.verdict("t2"), record.verdict("t3")), (Some(true), Some(true), None));
        record.judged("t2", false, step(false)).unwrap();
        assert_eq!(Record::open(&file, &subject).unwrap().runs("t2"), (1, 1));
        record.offered("c1").unwrap();
        let other = Subject { head: "c".into(), ..subject };
        assert_eq!(Record::open(&file, &other).unwrap().known(), 0, "other work has its own verdicts");
        // A reader of the steps goes on by their number, so the record keeps all of them.
        assert_eq!(steps(&file), [step(true), step(true), step(false)]);
        assert!(was_offered(&file, "c1") && !was_offered(&file, "c2"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
