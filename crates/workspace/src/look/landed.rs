//! Whether a loop's work has come home, and since when.
//!
//! A merge by Windlass leaves a mark: a ref to a small commit on top of what was merged, whose time is that of the
//! merge. So a squashed branch, whose commits are in no other, is known as merged too; a merge by hand is found by its
//! commits.

use serde::{Deserialize, Serialize};

use crate::checkpoint::save;
use crate::git::Git;
use crate::{Workspace, WorkspaceError, Workspaces};

/// Where a loop's work is, besides its own branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Landed {
    /// All of it is in that branch; `since` in seconds since 1970, where git knows.
    Merged {
        into: String,
        since: Option<i64>,
    },
    /// There is no commit to merge.
    Nothing,
    NotMerged,
    /// The branch no longer exists.
    BranchGone,
}

const SUBJECT: &str = "windlass: merged into ";

impl Workspaces {
    pub async fn landed(&self, workspace: &Workspace) -> Result<Landed, WorkspaceError> {
        let git = self.home_git(workspace);
        if workspace.home_exists().is_err() {
            return Ok(Landed::BranchGone);
        }
        let Some(tip) = git.read_ref(&workspace.branch_ref()).await? else { return Ok(Landed::BranchGone) };
        if tip == workspace.base_commit {
            return Ok(Landed::Nothing);
        }
        if let Some((into, since)) = marked(&git, workspace, &tip).await? {
            return Ok(Landed::Merged { into, since: Some(since) });
        }
        let Some(into) = workspace.home.branch.clone().filter(|into| *into != workspace.branch) else {
            return Ok(Landed::NotMerged);
        };
        let Some(target) = git.read_ref(&format!("refs/heads/{into}")).await? else { return Ok(Landed::NotMerged) };
        if !git.is_ancestor(&tip, &target).await? {
            return Ok(Landed::NotMerged);
        }
        let range = format!("{tip}..{target}");
        let after = git.run(&["log", "--ancestry-path", "--reverse", "--format=%ct", &range, "--"]).await?;
        let since = String::from_utf8_lossy(&after).lines().next().and_then(|time| time.parse().ok());
        Ok(Landed::Merged { into, since })
    }
}

/// Notes that `tip` is in `into` as of now.
pub(crate) async fn mark(git: &Git, workspace: &Workspace, tip: &str, into: &str) -> Result<(), WorkspaceError> {
    let tree = git.tree_of(tip).await?;
    let commit = save::commit_tree(git, &tree, &[tip], &format!("{SUBJECT}{into}\n")).await?;
    save::keep(git, workspace, &workspace.keep_ref("merged", into), &commit).await?;
    Ok(())
}

/// The latest mark of this very tip.
async fn marked(git: &Git, workspace: &Workspace, tip: &str) -> Result<Option<(String, i64)>, WorkspaceError> {
    let name = workspace.keep_ref("merged", "x");
    let prefix = name.strip_suffix('x').unwrap_or(&name);
    let format = "--format=%(parent) %(committerdate:unix) %(contents:subject)";
    let list = git.run(&["for-each-ref", format, prefix]).await?;
    let text = String::from_utf8_lossy(&list);
    let marks = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ' ');
        let (parent, time, subject) = (fields.next()?, fields.next()?, fields.next()?);
        let into = subject.strip_prefix(SUBJECT).filter(|_| parent == tip)?;
        Some((into.to_owned(), time.parse().ok()?))
    });
    Ok(marks.max_by_key(|(_, time): &(String, i64)| *time))
}
