//! A checkout of one commit with nothing else in it: no ignored file, no leftover of an agent.
//!
//! Invariant: nothing is registered in the user's repository, and nothing outside the given directory is touched.

use std::path::Path;

use super::{Workspace, WorkspaceError, Workspaces};
use crate::git::Git;

/// Written last, so that its content says which commit the directory holds, whole.
const MARK: &str = "windlass-pristine";

impl Workspaces {
    /// Makes `dir` a checkout of `commit`. Gates of the same commit share it; says whether it was made by this call.
    pub async fn pristine(&self, workspace: &Workspace, commit: &str, dir: &Path) -> Result<bool, WorkspaceError> {
        let git_dir = dir.join(".git");
        let mark = git_dir.join(MARK);
        if std::fs::read_to_string(&mark).is_ok_and(|held| held == commit) {
            return Ok(false);
        }
        self.remove_pristine(dir)?;
        std::fs::create_dir_all(dir).map_err(WorkspaceError::file("create", dir))?;
        let format = if workspace.id_len == 32 { "--object-format=sha256" } else { "--object-format=sha1" };
        let made = Git::discover(self.host.clone(), dir);
        made.run(&["init", "--quiet", "--template=", format]).await?;
        let alternates = git_dir.join("objects/info/alternates");
        let objects = format!("{}\n", workspace.common_dir.join("objects").display());
        std::fs::create_dir_all(git_dir.join("objects/info")).map_err(WorkspaceError::file("create", &git_dir))?;
        std::fs::write(&alternates, objects).map_err(WorkspaceError::file("write", &alternates))?;
        let git = Git::repository(self.host.clone(), &git_dir, &git_dir).work_tree(dir);
        git.run(&["update-ref", "--no-deref", "HEAD", commit]).await?;
        git.run(&["read-tree", "--reset", "-u", commit]).await?;
        std::fs::write(&mark, commit).map_err(WorkspaceError::file("write", &mark))?;
        Ok(true)
    }

    pub fn remove_pristine(&self, dir: &Path) -> Result<(), WorkspaceError> {
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(WorkspaceError::file("remove", dir)(error))
            }
            _ => Ok(()),
        }
    }
}
