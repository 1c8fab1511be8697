//! Differences, for people and for decisions.
//!
//! Invariant: only reads. The tree on disk is taken into a copy of the engine's index, and its objects go to a quarantine.

use super::checkpoint::changed;
use super::quarantine::Quarantine;
use super::stage::stage;
use super::{Workspace, WorkspaceError, Workspaces};
use crate::git::{ChangedFile, Git};

/// The other end of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffTo {
    Commit(String),
    /// What is on disk now.
    Worktree,
}

/// The difference between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Between {
    pub log: Vec<u8>,
    pub files: Vec<u8>,
    /// Empty if it is too long.
    pub diff: Vec<u8>,
}

impl Workspaces {
    /// A patch from one commit to another or to what is on disk. Between commits it works without the directory too.
    pub async fn diff(&self, workspace: &Workspace, from: &str, to: &DiffTo) -> Result<Vec<u8>, WorkspaceError> {
        self.shown_diff(workspace, from, to, false).await
    }

    /// The same, with git's colors for a terminal.
    pub async fn shown_diff(
        &self,
        workspace: &Workspace,
        from: &str,
        to: &DiffTo,
        colours: bool,
    ) -> Result<Vec<u8>, WorkspaceError> {
        match to {
            DiffTo::Commit(commit) => patch(&self.home_git(workspace), from, commit, colours).await,
            DiffTo::Worktree => {
                let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
                let git = quarantine.git();
                let tree = stage(self, git, workspace, &[], "look").await?.tree(git).await?;
                patch(git, from, &tree, colours).await
            }
        }
    }

    /// The difference between two commits, in words for a reader: the commits, the files with their counts, the patch up
    /// to a length.
    pub async fn between(
        &self,
        workspace: &Workspace,
        from: &str,
        to: &str,
        longest_diff: usize,
    ) -> Result<Between, WorkspaceError> {
        let git = self.home_git(workspace);
        let range = format!("{from}..{to}");
        let log = git.run(&["log", "--format=%h %s", "-n", "200", "--end-of-options", &range, "--"]).await?;
        let stat = ["diff-tree", "-r", "-M", "--stat=120", "--stat-count=200", "--no-ext-diff", "--end-of-options"];
        let files = git.run(&[&stat[..], &[from, to, "--"]].concat()).await?;
        let mut diff = patch(&git, from, to, false).await?;
        // Half a patch is worse than the command that shows all of it.
        if diff.len() > longest_diff {
            diff.clear();
        }
        Ok(Between { log, files, diff })
    }

    /// What is different on disk from `commit`, committed or not.
    pub async fn changed_since(
        &self,
        workspace: &Workspace,
        commit: &str,
        never_commit: &[String],
    ) -> Result<Vec<ChangedFile>, WorkspaceError> {
        let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
        let git = quarantine.git();
        let tree = stage(self, git, workspace, never_commit, "look").await?.tree(git).await?;
        Ok(changed(git, commit, &tree).await?)
    }

    /// The hash of the tree on disk.
    pub async fn tree_hash(&self, workspace: &Workspace, never_commit: &[String]) -> Result<String, WorkspaceError> {
        let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
        let git = quarantine.git();
        Ok(stage(self, git, workspace, never_commit, "look").await?.tree(git).await?)
    }
}

async fn patch(git: &Git, from: &str, to: &str, colours: bool) -> Result<Vec<u8>, WorkspaceError> {
    let args = [
        "diff-tree",
        "-r",
        "-p",
        "-M",
        if colours { "--color=always" } else { "--no-color" },
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=dirty",
        "--end-of-options",
        from,
        to,
        "--",
    ];
    Ok(git.run(&args).await?)
}
