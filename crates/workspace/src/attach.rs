//! Puts right what ties a workspace to its repository, before the engine's git looks at it.
//!
//! An agent may delete or replace `.git`, prune the worktree's registration, or leave a merge half done. All that is
//! needed to put it back is in the journalled [`Workspace`]. Invariant: files of the work tree are never touched here;
//! what is replaced is moved aside inside the git directory, and commits it held are kept under a ref.

use std::path::{Path, PathBuf};

use super::project::OPERATIONS;
use super::{Kind, Workspace, WorkspaceError, Workspaces, nested, save};
use crate::git::{Git, is_id};

impl Workspaces {
    /// Repairs the tie; what was repaired is said in `notes`.
    pub(super) async fn attach(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let real = std::fs::symlink_metadata(&workspace.dir).is_ok_and(|data| data.is_dir());
        let missing =
            || WorkspaceError::WorkspaceMissing { path: workspace.dir.clone(), branch: workspace.branch.clone() };
        if !real {
            return Err(missing());
        }
        self.settle(workspace).await?;
        match workspace.kind {
            Kind::Worktree => {
                let registered = workspace.git_dir.join("HEAD").is_file();
                // With reftable HEAD is no plain file, and only git could write a registration again.
                let reftable = workspace.common_dir.join("reftable").is_dir();
                if !workspace.common_dir.join("objects").is_dir() || (reftable && !registered) {
                    return Err(missing());
                }
                self.attach_worktree(workspace, tag, notes).await
            }
            Kind::Clone => self.attach_clone(workspace, tag, notes).await,
            Kind::InPlace if workspace.git_dir.join("HEAD").exists() => Ok(()),
            Kind::InPlace => Err(missing()),
        }
    }

    async fn attach_worktree(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        if !workspace.git_dir.join("HEAD").is_file() {
            register(workspace)?;
            notes.push("the worktree's registration was gone and has been made again".to_owned());
        }
        let dot_git = workspace.dir.join(".git");
        let expected = dot_git_text(workspace);
        match std::fs::symlink_metadata(&dot_git) {
            Ok(data) if data.is_file() => {
                if std::fs::read(&dot_git).is_ok_and(|text| text == expected.as_bytes()) {
                    return Ok(());
                }
                notes.push("the workspace's .git file was changed and has been put back".to_owned());
                write(&dot_git, &expected)
            }
            Ok(_) => {
                let kept = self.move_aside(workspace, &dot_git, tag).await?;
                notes.push(format!("the workspace's .git was replaced and has been put back; {kept}"));
                write(&dot_git, &expected)
            }
            Err(_) => {
                notes.push("the workspace's .git file was gone and has been put back".to_owned());
                write(&dot_git, &expected)
            }
        }
    }

    /// Moves a foreign `.git` into the workspace's git directory and keeps its HEAD under a ref.
    pub(super) async fn move_aside(
        &self,
        workspace: &Workspace,
        dot_git: &Path,
        tag: &str,
    ) -> Result<String, WorkspaceError> {
        let name = workspace.keep_ref("replaced", tag);
        let git = Git::repository(self.host.clone(), &workspace.git_dir, &workspace.common_dir);
        let history = nested::fetch_head(&git, &workspace.dir, &name).await;
        let aside = free_name(&workspace.git_dir.join(format!("windlass-replaced-{tag}")));
        std::fs::rename(dot_git, &aside).map_err(WorkspaceError::file("move aside", dot_git))?;
        let history = history.map(|()| format!(", its commits at {name}")).unwrap_or_default();
        Ok(format!("what was there is at {}{history}", aside.display()))
    }
}

/// Writes the registration of a linked worktree, as `git worktree add` would, but whole before others can see it.
pub(super) fn register(workspace: &Workspace) -> Result<(), WorkspaceError> {
    let dir = &workspace.git_dir;
    let create = |dir: &Path| std::fs::create_dir_all(dir).map_err(WorkspaceError::file("create", dir));
    let partial = free_name(&workspace.common_dir.join(format!("windlass-partial-{}", workspace.loop_id)));
    create(&partial)?;
    create(dir.parent().unwrap_or(dir))?;
    write(&partial.join("commondir"), "../..\n")?;
    write(&partial.join("gitdir"), &format!("{}\n", workspace.dir.join(".git").display()))?;
    write(&partial.join("HEAD"), &format!("ref: {}\n", workspace.branch_ref()))?;
    if dir.exists() {
        // What is left of one that lost its HEAD.
        let aside = free_name(&workspace.common_dir.join(format!("windlass-replaced-{}", workspace.loop_id)));
        std::fs::rename(dir, &aside).map_err(WorkspaceError::file("move aside", dir))?;
    }
    std::fs::rename(&partial, dir).map_err(WorkspaceError::file("create", dir))
}

pub(super) fn dot_git_text(workspace: &Workspace) -> String {
    format!("gitdir: {}\n", workspace.git_dir.display())
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), WorkspaceError> {
    std::fs::write(path, text).map_err(WorkspaceError::file("write", path))
}

pub(super) fn free_name(path: &Path) -> PathBuf {
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

/// Sets aside a merge, rebase or the like that was left half done, so that the checkpoint is an ordinary commit.
pub(super) async fn end_operations(
    git: &Git,
    workspace: &Workspace,
    tag: &str,
    notes: &mut Vec<String>,
) -> Result<(), WorkspaceError> {
    for (file, operation) in OPERATIONS {
        let path = workspace.git_dir.join(file);
        if std::fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let mut note = format!("a {operation} was in progress and has been set aside");
        if let Ok(text) = std::fs::read_to_string(&path) {
            let other = text.lines().next().unwrap_or_default();
            if is_id(other) && git.commit(other).await?.is_some() {
                let saved = save::keep(git, &workspace.keep_ref("operation", tag), other).await?;
                note.push_str(&format!(", its other side is at {}", saved.name));
            }
        }
        let aside = free_name(&workspace.git_dir.join(format!("windlass-{file}-{tag}")));
        std::fs::rename(&path, &aside).map_err(WorkspaceError::file("move aside", &path))?;
        notes.push(note);
    }
    Ok(())
}
