//! Why the engine refuses, and why a driver gives up.

use thiserror::Error;
use windlass_core::group::GroupRefusal;
use windlass_core::ids::TurnKey;
use windlass_core::machine::Refusal;
use windlass_store::StoreError;
use windlass_workspace::WorkspaceError;

use crate::journal::JournalError;
use crate::sandbox::SandboxError;

/// Why the engine could not do what was asked.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error("{by} is running this loop")]
    Driven { by: String },
    #[error("{by} of another machine or container holds this loop, and it is unknown whether it still runs")]
    Unseen { by: String },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    GroupRefused(#[from] GroupRefusal),
    #[error("cannot create the socket for other processes")]
    Socket(#[source] std::io::Error),
    #[error("cannot write to the data directory")]
    Data(#[source] std::io::Error),
    #[error("the loop's driver exited before it responded")]
    NoAnswer,
    #[error("the loop's driver did not respond within {seconds} s; the request may still take effect")]
    Unanswered { seconds: u64 },
    #[error("turn {turn} has ended or has not started")]
    TurnOver { turn: TurnKey },
    #[error("cannot identify processes on this system")]
    Identity,
}

/// Why a driver gave up. The loop stays as the journal has it and can be resumed.
#[derive(Debug, Error)]
pub enum DriveError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("cannot start the agent")]
    Launch(#[from] windlass_agents::LaunchError),
    #[error("cannot supervise the agent")]
    Supervise(#[from] windlass_supervise::StartError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("the disk of {path} is full")]
    DiskFull { path: String },
    #[error("cannot read or write the transcript {path}")]
    Transcript {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot lock the slots of running loops")]
    Places(#[source] std::io::Error),
    #[error("{0}")]
    NotTried(windlass_core::trouble::Trouble),
    #[error("a part of the engine stopped unexpectedly: {0}")]
    Lost(String),
}
