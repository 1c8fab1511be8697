//! Loops that are being created: what their workspace is, on disk before the workspace is made.
//!
//! The workspace comes before the journal, so that a loop that cannot be started leaves no trace. A process that is
//! killed in between leaves a branch and a directory that belong to no loop; they are found here and removed by the
//! next one that creates a loop. Invariant: a file is locked as long as its creator lives, so that nobody's work is
//! removed but that of the dead.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::data::{DataDir, private_dir};
use windlass_store::Store;
use windlass_workspace::{WorkspaceRequest, Workspaces};

/// The mark of one creation; gone when the loop is in the journal.
#[derive(Debug)]
pub(crate) struct Creating {
    path: PathBuf,
    _locked: File,
}

impl Creating {
    pub(crate) fn begin(data: &DataDir, request: &WorkspaceRequest) -> io::Result<Self> {
        private_dir(&data.creating())?;
        private_dir(&data.worktrees())?;
        let path = data.creating().join(format!("{}.json", request.loop_id));
        let mut file = File::create_new(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        file.write_all(&serde_json::to_vec(request)?)?;
        Ok(Self { path, _locked: file })
    }

    /// The loop is known, or nothing is left of it.
    pub(crate) fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes what dead creators left behind. What cannot be removed now is tried again the next time.
pub(crate) async fn sweep(data: &DataDir, store: &dyn Store, workspaces: &Workspaces) {
    let Ok(entries) = std::fs::read_dir(data.creating()) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(mut file) = File::open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut text = String::new();
        let request: Option<WorkspaceRequest> =
            file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str(&text).ok());
        // One that is not whole was written before anything was made.
        if let Some(request) = request {
            match store.get(&request.loop_id).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    if let Err(error) = remove(workspaces, &request).await {
                        tracing::warn!(%error, loop_id = request.loop_id, "cannot remove a workspace without a loop");
                        continue;
                    }
                    tracing::info!(loop_id = request.loop_id, "removed the workspace of a loop that was not created");
                }
                Err(_) => continue,
            }
        }
        let _ = std::fs::remove_file(&path);
    }
}

async fn remove(workspaces: &Workspaces, request: &WorkspaceRequest) -> Result<(), windlass_workspace::WorkspaceError> {
    if !request.project.exists() {
        return Ok(());
    }
    // Finds what is there of it and makes it whole, which is what can be removed.
    let opened = workspaces.create(request).await?;
    workspaces.remove(&opened.workspace, Some(&opened.head_commit)).await?;
    Ok(())
}
