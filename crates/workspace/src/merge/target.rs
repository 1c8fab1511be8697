//! Merges the target into a loop's branch, for a loop that continues after it was completed.
//!
//! Invariant: only the loop's own branch moves. The merge is found again by its trailer, so a call that was cut off and
//! recreated makes one. Conflicts are committed with their markers: whatever happens next, both sides are in the tree.

use serde::{Deserialize, Serialize};
use windlass_faults as faults;

use super::{MergedTree, merged_tree};
use crate::checkpoint::save;
use crate::git::{FilePath, Git};
use crate::opening::reopen::Target;
use crate::{Reopen, Reopened, SavedRef, Workspace, WorkspaceError, Workspaces};

/// The trailer by which the merge of a stretch is found again.
const STRETCH: &str = "Windlass-Stretch";

/// What to merge in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeInRequest {
    /// The branch that was checked out when the loop started, if not said.
    pub target: Option<String>,
    pub loop_name: String,
    /// The last checkpoint of the loop.
    pub head: String,
    /// Names the stretch, so that a second call finds what the first one did.
    pub stretch: String,
    pub never_commit: Vec<String>,
}

/// The target on the loop's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetMerged {
    pub branch: String,
    pub commit: String,
    pub tree: String,
    /// The loop's branch afterwards.
    pub head: String,
    pub head_tree: String,
    /// The target had changes that the loop's branch did not have.
    pub news: bool,
    pub conflicts: Vec<String>,
}

impl Workspaces {
    /// Refuses to continue a loop whose commits or whose target are gone; nothing is changed.
    pub async fn can_continue(
        &self,
        workspace: &Workspace,
        head: &str,
        target: Option<&str>,
    ) -> Result<(), WorkspaceError> {
        let known = workspace.home.common_dir.join("objects").is_dir()
            && self.home_git(workspace).commit(head).await?.is_some();
        if !known {
            return self.can_open(workspace).await;
        }
        self.merge_target(workspace, target).await.map(drop)
    }

    /// The branch that the loop's work goes to, with its commit. None if the loop started from no branch.
    async fn merge_target(
        &self,
        workspace: &Workspace,
        target: Option<&str>,
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let Some(branch) = target.or(workspace.home.branch.as_deref()) else { return Ok(None) };
        let found = self.home_git(workspace).read_ref(&format!("refs/heads/{branch}")).await?;
        let commit = found.ok_or_else(|| WorkspaceError::NoSuchBranch { branch: branch.to_owned() })?;
        Ok(Some((branch.to_owned(), commit)))
    }

    /// The last commit that a loop's commit shares with its merge target. None if the loop started from no branch, or if
    /// they share none.
    pub async fn left_target_at(&self, workspace: &Workspace, commit: &str) -> Result<Option<String>, WorkspaceError> {
        let Some((_, tip)) = self.merge_target(workspace, None).await? else { return Ok(None) };
        Ok(self.home_git(workspace).merge_base(&tip, commit).await?)
    }

    /// Opens a workspace again and merges the target into its branch. What was on disk and in no commit is saved.
    pub async fn merge_in(
        &self,
        workspace: &Workspace,
        request: &MergeInRequest,
    ) -> Result<(Reopened, Option<TargetMerged>), WorkspaceError> {
        let head = &request.head;
        if !self.has_branch(workspace).await? {
            // It was merged and cleared away.
            self.home_git(workspace).run(&["update-ref", &workspace.branch_ref(), head, ""]).await?;
        }
        let mut reopened = self.reopen(workspace, &Reopen::Keep).await?;
        let Some((branch, tip)) = self.merge_target(workspace, request.target.as_deref()).await? else {
            reopened.notes.push("the loop did not start from a branch, so nothing is merged".to_owned());
            return Ok((reopened, None));
        };
        let git = self.guarded_home_git(workspace).await?;
        let made = self.found_again(workspace, request).await?;
        let commit = made.as_ref().map_or(tip, |(_, target)| target.clone());
        let tree = git.tree_of(&commit).await?;
        if made.is_none() && git.is_ancestor(&commit, head).await? {
            let merged = TargetMerged {
                branch,
                commit,
                tree,
                head: head.clone(),
                head_tree: git.tree_of(head).await?,
                news: false,
                conflicts: Vec::new(),
            };
            return Ok((reopened, Some(merged)));
        }
        let MergedTree { tree: head_tree, conflicts } = merged_tree(&git, head, &commit).await?;
        let conflicts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
        // A merge of this very work into the target brings no file.
        let news = git.tree_of(head).await? != head_tree;
        let save_as = workspace.keep_ref("continue", &request.stretch);
        let merge = match made {
            Some((merge, _)) => {
                reopened.saved = self.move_to(workspace, &merge, Some(&save_as), request, &mut reopened).await?;
                merge
            }
            None => {
                let message = message(workspace, request, &branch, &conflicts);
                let merge = save::commit_tree(&git, &head_tree, &[head, &commit], &message).await?;
                reopened.saved = self.move_to(workspace, head, Some(&save_as), request, &mut reopened).await?;
                faults::point("merge_in.before");
                self.move_to(workspace, &merge, None, request, &mut reopened).await?;
                faults::point("merge_in.after");
                merge
            }
        };
        Ok((reopened, Some(TargetMerged { branch, commit, tree, head: merge, head_tree, news, conflicts })))
    }

    /// The merge that an earlier call made for this stretch, with the target's commit.
    async fn found_again(
        &self,
        workspace: &Workspace,
        request: &MergeInRequest,
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let git = self.git(workspace).await?;
        let Some(tip) = git.read_ref(&workspace.loop_ref(&git).await?).await? else { return Ok(None) };
        let shown = git.run(&["log", "-1", "--format=%P%n%B", &tip, "--"]).await?;
        let text = String::from_utf8_lossy(&shown);
        let mut lines = text.lines();
        let parents: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let wanted = format!("{STRETCH}: {}", request.stretch);
        let [first, target] = parents[..] else { return Ok(None) };
        let mine = first == request.head && lines.any(|line| line == wanted);
        Ok(mine.then(|| (tip, target.to_owned())))
    }

    async fn move_to(
        &self,
        workspace: &Workspace,
        commit: &str,
        save_as: Option<&str>,
        request: &MergeInRequest,
        reopened: &mut Reopened,
    ) -> Result<Option<SavedRef>, WorkspaceError> {
        let never_commit = &request.never_commit;
        let target = Target { commit, tree: None, save_as, never_commit, even_in_place: false };
        Ok(self.put_back(workspace, &target, &mut reopened.notes).await?.saved)
    }

    /// The files among these in which a commit has conflict markers.
    pub async fn conflict_markers(
        &self,
        workspace: &Workspace,
        commit: &str,
        files: &[String],
    ) -> Result<Vec<String>, WorkspaceError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let git: Git = self.home_git(workspace);
        // Extended, whatever `grep.patternType` says. The attribute `conflict-marker-size` makes markers longer.
        let mut args = vec!["grep", "-E", "-l", "-z", "--no-color", "-e", "^(<{7,}|>{7,}|[|]{7,}) ", commit, "--"];
        args.extend(files.iter().map(String::as_str));
        let found = git.call(&args).literal_paths().answers(&[1]).run().await?.stdout;
        let names = found.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let prefix = commit.len() + 1;
        Ok(names.map(|name| FilePath::new(name.get(prefix..).unwrap_or_default()).to_string()).collect())
    }
}

fn message(workspace: &Workspace, request: &MergeInRequest, branch: &str, conflicts: &[String]) -> String {
    let mut text = format!("Merge {branch} into {}\n\n", workspace.branch);
    if !conflicts.is_empty() {
        text.push_str("The merge has conflicts, which the next commits resolve:\n");
        conflicts.iter().for_each(|file| text.push_str(&format!("- {file}\n")));
        text.push('\n');
    }
    format!("{text}Windlass-Loop: {}\n{STRETCH}: {}\n", request.loop_name, request.stretch)
}
