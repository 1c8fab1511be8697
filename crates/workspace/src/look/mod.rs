//! Differences, for people and for decisions.
//!
//! Invariant: only reads. The tree on disk is taken into a copy of the engine's index, and its objects go to a quarantine.

pub(crate) mod files;
pub(crate) mod landed;
pub(crate) mod signing;

use serde::{Deserialize, Serialize};

use crate::checkpoint::changed;
use crate::checkpoint::quarantine::Quarantine;
use crate::checkpoint::stage::stage;
use crate::git::{ChangedFile, Git, GitError};
use crate::{Workspace, WorkspaceError, Workspaces};

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

/// How much changed, by git's count; binary files have no lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiffSize {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

/// A commit's line begins a size; each line below it is a file with its counts.
fn sizes_in(output: &[u8]) -> Vec<DiffSize> {
    let mut sizes: Vec<DiffSize> = Vec::new();
    for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let mut count = || fields.next().and_then(|field| str::from_utf8(field).ok()?.parse::<u64>().ok());
        match sizes.last_mut() {
            Some(size) if line.contains(&b'\t') => {
                size.files += 1;
                size.added += count().unwrap_or(0);
                size.removed += count().unwrap_or(0);
            }
            Some(_) | None => sizes.push(DiffSize::default()),
        }
    }
    sizes
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

    /// How much changed from the first to the second commit of each pair.
    pub async fn sizes(
        &self,
        workspace: &Workspace,
        pairs: &[(String, String)],
    ) -> Result<Vec<DiffSize>, WorkspaceError> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        // One process for all of them: git takes the second commit of a line for the parent of the first.
        let lines: String = pairs.iter().map(|(from, to)| format!("{to} {from}\n")).collect();
        let args = ["diff-tree", "--stdin", "--always", "-r", "-M", "--numstat", "--no-ext-diff"];
        let output = self.home_git(workspace).call(&args).input(lines).run().await?.stdout;
        let sizes = sizes_in(&output);
        if sizes.len() != pairs.len() {
            return Err(GitError::unexpected("diff-tree", &output).into());
        }
        Ok(sizes)
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
