//! The neutral vocabulary of agents: what any agent says and does in a turn, and how a turn ends.
//!
//! Adapters translate into these words; nothing above them knows a vendor's format.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::resources::LimitHit;
use crate::review::{MarkedQuestion, Report, Verdict};
use crate::trouble::Trouble;
use crate::usage::UsageByModel;

/// Something an agent said or did. Also the line format of a command agent that prints JSON lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// Assistant text: the only place where a promise counts.
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        input: String,
    },
    ToolResult {
        #[serde(default)]
        id: String,
        #[serde(default)]
        output: String,
        #[serde(default)]
        is_error: bool,
    },
    /// The agent's own resumable session.
    Session {
        id: String,
    },
    /// What was used since the last report of this turn.
    Usage {
        #[serde(default)]
        model: String,
        #[serde(flatten)]
        usage: crate::usage::Usage,
    },
    /// How much of its provider's windows the agent's account has used: all that are known now.
    Account {
        windows: Vec<AccountWindow>,
    },
    Error {
        kind: ErrorKind,
        #[serde(default)]
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The agent's own closing word on the turn.
    Result {
        #[serde(default)]
        text: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A line that the adapter does not recognize, unchanged.
    Raw {
        line: String,
    },
}

/// A span of time in which a provider lets an account use so much, such as five hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AccountWindow {
    /// As the agent calls it.
    pub name: String,
    /// In whole percent, rounded down.
    pub used_percent: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

/// Causes of failure that a policy treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    RateLimit,
    Overloaded,
    Network,
    ContextOverflow,
    Auth,
    /// The account has no credit left, or a quota that only money restores is used up.
    Billing,
    ModelNotFound,
    UnknownSession,
    /// Its processes reached a limit of the loop's own.
    ResourceLimit,
    Other,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent ended by itself and says nothing went wrong.
    Finished,
    /// The agent ended with an error.
    Failed {
        kind: ErrorKind,
        message: String,
    },
    RateLimited {
        until: Option<Timestamp>,
        message: String,
    },
    /// The program could not be started.
    NotStarted {
        message: String,
        missing: bool,
    },
    /// The engine ended the turn; `TurnInterrupted` says why.
    Interrupted,
    /// Windlass could not run the turn, or lost its supervising process. `began`: the agent may have worked.
    NotTried {
        #[serde(flatten)]
        trouble: Trouble,
        #[serde(default)]
        began: bool,
    },
    /// The turn was running when its engine went away; nobody saw it end.
    CutOff,
}

impl TurnOutcome {
    /// Why the program could not be started, if that is how the turn ended.
    pub fn failed_to_start(&self) -> Option<&str> {
        match self {
            TurnOutcome::NotStarted { message, .. } => Some(message),
            TurnOutcome::Finished
            | TurnOutcome::Failed { .. }
            | TurnOutcome::RateLimited { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::NotTried { .. }
            | TurnOutcome::CutOff => None,
        }
    }

    pub fn is_finished(&self) -> bool {
        *self == TurnOutcome::Finished
    }

    /// What went wrong, in words; empty where nothing did.
    pub fn failure(&self) -> String {
        match self {
            TurnOutcome::Failed { message, .. }
            | TurnOutcome::RateLimited { message, .. }
            | TurnOutcome::NotStarted { message, .. } => message.clone(),
            TurnOutcome::NotTried { trouble, .. } => trouble.to_string(),
            TurnOutcome::Interrupted => "the turn timed out".to_owned(),
            TurnOutcome::CutOff => "the turn was cut off".to_owned(),
            TurnOutcome::Finished => String::new(),
        }
    }
}

/// All that is journalled of a turn when it is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnReport {
    pub outcome: TurnOutcome,
    /// The agent's word that it is done.
    pub claim: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default)]
    pub usage: UsageByModel,
    /// All that the assistant said after its last tool call, bounded; only where somebody reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// An acceptor's verdict, read from its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// A developer's report, read from its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer: Option<Box<Report>>,
    /// What a coder asks the user, read from its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<MarkedQuestion>,
    /// Files that were changed and restored: what git runs or follows (`.git/…`), and all where an agent only reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<ChangedFile>,
    /// Limits that the agent's processes reached, whatever became of the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<LimitHit>,
    /// The end of what the assistant said, bounded.
    #[serde(default)]
    pub last_words: String,
    /// How often each tool was used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<(String, u64)>,
    /// Tool calls that came back as errors.
    #[serde(default)]
    pub failed_calls: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
}

impl TurnReport {
    /// A report of a turn of which nothing is known but its end.
    pub fn bare(outcome: TurnOutcome) -> Self {
        Self {
            outcome,
            claim: false,
            session: None,
            usage: UsageByModel::new(),
            answer: None,
            verdict: None,
            developer: None,
            questions: Vec::new(),
            put_back: Vec::new(),
            limits_hit: Vec::new(),
            last_words: String::new(),
            tools: Vec::new(),
            failed_calls: 0,
            exit_code: None,
            duration_ms: 0,
        }
    }
}

/// Whether Windlass accepts this name of a session. The agent chooses it, and Windlass puts it into command lines, one of which a
/// user runs without a sandbox. So it must not be an option, an absolute path, or have characters that a shell or terminal interprets.
pub fn is_session_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:@+=,%~/-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    begins && name.len() <= 256 && name.chars().all(plain)
}

/// A file that an agent, a gate or Windlass changed, in words for a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangedFile {
    pub path: String,
    pub change: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_are_no_options_no_paths_and_nothing_to_a_shell() {
        for name in ["0199a213-81c0-7800-8aa1-bbab2a035a53", "ses_61a7f2bffe", "last", "2026/11/18_x:y@z"] {
            assert!(is_session_name(name), "{name}");
        }
        let long = "x".repeat(257);
        for name in
            ["", "-c", "--settings=/w/evil.json", "/etc/passwd", "~/x", "a b", "a;b", "$(x)", "a\n", "\u{1b}[2J", &long]
        {
            assert!(!is_session_name(name), "{name:?}");
        }
    }
}
