//! How summaries are made, as a loop's settings say it.
//!
//! A key is named by its environment variable and never held here: settings are journalled and shown.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummariserKind {
    /// From the transcript and the changed files; needs nobody.
    #[default]
    Deterministic,
    /// The loop's own agent, in a short extra turn.
    Agent,
    /// A direct call to a model.
    Endpoint,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Chat Completions, which most local servers speak too.
    #[default]
    Openai,
    /// Messages.
    Anthropic,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SummariserSettings {
    pub kind: SummariserKind,
    /// Off: no model is requested anything.
    pub enabled: bool,
    /// Off: the summary is the deterministic one; the commit message may still be requested.
    pub generate_summary: bool,
    pub summary_max_tokens: u32,
    /// The model for the commit message, if not the one for the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_message_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointSettings>,
    /// The longest that one request may take.
    pub timeout_ms: u64,
}

impl Default for SummariserSettings {
    fn default() -> Self {
        Self {
            kind: SummariserKind::default(),
            enabled: true,
            generate_summary: true,
            summary_max_tokens: 500,
            commit_message_model: None,
            endpoint: None,
            timeout_ms: 60_000,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointSettings {
    /// As the vendors' own variables have it: `https://api.openai.com/v1`, `https://api.anthropic.com`.
    pub base_url: String,
    /// The environment variable that holds the key; none for a server that wants none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    #[serde(default)]
    pub protocol: Protocol,
    pub model: String,
}
