//! Brings a loop's branch home.
//!
//! The merge is computed without any work tree. Invariant: conflicts change nothing; a checkout that has the target
//! branch follows only if none of its own changes would be overwritten, and its files move before the branch does, so
//! that a merge cut off in between can be made again.

mod preview;
mod queue;
mod target;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::checkpoint::save;
use crate::git::{FilePath, Git, GitError};
use crate::look::landed;
use crate::opening::create::checked_out_at;
use crate::project::Project;
use crate::{Workspace, WorkspaceError, Workspaces};

pub use preview::MergePreview;
pub use queue::{Advanced, BatchBuild, BatchConflict, BatchMember};
pub use target::{MergeInRequest, TargetMerged};

/// How to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequest {
    /// The branch that was checked out when the loop began, if not said.
    pub into: Option<String>,
    /// One commit with everything, instead of the loop's commits.
    pub squash: bool,
    pub message: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        commit: String,
        into: String,
        /// Always false: each merge is a commit of its own, which has the goal in its message.
        fast_forward: bool,
        /// The checkout whose files moved along.
        checkout: Option<PathBuf>,
    },
    UpToDate {
        into: String,
    },
    /// Both sides changed these; nothing was done.
    Conflicts {
        into: String,
        files: Vec<String>,
    },
}

/// A merge that is computed and has moved no ref yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMerge {
    /// What the branch will point to.
    pub commit: String,
    pub tree: String,
    pub into: String,
    old: String,
    tip: String,
}

/// What a merge would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergePlan {
    Ready(PlannedMerge),
    /// There is nothing to do, or nothing that can be done.
    Over(MergeOutcome),
}

impl Workspaces {
    /// Merges the loop's branch into another branch of the user's repository.
    pub async fn merge(&self, workspace: &Workspace, request: &MergeRequest) -> Result<MergeOutcome, WorkspaceError> {
        match self.plan_merge(workspace, request).await? {
            MergePlan::Ready(planned) => self.finish_merge(workspace, planned).await,
            MergePlan::Over(outcome) => Ok(outcome),
        }
    }

    /// Computes the merge of the loop's branch into another branch. Moves no ref and no file.
    pub async fn plan_merge(&self, workspace: &Workspace, request: &MergeRequest) -> Result<MergePlan, WorkspaceError> {
        let git = self.guarded_home_git(workspace).await?;
        let Sides { into, old, tip } = sides(&git, workspace, request.into.as_deref()).await?;
        let tree = match computed(&git, &old, &tip, request.squash).await? {
            Computed::Tree(tree) => tree,
            Computed::UpToDate => return Ok(MergePlan::Over(MergeOutcome::UpToDate { into })),
            Computed::Conflicts(files) => return Ok(MergePlan::Over(MergeOutcome::Conflicts { into, files })),
        };
        let parents: &[&str] = if request.squash { &[&old] } else { &[&old, &tip] };
        let commit = save::commit_tree(&git, &tree, parents, &request.message).await?;
        Ok(MergePlan::Ready(PlannedMerge { commit, tree, into, old, tip }))
    }

    /// Moves the branch, and the checkout that has it. Refused if the branch moved since the merge was planned.
    pub async fn finish_merge(
        &self,
        workspace: &Workspace,
        planned: PlannedMerge,
    ) -> Result<MergeOutcome, WorkspaceError> {
        let PlannedMerge { commit, into, old, tip, tree: _ } = planned;
        let git = self.guarded_home_git(workspace).await?;
        let target = format!("refs/heads/{into}");
        let checkout = checked_out_at(&git, &into).await?.filter(|dir| dir.is_dir());
        if let Some(dir) = &checkout {
            self.move_checkout(workspace, dir.clone(), &old, &commit).await?;
        }
        let reason = format!("windlass: merge {}", workspace.branch);
        git.run(&["update-ref", "-m", &reason, &target, &commit, &old]).await?;
        landed::mark(&git, workspace, &tip, &into).await?;
        Ok(MergeOutcome::Merged { commit, into, fast_forward: false, checkout })
    }

    /// Moves the files of a checkout from one commit to another, or refuses before touching any.
    async fn move_checkout(
        &self,
        workspace: &Workspace,
        dir: PathBuf,
        old: &str,
        new: &str,
    ) -> Result<(), WorkspaceError> {
        let project = Project::inspect(&self.host, &dir).await?;
        if let Some(operation) = project.operation() {
            return Err(WorkspaceError::OperationInProgress { path: dir, operation });
        }
        let plain = project.git(&self.host);
        let overrides = workspace.home_trusted.overrides(&plain).await?;
        let git = plain.overriding(overrides);
        // Only git's memory of sizes and times, without which it would take touched files for changed.
        git.call(&["update-index", "-q", "--refresh"]).answers(&[1]).run().await?;
        match git.run(&["read-tree", "-m", "-u", "--dry-run", old, new]).await {
            Ok(_) => {}
            Err(GitError::Failed { stderr, .. })
                if stderr.contains("not uptodate") || stderr.contains("overwritten") =>
            {
                return Err(WorkspaceError::CheckoutInTheWay { checkout: dir, files: quoted(&stderr) });
            }
            Err(error) => return Err(error.into()),
        }
        git.run(&["read-tree", "-m", "-u", old, new]).await?;
        Ok(())
    }

    async fn guarded_home_git(&self, workspace: &Workspace) -> Result<Git, GitError> {
        let plain = self.home_git(workspace);
        let overrides = workspace.home_trusted.overrides(&plain).await?;
        Ok(plain.overriding(overrides))
    }
}

/// The two commits of a merge.
struct Sides {
    into: String,
    old: String,
    tip: String,
}

async fn sides(git: &Git, workspace: &Workspace, into: Option<&str>) -> Result<Sides, WorkspaceError> {
    let Some(into) = into.or(workspace.home.branch.as_deref()) else {
        return Err(WorkspaceError::NoMergeTarget { branch: workspace.branch.clone() });
    };
    let find = async |name: &str, branch: &str| {
        let found = git.read_ref(name).await?;
        found.ok_or_else(|| WorkspaceError::NoSuchBranch { branch: branch.to_owned() })
    };
    let old = find(&format!("refs/heads/{into}"), into).await?;
    let tip = find(&workspace.branch_ref(), &workspace.branch).await?;
    Ok(Sides { into: into.to_owned(), old, tip })
}

/// What a merge makes of two commits.
enum Computed {
    Tree(String),
    UpToDate,
    Conflicts(Vec<String>),
}

async fn computed(git: &Git, old: &str, tip: &str, squash: bool) -> Result<Computed, GitError> {
    if git.is_ancestor(tip, old).await? {
        return Ok(Computed::UpToDate);
    }
    let tree = if git.is_ancestor(old, tip).await? {
        git.tree_of(tip).await?
    } else {
        let MergedTree { tree, conflicts } = merged_tree(git, old, tip).await?;
        if !conflicts.is_empty() {
            return Ok(Computed::Conflicts(conflicts.iter().map(ToString::to_string).collect()));
        }
        tree
    };
    if squash && tree == git.tree_of(old).await? {
        return Ok(Computed::UpToDate);
    }
    Ok(Computed::Tree(tree))
}

/// The tree of a merge. Files in conflict have both sides in it, between markers.
struct MergedTree {
    tree: String,
    conflicts: Vec<FilePath>,
}

async fn merged_tree(git: &Git, ours: &str, theirs: &str) -> Result<MergedTree, GitError> {
    let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs];
    let output = git.call(&args).answers(&[1]).run().await?;
    let mut fields = output.stdout.split(|&byte| byte == 0 || byte == b'\n');
    let tree = fields.next().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default();
    if output.code == 0 {
        return Ok(MergedTree { tree, conflicts: Vec::new() });
    }
    let after_tree = output.stdout.get(tree.len() + 1..).unwrap_or_default();
    let conflicts = after_tree.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(FilePath::new).collect();
    Ok(MergedTree { tree, conflicts })
}

/// The names that git put in quotes, at most ten.
fn quoted(stderr: &str) -> Vec<String> {
    let names = stderr.lines().filter_map(|line| {
        let (_, rest) = line.split_once('\'')?;
        rest.rsplit_once('\'').map(|(name, _)| name.to_owned())
    });
    names.take(10).collect()
}
