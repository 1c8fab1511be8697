//! Checks the user's repository before anything is made in it.
//!
//! Invariant: only reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::WorkspaceError;
use crate::git::{Git, GitError, GitHost, HeadFile};

/// What a checkout is.
#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) checkout: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) id_len: usize,
    /// The branch that is checked out, by its short name.
    pub(super) branch: Option<String>,
}

impl Project {
    pub(super) async fn inspect(host: &Arc<GitHost>, dir: &Path) -> Result<Self, WorkspaceError> {
        if !dir.is_dir() {
            return Err(WorkspaceError::NoSuchDirectory { path: dir.to_owned() });
        }
        let git = Git::discover(host.clone(), dir);
        let args = [
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--is-inside-work-tree",
            "--show-object-format",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        // The last query fails without a work tree; the earlier ones are answered.
        let output = git.call(&args).answers(&[128]).run().await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let (bare, inside, format) = (lines.next(), lines.next(), lines.next());
        if output.code != 0 {
            if bare.is_none() {
                // Not found: let the words of git be judged.
                git.run(&args).await?;
            }
            return Err(WorkspaceError::Bare { path: dir.to_owned() });
        }
        if bare == Some("true") || inside != Some("true") {
            return Err(WorkspaceError::Bare { path: dir.to_owned() });
        }
        let mut path = || {
            let line = lines.next().ok_or_else(|| GitError::unexpected("rev-parse", &output.stdout))?;
            Ok::<_, GitError>(PathBuf::from(line))
        };
        let (git_dir, common_dir, checkout) = (path()?, path()?, path()?);
        let id_len = if format == Some("sha256") { 32 } else { 20 };
        let mut project = Self { checkout, git_dir, common_dir, id_len, branch: None };
        if let HeadFile::Ref(name) = project.git(host).head().await? {
            project.branch = name.strip_prefix("refs/heads/").map(str::to_owned);
        }
        Ok(project)
    }

    pub(super) fn git(&self, host: &Arc<GitHost>) -> Git {
        Git::repository(host.clone(), &self.git_dir, &self.common_dir).work_tree(&self.checkout)
    }

    /// Uncommitted files of the checkout.
    pub(super) async fn uncommitted(&self, host: &Arc<GitHost>) -> Result<u64, GitError> {
        let args =
            ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"];
        let output = self.git(host).run(&args).await?;
        Ok(output.split(|&byte| byte == 0).filter(|record| !record.is_empty()).count() as u64)
    }

    /// A merge, rebase or the like that somebody has started in the checkout.
    pub(super) fn operation(&self) -> Option<&'static str> {
        OPERATIONS.iter().find(|(file, _)| self.git_dir.join(file).exists()).map(|(_, name)| *name)
    }
}

/// Files in the git directory that mark an operation in progress.
pub(super) const OPERATIONS: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
    ("sequencer", "cherry-pick"),
];

impl crate::Workspaces {
    /// The root of the checkout that a directory is in: what a project is called by.
    pub async fn project_root(&self, dir: &Path) -> Result<PathBuf, WorkspaceError> {
        Ok(Project::inspect(&self.host, dir).await?.checkout)
    }

    /// The branch that new work starts from: the remote's default one, else main or master, else what is checked out.
    pub async fn default_branch(&self, dir: &Path) -> Result<String, WorkspaceError> {
        let git = Project::inspect(&self.host, dir).await?.git(&self.host);
        for name in ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"] {
            if git.commit(name).await?.is_some() {
                return Ok(name.to_owned());
            }
        }
        Ok("HEAD".to_owned())
    }

    /// Makes a repository of a directory, with all its files in one commit.
    pub async fn make_repository(&self, dir: &Path, message: &str) -> Result<(), WorkspaceError> {
        let git = Git::discover(self.host.clone(), dir);
        git.run(&["init", "--quiet", "--initial-branch=main"]).await?;
        git.run(&["add", "--all"]).await?;
        let author = ["-c", "user.name=Windlass", "-c", "user.email=windlass@localhost"];
        git.run(&[&author[..], &["commit", "--quiet", "--message", message]].concat()).await?;
        Ok(())
    }

    /// A repository without a checkout.
    pub async fn make_bare(&self, dir: &Path) -> Result<(), WorkspaceError> {
        std::fs::create_dir_all(dir).map_err(WorkspaceError::file("create", dir))?;
        Git::discover(self.host.clone(), dir).run(&["init", "--quiet", "--bare"]).await?;
        Ok(())
    }

    pub async fn git_version(&self) -> Result<String, GitError> {
        Git::discover(self.host.clone(), Path::new("/")).version().await
    }
}
