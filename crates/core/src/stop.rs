//! How a loop stands and why it ended: one vocabulary for command line, API and dashboard.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::Role;
use crate::trouble::{Step, Trouble};

/// How a loop stands. `interrupted` is missing on purpose: it is what a reader sees when a running loop's driver
/// is gone, and nothing writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Status {
    Queued,
    Running,
    /// Continues by itself at a known time.
    Waiting {
        until: Timestamp,
        why: WaitReason,
    },
    /// Continues when a user reports it.
    Paused {
        why: PauseReason,
    },
    Ended {
        end: End,
    },
}

/// The five ends. Only `Completed` is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Completed,
    Exhausted,
    Cancelled,
    Stalled,
    Errored,
}

/// What a completed loop amounts to. Only `Verified` looks verified anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every gate passed on, or the reviewer agreed to, the recorded commit, which changes something against the base.
    Verified,
    /// Neither a gate nor a reviewer judged what is recorded.
    Claimed,
    /// The tree equals the base.
    Unchanged,
    /// The gates or the reviewer judged a tree that no commit records, or the user's own checkout.
    CheckedInPlace,
    /// A user went back to an earlier checkpoint after the loop was completed.
    RolledBack,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Verified => "verified",
            Outcome::Claimed => "claimed",
            Outcome::Unchanged => "unchanged",
            Outcome::CheckedInPlace => "checked_in_place",
            Outcome::RolledBack => "rolled_back",
        }
    }
}

/// Why a loop waits for the clock; each message is the agent's or the provider's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WaitReason {
    RateLimit {
        message: String,
    },
    /// The provider is overloaded or cannot be reached.
    NoAnswer {
        message: String,
    },
    TurnFailed {
        role: Role,
        message: String,
    },
    /// Something could not be tried, and is tried again.
    Infrastructure {
        step: Step,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// A user may answer a question until then.
    Question {
        id: String,
        question: String,
    },
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitReason::RateLimit { message } => write!(f, "rate limit: {message}"),
            WaitReason::NoAnswer { message } => write!(f, "the provider does not respond: {message}"),
            WaitReason::TurnFailed { role, message } => write!(f, "the {role} failed: {message}"),
            WaitReason::Infrastructure { step, trouble } => write!(f, "{step} could not run ({trouble})"),
            WaitReason::Question { id, question } => write!(f, "your answer to {id}: {question}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PauseReason {
    /// Paused by a user.
    Person,
    /// A limit was reached and the loop's policy is to ask.
    Limit { limit: StopReason },
    /// The agent is not logged in.
    Auth { message: String },
    /// The provider allows no more for now, and the loop's policy is to ask.
    ProviderLimit { message: String },
    /// The loop takes more disk than it may, or too little is free.
    Disk { message: String },
    /// Something could not be tried, however often.
    Infrastructure {
        step: Step,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// The reviewer failed, and so did those that could replace it. It says nothing of the work.
    Reviewer { role: Role, agent: String, message: String },
    /// The reviewer accepted the work, and a user must agree.
    Review,
    /// The reviewer rejected so often in a row that a user must say how to continue.
    Rejections { reasons: Vec<String> },
}

impl PauseReason {
    /// The tag, as scripts see it.
    pub fn name(&self) -> &'static str {
        match self {
            PauseReason::Person => "person",
            PauseReason::Limit { .. } => "limit",
            PauseReason::Auth { .. } => "auth",
            PauseReason::ProviderLimit { .. } => "provider_limit",
            PauseReason::Disk { .. } => "disk",
            PauseReason::Infrastructure { .. } => "infrastructure",
            PauseReason::Reviewer { .. } => "reviewer",
            PauseReason::Review => "review",
            PauseReason::Rejections { .. } => "rejections",
        }
    }
}

/// Why a stretch of a loop ended; exactly one for each stretch between opening and end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StopReason {
    Completed,
    MaxIterations {
        max: u32,
    },
    Duration {
        limit_ms: u64,
    },
    Budget {
        limit_usd: f64,
        spent_usd: f64,
    },
    Tokens {
        limit: u64,
        used: u64,
    },
    GatesFailed {
        gates: Vec<String>,
    },
    /// The gates pass, but on files that are in no commit.
    HeldBack {
        files: Vec<String>,
    },
    Cancelled,
    Stall {
        stalls: u32,
    },
    NoProgress {
        iterations: u32,
    },
    AgentFailed {
        message: String,
    },
    AgentMissing {
        message: String,
    },
    ProviderLimit {
        message: String,
    },
    ErrorMaxRetries {
        message: String,
    },
    WorkspaceMissing {
        message: String,
    },
    CutOff {
        times: u32,
    },
    SetupFailed {
        message: String,
    },
}

impl StopReason {
    /// The end that this reason points to.
    pub fn end(&self) -> End {
        match self {
            StopReason::Completed => End::Completed,
            StopReason::MaxIterations { .. }
            | StopReason::Duration { .. }
            | StopReason::Budget { .. }
            | StopReason::Tokens { .. }
            | StopReason::GatesFailed { .. }
            | StopReason::HeldBack { .. } => End::Exhausted,
            StopReason::Cancelled => End::Cancelled,
            StopReason::Stall { .. } | StopReason::NoProgress { .. } => End::Stalled,
            StopReason::AgentFailed { .. }
            | StopReason::AgentMissing { .. }
            | StopReason::ProviderLimit { .. }
            | StopReason::ErrorMaxRetries { .. }
            | StopReason::WorkspaceMissing { .. }
            | StopReason::CutOff { .. }
            | StopReason::SetupFailed { .. } => End::Errored,
        }
    }

    /// The tag, as scripts see it.
    pub fn name(&self) -> &'static str {
        match self {
            StopReason::Completed => "completed",
            StopReason::MaxIterations { .. } => "max_iterations",
            StopReason::Duration { .. } => "duration",
            StopReason::Budget { .. } => "budget",
            StopReason::Tokens { .. } => "tokens",
            StopReason::GatesFailed { .. } => "gates_failed",
            StopReason::HeldBack { .. } => "held_back",
            StopReason::Cancelled => "cancelled",
            StopReason::Stall { .. } => "stall",
            StopReason::NoProgress { .. } => "no_progress",
            StopReason::AgentFailed { .. } => "agent_failed",
            StopReason::AgentMissing { .. } => "agent_missing",
            StopReason::ProviderLimit { .. } => "provider_limit",
            StopReason::ErrorMaxRetries { .. } => "error_max_retries",
            StopReason::WorkspaceMissing { .. } => "workspace_missing",
            StopReason::CutOff { .. } => "cut_off",
            StopReason::SetupFailed { .. } => "setup_failed",
        }
    }
}

impl End {
    pub fn name(self) -> &'static str {
        match self {
            End::Completed => "completed",
            End::Exhausted => "exhausted",
            End::Cancelled => "cancelled",
            End::Stalled => "stalled",
            End::Errored => "errored",
        }
    }
}

impl Status {
    pub fn name(&self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Waiting { .. } => "waiting",
            Status::Paused { why: PauseReason::Review } => "awaiting_review",
            Status::Paused { .. } => "paused",
            Status::Ended { end } => end.name(),
        }
    }

    pub fn is_ended(&self) -> bool {
        matches!(self, Status::Ended { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // promise: done-11
    fn the_name_of_a_reason_is_its_tag() {
        let message = String::new;
        let reasons = [
            StopReason::Completed,
            StopReason::MaxIterations { max: 1 },
            StopReason::Duration { limit_ms: 1 },
            StopReason::Budget { limit_usd: 1.0, spent_usd: 1.0 },
            StopReason::Tokens { limit: 1, used: 1 },
            StopReason::GatesFailed { gates: vec![] },
            StopReason::HeldBack { files: vec![] },
            StopReason::Cancelled,
            StopReason::Stall { stalls: 3 },
            StopReason::NoProgress { iterations: 8 },
            StopReason::AgentFailed { message: message() },
            StopReason::AgentMissing { message: message() },
            StopReason::ProviderLimit { message: message() },
            StopReason::ErrorMaxRetries { message: message() },
            StopReason::WorkspaceMissing { message: message() },
            StopReason::CutOff { times: 3 },
            StopReason::SetupFailed { message: message() },
        ];
        for reason in &reasons {
            assert_eq!(serde_json::to_value(reason).unwrap()["type"], reason.name());
        }
        let schema = serde_json::to_value(schemars::schema_for!(StopReason)).unwrap();
        let known = schema["oneOf"].as_array().unwrap().iter().map(|one| one["properties"]["type"]["const"].clone());
        let listed = reasons.iter().map(|reason| serde_json::Value::from(reason.name()));
        assert_eq!(known.collect::<Vec<_>>(), listed.collect::<Vec<_>>(), "every reason is listed");
    }
}
