//! Saves a state of the tree under a ref, so that nothing that follows can lose it.
//!
//! Invariants: an existing ref is never moved; a second, different state gets the next free name (`…-2`, `…-3`). What contains a
//! secret is saved outside the repository (`searched`), and its objects do not get into the repository's store.

mod agents_refs;
mod searched;

use serde::{Deserialize, Serialize};

pub(crate) use agents_refs::left_behind;

use crate::agent_git::AgentGit;
use crate::checkpoint::quarantine::Quarantine;
use crate::git::{Git, GitError};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

/// Where something was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRef {
    pub name: String,
    pub commit: String,
}

/// Points a new ref at `commit`, or finds the one that already does. If it contains a secret, a bundle replaces the ref.
pub(crate) async fn keep(
    git: &Git,
    workspace: &Workspace,
    name: &str,
    commit: &str,
) -> Result<SavedRef, WorkspaceError> {
    for number in 1..=999 {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        match git.read_ref(&name).await? {
            Some(existing) if existing == commit => return Ok(SavedRef { name, commit: existing }),
            Some(_) => {}
            None => {
                if let Some(aside) = searched::set_aside(git, workspace, &name, commit).await? {
                    return Ok(aside);
                }
                git.admit(&[commit]).await?;
                git.run(&["update-ref", &name, commit, ""]).await?;
                return Ok(SavedRef { name, commit: commit.to_owned() });
            }
        }
    }
    // A thousand saved states of one turn: keep the first ones and report it by failing, nothing is overwritten.
    Err(WorkspaceError::DirectoryInTheWay { path: name.into() })
}

/// Commits `tree` on top of `parents` and keeps it under `name`, unless that very tree is kept there already.
pub(crate) async fn keep_tree(
    git: &Git,
    workspace: &Workspace,
    name: &str,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<SavedRef, WorkspaceError> {
    if let Some(existing) = git.read_ref(name).await?
        && git.tree_of(&existing).await? == tree
    {
        return Ok(SavedRef { name: name.to_owned(), commit: existing });
    }
    let commit = commit_tree(git, tree, parents, message).await?;
    keep(git, workspace, name, &commit).await
}

/// Writes a commit object; no ref moves.
pub(crate) async fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, WorkspaceError> {
    let mut args = vec!["commit-tree", "--no-gpg-sign"];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    args.extend(["-F", "-", tree]);
    let output = match git.call(&args).input(message).run().await {
        Err(GitError::NoIdentity) => git.clone().committing_as_windlass(true).call(&args).input(message).run().await?,
        other => other?,
    };
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Workspaces {
    /// Saves what is on disk (ignored files excepted) under `name`, whatever HEAD and index say. Nothing is saved, and
    /// `None` returned, if it equals the tip of the loop's branch.
    pub async fn save(
        &self,
        workspace: &Workspace,
        name: &str,
        never_commit: &[String],
    ) -> Result<Option<SavedRef>, WorkspaceError> {
        let mut notes = Vec::new();
        self.attach(workspace, "save", &mut notes).await?;
        let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
        let git = quarantine.git();
        let staged = crate::checkpoint::stage::stage(self, git, workspace, never_commit, "save").await?;
        let tree = staged.tree(git).await?;
        let home = git.read_ref(&workspace.loop_ref(git).await?).await?;
        let heads = self.heads(workspace, git, &[home.as_deref()], &mut notes).await?;
        let Some(tip) = heads.branch.or(home) else {
            return keep_tree(git, workspace, name, &tree, &[&workspace.base_commit], "windlass: saved tree\n")
                .await
                .map(Some);
        };
        if git.tree_of(&tip).await? == tree {
            return Ok(None);
        }
        let saved = keep_tree(git, workspace, name, &tree, &[&tip], "windlass: saved tree\n").await?;
        show(workspace, Some(&saved));
        Ok(Some(saved))
    }
}

/// Lets the agent's own git know a saved state by its name.
pub(crate) fn show(workspace: &Workspace, saved: Option<&SavedRef>) {
    let saved = saved.filter(|saved| saved.name.starts_with("refs/"));
    if let (Kind::Clone, Some(saved), Some(agent)) = (workspace.kind, saved, AgentGit::of(workspace)) {
        // It can be reached by its commit all the same.
        let _ = agent.write_ref(&saved.name, &saved.commit);
    }
}
