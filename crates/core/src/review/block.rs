//! The review block: how a reviewer without tools hands in its work, as JSON in one fence of its answer.
//!
//! Tolerant of form: text around the block, a fence called `json`, any case, keys that nobody requested. Strict about
//! meaning: two blocks, a verdict that is neither word, an approval beside bugs, or findings under a wrong key are
//! errors whose words go back to the reviewer; nothing is taken from such a block.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::SectionSummary;
use super::plain_json::{PlainJson, plain_key};
use crate::findings::{NewFinding, Severity};
use crate::nearest::nearest;
use crate::text::markdown::{self, Kind, Line};

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
    #[serde(default, deserialize_with = "one_or_more")]
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
    #[serde(default, deserialize_with = "line_number")]
    pub line: Option<u32>,
    #[serde(default = "bug", deserialize_with = "severity")]
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
    Accepted,
    Rejected,
}

/// Why the end of an answer is not a review; the words are for the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockError {
    #[error("the answer has no ```{FENCE} block")]
    Missing,
    #[error("the answer has no ```{FENCE} block outside the unclosed code fence or comment on line {line}")]
    Hidden { line: u32 },
    #[error("the answer has more than one ```{FENCE} block (lines {first} and {second})")]
    Several { first: u32, second: u32 },
    #[error("the ```{FENCE} block on line {line} is not closed; the answer may be truncated")]
    Unclosed { line: u32 },
    #[error("the ```{FENCE} block is empty")]
    Empty,
    #[error("the ```{FENCE} block is longer than {LONGEST_BLOCK} bytes")]
    TooLong,
    #[error("the ```{FENCE} block is not the expected JSON: {what} (line {line} of the answer)")]
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
        None => format!("; known keys: {}", known.join(", ")),
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
    let fences = |wanted: &dyn Fn(&Line<'_>) -> bool| -> Vec<usize> {
        (0..lines.len()).filter(|index| wanted(&lines[*index])).collect()
    };
    let mut openings = fences(&is_opening);
    if openings.is_empty() {
        // The right block in a fence with another name.
        openings = fences(&|line| line.kind.fence_info().is_some_and(is_json));
        openings.retain(|opening| fenced(&lines, *opening).is_some_and(|json| has_verdict(&json)));
    }
    let opening = match openings[..] {
        [] if has_verdict(answer) => return from_json(answer, 0, shape),
        [] => return Err(unclosed.map_or(BlockError::Missing, |open| BlockError::Hidden { line: open.line() })),
        [opening] => opening,
        [first, second, ..] => {
            return Err(BlockError::Several { first: lines[first].number, second: lines[second].number });
        }
    };
    let line = lines[opening].number;
    let json = fenced(&lines, opening).ok_or(BlockError::Unclosed { line })?;
    from_json(&json, line, shape)
}

/// The text in a fence; `None` if it is never closed.
fn fenced(lines: &[Line<'_>], opening: usize) -> Option<String> {
    let inside = lines[opening + 1..].iter().take_while(|line| line.kind == Kind::Fenced).count();
    lines.get(opening + 1 + inside)?;
    Some(lines[opening + 1..opening + 1 + inside].iter().map(|line| line.text).collect::<Vec<_>>().join("\n"))
}

fn is_json(info: &str) -> bool {
    let word = info.split_whitespace().next().unwrap_or_default();
    word.is_empty() || ["json", "jsonc", "json5"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn has_verdict(json: &str) -> bool {
    json.len() <= LONGEST_BLOCK
        && json.trim_start().starts_with('{')
        && serde_json::from_str::<Value>(json)
            .is_ok_and(|value| value.as_object().is_some_and(|keys| keys.keys().any(|key| plain_key(key) == "verdict")))
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
    let PlainJson(mut value) = serde_json::from_str(json).map_err(error)?;
    let Some(object) = value.as_object_mut() else {
        return Err(BlockError::Json { line: after + 1, what: "expected an object".to_owned() });
    };
    if let Some(Value::String(verdict)) = object.get_mut("verdict") {
        *verdict = verdict.trim().to_lowercase();
    }
    refuse_findings_elsewhere(object, shape)?;
    prune(&mut value, shape, "")?;
    serde_json::from_value(value).map_err(error)
}

/// A misspelt key, or one with a list of objects, may hold what would change the verdict.
fn refuse_findings_elsewhere(object: &serde_json::Map<String, Value>, shape: &Shape) -> Result<(), BlockError> {
    let known = || shape.0.iter().map(|(known, _)| *known);
    let unknown = object.iter().filter(|(key, _)| known().all(|known| known != key.as_str()));
    for (key, value) in unknown {
        let nearest = nearest(key, known()).map(str::to_owned);
        let listed = value.as_array().is_some_and(|items| items.iter().any(Value::is_object));
        if nearest.is_some() || listed {
            return Err(BlockError::UnknownKey {
                key: key.escape_debug().to_string(),
                nearest,
                known: known().collect(),
            });
        }
    }
    Ok(())
}

/// Drops the keys that nobody requested.
fn prune(value: &mut Value, shape: &Shape, path: &str) -> Result<(), BlockError> {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| shape.0.iter().any(|(known, _)| known == key));
            object.iter_mut().try_for_each(|(key, value)| match shape.0.iter().find(|(known, _)| known == key) {
                Some((_, Some(below))) => prune(value, below, &format!("{path}{key}.")),
                Some((_, None)) | None => Ok(()),
            })
        }
        Value::Array(items) => (1..).zip(items).try_for_each(|(number, item)| {
            let path = format!("{}[{number}]", path.trim_end_matches('.'));
            // A list would do for an object, its values in the order of the keys; nobody means that.
            if item.is_array() {
                return Err(BlockError::List { path });
            }
            prune(item, shape, &format!("{path}."))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn bug() -> Severity {
    Severity::Bug
}

/// A severity that is not known counts as a bug: the reviewer decides what blocks, and `critical` is no less than that.
fn severity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
    let word = Value::deserialize(deserializer)?;
    let is_warning = word.as_str().is_some_and(|word| word.trim().eq_ignore_ascii_case(Severity::Warning.name()));
    Ok(if is_warning { Severity::Warning } else { Severity::Bug })
}

/// A line as a number or as text (`12`, `"12"`, `"12-15"`, `"L12"`); what names no line is none.
fn line_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let line = Value::deserialize(deserializer)?;
    let text = match &line {
        Value::Null => return Ok(None),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            text.trim().trim_start_matches(|c: char| c.is_alphabetic() || c.is_whitespace()).to_owned()
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(D::Error::custom("a line must be a number")),
    };
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse().ok().filter(|line| *line > 0))
}

/// A list of texts, of which reviewers like to write a single one without the list.
pub(super) fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of strings")]
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
mod tests;
