//! What a merge would do.
//!
//! Invariant: nothing is changed. Trees that git computes are written to a place that is removed afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Computed, Sides, computed, sides};
use crate::git::{FilePath, Git, GitError, HeldObjects};
use crate::look::DiffSize;
use crate::opening::create::checked_out_at;
use crate::project::Project;
use crate::{Workspace, WorkspaceError, Workspaces};

/// What a merge would do, as far as git knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePreview {
    pub into: String,
    /// Commits of the loop that the target does not have; 0 if there is nothing to merge.
    pub commits: u64,
    /// Commits of the target that the loop does not have.
    pub behind: u64,
    /// The merged tree. `None` if there is nothing to merge, or if there are conflicts.
    pub tree: Option<String>,
    pub conflicts: Vec<String>,
    /// What the target would gain; with conflicts, what the loop changed since it left the target.
    pub size: DiffSize,
    /// The checkout whose files would move along.
    pub checkout: Option<PathBuf>,
    /// Uncommitted files there that the merge would overwrite.
    pub in_the_way: Vec<String>,
}

impl Workspaces {
    /// Computes what a merge of the loop's branch would do.
    pub async fn preview_merge(
        &self,
        workspace: &Workspace,
        into: Option<&str>,
        squash: bool,
    ) -> Result<MergePreview, WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        let Sides { into, old, tip } = sides(&git, workspace, into).await?;
        let store = workspace.home.common_dir.join("objects");
        let held = HeldObjects::beside(&store, &[]).map_err(WorkspaceError::file("create objects in", &store))?;
        let git = git.holding(Some(Arc::new(held)));
        let (behind, mut commits) = distance(&git, &old, &tip).await?;
        let (tree, conflicts, changed) = match computed(&git, &old, &tip, squash).await? {
            Computed::Tree(tree) => {
                let changed = Changed::between(&git, &old, &tree).await?;
                (Some(tree), Vec::new(), changed)
            }
            Computed::UpToDate => {
                commits = 0;
                (None, Vec::new(), Changed::default())
            }
            Computed::Conflicts(files) => {
                let left = git.merge_base(&old, &tip).await?.unwrap_or_else(|| old.clone());
                (None, files, Changed::between(&git, &left, &tip).await?)
            }
        };
        let checkout = checked_out_at(&git, &into).await?.filter(|dir| dir.is_dir());
        let in_the_way = match &checkout {
            Some(dir) if tree.is_some() => self.overwritten(workspace, dir.clone(), &changed).await?,
            Some(_) | None => Vec::new(),
        };
        Ok(MergePreview { into, commits, behind, tree, conflicts, size: changed.size, checkout, in_the_way })
    }

    /// Uncommitted files of a checkout that a merge would overwrite.
    async fn overwritten(
        &self,
        workspace: &Workspace,
        dir: PathBuf,
        changed: &Changed,
    ) -> Result<Vec<String>, WorkspaceError> {
        let plain = Project::inspect(&self.host, &dir).await?.git(&self.host);
        let overrides = workspace.home_trusted.overrides(&plain).await?;
        let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"];
        let output = plain.overriding(overrides).run(&args).await?;
        // Two letters and a space before each name.
        let names = output.split(|&byte| byte == 0).filter_map(|record| record.get(3..));
        let theirs = names.filter(|name| changed.names.contains(*name));
        Ok(theirs.map(|name| FilePath::new(name).to_string()).collect())
    }
}

/// The files that a merge would change.
#[derive(Default)]
struct Changed {
    size: DiffSize,
    names: BTreeSet<Vec<u8>>,
}

impl Changed {
    async fn between(git: &Git, from: &str, to: &str) -> Result<Self, GitError> {
        let args = ["diff-tree", "-r", "-M", "--numstat", "-z", "--no-ext-diff", "--end-of-options", from, to, "--"];
        let output = git.run(&args).await?;
        let mut changed = Self::default();
        let mut fields = output.split(|&byte| byte == 0).filter(|field| !field.is_empty());
        while let Some(field) = fields.next() {
            let mut parts = field.splitn(3, |&byte| byte == b'\t');
            let mut count = || parts.next().and_then(|part| str::from_utf8(part).ok()?.parse().ok());
            // Binary files have `-`.
            let (added, removed): (u64, u64) = (count().unwrap_or(0), count().unwrap_or(0));
            changed.size.files += 1;
            changed.size.added += added;
            changed.size.removed += removed;
            match parts.next() {
                Some(name) if !name.is_empty() => drop(changed.names.insert(name.to_vec())),
                // A rename: the old name and the new one follow.
                Some(_) | None => changed.names.extend(fields.by_ref().take(2).map(<[u8]>::to_vec)),
            }
        }
        Ok(changed)
    }
}

/// How many commits only the first has, and how many only the second.
async fn distance(git: &Git, one: &str, other: &str) -> Result<(u64, u64), GitError> {
    let range = format!("{one}...{other}");
    let line = git.line(&["rev-list", "--left-right", "--count", "--end-of-options", &range, "--"]).await?;
    let mut counts = line.split_whitespace().map(|count| count.parse().ok());
    match (counts.next().flatten(), counts.next().flatten()) {
        (Some(left), Some(right)) => Ok((left, right)),
        (Some(_) | None, _) => Err(GitError::unexpected("rev-list", line.as_bytes())),
    }
}
