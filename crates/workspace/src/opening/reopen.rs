//! Opens a workspace again, after a stop, a crash or a restart.
//!
//! Invariant: what was on disk is saved under a ref before it is overwritten, and an earlier saved state is never
//! overwritten by the half-reset tree of a call that was cut off.

use serde::{Deserialize, Serialize};

use crate::agent_git::heads::Heads;
use crate::checkpoint::quarantine::Quarantine;
use crate::checkpoint::save;
use crate::checkpoint::stage::stage;
use crate::git::{ChangedFile, Git, GitError};
use crate::{Kind, SavedRef, Workspace, WorkspaceError, Workspaces};

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
    /// The directory was gone and has been recreated from the branch.
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
        if workspace.kind == Kind::InPlace {
            super::owner::claim(workspace, &workspace.loop_id)?;
        }
        if let Reopen::ResetTo { commit, save_as } = how {
            let target = Target { commit, tree: None, save_as: Some(save_as), never_commit: &[], even_in_place: false };
            let moved = self.put_back(workspace, &target, &mut reopened.notes).await?;
            reopened.saved = moved.saved;
            reopened.reset = moved.restored;
        }
        Ok(reopened)
    }

    /// Makes a directory that is gone again; says whether it was.
    pub(crate) async fn recreate_if_gone(
        &self,
        workspace: &Workspace,
        notes: &mut Vec<String>,
    ) -> Result<bool, WorkspaceError> {
        if workspace.kind == Kind::InPlace || workspace.dir.exists() {
            return Ok(false);
        }
        self.recreate(workspace).await?;
        notes.push(format!("recreated the missing workspace from {}", workspace.branch));
        Ok(true)
    }

    /// Whether the loop's commits can still be found.
    pub(crate) async fn has_branch(&self, workspace: &Workspace) -> Result<bool, GitError> {
        let home = self.home_git(workspace);
        let beside = workspace.keep_ref("head", "branch");
        Ok(home.read_ref(&workspace.branch_ref()).await?.is_some() || home.read_ref(&beside).await?.is_some())
    }

    async fn recreate(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let missing =
            || WorkspaceError::WorkspaceMissing { path: workspace.dir.clone(), branch: workspace.branch.clone() };
        workspace.home_exists()?;
        if !self.has_branch(workspace).await? {
            return Err(missing());
        }
        if workspace.index.exists() {
            std::fs::remove_file(&workspace.index).map_err(WorkspaceError::file("replace", &workspace.index))?;
        }
        match workspace.kind {
            Kind::Clone => self.check_out_clone(&mut workspace.clone()).await,
            Kind::InPlace => Err(missing()),
        }
    }

    /// Brings files, branch and HEAD to a commit, after saving what differs.
    pub(crate) async fn put_back(
        &self,
        workspace: &Workspace,
        target: &Target<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Moved, WorkspaceError> {
        let git = self.git(workspace).await?;
        let commit = target.commit;
        let tag = target.save_as.and_then(|name| name.rsplit('/').next()).unwrap_or("restore");
        let quarantine = Quarantine::open(&git, workspace)?;
        let held = quarantine.git();
        let mut staged = stage(self, held, workspace, target.never_commit, tag).await?;
        notes.append(&mut staged.notes);
        let own = workspace.loop_ref(&git).await?;
        let tip = git.read_ref(&own).await?;
        let heads = self.heads(workspace, held, &[Some(commit), tip.as_deref()], notes).await?;
        let at = |id: &Option<String>| id.as_deref() == Some(commit);
        let there = at(&tip) && at(&heads.branch) && heads.on_branch(workspace);
        let owned = workspace.kind != Kind::InPlace;
        if there && target.tree.is_some() && target.tree == staged.known_tree() {
            quarantine.release_index()?;
            if owned {
                self.fill_submodules(&git, workspace).await?;
                self.publish(&git, workspace, notes).await?;
            }
            return Ok(Moved::default());
        }
        let Some(commit) = git.commit(commit).await? else {
            return Err(GitError::UnknownRevision { revision: commit.to_owned() }.into());
        };
        let changed = staged.changed_since(held, &commit, target.tree).await?;
        if there && changed.is_empty() {
            quarantine.release_index()?;
            if owned {
                self.fill_submodules(&git, workspace).await?;
                self.publish(&git, workspace, notes).await?;
            }
            return Ok(Moved::default());
        }
        let saved = match target.save_as {
            Some(name) => {
                let tree = staged.tree(held).await?;
                Some(save_before(held, workspace, &tree, tip.as_deref(), &heads, name).await?)
            }
            None => None,
        };
        if !owned && !target.even_in_place {
            return Ok(Moved { changed, saved, restored: false });
        }
        self.end_operations(held, workspace, tag, notes).await?;
        let files = held.for_files_of(&workspace.base_commit, &commit).await?;
        files.run(&["read-tree", "--reset", "-u", &commit]).await?;
        quarantine.release_index()?;
        self.fill_submodules(&git, workspace).await?;
        if tip.as_deref() != Some(commit.as_str()) {
            git.run(&["update-ref", &own, &commit]).await?;
        }
        if !owned && !heads.on_branch(workspace) {
            git.run(&["symbolic-ref", "HEAD", &own]).await?;
        }
        self.publish(&git, workspace, notes).await?;
        save::show(workspace, saved.as_ref());
        Ok(Moved { changed, saved, restored: true })
    }
}

/// Where to put a workspace back to.
pub(crate) struct Target<'a> {
    pub(crate) commit: &'a str,
    pub(crate) tree: Option<&'a str>,
    pub(crate) save_as: Option<&'a str>,
    pub(crate) never_commit: &'a [String],
    /// The user requested it, so that their own checkout may move.
    pub(crate) even_in_place: bool,
}

/// What putting it back did.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) changed: Vec<ChangedFile>,
    pub(crate) saved: Option<SavedRef>,
    pub(crate) restored: bool,
}

/// Keeps the tree on disk, on top of the branch's tip and of wherever the agent's branch and HEAD are.
async fn save_before(
    git: &Git,
    workspace: &Workspace,
    tree: &str,
    tip: Option<&str>,
    heads: &Heads,
    name: &str,
) -> Result<SavedRef, WorkspaceError> {
    let below = heads.branch.as_deref().or(tip).unwrap_or(&workspace.base_commit);
    let mut parents: Vec<&str> = vec![below];
    parents.extend(heads.head_commit.as_deref().filter(|head| *head != below));
    if let Some(tip) = tip.filter(|tip| !parents.contains(tip))
        && !git.is_ancestor(tip, below).await?
    {
        parents.push(tip);
    }
    if parents.len() == 1 && git.tree_of(below).await? == tree {
        return save::keep(git, workspace, name, below).await;
    }
    save::keep_tree(git, workspace, name, tree, &parents, "windlass: saved before going back\n").await
}
