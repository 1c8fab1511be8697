//! What a directory takes on disk, how it is removed permanently, and how a file is replaced.
//!
//! Invariant: symbolic links are counted and removed, never followed.

mod blocking;
pub(crate) mod copying;
mod measure;
mod remove_tree;
mod write_whole;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use blocking::blocking_until;
pub(crate) use blocking::{Wanted, blocking, still_wanted};
use measure::measure;
pub use remove_tree::remove_tree;
pub(crate) use write_whole::write_whole;

/// Space that a directory takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskUse {
    pub bytes: u64,
    pub files: u64,
}

/// Measures a directory; nothing if it does not exist.
pub async fn disk_use(dir: impl Into<PathBuf>) -> DiskUse {
    let dir = dir.into();
    tokio::task::spawn_blocking(move || measure(&dir)).await.unwrap_or_default()
}
