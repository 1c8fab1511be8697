//! What a directory takes on disk, how it is removed permanently, and how a file is replaced.
//!
//! Invariant: symbolic links are counted and removed, never followed.

mod blocking;
pub(crate) mod copying;
mod measure;
mod remove_tree;
mod write_whole;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::WorkspaceError;
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

/// Removes a directory whole. It loses its name first, so that a removal cut off leaves nothing that looks alive.
pub(super) async fn remove_dir(dir: &Path) -> Result<(), WorkspaceError> {
    let mut doomed = dir.as_os_str().to_owned();
    doomed.push(".removing");
    let doomed = PathBuf::from(doomed);
    remove_now(doomed.clone()).await?;
    match std::fs::rename(dir, &doomed) {
        Ok(()) => remove_now(doomed).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(WorkspaceError::File { action: "remove", path: dir.to_owned(), source }),
    }
}

async fn remove_now(dir: PathBuf) -> Result<(), WorkspaceError> {
    let path = dir.clone();
    match blocking(move || remove_tree(&dir)).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(WorkspaceError::file("remove", path)),
    }
}
