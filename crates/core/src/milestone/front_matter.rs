//! Settings at the head of a milestone's file: `key: value` lines between two lines of `---`.

use std::fmt::Display;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::MilestoneError;
use crate::nearest::nearest;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontMatter {
    /// A user approves before it counts as completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_human_review: Option<bool>,
    /// Lower ones come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

const KEYS: [&str; 7] =
    ["requires_human_review", "order", "agent", "model", "reviewer", "max_iterations", "created_at"];

/// The settings, and how many lines they take.
pub(super) fn read(text: &str) -> Result<(FrontMatter, usize), MilestoneError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = FrontMatter::default();
    let mut seen: Vec<(&str, u32)> = Vec::new();
    if text.lines().next().map(str::trim_end) != Some("---") {
        return Ok((found, 0));
    }
    for (number, line) in (2_u32..).zip(text.lines().skip(1)) {
        let line = line.trim();
        if line == "---" {
            return Ok((found, number as usize));
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            return Err(MilestoneError::new(
                number,
                "this is not a setting",
                "write `key: value`, and a --- line after the last setting",
            ));
        };
        let key = key.trim();
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == key) {
            return Err(MilestoneError::new(
                number,
                format!("`{key}` is also set on line {first}"),
                "keep one of them",
            ));
        }
        seen.push((key, number));
        set(&mut found, key, plain(value), number)?;
    }
    Err(MilestoneError::new(1, "the settings block is not closed", "add a --- line after the last setting"))
}

/// The value without quotation marks, or without the comment behind it.
fn plain(value: &str) -> &str {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside;
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value).trim_end()
}

fn set(found: &mut FrontMatter, key: &str, value: &str, line: u32) -> Result<(), MilestoneError> {
    match key {
        "requires_human_review" => found.requires_human_review = Some(parsed(key, value, line, "true or false")?),
        "order" => found.order = Some(parsed(key, value, line, "an integer, such as 3")?),
        "agent" => found.agent = Some(name(key, value, line)?),
        "model" => found.model = Some(name(key, value, line)?),
        "reviewer" => found.reviewer = Some(name(key, value, line)?),
        "max_iterations" => {
            let most: u32 = parsed(key, value, line, "a number from 1 to 100")?;
            if !(1..=100).contains(&most) {
                let what = format!("`max_iterations` is out of range: {most}");
                return Err(MilestoneError::new(line, what, "use a number from 1 to 100"));
            }
            found.max_iterations = Some(most);
        }
        "created_at" => found.created_at = Some(parsed(key, value, line, "a time such as 2026-01-31T12:00:00Z")?),
        unknown => {
            let hint = match nearest(unknown, KEYS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("known settings: {}", KEYS.join(", ")),
            };
            return Err(MilestoneError::new(line, format!("unknown setting `{}`", unknown.escape_debug()), hint));
        }
    }
    Ok(())
}

fn parsed<T: FromStr<Err: Display>>(key: &str, value: &str, line: u32, wanted: &str) -> Result<T, MilestoneError> {
    value.parse().map_err(|_| {
        let what = format!("invalid value for `{key}`: `{}`", value.escape_debug());
        MilestoneError::new(line, what, format!("use {wanted}"))
    })
}

fn name(key: &str, value: &str, line: u32) -> Result<String, MilestoneError> {
    if value.is_empty() || value.chars().any(|c| c.is_control() || matches!(c, '"' | '\'')) {
        let hint = "use a name, or remove the setting";
        return Err(MilestoneError::new(line, format!("`{key}` has no valid value"), hint));
    }
    Ok(value.to_owned())
}

/// As the head of a file; empty if nothing is set.
pub(super) fn render(settings: &FrontMatter) -> String {
    let FrontMatter { requires_human_review, order, agent, model, reviewer, max_iterations, created_at } = settings;
    let quoted = |text: &Option<String>| text.as_ref().map(|text| format!("\"{text}\""));
    let values: [(&str, Option<String>); 7] = [
        ("requires_human_review", requires_human_review.map(|value| value.to_string())),
        ("order", order.map(|value| value.to_string())),
        ("agent", quoted(agent)),
        ("model", quoted(model)),
        ("reviewer", quoted(reviewer)),
        ("max_iterations", max_iterations.map(|value| value.to_string())),
        ("created_at", created_at.map(|value| value.to_string())),
    ];
    let lines: Vec<String> =
        values.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}\n", value?))).collect();
    if lines.is_empty() { String::new() } else { format!("---\n{}---\n\n", lines.concat()) }
}
