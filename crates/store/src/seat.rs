//! Who holds a lease, and whether that holder still lives.

use std::fmt;
use std::path::PathBuf;

use crate::identity::ProcessIdentity;

/// Where a holder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seat {
    /// A process that opened the store's data directory.
    Process {
        process: ProcessIdentity,
        /// Its address, for processes of the same machine.
        socket: PathBuf,
    },
    /// A worker of a fleet, known by its heartbeats.
    Worker { id: String, name: String },
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { process, .. } => write!(f, "process {}", process.pid),
            Self::Worker { name, .. } => write!(f, "worker {name}"),
        }
    }
}

/// Who drives a loop, and for which stretch.
#[derive(Clone, PartialEq, Eq)]
pub struct Holder {
    pub seat: Seat,
    /// Fences this stretch of holding: an append with another token is refused.
    pub token: String,
}

/// Omits the token, because anyone who knows it can write as the holder; it must not reach logs.
impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder").field("seat", &self.seat).finish_non_exhaustive()
    }
}

/// Whether a holder lives. Only the store knows: it depends on what its holders leave there as a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Alive,
    Gone,
    /// Nothing that can be seen from here decides it, so it must be assumed to live.
    Unknown,
}

/// A holder as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub holder: Holder,
    pub presence: Presence,
}

impl Held {
    /// Whether the holder lives, or must be assumed to.
    pub fn drives(&self) -> bool {
        match self.presence {
            Presence::Alive | Presence::Unknown => true,
            Presence::Gone => false,
        }
    }
}
