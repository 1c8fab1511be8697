//! A git repository of a test.
//!
//! Invariant: git runs in the world's environment, never in that of the user who runs the tests; a git command
//! that fails is a panic with what git said.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output::Output;

/// A repository with a working tree.
#[derive(Debug, Clone)]
pub struct Repo {
    path: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

/// One commit as `git log` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub subject: String,
    pub author: String,
    /// Name and value, in order.
    pub trailers: Vec<(String, String)>,
}

impl Commit {
    /// The value of the first trailer with this name.
    pub fn trailer(&self, name: &str) -> Option<&str> {
        self.trailers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

impl Repo {
    /// A repository with one commit that holds `README.md`.
    pub(crate) fn with_commit(path: PathBuf, env: BTreeMap<OsString, OsString>) -> Repo {
        let repo = Repo::without_commit(path, env);
        repo.write("README.md", "# A project\n");
        repo.commit("Start");
        repo
    }

    pub(crate) fn without_commit(path: PathBuf, env: BTreeMap<OsString, OsString>) -> Repo {
        fs::create_dir_all(&path).unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
        let repo = Repo { path, env };
        // No template: sample hooks only cost time.
        repo.git(["init", "--quiet", "--template="]);
        repo
    }

    /// The same repository seen from another working tree.
    pub fn at(&self, path: &Path) -> Repo {
        Repo { path: path.to_owned(), env: self.env.clone() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git here and returns what it printed, without the last newline.
    ///
    /// # Panics
    /// If git fails.
    #[track_caller]
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        let output = self.try_git(args);
        assert!(output.success(), "git failed\n{}", output.shown());
        output.stdout.trim_end_matches('\n').to_owned()
    }

    /// Runs git here, whether it fails or not.
    pub fn try_git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        let mut command = Command::new("git");
        command.current_dir(&self.path).env_clear().envs(&self.env).args(args).stdin(Stdio::null());
        let what = format!("{command:?}");
        let output = command.output().unwrap_or_else(|e| panic!("cannot run {what}: {e}"));
        Output::new(what, output.status, output.stdout, output.stderr)
    }

    /// Writes a file of the working tree, with the directories it needs.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Repo {
        let path = self.path.join(path);
        let dir = path.parent().expect("a file is in a directory");
        fs::create_dir_all(dir).unwrap_or_else(|e| panic!("cannot make {}: {e}", dir.display()));
        fs::write(&path, content).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        self
    }

    /// # Panics
    /// If the file cannot be read as text.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path.join(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
    }

    /// Commits everything in the working tree; returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    /// The id of `HEAD`.
    pub fn head(&self) -> String {
        self.rev("HEAD")
    }

    /// The commit id of a revision.
    pub fn rev(&self, rev: &str) -> String {
        self.git(["rev-parse", "--verify", "--quiet", &format!("{rev}^{{commit}}")])
    }

    /// The commits of a branch or range, newest first.
    pub fn commits(&self, rev: &str) -> Vec<Commit> {
        let format = "--format=%H%x1f%s%x1f%an%x1f%(trailers:only,unfold)%x1e";
        let log = self.git(["log", format, rev, "--"]);
        log.split('\x1e').map(str::trim_start).filter(|c| !c.is_empty()).map(commit).collect()
    }

    /// All files of a revision, sorted.
    pub fn tree_files(&self, rev: &str) -> Vec<String> {
        let listed = self.git(["ls-tree", "-r", "-z", "--name-only", "--full-tree", rev]);
        let mut files: Vec<String> = listed.split('\0').filter(|f| !f.is_empty()).map(str::to_owned).collect();
        files.sort();
        files
    }

    /// A file's content in a revision.
    pub fn file_at(&self, rev: &str, path: &str) -> String {
        let output = self.try_git(["show", &format!("{rev}:{path}")]);
        assert!(output.success(), "git failed\n{}", output.shown());
        output.stdout
    }

    /// Names of the local branches, sorted.
    pub fn branches(&self) -> Vec<String> {
        self.refs("refs/heads/").iter().map(|r| r["refs/heads/".len()..].to_owned()).collect()
    }

    /// Full names of the refs under a prefix, sorted.
    pub fn refs(&self, prefix: &str) -> Vec<String> {
        let listed = self.git(["for-each-ref", "--format=%(refname)", prefix]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Changed and untracked files, as `git status --porcelain` says it; empty if the tree is clean.
    pub fn status(&self) -> String {
        self.git(["status", "--porcelain", "--untracked-files=all"])
    }

    /// Directories of all working trees, this one first.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let listed = self.git(["worktree", "list", "--porcelain"]);
        listed.lines().filter_map(|l| l.strip_prefix("worktree ")).map(PathBuf::from).collect()
    }
}

fn commit(text: &str) -> Commit {
    let mut fields = text.split('\x1f');
    let mut next = || fields.next().unwrap_or_default().to_owned();
    let (id, subject, author, trailers) = (next(), next(), next(), next());
    let trailers = trailers
        .lines()
        .filter_map(|l| l.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Commit { id, subject, author, trailers }
}
