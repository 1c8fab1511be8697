//! Opens a workspace again, after a stop, a crash or a restart.
//!
//! Invariant: what was on disk is saved under a ref before it is overwritten, and an earlier saved state is never
//! overwritten by the half-reset tree of a call that was cut off.

use serde::{Deserialize, Serialize};

use super::attach::end_operations;
use super::stage::{publish, publish_if_stale, stage};
use super::{Kind, SavedRef, Workspace, WorkspaceError, Workspaces, save};
use crate::git::{ChangedFile, Git, GitError, HeadFile};

/// How to open it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reopen {
    /// Leave the files as they are.
    Keep,
    /// Back to a commit. What differs is first saved at `save_as`. In place, files are never reset: it is only saved.
    ResetTo { commit: String, save_as: String },
}

/// How it was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reopened {
    pub saved: Option<SavedRef>,
    /// The directory was gone and has been made again from the branch.
    pub recreated: bool,
    /// Files or branch were moved to the wanted commit.
    pub reset: bool,
    pub notes: Vec<String>,
}

impl Workspaces {
    /// Opens the workspace again.
    pub async fn reopen(&self, workspace: &Workspace, how: &Reopen) -> Result<Reopened, WorkspaceError> {
        let mut reopened = Reopened::default();
        self.settle(workspace).await?;
        reopened.recreated = self.recreate_if_gone(workspace, &mut reopened.notes).await?;
        self.attach(workspace, "reopen", &mut reopened.notes).await?;
        if let Reopen::ResetTo { commit, save_as } = how {
            let target = Target { commit, tree: None, save_as: Some(save_as), never_commit: &[], even_in_place: false };
            let moved = self.put_back(workspace, &target, &mut reopened.notes).await?;
            reopened.saved = moved.saved;
            reopened.reset = moved.restored;
        }
        Ok(reopened)
    }

    /// Makes a directory that is gone again; says whether it was.
    pub(super) async fn recreate_if_gone(
        &self,
        workspace: &Workspace,
        notes: &mut Vec<String>,
    ) -> Result<bool, WorkspaceError> {
        if workspace.kind == Kind::InPlace || workspace.dir.exists() {
            return Ok(false);
        }
        self.recreate(workspace).await?;
        notes.push(format!("the workspace was gone and has been made again from {}", workspace.branch));
        Ok(true)
    }

    async fn recreate(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let home = self.home_git(workspace);
        let branch = workspace.branch_ref();
        let missing =
            || WorkspaceError::WorkspaceMissing { path: workspace.dir.clone(), branch: workspace.branch.clone() };
        if !workspace.home.common_dir.join("objects").is_dir() || home.read_ref(&branch).await?.is_none() {
            return Err(missing());
        }
        if workspace.index.exists() {
            std::fs::remove_file(&workspace.index).map_err(WorkspaceError::file("replace", &workspace.index))?;
        }
        match workspace.kind {
            Kind::Worktree => self.recreate_worktree(workspace).await,
            Kind::Clone => self.check_out_clone(&mut workspace.clone()).await,
            Kind::InPlace => Err(missing()),
        }
    }

    /// Brings files, branch and HEAD to a commit, after saving what differs.
    pub(super) async fn put_back(
        &self,
        workspace: &Workspace,
        target: &Target<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Moved, WorkspaceError> {
        let git = self.git(workspace).await?;
        let (commit, branch) = (target.commit, workspace.branch_ref());
        let tag = target.save_as.and_then(|name| name.rsplit('/').next()).unwrap_or("restore");
        let mut staged = stage(&git, workspace, target.never_commit, tag).await?;
        notes.append(&mut staged.notes);
        let tip = git.read_ref(&branch).await?;
        let on_branch = git.head().await? == HeadFile::Ref(branch.clone());
        let there = tip.as_deref() == Some(commit) && on_branch;
        let owned = workspace.kind != Kind::InPlace;
        if there && target.tree.is_some() && target.tree == staged.known_tree() {
            if owned {
                publish_if_stale(&git, workspace).await?;
            }
            return Ok(Moved::default());
        }
        let Some(commit) = git.commit(commit).await? else {
            return Err(GitError::UnknownRevision { revision: commit.to_owned() }.into());
        };
        let changed = staged.changed_since(&git, &commit, target.tree).await?;
        if there && changed.is_empty() {
            if owned {
                publish_if_stale(&git, workspace).await?;
            }
            return Ok(Moved::default());
        }
        let saved = match target.save_as {
            Some(name) => Some(save_before(&git, workspace, &staged.tree(&git).await?, tip.as_deref(), name).await?),
            None => None,
        };
        self.bring_home(workspace, &git, notes).await?;
        if !owned && !target.even_in_place {
            return Ok(Moved { changed, saved, restored: false });
        }
        end_operations(&git, workspace, tag, notes).await?;
        git.run(&["read-tree", "--reset", "-u", &commit]).await?;
        if tip.as_deref() != Some(commit.as_str()) {
            git.run(&["update-ref", &branch, &commit]).await?;
        }
        if !on_branch {
            git.run(&["symbolic-ref", "HEAD", &branch]).await?;
        }
        publish(&git, workspace).await?;
        self.bring_home(workspace, &git, notes).await?;
        Ok(Moved { changed, saved, restored: true })
    }
}

/// Where to put a workspace back to.
pub(super) struct Target<'a> {
    pub(super) commit: &'a str,
    pub(super) tree: Option<&'a str>,
    pub(super) save_as: Option<&'a str>,
    pub(super) never_commit: &'a [String],
    /// The user asked for it, so that their own checkout may move.
    pub(super) even_in_place: bool,
}

/// What putting it back did.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) changed: Vec<ChangedFile>,
    pub(super) saved: Option<SavedRef>,
    pub(super) restored: bool,
}

/// Keeps the tree on disk, on top of the branch's tip and of wherever HEAD is.
async fn save_before(
    git: &Git,
    workspace: &Workspace,
    tree: &str,
    tip: Option<&str>,
    name: &str,
) -> Result<SavedRef, WorkspaceError> {
    let below = tip.unwrap_or(&workspace.base_commit);
    let mut parents: Vec<String> = vec![below.to_owned()];
    let head = match git.head().await? {
        HeadFile::Commit(commit) => Some(commit),
        HeadFile::Ref(name) => git.read_ref(&name).await?,
        HeadFile::Unknown => None,
    };
    if let Some(head) = head.filter(|head| !parents.contains(head))
        && git.commit(&head).await?.is_some()
    {
        parents.push(head);
    }
    if parents.len() == 1 && git.tree_of(below).await? == tree {
        return save::keep(git, name, below).await;
    }
    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
    save::keep_tree(git, name, tree, &parents, "windlass: saved before going back\n").await
}
