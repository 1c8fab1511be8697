//! The neutral JSON lines that a command agent in `jsonl` mode may print.
//!
//! Invariant: written independently of the adapter that reads them, so that a mistake in one of the two shows up
//! as a failing test instead of being shared.

use serde::{Deserialize, Serialize};

/// One line of neutral output, tagged with `type`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum NeutralEvent {
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: String,
    },
    ToolResult {
        id: String,
        output: String,
        #[serde(default)]
        is_error: bool,
    },
    Session {
        id: String,
    },
    Usage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_read_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_write_tokens: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    Error {
        kind: ErrorKind,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    Result {
        text: String,
        #[serde(default)]
        is_error: bool,
    },
}

/// What went wrong, as far as the agent can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimit,
    Overloaded,
    Network,
    ContextOverflow,
    Auth,
    ModelNotFound,
    UnknownSession,
    Other,
}

impl NeutralEvent {
    /// The event as the line an agent prints, without the newline.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("neutral events are plain data")
    }
}
