//! What can go wrong in a store, and what the user can do about it.
//!
//! Invariant: a refusal (`NameTaken`, `Conflict`, `LeaseLost`, `Held`, …) leaves the store as it was, and no
//! error ever means that something was overwritten or half written.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;

use super::Holder;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the name '{name}' is taken in this project")]
    NameTaken { name: String },
    #[error("loop ID {id} already exists")]
    IdTaken { id: String },
    #[error("loop ID {id} not found")]
    UnknownLoop { id: String },
    #[error("the journal is at event {found}, not at {expected} as expected")]
    Conflict { expected: u64, found: u64 },
    #[error("another process is now running loop {loop_id}")]
    LeaseLost { loop_id: String },
    #[error("{} is running this loop", .0.seat)]
    Held(Box<Holder>),
    /// A limit on how many loops run at once holds the loop back.
    #[error("{why}")]
    Limited { why: String },
    #[error("command {id} is not in this loop's inbox")]
    NotPending { id: String },
    #[error("command {id} was not accepted by this loop, or already has an answer")]
    NotTaken { id: String },
    #[error("the time {at} is out of range")]
    TimeOutOfRange { at: Timestamp },

    #[error("no database at {}", path.display())]
    NotFound { path: PathBuf },
    #[error("the database {} is damaged", path.display())]
    Corrupt {
        path: PathBuf,
        #[source]
        source: Option<rusqlite::Error>,
    },
    #[error("{} belongs to another program", path.display())]
    Foreign { path: PathBuf },
    #[error("the database {} has version {found}, but this windlass supports only versions up to {known}", path.display())]
    NewerDatabase { path: PathBuf, found: u32, known: u32 },
    #[error("the database {} has version {found}, but this windlass reads version {known}", path.display())]
    OlderDatabase { path: PathBuf, found: u32, known: u32 },
    #[error("cannot write to the database {}", path.display())]
    ReadOnly { path: PathBuf },
    #[error("no permission to read the database {}", path.display())]
    Forbidden { path: PathBuf },
    #[error("the disk of {} is full", path.display())]
    DiskFull {
        path: PathBuf,
        #[source]
        source: Option<rusqlite::Error>,
    },
    #[error("the database {} is locked by another process", path.display())]
    Busy {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("cannot prepare {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the database {} failed", path.display())]
    Sqlite {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    /// Of a store that is not a file of this machine.
    #[error("{what}")]
    Database {
        what: String,
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    #[error("the store has stopped")]
    Stopped,
}

impl StoreError {
    /// The remedy in plain words, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NameTaken { .. } => Some("choose another with --name, or resume that loop".into()),
            Self::Conflict { .. } => Some("retry the command".into()),
            Self::LeaseLost { .. } => Some("follow the loop with 'windlass logs -f'".into()),
            Self::Held(holder) => {
                Some(format!("{} is running it; use 'windlass stop' or 'windlass logs -f'", holder.seat))
            }
            Self::NotFound { .. } => Some("create it with 'windlass run', or check WINDLASS_HOME".into()),
            Self::Corrupt { path, .. } => Some(format!(
                "restore a backup, or move {0}, {0}-wal, and {0}-shm away to start with an empty database; Windlass changed nothing",
                path.display()
            )),
            Self::Foreign { .. } => Some("set WINDLASS_HOME to a separate directory; Windlass changed nothing".into()),
            Self::NewerDatabase { .. } => {
                Some("update windlass, or set WINDLASS_HOME to another directory; Windlass changed nothing".into())
            }
            Self::OlderDatabase { .. } => Some(
                "run a command that writes, such as 'windlass run'; it migrates the database and keeps a copy".into(),
            ),
            Self::ReadOnly { path } => Some(format!(
                "make {} and its directory writable for this user, or set WINDLASS_HOME to a writable directory",
                path.display()
            )),
            Self::Forbidden { path } => Some(format!("make {} readable for this user", path.display())),
            Self::DiskFull { .. } => Some("free some space and retry the command; no partial data was written".into()),
            Self::Busy { .. } => {
                Some("retry; if it stays locked, find the windlass or backup process that locks it".into())
            }
            Self::IdTaken { .. }
            | Self::UnknownLoop { .. }
            | Self::Limited { .. }
            | Self::NotPending { .. }
            | Self::NotTaken { .. }
            | Self::TimeOutOfRange { .. }
            | Self::Io { .. }
            | Self::Sqlite { .. }
            | Self::Database { .. }
            | Self::Stopped => None,
        }
    }
}
