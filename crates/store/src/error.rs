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
    #[error("a loop with the id {id} exists already")]
    IdTaken { id: String },
    #[error("no loop has the id {id}")]
    UnknownLoop { id: String },
    #[error("the journal is at event {found}, not at {expected} as expected")]
    Conflict { expected: u64, found: u64 },
    #[error("another process drives loop {loop_id} now")]
    LeaseLost { loop_id: String },
    #[error("process {} drives this loop", .0.pid)]
    Held(Box<Holder>),
    #[error("command {id} does not wait in this loop's inbox")]
    NotPending { id: String },
    #[error("command {id} was not taken by this loop, or is answered already")]
    NotTaken { id: String },
    #[error("the time {at} is too far away to be kept")]
    TimeOutOfRange { at: Timestamp },

    #[error("there is no database at {}", path.display())]
    NotFound { path: PathBuf },
    #[error("the database {} is damaged", path.display())]
    Corrupt {
        path: PathBuf,
        #[source]
        source: Option<rusqlite::Error>,
    },
    #[error("{} is a database of another program", path.display())]
    Foreign { path: PathBuf },
    #[error("the database {} has version {found}, this windlass knows versions up to {known}", path.display())]
    NewerDatabase { path: PathBuf, found: u32, known: u32 },
    #[error("the database {} has version {found}, this windlass reads version {known}", path.display())]
    OlderDatabase { path: PathBuf, found: u32, known: u32 },
    #[error("the database {} cannot be written", path.display())]
    ReadOnly { path: PathBuf },
    #[error("no permission to read the database {}", path.display())]
    Forbidden { path: PathBuf },
    #[error("the disk that holds {} is full", path.display())]
    DiskFull {
        path: PathBuf,
        #[source]
        source: Option<rusqlite::Error>,
    },
    #[error("the database {} is kept busy by another process", path.display())]
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
    #[error("the store has stopped")]
    Stopped,
}

impl StoreError {
    /// The remedy in plain words, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NameTaken { .. } => Some("choose another with --name, or resume that loop".into()),
            Self::Conflict { .. } => Some("read the loop again and repeat the command".into()),
            Self::LeaseLost { .. } => {
                Some("this process no longer drives the loop; follow it with 'windlass logs -f'".into())
            }
            Self::Held(holder) => {
                Some(format!("it is driven by process {}; 'windlass stop' or 'windlass logs -f' reach it", holder.pid))
            }
            Self::NotFound { .. } => Some("'windlass run' creates it; or WINDLASS_HOME names another directory".into()),
            Self::Corrupt { path, .. } => Some(format!(
                "nothing was changed; put a backup in its place, or move {0}, {0}-wal and {0}-shm away to start with an empty one",
                path.display()
            )),
            Self::Foreign { .. } => Some("nothing was changed; point WINDLASS_HOME to a directory of its own".into()),
            Self::NewerDatabase { .. } => {
                Some("nothing was changed; update windlass, or point WINDLASS_HOME elsewhere".into())
            }
            Self::OlderDatabase { .. } => {
                Some("a command that may write, such as 'windlass run', brings it up to date and keeps a copy".into())
            }
            Self::ReadOnly { path } => Some(format!(
                "make {} and its directory writable for this user, or point WINDLASS_HOME to a directory that is",
                path.display()
            )),
            Self::Forbidden { path } => Some(format!("make {} readable for this user", path.display())),
            Self::DiskFull { .. } => Some("nothing was half written; free some space and repeat the command".into()),
            Self::Busy { .. } => {
                Some("nothing was written; try again, and see which windlass or backup holds it if this lasts".into())
            }
            Self::IdTaken { .. }
            | Self::UnknownLoop { .. }
            | Self::NotPending { .. }
            | Self::NotTaken { .. }
            | Self::TimeOutOfRange { .. }
            | Self::Io { .. }
            | Self::Sqlite { .. }
            | Self::Stopped => None,
        }
    }
}
