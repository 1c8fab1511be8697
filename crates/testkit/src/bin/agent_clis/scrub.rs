//! Taking this machine, this moment and chance out of a recording, so that recording again changes only what the CLI
//! has changed.
//!
//! Invariant: what is replaced keeps its shape, and the same thing is replaced by the same thing in all recordings of
//! one CLI: an id in a command line is still the id of the session before.

use std::collections::BTreeMap;

use regex::{Captures, Regex};

pub(crate) struct Scrubber {
    /// Literal texts, the longest first.
    texts: Vec<(String, String)>,
    ids: BTreeMap<String, String>,
    id: Regex,
    fixed: Vec<(Regex, &'static str)>,
}

impl Scrubber {
    pub(crate) fn new() -> Scrubber {
        let regex = |r: &str| Regex::new(r).expect("a good pattern");
        let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        let prefixed = "(?:ses|msg|prt|call|toolu|resp|rs|fc|chatcmpl|evt|snapshot|run)[_-][0-9A-Za-z]{14,}";
        let hash = r"\b[0-9a-f]{40}\b";
        Scrubber {
            texts: Vec::new(),
            ids: BTreeMap::new(),
            id: regex(&format!("{uuid}|{prefixed}|{hash}")),
            fixed: vec![
                (regex(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)"), "2026-01-01T00:00:00.000Z"),
                (regex(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"), "2026-01-01T00:00:00Z"),
                (regex(r"20\d\d-\d\d-\d\dT\d\d-\d\d(?:-\d\d)?"), "2026-01-01T00-00"),
                (regex(r"\b1[789]\d{11}\b"), "1767225600000"),
                (regex(r"\b1[789]\d{8}\b"), "1767225600"),
                (
                    regex(
                        r#"("[A-Za-z_]*(?:[dD]uration|ttft|latency|[eE]lapsed|uptime|overhead)[A-Za-z_]*"\s*:\s*)[0-9.]+"#,
                    ),
                    "${1}100",
                ),
                (regex(r#"("[A-Za-z_]*(?:ms|Ms|_at_ms)"\s*:\s*)[0-9.]+"#), "${1}100"),
                (regex(r"127\.0\.0\.1:\d+"), "127.0.0.1:8791"),
                (regex(r"(?:\bpid[ =:]+|process:)\d+"), "pid 1"),
                (regex(r"\b\d{1,2}:\d\d( ?[AaPp][Mm]\b)"), "1:00${1}"),
                (regex(r"\(node:\d+\)"), "(node:1)"),
            ],
        }
    }

    /// A text of this machine, also in the form in which some CLIs make a file name of a path.
    pub(crate) fn text(&mut self, from: &str, to: &str) {
        self.texts.push((from.to_owned(), to.to_owned()));
        self.texts.push((from.replace(['/', '.'], "-"), to.replace('/', "-")));
        self.texts.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    }

    pub(crate) fn scrub(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.texts {
            text = text.replace(from, to);
        }
        let ids = &mut self.ids;
        text = self.id.replace_all(&text, |found: &Captures<'_>| replaced(ids, &found[0])).into_owned();
        for (pattern, with) in &self.fixed {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        text
    }
}

fn replaced(ids: &mut BTreeMap<String, String>, id: &str) -> String {
    let number = ids.len() + 1;
    let made = || {
        let is_uuid = id.len() == 36 && id.as_bytes()[8] == b'-';
        match id.find(['_', '-']).filter(|_| !is_uuid) {
            Some(at) => format!("{}{number:0width$}", &id[..=at], width = id.len() - at - 1),
            None if is_uuid => format!("{}-{:012}", &id[..8].replace(|_: char| true, "0"), number)
                .replace("00000000-", "00000000-0000-4000-8000-"),
            None => format!("{number:040}"),
        }
    };
    ids.entry(id.to_owned()).or_insert_with(made).clone()
}
