//! Makes the agent's and the user's own git agree with the engine's after it moved something.

use std::path::Path;
use std::time::Duration;

use super::beneath::Found;
use super::{AgentGit, failed};
use crate::disk::copying::copy_into;
use crate::git::{Git, GitError, is_held};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

/// Waits for another's git, in milliseconds: about two seconds in all.
const LOCK_WAITS: &[u64] = &[10, 20, 50, 100, 200, 300, 500, 800];

impl Workspaces {
    /// In a clone its branch, HEAD and index follow, in place the index alone. A clone that cannot follow is recreated.
    pub(crate) async fn publish(
        &self,
        git: &Git,
        workspace: &Workspace,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let index = workspace.index_of(git);
        if workspace.kind == Kind::InPlace {
            return publish_in_place(&index, workspace).await;
        }
        let Some(commit) = git.read_ref(&workspace.loop_ref(git).await?).await? else { return Ok(()) };
        if let Err(error) = publish_in_clone(&index, &commit, workspace).await {
            let WorkspaceError::File { .. } = error else { return Err(error) };
            self.renew_clone(workspace, "unwritable", notes).await?;
            publish_in_clone(&index, &commit, workspace).await?;
        }
        Ok(())
    }
}

async fn publish_in_clone(index: &Path, commit: &str, workspace: &Workspace) -> Result<(), WorkspaceError> {
    let agent =
        AgentGit::of(workspace).ok_or_else(|| failed(workspace)(std::io::Error::other("not a git directory")))?;
    let branch = workspace.branch_ref();
    for name in [branch.as_str(), "HEAD", "index"] {
        let lock = format!("{name}.lock");
        if !agent.files().look(Path::new(&lock)).is_ok_and(|found| found == Found::Nothing) {
            let path = workspace.dir.join(".git").join(&lock);
            wait_for(&path, workspace).await?;
            agent.files().remove_file(Path::new(&lock)).map_err(failed(workspace))?;
        }
    }
    agent.check_out(&branch, commit).and_then(|()| agent.take_index(index)).map_err(failed(workspace))
}

/// Waits until no live process has a lock in the clone.
async fn wait_for(lock: &Path, workspace: &Workspace) -> Result<(), GitError> {
    let mut waits = LOCK_WAITS.iter();
    while is_held(lock, &workspace.dir.join(".git"), &workspace.dir) {
        let Some(&wait) = waits.next() else {
            return Err(GitError::LockHeld { path: lock.to_owned() });
        };
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    Ok(())
}

async fn publish_in_place(from: &Path, workspace: &Workspace) -> Result<(), WorkspaceError> {
    let lock = workspace.git_dir.join("index.lock");
    let target = workspace.git_dir.join("index");
    let mut waits = LOCK_WAITS.iter();
    loop {
        match std::fs::File::create_new(&lock) {
            Ok(mut file) => {
                let done = copy_into(from, &mut file).and_then(|()| std::fs::rename(&lock, &target));
                return done.map_err(|source| {
                    let _ = std::fs::remove_file(&lock);
                    WorkspaceError::File { action: "write", path: target, source }
                });
            }
            // The user's own git may be running there.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let Some(&wait) = waits.next() else {
                    return Err(GitError::LockHeld { path: lock }.into());
                };
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
            Err(source) => return Err(WorkspaceError::File { action: "lock", path: lock, source }),
        }
    }
}
