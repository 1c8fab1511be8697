//! What remains of a turn: the history that is summarised, what a summariser is asked, and what is made of its answer.
//!
//! Every text here is bounded, and cut between characters: a turn may print a gigabyte in any script, and the summary
//! goes into a commit and into the next prompt.

mod answer;
mod ask;
mod facts;
mod filter;
mod history;
mod message;
mod settings;

pub use answer::{clean_summary, read_both};
pub use ask::{Question, ask_both, ask_message, ask_summary};
pub use facts::from_facts;
use history::HISTORY_TOKENS;
pub use history::TurnHistory;
pub use message::{fallback_message, read_message};
pub use settings::{EndpointSettings, Protocol, SummariserKind, SummariserSettings};

pub const NO_ACTIONS: &str = "No significant actions in this iteration.";
pub(crate) const INVALID_OUTPUT: &str = "Summary generation produced invalid output.";
pub const GENERATION_FAILED: &str = "Summary generation failed";
pub const NO_CLIENT: &str = "No summary (client not available)";

/// All that a summary is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Material {
    pub iteration: u32,
    pub task: String,
    /// The first files that changed; `files_changed` counts all.
    pub files: Vec<String>,
    pub files_changed: u64,
    /// The turn's history within its budget, empty if nothing of significance happened.
    pub history: String,
    /// The last message of the assistant.
    pub last_words: String,
    /// How often each tool was used.
    pub tools: Vec<(String, u64)>,
    /// Tool calls that came back as errors.
    pub failed_calls: u64,
    /// What the agent was told to say when it is done; no part of what it did.
    pub promise: Option<String>,
}

impl Material {
    /// Takes over what a turn left behind; the task and the files come from elsewhere. That is enough for the
    /// deterministic summary, which needs no tokens counted.
    pub fn from_turn(iteration: u32, turn: &TurnHistory) -> Self {
        Self {
            iteration,
            last_words: turn.last_words(),
            tools: turn.tools(),
            failed_calls: turn.failed_calls(),
            ..Self::default()
        }
    }

    /// Adds the history, for a summary that a model writes.
    #[must_use]
    pub fn with_history(mut self, turn: &TurnHistory, count: crate::text::CountTokens<'_>) -> Self {
        self.history = turn.text(HISTORY_TOKENS, count);
        self
    }
}

/// What a summariser gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub summary: String,
    pub commit_message: String,
}

#[cfg(test)]
mod tests;
