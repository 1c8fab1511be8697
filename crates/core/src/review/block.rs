//! The review block: how a reviewer without tools hands in its work, as JSON in one fence at the end of its answer.
//!
//! Strict on purpose. A block that is missing, doubled, not last or misspelt is an error whose words go back to the
//! reviewer; nothing is taken from it.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::SectionSummary;
use crate::findings::{NewFinding, Severity};
use crate::markdown::{self, Kind, Line};
use crate::nearest::nearest;

/// The word behind the fence's marks.
pub const FENCE: &str = "windlass-review";

const LONGEST_BLOCK: usize = 512 * 1024;

/// What an auditor hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    #[serde(default)]
    pub findings: Vec<ReportedFinding>,
    /// Ids or places of findings that are no longer true.
    #[serde(default)]
    pub resolved: Vec<String>,
    pub verdict: AuditVerdict,
    #[serde(default)]
    pub section_summary: Option<SectionSummary>,
    #[serde(default)]
    pub plan_adjustments: Vec<PlanAdjustment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    Clean,
    Dirty,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedFinding {
    pub file: String,
    #[serde(default)]
    pub line: Option<u32>,
    pub severity: Severity,
    pub description: String,
    #[serde(default)]
    pub scenario: Option<String>,
}

impl ReportedFinding {
    pub fn in_section(self, section: Option<u32>) -> NewFinding {
        let ReportedFinding { file, line, severity, description, scenario } = self;
        NewFinding { file, line, severity, description, scenario, section }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanAdjustment {
    pub section: u32,
    pub body: String,
    pub rationale: String,
}

/// What an acceptor hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    pub verdict: AcceptanceVerdict,
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceVerdict {
    #[serde(alias = "ACCEPTED")]
    Accepted,
    #[serde(alias = "REJECTED")]
    Rejected,
}

/// Why the end of an answer is no review; the words are for the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockError {
    #[error("the answer has no ```{FENCE} block")]
    Missing,
    #[error(
        "the answer has no ```{FENCE} block outside the code fence or comment of line {line}, which is never closed"
    )]
    Hidden { line: u32 },
    #[error("the answer has more than one ```{FENCE} block (lines {first} and {second})")]
    Several { first: u32, second: u32 },
    #[error("the ```{FENCE} block of line {line} is never closed; the answer may have been cut off")]
    Unclosed { line: u32 },
    #[error("the ```{FENCE} block is not the end of the answer: line {line} follows it")]
    NotLast { line: u32 },
    #[error("the ```{FENCE} block is empty")]
    Empty,
    #[error("the ```{FENCE} block is longer than {LONGEST_BLOCK} bytes")]
    TooLong,
    #[error("the ```{FENCE} block is not the JSON that was asked for: {what} (line {line} of the answer)")]
    Json { line: u32, what: String },
    #[error("the ```{FENCE} block has an unknown key `{key}`{}", meant(nearest.as_deref(), known))]
    UnknownKey { key: String, nearest: Option<String>, known: Vec<&'static str> },
    #[error("the ```{FENCE} block has a list where an object belongs: `{path}`")]
    List { path: String },
    #[error("the verdict is clean, but {bugs} of the findings in the same block are bugs")]
    CleanWithBugs { bugs: usize },
}

fn meant(nearest: Option<&str>, known: &[&'static str]) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; known are {}", known.join(", ")),
    }
}

/// The keys of an object, and what is below them.
struct Shape(&'static [(&'static str, Option<&'static Shape>)]);

const FINDING: Shape =
    Shape(&[("file", None), ("line", None), ("severity", None), ("description", None), ("scenario", None)]);
const SUMMARY: Shape = Shape(&[("done", None), ("deviations", None), ("follow_ups", None)]);
const ADJUSTMENT: Shape = Shape(&[("section", None), ("body", None), ("rationale", None)]);
const AUDIT: Shape = Shape(&[
    ("findings", Some(&FINDING)),
    ("resolved", None),
    ("verdict", None),
    ("section_summary", Some(&SUMMARY)),
    ("plan_adjustments", Some(&ADJUSTMENT)),
]);
const ACCEPTANCE: Shape = Shape(&[("verdict", None), ("reason", None)]);

pub fn read_audit(answer: &str) -> Result<Audit, BlockError> {
    let audit: Audit = read(answer, &AUDIT)?;
    let bugs = audit.findings.iter().filter(|finding| finding.severity == Severity::Bug).count();
    if audit.verdict == AuditVerdict::Clean && bugs > 0 {
        return Err(BlockError::CleanWithBugs { bugs });
    }
    Ok(audit)
}

pub fn read_acceptance(answer: &str) -> Result<Acceptance, BlockError> {
    read(answer, &ACCEPTANCE)
}

/// An acceptance that is the whole text, without a fence.
pub(super) fn acceptance_from_json(json: &str) -> Result<Acceptance, BlockError> {
    from_json(json, 0, &ACCEPTANCE)
}

/// Whether a line opens a review block.
pub(super) fn is_opening(line: &Line<'_>) -> bool {
    let word = line.kind.fence_info().and_then(|info| info.split_whitespace().next());
    word.is_some_and(|word| word.eq_ignore_ascii_case(FENCE))
}

fn read<T: DeserializeOwned>(answer: &str, shape: &Shape) -> Result<T, BlockError> {
    let (lines, unclosed) = markdown::scan(answer);
    let openings: Vec<usize> = (0..lines.len()).filter(|index| is_opening(&lines[*index])).collect();
    let opening = match openings[..] {
        [] => return Err(unclosed.map_or(BlockError::Missing, |open| BlockError::Hidden { line: open.line() })),
        [opening] => opening,
        [first, second, ..] => {
            return Err(BlockError::Several { first: lines[first].number, second: lines[second].number });
        }
    };
    let line = lines[opening].number;
    let inside = lines[opening + 1..].iter().take_while(|line| line.kind == Kind::Fenced).count();
    let Some(after) = lines.get(opening + 1 + inside + 1..) else { return Err(BlockError::Unclosed { line }) };
    if let Some(found) = after.iter().find(|line| line.kind != Kind::Blank) {
        return Err(BlockError::NotLast { line: found.number });
    }
    let json = lines[opening + 1..opening + 1 + inside].iter().map(|line| line.text).collect::<Vec<_>>().join("\n");
    from_json(&json, line, shape)
}

fn from_json<T: DeserializeOwned>(json: &str, after: u32, shape: &Shape) -> Result<T, BlockError> {
    if json.trim().is_empty() {
        return Err(BlockError::Empty);
    }
    if json.len() > LONGEST_BLOCK {
        return Err(BlockError::TooLong);
    }
    let error = |error: serde_json::Error| {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned();
        BlockError::Json { line: after + u32::try_from(error.line()).unwrap_or(u32::MAX), what }
    };
    let value: Value = serde_json::from_str(json).map_err(error)?;
    if !value.is_object() {
        return Err(BlockError::Json { line: after + 1, what: "expected an object".to_owned() });
    }
    check_keys(&value, shape, "")?;
    // From the text again: only that way a key that is there twice is seen.
    serde_json::from_str(json).map_err(error)
}

fn check_keys(value: &Value, shape: &Shape, path: &str) -> Result<(), BlockError> {
    match value {
        Value::Object(object) => object.iter().try_for_each(|(key, value)| {
            let path = format!("{path}{}", key.escape_debug());
            match shape.0.iter().find(|(known, _)| known == key) {
                Some((_, Some(below))) => check_keys(value, below, &format!("{path}.")),
                Some((_, None)) => Ok(()),
                None => {
                    let known: Vec<&'static str> = shape.0.iter().map(|(known, _)| *known).collect();
                    let nearest = nearest(key, known.iter().copied()).map(str::to_owned);
                    Err(BlockError::UnknownKey { key: path, nearest, known })
                }
            }
        }),
        Value::Array(items) => (1..).zip(items).try_for_each(|(number, item)| {
            let path = format!("{}[{number}]", path.trim_end_matches('.'));
            // A list would do for an object, its values in the order of the keys; nobody means that.
            if item.is_array() {
                return Err(BlockError::List { path });
            }
            check_keys(item, shape, &format!("{path}."))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// A list of texts, of which reviewers like to write a single one without the list.
pub(super) fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of texts")]
    enum Texts {
        One(String),
        More(Vec<String>),
    }
    let texts = match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::More(texts) => texts,
    };
    Ok(texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fenced(json: &str) -> String {
        format!("Looked at everything.\n\n```windlass-review\n{json}\n```\n")
    }

    #[test]
    fn a_whole_audit_is_read() {
        let audit = read_audit(&fenced(
            r#"{
  "findings": [{"file": "src/a.rs", "line": 3, "severity": "bug", "description": "wrong", "scenario": "press it"},
               {"file": "GOAL", "severity": "warning", "description": "missing"}],
  "resolved": ["f1", "b.rs:2"],
  "verdict": "dirty",
  "section_summary": {"done": ["a", " "], "deviations": "none of note"},
  "plan_adjustments": [{"section": 2, "body": "x", "rationale": "y"}]
}"#,
        ))
        .unwrap();
        assert_eq!(audit.findings[0].clone().in_section(Some(1)).section, Some(1));
        assert_eq!((audit.findings[1].line, audit.findings[1].severity), (None, Severity::Warning));
        assert_eq!(audit.resolved, ["f1", "b.rs:2"]);
        assert_eq!(audit.verdict, AuditVerdict::Dirty);
        let summary = audit.section_summary.unwrap();
        assert_eq!((summary.done, summary.deviations), (vec!["a".to_owned()], vec!["none of note".to_owned()]));
        assert_eq!(audit.plan_adjustments[0].section, 2);
    }

    #[test]
    fn an_acceptance_is_read() {
        let read = |json: &str| read_acceptance(&fenced(json)).unwrap();
        assert_eq!(read(r#"{"verdict": "accepted"}"#).verdict, AcceptanceVerdict::Accepted);
        let rejected = read(r#"{"verdict": "rejected", "reason": "no tests"}"#);
        assert_eq!((rejected.verdict, rejected.reason.as_deref()), (AcceptanceVerdict::Rejected, Some("no tests")));
    }

    #[test]
    fn the_block_is_one_and_at_the_end() {
        let clean = r#"{"verdict": "clean"}"#;
        let block = fenced(clean);
        for (answer, expected) in [
            (String::new(), BlockError::Missing),
            ("clean".into(), BlockError::Missing),
            (format!("```json\n{clean}\n```"), BlockError::Missing),
            (format!("```\ncode\n\n{}", block.trim_end().trim_end_matches('`')), BlockError::Hidden { line: 1 }),
            (format!("{block}{block}"), BlockError::Several { first: 3, second: 8 }),
            (format!("a\n```windlass-review\n{clean}"), BlockError::Unclosed { line: 2 }),
            ("```windlass-review".into(), BlockError::Unclosed { line: 1 }),
            (format!("{block}\nDone."), BlockError::NotLast { line: 7 }),
            (fenced(" "), BlockError::Empty),
            (fenced(&format!("{{\"verdict\": \"{}\"}}", "x".repeat(600_000))), BlockError::TooLong),
        ] {
            assert_eq!(read_audit(&answer), Err(expected), "{}", &answer[..answer.len().min(200)]);
        }
        for fine in [format!("~~~~ Windlass-Review\n{clean}\n~~~~"), format!("  {}\n\n \n", block.trim_start())] {
            assert!(read_audit(&fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn what_is_wrong_inside_is_named() {
        for (json, expected) in [
            (
                r#"{"verdict": "clean", "finding": []}"#,
                "the ```windlass-review block has an unknown key `finding`; did you mean `findings`?",
            ),
            (
                r#"{"verdict": "dirty", "findings": [{}, {"sevrity": "bug"}]}"#,
                "the ```windlass-review block has an unknown key `findings[2].sevrity`; did you mean `severity`?",
            ),
            (
                r#"{"verdict": "dirty", "section_summary": {"who": 1}}"#,
                "the ```windlass-review block has an unknown key `section_summary.who`; known are done, deviations, follow_ups",
            ),
            (
                "{\"verdict\":\n\"good\"}",
                "the ```windlass-review block is not the JSON that was asked for: unknown variant `good`, expected `clean` or `dirty` (line 5 of the answer)",
            ),
            (
                r#"{"findings": []}"#,
                "the ```windlass-review block is not the JSON that was asked for: missing field `verdict` (line 4 of the answer)",
            ),
            (
                r#"{"verdict": "dirty", "verdict": "clean"}"#,
                "the ```windlass-review block is not the JSON that was asked for: duplicate field `verdict` (line 4 of the answer)",
            ),
            (
                r#"{"verdict": "dirty","#,
                "the ```windlass-review block is not the JSON that was asked for: EOF while parsing a value (line 4 of the answer)",
            ),
            (
                r#"["dirty"]"#,
                "the ```windlass-review block is not the JSON that was asked for: expected an object (line 4 of the answer)",
            ),
            (
                r#"{"verdict": "dirty", "findings": [["a.rs", 3, "bug", "x"]]}"#,
                "the ```windlass-review block has a list where an object belongs: `findings[1]`",
            ),
            (
                r#"{"verdict": "clean", "findings": [{"file": "a", "severity": "bug", "description": "b"}]}"#,
                "the verdict is clean, but 1 of the findings in the same block are bugs",
            ),
        ] {
            assert_eq!(read_audit(&fenced(json)).unwrap_err().to_string(), expected, "{json}");
        }
        let deep = "[".repeat(10_000);
        assert!(matches!(read_audit(&fenced(&deep)), Err(BlockError::Json { .. })));
    }
}
