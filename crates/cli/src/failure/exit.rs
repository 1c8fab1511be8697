//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// The documented codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Completed,
    /// Windlass itself failed.
    Failed,
    /// Wrong use: flags, settings, not a repository, name taken.
    Usage,
    Exhausted,
    Cancelled,
    Stalled,
    NeedsPerson,
    Errored,
    /// Only `status --exit-code`.
    UnderWay,
    /// Only `status --exit-code`.
    Interrupted,
    /// This signal interrupted the process.
    Signal(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Completed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Exhausted => 3,
            Exit::Cancelled => 4,
            Exit::Stalled => 5,
            Exit::NeedsPerson => 6,
            Exit::Errored => 7,
            Exit::UnderWay => 10,
            Exit::Interrupted => 11,
            Exit::Signal(signal) => 128 + signal,
        }
    }

    /// The code for a loop in this status.
    pub fn of_status(status: &str) -> Self {
        match status {
            "completed" => Exit::Completed,
            "exhausted" => Exit::Exhausted,
            "cancelled" => Exit::Cancelled,
            "stalled" => Exit::Stalled,
            "paused" | "awaiting_review" => Exit::NeedsPerson,
            "errored" => Exit::Errored,
            "interrupted" => Exit::Interrupted,
            "queued" | "running" | "waiting" => Exit::UnderWay,
            _ => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
