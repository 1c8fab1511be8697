//! What an `.anima` project keeps beside a milestone's text. Another tool writes it, so unknown fields are its own.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::MilestoneError;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnimaRecord {
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub requires_human_review: Option<bool>,
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// `pending`, `in_progress`, … in that tool's words.
    #[serde(default)]
    pub status: Option<String>,
}

impl AnimaRecord {
    pub fn parse(json: &str) -> Result<AnimaRecord, MilestoneError> {
        serde_json::from_str(json).map_err(|error| {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
            MilestoneError::new(line, error.to_string(), "fix the file, or remove it; only the .md file is required")
        })
    }
}
