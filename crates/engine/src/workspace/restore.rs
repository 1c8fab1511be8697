//! Puts files back: after gates, and where the agent may not write.
//!
//! Invariant: ignored files stay; what differed is reported.

use serde::{Deserialize, Serialize};

use super::reopen::Target;
use super::{SavedRef, Workspace, WorkspaceError, Workspaces};
use crate::git::ChangedFile;

/// Where to return to after gates or a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRequest {
    pub commit: String,
    /// The commit's tree, if known: saves git calls.
    pub tree: Option<String>,
    /// Where to keep what is undone; not kept if not said.
    pub save_as: Option<String>,
    pub never_commit: Vec<String>,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Restored {
    /// What differed from the commit.
    pub changed: Vec<ChangedFile>,
    pub saved: Option<SavedRef>,
    /// False if nothing differed, and in place, where files are only reported.
    pub restored: bool,
    pub notes: Vec<String>,
}

impl Workspaces {
    /// Returns files, branch and HEAD to a checkpoint, and reports what had changed.
    pub async fn restore_to(
        &self,
        workspace: &Workspace,
        request: &RestoreRequest,
    ) -> Result<Restored, WorkspaceError> {
        let mut notes = Vec::new();
        self.attach(workspace, "restore", &mut notes).await?;
        let target = Target {
            commit: &request.commit,
            tree: request.tree.as_deref(),
            save_as: request.save_as.as_deref(),
            never_commit: &request.never_commit,
        };
        let moved = self.put_back(workspace, &target, &mut notes).await?;
        Ok(Restored { changed: moved.changed, saved: moved.saved, restored: moved.restored, notes })
    }
}
