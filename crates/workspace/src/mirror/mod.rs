//! Loops that several machines work on: a hub that all of them reach, and on each machine a mirror of the project.
//!
//! A mirror is a repository with an empty checkout on a branch without commits, so a workspace borrows from it as it borrows
//! from a user's repository. Invariants: the hub's branch of a loop moves by compare-and-swap alone, and what another machine
//! left there is kept below `refs/windlass/<loop>/stray/` before the branch moves over it.

use std::path::{Path, PathBuf};

use windlass_faults as faults;

use crate::git::{Git, GitError, TrustedConfig};
use crate::opening::create::base_ref;
use crate::project::Project;
use crate::{Home, Kind, Snapshot, Workspace, WorkspaceError, Workspaces};

/// The branch that is checked out in a mirror. It has no commit.
const UNBORN: &str = "windlass-mirror";

/// A loop's branch on the hub after it was to be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Moved,
    /// Another machine moved it meanwhile; `None` if it is gone.
    Elsewhere {
        found: Option<String>,
    },
}

impl Workspaces {
    /// Makes the mirror of a project, or finds it.
    pub async fn make_mirror(&self, dir: &Path) -> Result<(), WorkspaceError> {
        // Written last, so a mirror that has it is whole.
        if dir.join(".git/HEAD").is_file() {
            return Ok(());
        }
        let mut partial = dir.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            crate::remove_tree(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        }
        std::fs::create_dir_all(&partial).map_err(WorkspaceError::file("create", &partial))?;
        let branch = format!("--initial-branch={UNBORN}");
        Git::discover(self.host.clone(), &partial).run(&["init", "--quiet", "--template=", &branch]).await?;
        std::fs::rename(&partial, dir).map_err(WorkspaceError::file("create", dir))
    }

    /// Brings the branch and the saved refs of a loop from the hub into a mirror.
    pub async fn fetch_loop(
        &self,
        mirror: &Path,
        hub: &str,
        loop_id: &str,
        branch: &str,
    ) -> Result<(), WorkspaceError> {
        let branch = format!("+refs/heads/{branch}:refs/heads/{branch}");
        let kept = format!("+refs/windlass/{loop_id}/*:refs/windlass/{loop_id}/*");
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", hub, &branch, &kept];
        Ok(self.mirror_git(mirror).run(&args).await.map(drop)?)
    }

    /// Publishes the commit that a new loop starts from, with the loop's branch at it, and returns it. `revision` is HEAD if not
    /// said.
    pub async fn submit_base(
        &self,
        project: &Path,
        hub: &str,
        loop_id: &str,
        branch: &str,
        revision: Option<&str>,
    ) -> Result<String, WorkspaceError> {
        let project = Project::inspect(&self.host, project).await?;
        let git = project.git(&self.host).with_network();
        let revision = revision.unwrap_or("HEAD");
        let Some(base) = git.commit(revision).await? else {
            return Err(WorkspaceError::UnknownBase { revision: revision.to_owned(), path: project.checkout });
        };
        let name = format!("refs/heads/{branch}");
        let (at, mark) = (format!("{base}:{name}"), format!("{base}:{}", base_ref(loop_id)));
        // The branch must not exist yet.
        let lease = format!("--force-with-lease={name}:");
        let args = ["push", "--quiet", "--atomic", &lease, "--end-of-options", hub, &at, &mark];
        let pushed = git.call(&args).answers(&[1]).run().await?;
        match pushed.code {
            0 => Ok(base),
            _ if self.on_hub(&git, hub, &name).await?.is_some() => {
                Err(WorkspaceError::BranchExists { branch: branch.to_owned(), checked_out_at: None })
            }
            _ => Err(GitError::unexpected("push", &pushed.stderr).into()),
        }
    }

    /// Where the loop's branch is in the mirror.
    pub async fn branch_tip(&self, workspace: &Workspace) -> Result<Option<String>, WorkspaceError> {
        Ok(self.home_git(workspace).read_ref(&workspace.branch_ref()).await?)
    }

    /// Moves the loop's branch on the hub to `tip`, if it is where the journal has it.
    pub async fn push_branch(
        &self,
        workspace: &Workspace,
        hub: &str,
        tip: &str,
        expected: &str,
    ) -> Result<Pushed, WorkspaceError> {
        self.push(workspace, hub, tip, Some(expected), &[]).await
    }

    /// The same after another machine, which no longer holds the loop, moved it to `found`. That commit is kept.
    pub async fn push_over(
        &self,
        workspace: &Workspace,
        hub: &str,
        tip: &str,
        found: Option<&str>,
    ) -> Result<Pushed, WorkspaceError> {
        let mut kept = Vec::new();
        if let Some(found) = found {
            let stray = workspace.keep_ref("stray", found);
            let wanted = format!("+{}:{stray}", workspace.branch_ref());
            let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", hub, &wanted];
            self.home_git(workspace).with_network().run(&args).await?;
            kept.push(format!("{found}:{stray}"));
        }
        self.push(workspace, hub, tip, found, &kept).await
    }

    async fn push(
        &self,
        workspace: &Workspace,
        hub: &str,
        tip: &str,
        expected: Option<&str>,
        more: &[String],
    ) -> Result<Pushed, WorkspaceError> {
        let git = self.home_git(workspace).with_network();
        let name = workspace.branch_ref();
        let (at, lease) = (format!("{tip}:{name}"), format!("--force-with-lease={name}:{}", expected.unwrap_or("")));
        let mut args = vec!["push", "--quiet", "--atomic", &lease, "--end-of-options", hub, &at];
        args.extend(more.iter().map(String::as_str));
        faults::point("publish.before");
        let pushed = git.call(&args).answers(&[1]).run().await?;
        faults::point("publish.after");
        if pushed.code == 0 {
            return Ok(Pushed::Moved);
        }
        match self.on_hub(&git, hub, &name).await? {
            Some(found) if found == tip => Ok(Pushed::Moved),
            found if found.as_deref() == expected => Err(GitError::unexpected("push", &pushed.stderr).into()),
            found => Ok(Pushed::Elsewhere { found }),
        }
    }

    /// Publishes a snapshot of a running turn, over an older one of the same turn. No branch moves.
    pub async fn push_snapshot(
        &self,
        workspace: &Workspace,
        hub: &str,
        snapshot: &Snapshot,
    ) -> Result<(), WorkspaceError> {
        let at = format!("+{}:{}", snapshot.commit, snapshot.name);
        faults::point("snapshot.before_push");
        let args = ["push", "--quiet", "--end-of-options", hub, &at];
        self.home_git(workspace).with_network().run(&args).await?;
        faults::point("snapshot.pushed");
        Ok(())
    }

    /// Removes the loop's snapshots that this machine knows, on the hub and here: a commit has what they had.
    pub async fn remove_snapshots(&self, workspace: &Workspace, hub: &str) -> Result<(), WorkspaceError> {
        let git = self.home_git(workspace).with_network();
        for name in self.snapshots(workspace).await? {
            // One at a time: git removes none of several if one is gone already.
            let gone = format!(":{name}");
            git.call(&["push", "--quiet", "--end-of-options", hub, &gone]).answers(&[1]).run().await?;
            git.run(&["update-ref", "-d", &name]).await?;
        }
        Ok(())
    }

    async fn on_hub(&self, git: &Git, hub: &str, name: &str) -> Result<Option<String>, GitError> {
        let line = git.line(&["ls-remote", "--quiet", "--end-of-options", hub, name]).await?;
        Ok(line.split_whitespace().next().map(str::to_owned))
    }

    /// The workspace that another machine recorded, with the paths that it has on this one.
    pub async fn on_this_machine(
        &self,
        recorded: Workspace,
        root: &Path,
        mirror: &Path,
    ) -> Result<Workspace, WorkspaceError> {
        if recorded.kind != Kind::Clone {
            return Ok(recorded);
        }
        std::fs::create_dir_all(root).map_err(WorkspaceError::file("create", root))?;
        let root = root.canonicalize().map_err(WorkspaceError::file("find", root))?;
        let git_dir = mirror.join(".git");
        // Only this machine writes the settings of its mirror.
        let trusted = TrustedConfig::freeze(&self.mirror_git(mirror)).await?;
        let here = Workspace {
            dir: root.join(&recorded.loop_id),
            index: root.join(format!("{}.index", recorded.loop_id)),
            common_dir: git_dir.clone(),
            home: Home {
                checkout: mirror.to_owned(),
                git_dir: git_dir.clone(),
                common_dir: git_dir,
                branch: recorded.home.branch.clone(),
            },
            trusted: trusted.clone(),
            home_trusted: trusted,
            submodules: Vec::new(),
            ..recorded
        };
        Ok(here.of_this_version())
    }

    /// Moves a workspace away whose files are older than its journal, to be removed from `rubbish` later.
    pub fn set_stale_aside(&self, root: &Path, loop_id: &str, rubbish: &Path) -> Result<(), WorkspaceError> {
        for end in ["", ".git", ".index"] {
            let stale = root.join(format!("{loop_id}{end}"));
            if stale.symlink_metadata().is_err() {
                continue;
            }
            std::fs::create_dir_all(rubbish).map_err(WorkspaceError::file("create", rubbish))?;
            let mut number = 0_u32;
            let free = loop {
                let place = rubbish.join(format!("stale-{loop_id}-{number}{end}"));
                if place.symlink_metadata().is_err() {
                    break place;
                }
                number += 1;
            };
            std::fs::rename(&stale, free).map_err(WorkspaceError::file("move aside", &stale))?;
        }
        if let Ok(mut settled) = self.settled.lock() {
            settled.remove(&root.join(format!("{loop_id}.index")));
        }
        Ok(())
    }

    fn mirror_git(&self, mirror: &Path) -> Git {
        let dir = mirror.join(".git");
        Git::repository(self.host.clone(), &dir, &dir).with_network()
    }
}
