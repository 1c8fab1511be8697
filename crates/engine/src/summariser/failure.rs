//! Why a summary or a commit message is missing.

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
    #[error("no endpoint configured")]
    NoEndpoint,
    #[error("the environment variable {name} with the API key is not set")]
    NoKey { name: String },
    #[error("the API key in {name} contains invalid characters")]
    OddKey { name: String },
    #[error("the endpoint's base_url is not an HTTP or HTTPS URL")]
    BadAddress,
    #[error("cannot create the HTTP client: {0}")]
    Setup(String),
    #[error("cannot reach the endpoint: {0}")]
    Unreachable(String),
    #[error("no response within {after_ms} ms")]
    TimedOut { after_ms: u64 },
    #[error("the endpoint responded with {status}: {detail}")]
    Refused { status: u16, detail: String },
    #[error("the response is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the response does not match the protocol: {0}")]
    NotUnderstood(String),
    #[error("the response contains no text")]
    Empty,
    #[error("the response does not have the requested format")]
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
