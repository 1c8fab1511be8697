//! Errors as a person reads them: what happened, why, what to do.

use std::fmt::Write as _;

use windlass_engine::config::{ConfigError, UsageError};
use windlass_engine::driver::DriveError;
use windlass_engine::engine::EngineError;
use windlass_store::StoreError;
use windlass_workspace::WorkspaceError;

use crate::exit::Exit;

/// An error on its way to the user.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
    pub causes: Vec<String>,
    pub hint: Option<String>,
}

impl Failure {
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), causes: Vec::new(), hint: Some(hint.into()) }
    }

    pub fn of(exit: Exit, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        let message = error.to_string();
        let mut causes: Vec<String> = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if text != message && causes.last() != Some(&text) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { exit, message, causes, hint }
    }

    /// `error: …`, `caused by: …`, `hint: …`, a line each.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        for cause in &self.causes {
            let _ = writeln!(text, "caused by: {cause}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {hint}");
        }
        text
    }
}

impl From<UsageError> for Failure {
    fn from(error: UsageError) -> Self {
        Failure::of(Exit::Usage, &error, Some(error.hint()))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::of(Exit::Usage, &error, error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::NameTaken { .. } => Exit::Usage,
            StoreError::IdTaken { .. }
            | StoreError::UnknownLoop { .. }
            | StoreError::Conflict { .. }
            | StoreError::LeaseLost { .. }
            | StoreError::Held(_)
            | StoreError::NotPending { .. }
            | StoreError::NotTaken { .. }
            | StoreError::TimeOutOfRange { .. }
            | StoreError::NotFound { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Foreign { .. }
            | StoreError::NewerDatabase { .. }
            | StoreError::OlderDatabase { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Forbidden { .. }
            | StoreError::DiskFull { .. }
            | StoreError::Busy { .. }
            | StoreError::Io { .. }
            | StoreError::Sqlite { .. }
            | StoreError::Stopped => Exit::Failed,
        };
        Failure::of(exit, &error, error.hint())
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let hint = error.hint();
        let exit = if error.is_wrong_use() { Exit::Usage } else { Exit::Failed };
        Failure::of(exit, &error, hint)
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Store(error) => error.into(),
            DriveError::Workspace(error) => Failure { exit: Exit::Failed, ..error.into() },
            error @ (DriveError::Journal(_)
            | DriveError::Launch(_)
            | DriveError::Supervise(_)
            | DriveError::Sandbox(_)
            | DriveError::DiskFull { .. }
            | DriveError::Transcript { .. }
            | DriveError::Lost(_)) => {
                let full = matches!(error, DriveError::DiskFull { .. });
                let hint = if full {
                    "free some space, then `windlass resume` the loop: nothing is lost"
                } else {
                    "the loop is kept as it is: `windlass resume` goes on with it"
                };
                Failure::of(Exit::Failed, &error, Some(hint.to_owned()))
            }
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Workspace(error) => error.into(),
            EngineError::Drive(error) => error.into(),
            EngineError::Driven { .. } => {
                let hint = "follow it with `windlass logs -f`, or end it with `windlass stop`";
                Failure::of(Exit::Usage, &error, Some(hint.to_owned()))
            }
            EngineError::Refused(ref refusal) => {
                let hint = refusal_hint(refusal);
                Failure::of(Exit::Usage, &error, hint.map(str::to_owned))
            }
            error @ (EngineError::Journal(_)
            | EngineError::Socket(_)
            | EngineError::Data(_)
            | EngineError::NoAnswer
            | EngineError::Unanswered { .. }
            | EngineError::TurnOver { .. }
            | EngineError::Identity) => Failure::of(Exit::Failed, &error, None),
        }
    }
}

fn refusal_hint(refusal: &windlass_core::machine::Refusal) -> Option<&'static str> {
    use windlass_core::machine::Refusal;
    match refusal {
        Refusal::LimitStands { .. } => Some("raise it, for example: windlass resume NAME --max-iterations +5"),
        Refusal::Completed => Some("start a new loop with `windlass run`"),
        Refusal::Ended { .. } | Refusal::NotUnderWay => Some("`windlass resume` opens it again"),
        Refusal::UnderWay => Some("follow it with `windlass logs -f`"),
        Refusal::NoSuchLimit { .. } => Some("`windlass status` shows the limits that the loop has"),
        Refusal::AwaitsRuling => Some("`windlass approve NAME`, or `windlass reject NAME --reason \"…\"`"),
        Refusal::NothingToRule => Some("`windlass status` shows what it does; `windlass steer` sends it a message"),
        Refusal::NotReviewed => Some("the recipes audited and milestone have a reviewer"),
        Refusal::Stale
        | Refusal::AlreadyAsked
        | Refusal::NotYourRole { .. }
        | Refusal::Finding(_)
        | Refusal::NoSession
        | Refusal::Plan(_) => None,
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::of(Exit::Failed, &error, None)
    }
}
