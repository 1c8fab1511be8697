//! What a merge queue does with git: several branches merged onto a target in a commit on no branch, and the target moved
//! there once that was judged.
//!
//! Invariant: the target moves only by compare-and-swap, only to a commit on top of where it was, and a checkout that has it
//! moves along only if it is clean. Both calls can be made again after they were cut off.

use windlass_faults as faults;

use super::{MergedTree, merged_tree};
use crate::checkpoint::save;
use crate::git::{Git, GitError};
use crate::look::landed;
use crate::opening::create::checked_out_at;
use crate::project::Project;
use crate::{Workspace, WorkspaceError, Workspaces};

/// A branch to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchMember {
    pub loop_id: String,
    pub branch: String,
    /// Of its merge commit.
    pub message: String,
}

/// What was made of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchBuild {
    /// The target's commit.
    pub base: String,
    /// The base with what could be merged.
    pub commit: String,
    pub merged: Vec<String>,
    /// The target has their work already.
    pub present: Vec<String>,
    pub conflicts: Vec<BatchConflict>,
    /// Their branch does not exist.
    pub gone: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchConflict {
    pub loop_id: String,
    pub files: Vec<String>,
    /// With the target itself, not only with others of the batch.
    pub with_target: bool,
}

/// What came of moving the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    Moved,
    /// It is somewhere else than the batch was built on.
    Elsewhere,
    /// Its checkout is not clean, or somebody works on something there.
    Blocked {
        message: String,
    },
}

impl Workspaces {
    /// Merges branches onto a target, one after another, each with a merge commit. Moves no branch. `keep_as` is a ref that keeps
    /// the commits. `workspace` is that of any loop of the repository.
    pub async fn build_batch(
        &self,
        workspace: &Workspace,
        target: &str,
        members: &[BatchMember],
        keep_as: &str,
    ) -> Result<BatchBuild, WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        let base = git.read_ref(&format!("refs/heads/{target}")).await?;
        let base = base.ok_or_else(|| WorkspaceError::NoSuchBranch { branch: target.to_owned() })?;
        let mut build = BatchBuild { commit: base.clone(), base: base.clone(), ..BatchBuild::default() };
        for BatchMember { loop_id, branch, message } in members {
            let Some(tip) = git.read_ref(&format!("refs/heads/{branch}")).await? else {
                build.gone.push(loop_id.clone());
                continue;
            };
            if git.is_ancestor(&tip, &base).await? {
                build.present.push(loop_id.clone());
                continue;
            }
            let MergedTree { tree, conflicts } = merged_tree(&git, &build.commit, &tip).await?;
            if conflicts.is_empty() {
                build.commit = save::commit_tree(&git, &tree, &[&build.commit, &tip], message).await?;
                build.merged.push(loop_id.clone());
                continue;
            }
            let alone = if build.commit == base { conflicts } else { merged_tree(&git, &base, &tip).await?.conflicts };
            let files = alone.iter().map(ToString::to_string).collect();
            build.conflicts.push(BatchConflict { loop_id: loop_id.clone(), with_target: !alone.is_empty(), files });
        }
        if build.commit != base {
            git.run(&["update-ref", keep_as, &build.commit]).await?;
        }
        Ok(build)
    }

    /// Moves a target from one commit to a later one, with the checkout that has it.
    pub async fn advance(
        &self,
        workspace: &Workspace,
        target: &str,
        from: &str,
        to: &str,
    ) -> Result<Advanced, WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        let name = format!("refs/heads/{target}");
        let now = git.read_ref(&name).await?;
        if now.as_deref() == Some(to) {
            return Ok(Advanced::Moved);
        }
        if now.as_deref() != Some(from) || !git.is_ancestor(from, to).await? {
            return Ok(Advanced::Elsewhere);
        }
        if let Some(dir) = checked_out_at(&git, target).await?.filter(|dir| dir.is_dir()) {
            let project = Project::inspect(&self.host, &dir).await?;
            if project.uncommitted(&self.host).await? > 0 && !self.is_at(&project, to).await? {
                let message = format!("{} has uncommitted changes, and {target} is checked out there", dir.display());
                return Ok(Advanced::Blocked { message });
            }
            match self.move_checkout(workspace, dir, from, to).await {
                Ok(()) => {}
                Err(error) if error.is_wrong_use() => {
                    return Ok(Advanced::Blocked { message: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        faults::point("merge_queue.checkout_moved");
        let moved = git.run(&["update-ref", "-m", "windlass: merge queue", &name, to, from]).await;
        faults::point("merge_queue.target_moved");
        match moved {
            Ok(_) => Ok(Advanced::Moved),
            // Somebody else was faster.
            Err(error) => match git.read_ref(&name).await?.as_deref() == Some(from) {
                true => Err(error.into()),
                false => Ok(Advanced::Elsewhere),
            },
        }
    }

    /// Whether the files of a checkout are those of a commit already, because an earlier call was cut off.
    async fn is_at(&self, project: &Project, commit: &str) -> Result<bool, GitError> {
        let git: Git = project.git(&self.host);
        git.call(&["update-index", "-q", "--refresh"]).answers(&[1]).run().await?;
        let same = git.call(&["diff", "--quiet", commit, "--"]).answers(&[1]).run().await?.code == 0;
        let staged = git.call(&["diff", "--quiet", "--cached", commit, "--"]).answers(&[1]).run().await?.code == 0;
        Ok(same && staged)
    }

    /// Marks a loop's branch as merged, and lets go of a batch.
    pub async fn note_merged(&self, workspace: &Workspace, target: &str) -> Result<(), WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        match git.read_ref(&workspace.branch_ref()).await? {
            Some(tip) => landed::mark(&git, workspace, &tip, target).await,
            None => Ok(()),
        }
    }

    /// Removes the ref that keeps the commits of a batch.
    pub async fn drop_batch(&self, workspace: &Workspace, keep_as: &str) -> Result<(), WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        if git.read_ref(keep_as).await?.is_some() {
            git.run(&["update-ref", "-d", keep_as]).await?;
        }
        Ok(())
    }
}
