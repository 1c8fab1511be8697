//! Makes a workspace fit to work with, before the engine's git checks it.
//!
//! An agent may delete or replace `.git`, or leave a merge half done. All that is needed to put it back is in the
//! journalled [`Workspace`]. Invariant: files of the work tree are never touched here; what is replaced is moved aside,
//! and commits it held are kept under a ref.

use std::path::{Path, PathBuf};

use crate::agent_git::{AgentGit, failed};
use crate::checkpoint::save;
use crate::disk::write_whole;
use crate::git::{Git, is_id};
use crate::project::OPERATIONS;
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

impl Workspaces {
    /// Repairs the link to the repository and reports repairs in `notes`.
    pub(crate) async fn attach(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let real = std::fs::symlink_metadata(&workspace.dir).is_ok_and(|data| data.is_dir());
        let missing =
            || WorkspaceError::WorkspaceMissing { path: workspace.dir.clone(), branch: workspace.branch.clone() };
        workspace.home_exists()?;
        if !real {
            return Err(missing());
        }
        self.settle(workspace).await?;
        match workspace.kind {
            Kind::Clone => self.attach_clone(workspace, tag, notes).await,
            Kind::InPlace if workspace.git_dir.join("HEAD").exists() => Ok(()),
            Kind::InPlace => Err(missing()),
        }
    }

    /// Sets aside a merge, rebase or the like that was left half done, so that the checkpoint is an ordinary commit.
    pub(crate) async fn end_operations(
        &self,
        git: &Git,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let ended = match (workspace.kind, AgentGit::of(workspace)) {
            (Kind::Clone, Some(agent)) => agent.end_operations(tag).map_err(failed(workspace))?,
            (Kind::Clone, None) => Vec::new(),
            (Kind::InPlace, _) => end_in_place(workspace, tag)?,
        };
        for (operation, other) in ended {
            let mut note = format!("set aside a {operation} that was in progress");
            let other = match other {
                Some(other) if git.commit(&other).await?.is_some() => Some(other),
                Some(other) if workspace.kind == Kind::Clone => {
                    let taken = self.take(workspace, git, Path::new(".git"), &[&other]).await;
                    taken.ok().map(|()| other)
                }
                Some(_) | None => None,
            };
            if let Some(other) = other {
                let saved = save::keep(git, workspace, &workspace.keep_ref("operation", tag), &other).await?;
                note.push_str(&format!("; its other side is at {}", saved.name));
            }
            notes.push(note);
        }
        Ok(())
    }
}

fn end_in_place(workspace: &Workspace, tag: &str) -> Result<Vec<(&'static str, Option<String>)>, WorkspaceError> {
    let mut ended = Vec::new();
    for (file, operation) in OPERATIONS {
        let path = workspace.git_dir.join(file);
        if std::fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let other = std::fs::read_to_string(&path).ok().and_then(|text| text.lines().next().map(str::to_owned));
        let aside = free_name(&workspace.git_dir.join(format!("windlass-{file}-{tag}")));
        std::fs::rename(&path, &aside).map_err(WorkspaceError::file("move aside", &path))?;
        ended.push((*operation, other.filter(|id| is_id(id))));
    }
    Ok(ended)
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    write_whole(path, text).map_err(WorkspaceError::file("write", path))
}

pub(crate) fn free_name(path: &Path) -> PathBuf {
    let mut candidate = path.to_owned();
    let mut number = 1;
    while std::fs::symlink_metadata(&candidate).is_ok() {
        number += 1;
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{number}"));
        candidate = PathBuf::from(name);
    }
    candidate
}
