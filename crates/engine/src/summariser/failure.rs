//! Why a summary or a message could not be had.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum SummaryError {
    #[error("Failed to generate summary: {0}")]
    Summary(#[source] CallError),
    /// The summary is there all the same.
    #[error("Failed to generate commit message: {source}")]
    Message { summary: String, source: CallError },
}

/// Why a model gave no answer. No variant holds a key or an address, which may hold one.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum CallError {
    #[error("no endpoint is set")]
    NoEndpoint,
    #[error("the environment variable {name} that should hold the key is not set")]
    NoKey { name: String },
    #[error("the key in {name} has characters that cannot be sent")]
    OddKey { name: String },
    #[error("the endpoint's base_url is not an http or https address")]
    BadAddress,
    #[error("the client could not be set up: {0}")]
    Setup(String),
    #[error("the endpoint could not be reached: {0}")]
    Unreachable(String),
    #[error("no answer within {after_ms} ms")]
    TimedOut { after_ms: u64 },
    #[error("the endpoint answered {status}: {detail}")]
    Refused { status: u16, detail: String },
    #[error("the answer is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the answer is not in the form of the protocol: {0}")]
    NotUnderstood(String),
    #[error("the answer holds no text")]
    Empty,
    #[error("the answer does not have the form that was asked for")]
    WrongForm,
    #[error("{0}")]
    Agent(String),
    #[error("the engine is stopping")]
    Interrupted,
}

impl CallError {
    /// Whether there was nobody to ask.
    pub fn is_unavailable(&self) -> bool {
        match self {
            CallError::NoEndpoint
            | CallError::NoKey { .. }
            | CallError::OddKey { .. }
            | CallError::BadAddress
            | CallError::Setup(_) => true,
            CallError::Unreachable(_)
            | CallError::Agent(_)
            | CallError::TimedOut { .. }
            | CallError::Refused { .. }
            | CallError::TooLong { .. }
            | CallError::NotUnderstood(_)
            | CallError::Empty
            | CallError::WrongForm
            | CallError::Interrupted => false,
        }
    }
}
