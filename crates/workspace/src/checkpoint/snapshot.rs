//! The files of a running turn, saved so that another machine can continue with them if this one is lost.
//!
//! Invariants: the agent, its git and the engine's index notice nothing, and no branch comes to a snapshot. It holds no file with
//! a new secret and none that is too large to be searched: those are as in the commit below it, and so are nested
//! repositories and submodules.

use std::time::{Duration, SystemTime};

use super::hold_back::{Unwanted, in_staged, unstage};
use super::quarantine::Quarantine;
use super::stage::stage_files;
use super::{changed, save};
use crate::git::{Git, GitError, Index};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

/// The part of a loop's own refs that has snapshots.
const WIP: &str = "wip";
/// What is unfit is taken out, after which git may pair renamed files in another way.
const ROUNDS: usize = 4;

#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    /// The last checkpoint.
    pub head: String,
    /// Names the turn.
    pub turn: String,
    pub never_commit: Vec<String>,
    pub unwanted: Unwanted,
}

/// A saved state of the files of a running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub name: String,
    pub commit: String,
    pub files_changed: u64,
}

/// What was restored from a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFiles {
    pub commit: String,
    pub taken_at: SystemTime,
    pub files_changed: u64,
}

impl Workspaces {
    /// Stores what is on disk while an agent may be writing it. None if nothing changed since the last one of the turn that was
    /// kept.
    pub async fn snapshot(
        &self,
        workspace: &Workspace,
        request: &SnapshotRequest,
    ) -> Result<Option<Snapshot>, WorkspaceError> {
        if workspace.kind == Kind::InPlace || !workspace.dir.is_dir() {
            return Ok(None);
        }
        let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
        let git = quarantine.git();
        let Some(index) = stage_files(self, git, workspace, &request.never_commit).await? else { return Ok(None) };
        let Some((tree, files_changed)) = fit_to_store(git, workspace, request, index).await? else { return Ok(None) };
        let name = workspace.keep_ref(WIP, &request.turn);
        let last = git.read_ref(&name).await?;
        if git.tree_of(last.as_deref().unwrap_or(&request.head)).await? == tree {
            return Ok(None);
        }
        let message = "windlass: files of a running turn\n";
        let commit = save::commit_tree(git, &tree, &[&request.head], message).await?;
        git.admit(&[&commit]).await?;
        Ok(Some(Snapshot { name, commit, files_changed }))
    }

    /// Remembers a snapshot that others have.
    pub async fn keep_snapshot(&self, workspace: &Workspace, snapshot: &Snapshot) -> Result<(), WorkspaceError> {
        let args = ["update-ref", &snapshot.name, &snapshot.commit];
        Ok(self.home_git(workspace).run(&args).await.map(drop)?)
    }

    /// The snapshot of a turn, if this machine knows one.
    pub async fn snapshot_of(&self, workspace: &Workspace, turn: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.home_git(workspace).read_ref(&workspace.keep_ref(WIP, turn)).await?)
    }

    /// Puts the files of a snapshot into a workspace that is as `head`, as changes that are not committed. None if the snapshot
    /// is of another commit.
    pub async fn restore_snapshot(
        &self,
        workspace: &Workspace,
        head: &str,
        snapshot: &str,
    ) -> Result<Option<RestoredFiles>, WorkspaceError> {
        let git = self.git(workspace).await?;
        let shown = ["show", "--no-patch", "--format=%P %ct", "--end-of-options", snapshot];
        let shown = git.call(&shown).answers(&[128]).run().await?;
        let said = String::from_utf8_lossy(&shown.stdout);
        let seconds = said.trim().strip_prefix(head).and_then(|seconds| seconds.trim().parse().ok());
        let Some(seconds) = seconds else { return Ok(None) };
        let taken_at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let files_changed = changed(&git, head, snapshot).await?.len() as u64;
        git.run(&["read-tree", "--reset", "-u", snapshot]).await?;
        self.publish(&git, workspace, &mut Vec::new()).await?;
        Ok(Some(RestoredFiles { commit: snapshot.to_owned(), taken_at, files_changed }))
    }

    /// The names of the loop's snapshots that this machine knows.
    pub async fn snapshots(&self, workspace: &Workspace) -> Result<Vec<String>, WorkspaceError> {
        let all = workspace.keep_ref(WIP, "all");
        let below = all.trim_end_matches("all");
        let listed = self.home_git(workspace).run(&["for-each-ref", "--format=%(refname)", below]).await?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }
}

/// Takes what may not be stored out of the index; returns its tree, and how many files differ. None if that does not end.
async fn fit_to_store(
    git: &Git,
    workspace: &Workspace,
    request: &SnapshotRequest,
    mut index: Index,
) -> Result<Option<(String, u64)>, GitError> {
    for _ in 0..ROUNDS {
        let tree = git.line(&["write-tree"]).await?;
        let files = changed(git, &request.head, &tree).await?;
        let unfit = in_staged(git, &request.head, &request.unwanted, &files, (&index, workspace.id_len)).await?;
        if unfit.is_empty() {
            return Ok(Some((tree, files.len() as u64)));
        }
        unstage(git, &request.head, unfit.iter()).await?;
        match Index::read(&workspace.index_of(git), workspace.id_len) {
            Ok(read) => index = read,
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}
