//! Removes a workspace.
//!
//! Invariant: no commit and no uncommitted file is lost. The branch stays unless it is merged; what is on disk and
//! not in the branch is saved under a ref first. Ignored files go, and are counted aloud.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::create;
use crate::agent_git::AgentGit;
use crate::checkpoint::quarantine::{Quarantine, lasting};
use crate::checkpoint::save;
use crate::checkpoint::stage::stage;
use crate::disk::{blocking, disk_use, remove_tree};
use crate::git::{Git, GitError};
use crate::{DiskUse, Kind, SavedRef, Workspace, WorkspaceError, Workspaces};

/// What was removed and what was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Removed {
    /// Everything that was saved under a ref before.
    pub saved: Vec<SavedRef>,
    pub ignored_files: u64,
    pub freed: DiskUse,
    pub branch_deleted: bool,
    pub notes: Vec<String>,
}

impl Workspaces {
    /// Removes the workspace's directory; in place, only the engine's own files. The branch goes too if `merged_into`
    /// names a branch that has all of its commits.
    pub async fn remove(&self, workspace: &Workspace, merged_into: Option<&str>) -> Result<Removed, WorkspaceError> {
        let mut removed = Removed::default();
        let real = std::fs::symlink_metadata(&workspace.dir).is_ok_and(|data| data.is_dir());
        let home_exists = workspace.home_exists().is_ok();
        if real && workspace.kind != Kind::InPlace && !home_exists {
            // Nothing can be saved in a repository that is gone, so the files stay, out of the way.
            let mut kept = workspace.dir.as_os_str().to_owned();
            kept.push(".kept");
            let kept = super::attach::free_name(Path::new(&kept));
            std::fs::rename(&workspace.dir, &kept).map_err(WorkspaceError::file("move aside", &workspace.dir))?;
            removed.notes.push(format!("the repository is missing; the loop's files are at {}", kept.display()));
        } else if real && workspace.kind != Kind::InPlace {
            self.attach(workspace, "removed", &mut removed.notes).await?;
            let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
            self.save_all(workspace, quarantine.git(), &mut removed).await?;
            removed.ignored_files = ignored_files(quarantine.git()).await?;
            removed.freed = disk_use(workspace.dir.clone()).await;
        }
        match workspace.kind {
            Kind::Clone => {
                remove_dir(&workspace.dir).await?;
                remove_dir(&workspace.git_dir).await?;
            }
            Kind::InPlace => {}
        }
        self.release(workspace);
        remove_beside(workspace);
        if let Some(into) = merged_into.filter(|_| workspace.kind != Kind::InPlace && home_exists) {
            removed.branch_deleted = self.drop_merged_branch(workspace, into).await?;
        }
        Ok(removed)
    }

    async fn save_all(&self, workspace: &Workspace, git: &Git, removed: &mut Removed) -> Result<(), WorkspaceError> {
        let mut staged = stage(self, git, workspace, &[], "removed").await?;
        removed.notes.append(&mut staged.notes);
        let tree = staged.tree(git).await?;
        let tip = git.read_ref(&workspace.loop_ref(git).await?).await?;
        let heads = self.heads(workspace, git, &[tip.as_deref()], &mut removed.notes).await?;
        let base = tip.clone().unwrap_or_else(|| workspace.base_commit.clone());
        for (what, head) in [("branch", &heads.branch), ("head", &heads.head_commit)] {
            if let Some(head) = head.as_ref().filter(|head| **head != base)
                && !git.is_ancestor(head, &base).await?
            {
                removed.saved.push(save::keep(git, workspace, &workspace.keep_ref("removed", what), head).await?);
            }
        }
        if git.tree_of(&base).await? != tree {
            let name = workspace.keep_ref("removed", "tree");
            removed.saved.push(
                save::keep_tree(git, workspace, &name, &tree, &[&base], "windlass: saved before removal\n").await?,
            );
        }
        self.bring_strays_home(workspace, git, removed).await
    }

    /// Branches, tags and stashes that exist in the clone alone.
    async fn bring_strays_home(
        &self,
        workspace: &Workspace,
        git: &Git,
        removed: &mut Removed,
    ) -> Result<(), WorkspaceError> {
        let Some(agent) = AgentGit::of(workspace) else { return Ok(()) };
        let kinds = ["refs/heads/", "refs/tags/", "refs/stash"];
        let stray = |name: &String| kinds.iter().any(|kind| name.starts_with(kind)) && *name != workspace.branch_ref();
        for (name, id) in agent.refs().into_iter().filter(|(name, _)| stray(name)) {
            if git.read_ref(&name).await?.as_deref() == Some(&id) {
                continue;
            }
            let kept = workspace.keep_ref("clone", name.trim_start_matches("refs/"));
            match self.take(workspace, git, Path::new(".git"), &[&id]).await {
                Ok(()) => removed.saved.push(save::keep(git, workspace, &kept, &id).await?),
                Err(error) => removed.notes.push(format!("cannot save {name} of the clone: {error}")),
            }
        }
        Ok(())
    }

    async fn drop_merged_branch(&self, workspace: &Workspace, into: &str) -> Result<bool, WorkspaceError> {
        let home = self.home_git(workspace);
        let name = workspace.branch_ref();
        let (Some(tip), Some(target)) = (home.read_ref(&name).await?, home.commit(into).await?) else {
            return Ok(false);
        };
        let used = create::checked_out_at(&home, &workspace.branch).await?.is_some();
        if used || into == workspace.branch || !home.is_ancestor(&tip, &target).await? {
            return Ok(false);
        }
        let mark = workspace.keep_ref("base", "commit");
        let mut transaction = format!("start\ndelete {name} {tip}\n");
        if home.read_ref(&mark).await?.is_some() {
            transaction.push_str(&format!("delete {mark}\n"));
        }
        transaction.push_str("prepare\ncommit\n");
        home.call(&["update-ref", "--stdin"]).input(transaction).run().await?;
        Ok(true)
    }
}

async fn ignored_files(git: &Git) -> Result<u64, GitError> {
    let output = git.run(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]).await?;
    Ok(output.iter().filter(|&&byte| byte == 0).count() as u64)
}

/// Removes the engine's index and everything named after it. What was moved aside stays.
fn remove_beside(workspace: &Workspace) {
    let (Some(root), Some(name)) = (workspace.index.parent(), workspace.index.file_name()) else { return };
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(name.as_encoded_bytes());
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    for dir in [crate::checkpoint::nested::own_repositories(workspace), lasting(workspace), workspace.before_agents()] {
        let _ = crate::remove_tree(&dir);
    }
}

/// Removes a directory whole. It loses its name first, so that a removal cut off leaves nothing that looks alive.
async fn remove_dir(dir: &Path) -> Result<(), WorkspaceError> {
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
