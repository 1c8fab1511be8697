//! A temporary home, repository and data directory with real git, cut off from the machine's own configuration.
//!
//! Used by all tests of this program.

#![allow(dead_code, unreachable_pub, missing_debug_implementations, clippy::new_without_default)]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_workspace::git::GitHost;
use windlass_workspace::{
    Checkpoint, CheckpointRequest, CommitMode, Kind, Opened, Unwanted, Workspace, WorkspaceRequest, Workspaces,
};

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub repo: PathBuf,
    pub workspaces: Workspaces,
}

impl Fixture {
    /// A repository with one commit: `README` and `src/main.rs`.
    pub fn new() -> Self {
        let fixture = Self::empty();
        fixture.git(&fixture.repo, &["init", "-q"]);
        write(&fixture.repo.join("README"), "hello\n");
        write(&fixture.repo.join("src/main.rs"), "fn main() {}\n");
        fixture.git(&fixture.repo, &["add", "-A"]);
        fixture.git(&fixture.repo, &["commit", "-qm", "start"]);
        fixture
    }

    /// The same without a repository.
    pub fn empty() -> Self {
        let dir = tempfile::Builder::new().prefix("wl").tempdir().expect("temp dir");
        let top = dir.path().canonicalize().expect("canonical");
        let repo = top.join("repo");
        std::fs::create_dir_all(&repo).expect("repo dir");
        write(
            &top.join("home/.gitconfig"),
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n",
        );
        let workspaces = Workspaces::new(host(&top));
        Self { dir, repo, workspaces }
    }

    pub fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical")
    }

    pub fn host(&self) -> GitHost {
        host(&self.top())
    }

    /// Workspaces whose git writes the name of each command it runs to a file.
    pub fn counting(&self) -> (Workspaces, Spawns) {
        let log = self.top().join("spawns");
        let script = self.top().join("counting-git");
        let program = self.host().program().display().to_string();
        write(&script, format!("#!/bin/sh\necho \"$1\" >> '{}'\nexec '{program}' \"$@\"\n", log.display()));
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("chmod");
        (Workspaces::new(self.host().with_program(script)), Spawns { log })
    }

    pub fn request(&self, name: &str, kind: Kind) -> WorkspaceRequest {
        WorkspaceRequest {
            project: self.repo.clone(),
            loop_id: format!("id-{name}"),
            loop_name: name.into(),
            kind,
            branch: format!("windlass/{name}"),
            base: None,
            root: self.top().join("data/worktrees"),
            allow_dirty: false,
            fork: None,
        }
    }

    pub async fn open(&self, name: &str, kind: Kind) -> Opened {
        self.workspaces.create(&self.request(name, kind)).await.expect("create")
    }

    /// The user's or agent's own git: must succeed. Returns trimmed stdout.
    pub fn git(&self, dir: &Path, args: &[&str]) -> String {
        let (ok, out, err) = self.try_git(dir, args);
        assert!(ok, "git {args:?} failed: {err}");
        out
    }

    pub fn try_git(&self, dir: &Path, args: &[&str]) -> (bool, String, String) {
        let output = Command::new("git")
            .args(args)
            .current_dir(dir)
            .env_clear()
            .envs(env(&self.top()))
            .output()
            .expect("git runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    pub fn rev(&self, rev: &str) -> String {
        self.git(&self.repo, &["rev-parse", rev])
    }

    pub fn has_ref(&self, name: &str) -> bool {
        self.try_git(&self.repo, &["rev-parse", "--verify", "-q", name]).0
    }

    /// Everything that could have changed in the user's checkout.
    pub fn user_state(&self) -> (String, String, String) {
        (
            self.git(&self.repo, &["status", "--porcelain=v2", "--branch", "--untracked-files=all"]),
            self.git(&self.repo, &["stash", "list"]),
            self.rev("main"),
        )
    }
}

pub struct Spawns {
    log: PathBuf,
}

impl Spawns {
    /// Commands since the last call.
    pub fn take(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let _ = std::fs::remove_file(&self.log);
        text.lines().map(str::to_owned).collect()
    }
}

fn env(top: &Path) -> Vec<(OsString, OsString)> {
    let home = top.join("home");
    vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into())),
        ("HOME".into(), home.clone().into()),
        ("GIT_CONFIG_GLOBAL".into(), home.join(".gitconfig").into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("GIT_AUTHOR_DATE".into(), "2026-01-02T03:04:05Z".into()),
        ("GIT_COMMITTER_DATE".into(), "2026-01-02T03:04:05Z".into()),
    ]
}

fn host(top: &Path) -> GitHost {
    GitHost::from_vars(env(top)).expect("git is installed")
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("parent")).expect("parent dir");
    std::fs::write(path, text).expect("write");
}

pub fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).expect("read")).expect("utf-8")
}

/// A checkpoint request after `previous`.
pub fn after(turn: &str, head: &str, tree: Option<&str>) -> CheckpointRequest {
    CheckpointRequest {
        loop_name: "fix".into(),
        iteration: 1,
        turn_id: turn.into(),
        previous_head: head.into(),
        base: None,
        previous_tree: tree.map(str::to_owned),
        message: format!("[iter-1] {turn}\n\nbody"),
        mode: CommitMode::Engine,
        section: None,
        never_commit: Vec::new(),
        unwanted: Unwanted::default(),
    }
}

pub fn first(opened: &Opened, turn: &str) -> CheckpointRequest {
    after(turn, &opened.workspace.base_commit, Some(&opened.base_tree))
}

pub fn next(checkpoint: &Checkpoint, turn: &str) -> CheckpointRequest {
    after(turn, checkpoint.commit.as_deref().expect("commit"), Some(&checkpoint.tree))
}

/// `path change` lines, sorted.
pub fn names(checkpoint: &Checkpoint) -> Vec<String> {
    listed(&checkpoint.files)
}

pub fn listed(files: &[windlass_workspace::git::ChangedFile]) -> Vec<String> {
    let mut lines: Vec<String> = files
        .iter()
        .map(|file| {
            let change = serde_json::to_value(file.change).expect("json");
            let from = file.from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
            format!("{} {}{from}", file.path, change.as_str().expect("text"))
        })
        .collect();
    lines.sort();
    lines
}

/// Commit and index of the workspace agree with the disk, as the agent's own git sees it.
pub fn assert_clean(fixture: &Fixture, workspace: &Workspace) {
    let status = fixture.git(&workspace.dir, &["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "", "the workspace is not clean");
    let head = fixture.git(&workspace.dir, &["symbolic-ref", "--short", "HEAD"]);
    assert_eq!(head, workspace.branch);
}
