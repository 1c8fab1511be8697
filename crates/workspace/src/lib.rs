//! The place where a loop's work happens: a clone, or the user's own checkout.
//!
//! Invariants:
//! - A checkpoint's tree is what is on disk, without ignored files and without the files named as never to be
//!   committed. What an agent did to its own index, HEAD or `.git` does not change that.
//! - What an agent can write is never a git directory to the engine. It has its own (`<loop>.git` beside the workspace)
//!   and its own index (`<loop>.index`), seeded from the fresh checkout; the agent's `.git` is a directory of files. So
//!   no setting, hook, exclude file, alternate, replaced object, hidden index entry or forged tree of the agent's counts.
//!   After a commit the clone's branch, HEAD and index follow. Reads work on a copy of the index and leave no trace but
//!   unreferenced objects.
//! - Before something is overwritten or removed, it is reachable from a ref below `refs/windlass/<loop>/`.
//! - Each call can be cut off at any point and recreated.

mod agent_git;
mod checkpoint;
mod dependencies;
mod disk;
mod failure;
pub mod git;
mod hunks;
mod ignored;
mod judge;
mod look;
mod merge;
mod mirror;
mod opening;
mod planted;
mod project;
mod submodules;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::disk::copying::beside;
use crate::git::{Git, GitError, GitHost, HeadFile, TrustedConfig, at_work, clear_pipes};

pub use agent_git::beneath::Beneath;
pub use checkpoint::hold_back::Unwanted;
pub use checkpoint::save::SavedRef;
pub use checkpoint::snapshot::{RestoredFiles, Snapshot, SnapshotRequest};
pub use checkpoint::{Checkpoint, CheckpointRequest, CommitMode};
pub use dependencies::leads_back;
pub use disk::copying::copy_into_checkout;
pub use disk::{DiskUse, blocking_until, disk_use, remove_tree};
pub use failure::WorkspaceError;
pub use hunks::{Part, PartKind, Parts};
pub use judge::{BEFORE, Judge, Keep, Save, shared_objects};
pub use look::files::{CommitFacts, FileAt};
pub use look::landed::Landed;
pub use look::signing::{Signed, SigningError};
pub use look::{DiffSize, DiffTo};
pub use merge::{
    Advanced, BatchBuild, BatchConflict, BatchMember, MergeInRequest, MergeOutcome, MergePlan, MergePreview,
    MergeRequest, PlannedMerge, TargetMerged,
};
pub use mirror::Pushed;
pub use opening::clone::push_rules;
pub use opening::create::{ForkRequest, Opened, WorkspaceRequest};
pub use opening::remove::Removed;
pub use opening::reopen::{Reopen, Reopened};
pub use opening::restore::{RestoreRequest, Restored};
pub use planted::{COMMON_DIR_ITSELF, GitSettings, PutBack};
pub use submodules::Submodule;

/// How a workspace relates to the user's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A repository of its own that borrows the user's objects and pushes nowhere; its commits are taken into the
    /// user's repository at each checkpoint.
    #[serde(alias = "worktree")]
    Clone,
    /// The user's checkout itself, on the branch that is checked out there.
    InPlace,
}

/// The user's repository, as it was when the workspace was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Top of the user's checkout.
    pub checkout: PathBuf,
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    /// The branch that was checked out; `None` if HEAD was detached. `merge` goes there.
    pub branch: Option<String>,
}

/// An open workspace. It is journalled once and never read back from what an agent can edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub kind: Kind,
    pub loop_id: String,
    pub dir: PathBuf,
    /// The git directory that the engine works with, which no agent writes: its own, or the user's in place.
    pub git_dir: PathBuf,
    /// Where refs, objects and settings are: the user's repository.
    pub common_dir: PathBuf,
    /// Short name, such as `windlass/fix-tests`.
    pub branch: String,
    pub base_commit: String,
    pub home: Home,
    /// The engine's own index for this workspace.
    pub index: PathBuf,
    /// Length of an object id in bytes.
    pub id_len: usize,
    /// Commits are made as `Windlass <windlass@localhost>`, because the user has configured nobody.
    pub fallback_identity: bool,
    pub trusted: TrustedConfig,
    /// The same of the user's repository, for merging into it.
    pub home_trusted: TrustedConfig,
    /// The submodules of the base that are on this machine.
    #[serde(default)]
    pub submodules: Vec<Submodule>,
}

impl Workspace {
    /// The user's repository, which has the loop's commits, can be gone.
    pub(crate) fn home_exists(&self) -> Result<(), WorkspaceError> {
        match self.home.common_dir.join("objects").is_dir() {
            true => Ok(()),
            false => Err(WorkspaceError::RepositoryMissing { path: self.home.common_dir.clone() }),
        }
    }

    pub(crate) fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The engine's own git directory for this loop, beside the workspace.
    fn own_git_dir(&self) -> PathBuf {
        self.index.with_extension("git")
    }

    /// The object store that holds every commit of this loop; no agent in a sandbox writes there.
    pub fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// The git directories that the agent's own git works with, which it can write.
    pub fn agent_git_dirs(&self) -> Vec<PathBuf> {
        match self.kind {
            Kind::Clone => vec![self.dir.join(".git")],
            Kind::InPlace => vec![self.common_dir.clone(), self.git_dir.clone()],
        }
    }

    /// The directory in the user's checkout from which the user's git runs hooks, if that is not the repository's own.
    pub fn hooks_in_tree(&self) -> Option<PathBuf> {
        let dir = agent_git::without_dots(&self.dir.join(self.home_trusted.hooks_path()?))?;
        let inside = dir.starts_with(&self.dir) && dir != self.dir && !dir.starts_with(self.dir.join(".git"));
        (inside && self.kind == Kind::InPlace).then_some(dir)
    }

    /// A record of an earlier version had the agent's git directory in the place of the engine's.
    #[must_use]
    pub fn of_this_version(mut self) -> Self {
        if self.kind == Kind::Clone {
            self.git_dir = self.own_git_dir();
            self.common_dir.clone_from(&self.home.common_dir);
        }
        self
    }

    /// A link in the git directory by which an agent in a sandbox would have the engine's git read or write outside it.
    fn planted_link(&self) -> Option<PathBuf> {
        match self.kind {
            Kind::InPlace => self.trusted.planted_link(&self.git_dir, &self.common_dir),
            Kind::Clone => None,
        }
    }

    /// The ref that the loop's commits are on.
    pub(crate) async fn loop_ref(&self, git: &Git) -> Result<String, GitError> {
        match (self.kind, git.head().await?) {
            (Kind::Clone, HeadFile::Ref(name)) => Ok(name),
            (Kind::Clone | Kind::InPlace, _) => Ok(self.branch_ref()),
        }
    }

    /// The index that this git works with.
    pub(crate) fn index_of(&self, git: &Git) -> PathBuf {
        git.index_file().map_or_else(|| self.index.clone(), Path::to_owned)
    }

    /// A scratch file beside the engine's index, not shared with another process.
    pub(crate) fn scratch(&self, what: &str) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        beside(&self.index, &format!(".{what}.{}.{number}", std::process::id()))
    }

    /// A ref for work of this loop that must not be lost: `refs/windlass/<loop>/<what>/<which>`.
    pub fn keep_ref(&self, what: &str, which: &str) -> String {
        keep_ref(&self.loop_id, what, which)
    }
}

fn keep_ref(loop_id: &str, what: &str, which: &str) -> String {
    let clean = |text: &str| -> String {
        let kept: String =
            text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect();
        if kept == text && !kept.is_empty() {
            return kept;
        }
        // Two names must not become one: tell them apart by what was lost.
        let mut hasher = DefaultHasher::new();
        hasher.write(text.as_bytes());
        format!("{}-{:08x}", kept.chars().take(80).collect::<String>(), hasher.finish() as u32)
    };
    format!("refs/windlass/{}/{what}/{}", clean(loop_id), clean(which))
}

/// A killed engine's git may be writing a large checkout.
const LONGEST_CHECKOUT: Duration = Duration::from_secs(120);

/// Everything that can be done with workspaces on this machine.
#[derive(Debug, Clone)]
pub struct Workspaces {
    host: Arc<GitHost>,
    /// Indexes on which no git of a former engine can be at work any more.
    settled: Arc<Mutex<HashSet<PathBuf>>>,
    /// What is known of each workspace's last commit.
    known: Arc<checkpoint::commit::Known>,
}

impl Workspaces {
    pub fn new(host: GitHost) -> Self {
        Self { host: Arc::new(host), settled: Arc::default(), known: Arc::default() }
    }

    /// With the git on the caller's path.
    pub fn from_env() -> Result<Self, GitError> {
        GitHost::from_env().map(Self::new)
    }

    /// Waits, once for each workspace, for a git that an engine started before it was killed: two of them would undo
    /// each other's work.
    async fn settle(&self, workspace: &Workspace) -> Result<(), GitError> {
        let index = &workspace.index;
        let known = |settled: &HashSet<PathBuf>| settled.contains(index);
        if known(&self.settled.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let mut waited = Duration::ZERO;
        while at_work(index) {
            clear_pipes(&workspace.dir);
            if waited > LONGEST_CHECKOUT {
                return Err(GitError::LockHeld { path: index.to_owned() });
            }
            let wait = Duration::from_millis(50);
            tokio::time::sleep(wait).await;
            waited += wait;
        }
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).insert(index.to_owned());
        Ok(())
    }

    /// Git on the workspace, with the engine's index, running nothing an agent could have planted.
    async fn git(&self, workspace: &Workspace) -> Result<Git, GitError> {
        if let Some(path) = workspace.planted_link() {
            return Err(GitError::LinkPlanted { path });
        }
        let bare = Git::repository(self.host.clone(), &workspace.git_dir, &workspace.common_dir);
        let overrides = workspace.trusted.overrides(&bare).await?;
        let lock = |file: &Path| {
            let mut name = file.as_os_str().to_owned();
            name.push(".lock");
            PathBuf::from(name)
        };
        let mut owned = vec![lock(&workspace.index), lock(&workspace.common_dir.join(workspace.branch_ref()))];
        match workspace.kind {
            Kind::Clone => owned.push(workspace.git_dir.clone()),
            // The user's own git may be running there.
            Kind::InPlace => {}
        }
        Ok(bare
            .work_tree(&workspace.dir)
            .index(&workspace.index)
            .overriding(overrides)
            .owning(owned)
            .committing_as_windlass(workspace.fallback_identity))
    }

    /// Git on the user's repository, without a work tree.
    fn home_git(&self, workspace: &Workspace) -> Git {
        Git::repository(self.host.clone(), &workspace.home.common_dir, &workspace.home.common_dir)
            .committing_as_windlass(workspace.fallback_identity)
    }
}

/// For the fuzzer: the readers of what git prints and writes.
#[cfg(fuzzing)]
pub mod fuzzing {
    /// Reads bytes as the output of each git command, and as an index.
    pub fn read_everything(bytes: &[u8]) {
        crate::git::fuzzing::read_everything(bytes);
        crate::judge::fuzzing::read_everything(bytes);
        crate::hunks::fuzzing::read_everything(bytes);
    }
}
