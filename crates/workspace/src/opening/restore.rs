//! Puts files back: after gates, and when the user wants an earlier checkpoint.
//!
//! Invariant: ignored files stay; what differed is reported.

use serde::{Deserialize, Serialize};

use super::reopen::Target;
use crate::git::ChangedFile;
use crate::{SavedRef, Workspace, WorkspaceError, Workspaces};

/// Where to return to after gates or a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRequest {
    pub commit: String,
    /// The commit's tree, if known: saves git calls.
    pub tree: Option<String>,
    /// Where to save the undone work; not saved if unset.
    pub save_as: Option<String>,
    pub never_commit: Vec<String>,
}

/// What was restored.
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
            even_in_place: false,
        };
        let moved = self.put_back(workspace, &target, &mut notes).await?;
        Ok(Restored { changed: moved.changed, saved: moved.saved, restored: moved.restored, notes })
    }

    /// Goes back to the checkpoint `commit` because the user requested it, in place too. What is undone stays
    /// reachable from `save_as`.
    pub async fn rollback(
        &self,
        workspace: &Workspace,
        commit: &str,
        save_as: &str,
    ) -> Result<Restored, WorkspaceError> {
        let mut notes = Vec::new();
        self.attach(workspace, "rollback", &mut notes).await?;
        let target = Target { commit, tree: None, save_as: Some(save_as), never_commit: &[], even_in_place: true };
        let moved = self.put_back(workspace, &target, &mut notes).await?;
        Ok(Restored { changed: moved.changed, saved: moved.saved, restored: moved.restored, notes })
    }
}
