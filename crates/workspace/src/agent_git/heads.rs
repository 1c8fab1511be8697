//! Where the agent left HEAD and the loop's branch.

use std::path::Path;

use super::AgentGit;
use crate::git::{Git, GitError, HeadFile};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

/// What a turn left of the repository it worked in. The commits named here are all known to the git that looked.
#[derive(Debug)]
pub(crate) struct Heads {
    pub(crate) head: HeadFile,
    /// The commit of HEAD.
    pub(crate) head_commit: Option<String>,
    /// The tip of the loop's branch.
    pub(crate) branch: Option<String>,
}

impl Heads {
    pub(crate) fn on_branch(&self, workspace: &Workspace) -> bool {
        self.head == HeadFile::Ref(workspace.branch_ref())
    }
}

impl Workspaces {
    /// Reads where HEAD and branch are, and takes the commits there to where `git` writes, unless they are among the
    /// `known`. Unusable commits are omitted and reported in `notes`.
    pub(crate) async fn heads(
        &self,
        workspace: &Workspace,
        git: &Git,
        known: &[Option<&str>],
        notes: &mut Vec<String>,
    ) -> Result<Heads, WorkspaceError> {
        let branch = workspace.branch_ref();
        if workspace.kind == Kind::InPlace {
            let head = git.head().await?;
            let head_commit = match &head {
                HeadFile::Commit(commit) => Some(commit.clone()),
                HeadFile::Ref(name) => git.read_ref(name).await?,
                HeadFile::Unknown => None,
            };
            return Ok(Heads { head, head_commit, branch: git.read_ref(&branch).await? });
        }
        let Some(agent) = AgentGit::of(workspace) else {
            return Ok(Heads { head: HeadFile::Unknown, head_commit: None, branch: None });
        };
        let mut heads = Heads { head: agent.head(), head_commit: agent.head_commit(), branch: agent.read_ref(&branch) };
        let mut missing: Vec<String> = Vec::new();
        for id in [&heads.branch, &heads.head_commit].into_iter().flatten() {
            let new = !known.contains(&Some(id.as_str())) && !missing.contains(id);
            if new && git.commit(id).await?.is_none() {
                missing.push(id.clone());
            }
        }
        for id in missing {
            match self.take(workspace, git, Path::new(".git"), &[&id]).await {
                Ok(()) => {}
                Err(error @ (GitError::DiskFull { .. } | GitError::Killed { .. } | GitError::NotWritable { .. })) => {
                    return Err(error.into());
                }
                Err(error) => {
                    notes.push(format!("cannot read the agent's commit {}: {error}", &id[..12]));
                    self.renew_clone(workspace, "unread", notes).await?;
                    for place in [&mut heads.branch, &mut heads.head_commit] {
                        place.take_if(|there| *there == id);
                    }
                }
            }
        }
        Ok(heads)
    }
}
