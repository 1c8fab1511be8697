//! The one place that starts the git program.
//!
//! Invariant: the engine's git never runs what an agent could have planted. Every call names the repository, the
//! work tree and (for the engine's own staging) the index explicitly, builds its environment from nothing, overrides
//! each setting that would start a program (see [`guard`]), reads nothing from stdin but what it is given, and is
//! bounded in time and output. Each start costs 2.5–3 ms, so what files can tell is read from files
//! ([`index`], [`refs`]).

mod changes;
mod failure;
mod guard;
mod held;
mod host;
mod index;
mod leftover;
mod links;
mod moved;
mod pipes;
mod process;
mod refs;
pub(crate) mod ssh;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use changes::{Change, ChangedFile, FilePath};
pub(crate) use changes::{between, parse_raw};
pub use failure::GitError;
pub(crate) use failure::typed;
pub use guard::TrustedConfig;
pub(crate) use guard::own_settings;
pub(crate) use held::{HeldObjects, remove_spare};
pub use host::GitHost;
pub use index::{Entry, Index, IndexError, hex};
pub(crate) use links::links_in;
pub use moved::{MovedRef, RefsSeen};
pub(crate) use pipes::clear as clear_pipes;
pub(crate) use refs::{HeadFile, head_of, is_id, packed_refs};

/// Who commits when the user has configured nobody.
const FALLBACK_NAME: &str = "Windlass";
const FALLBACK_EMAIL: &str = "windlass@localhost";

/// The oldest git whose `merge-tree` can write a tree.
const OLDEST: (u32, u32) = (2, 38);

/// Waits between tries while another git holds a lock: about four seconds in all.
const LOCK_WAITS_MS: &[u64] = &[5, 10, 20, 40, 80, 160, 300, 500, 700, 1000, 1200];

/// One repository (and work tree) to run git on.
#[derive(Debug, Clone)]
pub struct Git {
    host: Arc<GitHost>,
    git_dir: Option<PathBuf>,
    common_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    cwd: PathBuf,
    index: Option<PathBuf>,
    /// Where new objects are written instead of the repository's own store.
    held: Option<Arc<HeldObjects>>,
    overrides: Vec<(String, String)>,
    /// Directories and files below which a dead process's locks may be removed.
    owned: Vec<PathBuf>,
    fallback_identity: bool,
    /// Only local repositories may be read from, and missing objects are not fetched.
    local_only: bool,
}

impl Git {
    /// Git in a directory whose repository is yet to be found.
    pub fn discover(host: Arc<GitHost>, dir: impl Into<PathBuf>) -> Self {
        Self {
            host,
            git_dir: None,
            common_dir: None,
            work_tree: None,
            cwd: dir.into(),
            index: None,
            held: None,
            overrides: Vec::new(),
            owned: Vec::new(),
            fallback_identity: false,
            local_only: false,
        }
    }

    /// Git on a known repository, without a work tree.
    pub fn repository(host: Arc<GitHost>, git_dir: impl Into<PathBuf>, common_dir: impl Into<PathBuf>) -> Self {
        let git_dir = git_dir.into();
        Self {
            cwd: git_dir.clone(),
            git_dir: Some(git_dir),
            common_dir: Some(common_dir.into()),
            local_only: true,
            ..Self::discover(host, PathBuf::new())
        }
    }

    /// With this work tree.
    #[must_use]
    pub fn work_tree(mut self, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        self.cwd.clone_from(&dir);
        self.work_tree = Some(dir);
        self
    }

    /// The same settings and rules on another repository of the engine's own.
    pub(crate) fn elsewhere(&self, git_dir: &Path) -> Self {
        let mut owned = self.owned.clone();
        owned.push(git_dir.to_owned());
        let git_dir = Some(git_dir.to_owned());
        Self { common_dir: git_dir.clone(), git_dir, held: None, owned, ..self.clone() }
    }

    /// With this index file instead of the repository's own.
    #[must_use]
    pub fn index(mut self, file: impl Into<PathBuf>) -> Self {
        self.index = Some(file.into());
        self
    }

    /// Writes new objects there, where the repository's own store is an alternate.
    #[must_use]
    pub(crate) fn holding(mut self, held: Option<Arc<HeldObjects>>) -> Self {
        self.held = held;
        self
    }

    /// Where it writes new objects, if not to the repository's own store.
    pub(crate) fn held(&self) -> Option<&Arc<HeldObjects>> {
        self.held.as_ref()
    }

    /// With further settings, over all others.
    #[must_use]
    pub(crate) fn overriding(mut self, overrides: Vec<(String, String)>) -> Self {
        self.overrides.extend(overrides);
        self
    }

    /// Locks at or below these paths may be removed when their holder is dead.
    #[must_use]
    pub(crate) fn owning(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.owned.extend(paths);
        self
    }

    /// Commits as Windlass.
    #[must_use]
    pub(crate) fn committing_as_windlass(mut self, yes: bool) -> Self {
        self.fallback_identity = yes;
        self
    }

    /// Lets git talk to the user's remotes, as a partial clone or git-lfs needs when files are first written.
    #[must_use]
    pub(crate) fn with_network(mut self) -> Self {
        self.local_only = false;
        self
    }

    pub(crate) fn git_dir(&self) -> &Path {
        self.git_dir.as_deref().unwrap_or(&self.cwd)
    }

    pub(crate) fn common_dir(&self) -> &Path {
        self.common_dir.as_deref().unwrap_or_else(|| self.git_dir())
    }

    pub(crate) fn work_dir(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.cwd)
    }

    pub(crate) fn index_file(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    /// Runs git; any exit code but 0 is an error. Returns stdout.
    pub async fn run(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.call(args).run().await.map(|output| output.stdout)
    }

    /// Runs git and returns its single line of output.
    pub async fn line(&self, args: &[&str]) -> Result<String, GitError> {
        let output = self.run(args).await?;
        let text = String::from_utf8_lossy(&output);
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// A call to refine before it runs.
    pub fn call<'a>(&'a self, args: &[&'a str]) -> Call<'a> {
        Call { git: self, args: args.to_vec(), input: None, answers: &[], limit: DEFAULT_LIMIT, literal: false }
    }

    /// What HEAD points to: a ref's full name, or a commit.
    pub(crate) async fn head(&self) -> Result<HeadFile, GitError> {
        match refs::head_file(self.git_dir()) {
            HeadFile::Unknown => {
                let output = self.call(&["symbolic-ref", "-q", "HEAD"]).answers(&[1, 128]).run().await?;
                if output.code == 0 {
                    return Ok(HeadFile::Ref(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
                }
                let commit = self.commit("HEAD").await?;
                Ok(commit.map_or(HeadFile::Unknown, HeadFile::Commit))
            }
            known @ (HeadFile::Ref(_) | HeadFile::Commit(_)) => Ok(known),
        }
    }

    /// The id a ref points to, if it exists. `name` is the full name.
    pub(crate) async fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        match refs::ref_file(self.common_dir(), name) {
            refs::RefFile::Id(id) => Ok(Some(id)),
            refs::RefFile::Absent => Ok(None),
            refs::RefFile::Unknown => {
                let output = self.call(&["rev-parse", "--verify", "--quiet", name]).answers(&[1, 128]).run().await?;
                Ok((output.code == 0).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
            }
        }
    }

    /// The commit a revision means, if there is one.
    pub(crate) async fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        let revision = format!("{revision}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let output = self.call(&args).answers(&[1, 128]).run().await?;
        Ok((output.code == 0).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    /// The tree of a commit.
    pub(crate) async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")]).await
    }

    /// Whether `ancestor` is `commit` or one of its ancestors.
    pub(crate) async fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool, GitError> {
        let output = self.call(&["merge-base", "--is-ancestor", ancestor, commit]).answers(&[1]).run().await?;
        Ok(output.code == 0)
    }

    /// The best commit that both descend from, if there is one.
    pub(crate) async fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let output = self.call(&["merge-base", one, other]).answers(&[1]).run().await?;
        Ok((output.code == 0).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    /// The version of the program, refused if too old.
    pub async fn version(&self) -> Result<String, GitError> {
        let line = self.line(&["version"]).await?;
        let version = line.strip_prefix("git version ").unwrap_or(&line).to_owned();
        let mut numbers = version.split(['.', ' ', '-']).map_while(|part| part.parse::<u32>().ok());
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < OLDEST {
            return Err(GitError::TooOld { version, needed: "2.38" });
        }
        Ok(version)
    }

    fn may_clear(&self, lock: &Path) -> bool {
        lock.extension().is_some_and(|end| end == "lock") && self.owned.iter().any(|owned| lock.starts_with(owned))
    }
}

/// More than any command of the engine writes, little enough to hold in memory.
const DEFAULT_LIMIT: usize = 256 * 1024 * 1024;

/// Longer than any command takes, shorter than forever.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// What a call gave.
#[derive(Debug)]
pub struct Output {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: i32,
}

/// One call of git, refined step by step.
#[derive(Debug)]
pub struct Call<'a> {
    git: &'a Git,
    args: Vec<&'a str>,
    input: Option<Vec<u8>>,
    answers: &'a [i32],
    limit: usize,
    literal: bool,
}

impl<'a> Call<'a> {
    /// Feeds these bytes to stdin, which is otherwise empty.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// These exit codes are answers, not failures.
    #[must_use]
    pub fn answers(mut self, codes: &'a [i32]) -> Self {
        self.answers = codes;
        self
    }

    /// No more output than this.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Paths mean themselves, whatever characters they hold.
    #[must_use]
    pub fn literal_paths(mut self) -> Self {
        self.literal = true;
        self
    }

    /// Runs it, waiting a bounded time for locks that other processes hold.
    pub async fn run(self) -> Result<Output, GitError> {
        let mut waits = LOCK_WAITS_MS.iter();
        loop {
            let failure = match process::start(&self).await {
                Ok(output) if output.code == 0 || self.answers.contains(&output.code) => return Ok(output),
                Ok(output) => process::failure(&self, &output),
                Err(error) => return Err(error),
            };
            let GitError::LockHeld { path } = &failure else {
                return Err(failure);
            };
            let Some(&wait) = waits.next() else {
                return Err(failure);
            };
            let dead = self.git.may_clear(path) && leftover::clear(path, self.git.git_dir(), self.git.work_dir());
            if !dead {
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
        }
    }
}

/// Whether a living process holds this lock.
pub(crate) fn is_held(lock: &Path, git_dir: &Path, work_tree: &Path) -> bool {
    leftover::is_held(lock, git_dir, work_tree)
}

/// Whether a git of a former engine still works on this index.
pub(crate) fn at_work(index: &Path) -> bool {
    leftover::at_work(index)
}

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    pub(crate) fn read_everything(bytes: &[u8]) {
        let _ = super::changes::parse_raw("fuzzed", bytes);
        for id_len in [20, 32] {
            let _ = super::index::Index::parse(bytes, id_len);
        }
    }
}
