//! Findings as agents read them.

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::findings::{Finding, FindingStatus, Scope};
use windlass_core::machine::{LoopState, Review};

use super::server::{LONGEST_ANSWER, Told, ToolError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFindings {
    /// Which findings: of the section that is worked at now, those that belong to no single section, or all
    #[serde(default)]
    pub scope: Option<ReadScope>,
    /// Only findings whose text contains this, upper and lower case alike
    #[serde(default)]
    pub search: Option<String>,
    /// Only findings whose text this regular expression matches
    #[serde(default)]
    pub regex: Option<String>,
    /// Open findings only, or the resolved ones too [default: open]
    #[serde(default)]
    pub status: ReadStatus,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadScope {
    CurrentSection,
    CrossSection,
    #[default]
    All,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadStatus {
    #[default]
    Open,
    All,
}

/// The findings that were requested, as JSON.
pub fn read(state: &LoopState, wanted: &ReadFindings) -> Told {
    let Some(review) = &state.review else { return Err(ToolError::new("this loop has no reviewer")) };
    let scope = scope(review, wanted.scope.unwrap_or_default())?;
    let pattern = wanted.regex.as_deref().map(Regex::new).transpose();
    let pattern = pattern.map_err(|error| ToolError(format!("invalid regular expression: {error}")))?;
    let part = wanted.search.as_deref().map(str::to_lowercase);
    let matches = |text: &str| {
        pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
            && part.as_deref().is_none_or(|part| text.to_lowercase().contains(part))
    };
    let found = review.findings().search(matches);
    let found = found.filter(|finding| scope.has(finding) && (wanted.status == ReadStatus::All || finding.is_open()));
    let (listed, left_out) = as_many_as_fit(found.map(shown));
    let open = review.findings().open().count();
    let mut answer = json!({ "findings": listed, "open_in_all": open });
    if left_out > 0 {
        answer["left_out"] = json!(format!("{left_out} more; resolve some of these, or narrow the search"));
    }
    Ok(answer.to_string())
}

/// The first ones, and how many are left.
fn as_many_as_fit(all: impl Iterator<Item = Value>) -> (Vec<Value>, usize) {
    let (mut listed, mut length, mut left_out) = (Vec::new(), 0, 0);
    for one in all {
        length += one.to_string().len();
        if length <= LONGEST_ANSWER || listed.is_empty() {
            listed.push(one);
        } else {
            left_out += 1;
        }
    }
    (listed, left_out)
}

fn scope(review: &Review, wanted: ReadScope) -> Result<Scope, ToolError> {
    match wanted {
        ReadScope::All => Ok(Scope::All),
        ReadScope::CrossSection => Ok(Scope::CrossSection),
        ReadScope::CurrentSection => review
            .section_number()
            .map(|section| Scope::Section { section })
            .ok_or_else(|| ToolError::new("no section is current; use the scope all")),
    }
}

fn shown(finding: &Finding) -> Value {
    let resolved_in = match &finding.status {
        FindingStatus::Open => None,
        FindingStatus::Resolved { resolved_in } => Some(resolved_in.to_string()),
    };
    json!({
        "id": finding.id.to_string(),
        "place": finding.place(),
        "severity": finding.severity.name(),
        "description": finding.description,
        "scenario": finding.scenario,
        "section": finding.section,
        "status": if finding.is_open() { "open" } else { "resolved" },
        "written_in": finding.written_in.to_string(),
        "resolved_in": resolved_in,
        "open_in_audits": finding.recurrence,
        "found_before": finding.history.len(),
    })
}
