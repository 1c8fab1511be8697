//! What gates said of candidates, in a file beside the loop's transcripts: a search that was cut off runs none of them again.
//!
//! Invariant: a line that was cut off is not read. A record of another base, head or set of gates is thrown away.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
        let lines = read(file);
        match lines.first() {
            Some(Line::Subject(known)) if known == subject => {}
            _ => {
                let first = serde_json::to_string(&Line::Subject(subject.clone())).unwrap_or_default();
                std::fs::write(file, format!("{first}\n"))?;
                return Ok(record);
            }
        }
        for line in lines {
            if let Line::Judged { tree, passed } = line {
                record.count(tree, passed);
            }
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

    pub(super) fn judged(&mut self, tree: &str, passed: bool) -> std::io::Result<()> {
        self.append(&Line::Judged { tree: tree.to_owned(), passed })?;
        self.count(tree.to_owned(), passed);
        Ok(())
    }

    pub(super) fn offered(&self, commit: &str) -> std::io::Result<()> {
        self.append(&Line::Offered { commit: commit.to_owned() })
    }

    fn append(&self, line: &Line) -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.file)?;
        // A line that was cut off must not swallow this one.
        file.write_all(format!("\n{}\n", serde_json::to_string(line).unwrap_or_default()).as_bytes())
    }
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

    #[test]
    fn record_survives_a_cut_and_belongs_to_its_subject() {
        let dir = std::env::temp_dir().join(format!("windlass-record-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("minimise.jsonl");
        let subject = Subject { base: "a".into(), head: "b".into(), gates: vec!["true".into()], protect: Vec::new() };
        let mut record = Record::open(&file, &subject).unwrap();
        record.judged("t1", true).unwrap();
        record.judged("t2", true).unwrap();
        record.judged("t2", false).unwrap();
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() - 4]).unwrap();
        let mut record = Record::open(&file, &subject).unwrap();
        assert_eq!((record.verdict("t1"), record.verdict("t2"), record.verdict("t3")), (Some(true), Some(true), None));
        record.judged("t2", false).unwrap();
        assert_eq!(Record::open(&file, &subject).unwrap().runs("t2"), (1, 1));
        let other = Subject { head: "c".into(), ..subject };
        assert_eq!(Record::open(&file, &other).unwrap().verdict("t1"), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
