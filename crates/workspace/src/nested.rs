//! Repositories inside the workspace.
//!
//! `git add -A` would record a nested repository as a bare pointer to a commit that no other clone can find. Decided:
//! - A nested repository that `.gitmodules` does not declare is committed as plain files (its `.git` stays on disk),
//!   and its history is kept under `refs/windlass/<loop>/nested/…`.
//! - A declared submodule stays a pointer; the commit it points to is kept under such a ref, and so is whatever it
//!   holds uncommitted.
//!
//! Invariant: to the engine a nested repository is data. No git is started on its git directory; its commits are taken as
//! those of the agent's clone are, and its files are read with the engine's own repository and configuration. What leads
//! out of the workspace, a `.git` or the directory itself, is not followed: a link is committed as a link.

use std::path::{Path, PathBuf};

use super::agent_git::beneath::{Beneath, Found};
use super::agent_git::{AgentGit, git_dir_at};
use super::stage::beside;
use super::{Workspace, WorkspaceError, Workspaces, save};
use crate::git::{Entry, FilePath, Git, GitError, hex};

/// A repository found inside the workspace.
#[derive(Debug)]
pub(super) struct Nested {
    path: FilePath,
    /// It has a commit, so `add` put a pointer into the index.
    committed: bool,
}

impl Nested {
    pub(super) fn unborn(path: FilePath) -> Self {
        Self { path, committed: false }
    }

    pub(super) fn with_commit(path: FilePath) -> Self {
        Self { path, committed: true }
    }
}

/// Settles new nested repositories and the pointers that were there before; says whether the index changed.
pub(super) async fn take_in(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    found: Vec<Nested>,
    known: &[Entry],
    tag: &str,
    notes: &mut Vec<String>,
) -> Result<bool, WorkspaceError> {
    let mut touched = false;
    if !found.is_empty() {
        let declared = declared(git, workspace).await?;
        for nested in found {
            if declared.contains(&nested.path) {
                keep_submodule(workspaces, git, workspace, &nested.path, tag, notes).await?;
            } else {
                flatten(workspaces, git, workspace, &nested, notes).await?;
                touched = true;
            }
        }
    }
    for link in known {
        let path = FilePath::new(link.path.clone());
        let old = hex(&link.id[..workspace.id_len]);
        if let Some(head) = head_commit(workspace, &path) {
            if head != old {
                let info = [b"160000 ", head.as_bytes(), b"\t", path.as_bytes(), b"\0"].concat();
                git.call(&["update-index", "-z", "--index-info"]).input(info).run().await?;
                touched = true;
            }
            keep_submodule(workspaces, git, workspace, &path, tag, notes).await?;
        } else if look(workspace, &below(&path, ".git")) == Found::Nothing && has_files(workspace, &path) {
            // No repository any more: its files are files.
            feed_paths(git, &["update-index", "--force-remove", "-z", "--stdin"], [&path]).await?;
            flatten(workspaces, git, workspace, &Nested::unborn(path), notes).await?;
            touched = true;
        }
    }
    Ok(touched)
}

/// Whether a real directory is at a path of the workspace.
pub(super) fn is_dir(workspace: &Workspace, path: &[u8]) -> bool {
    look(workspace, &FilePath::new(path)) == Found::Dir
}

/// What is at a path of the workspace; nothing, if a link leads there.
fn look(workspace: &Workspace, path: &FilePath) -> Found {
    let found = Beneath::open(&workspace.dir).and_then(|top| top.look(&path.below(Path::new(""))));
    found.unwrap_or(Found::Nothing)
}

fn below(path: &FilePath, name: &str) -> FilePath {
    FilePath::new([path.as_bytes(), b"/", name.as_bytes()].concat())
}

/// Replaces a pointer by the files themselves.
async fn flatten(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    nested: &Nested,
    notes: &mut Vec<String>,
) -> Result<(), WorkspaceError> {
    let path = &nested.path;
    if nested.committed {
        feed_paths(git, &["update-index", "--force-remove", "-z", "--stdin"], [path]).await?;
    }
    let top = workspace.dir.clone();
    let start = path.clone();
    let files = tokio::task::spawn_blocking(move || files_below(&top, &start)).await;
    let files = files.unwrap_or_default();
    let ignored = ignored(git, &files).await?;
    let kept = files.iter().filter(|file| !ignored.contains(file));
    feed_paths(git, &["update-index", "--add", "-z", "--stdin"], kept).await?;
    let mut note = format!("{path} is a repository of its own: its files are committed as plain files");
    if nested.committed {
        let head = head_commit(workspace, path).unwrap_or_default();
        match keep_history(workspaces, git, workspace, path, &head).await {
            Ok(name) => note.push_str(&format!(", its history is kept at {name}")),
            Err(error) => note.push_str(&format!(", its history stays only there ({error})")),
        }
    }
    notes.push(note);
    Ok(())
}

/// Keeps what a submodule points to, and what it holds beyond that.
async fn keep_submodule(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    path: &FilePath,
    tag: &str,
    notes: &mut Vec<String>,
) -> Result<(), WorkspaceError> {
    let Some(head) = head_commit(workspace, path).filter(|_| is_dir(workspace, path.as_bytes())) else {
        return Ok(());
    };
    let dir = path.below(&workspace.dir);
    let history = keep_history(workspaces, git, workspace, path, &head).await;
    // Kept from one checkpoint to the next, so that unchanged files are not read again.
    let index = beside(&workspace.index, &format!(".nested-{}", keep_name(path)));
    let inner = git.clone().work_tree(&dir).index(&index);
    inner.call(&["add", "-A", "--ignore-errors"]).answers(&[1]).run().await?;
    let tree = inner.line(&["write-tree"]).await?;
    let known = match &history {
        Ok(_) => git.tree_of(&head).await.ok(),
        Err(_) => None,
    };
    if known.as_deref() != Some(&tree) {
        let name = workspace.keep_ref("nested", &format!("{tag}-{}-tree", keep_name(path)));
        let parents: Vec<&str> = known.iter().map(|_| head.as_str()).collect();
        let saved = save::keep_tree(git, workspace, &name, &tree, &parents, "windlass: submodule's tree\n").await?;
        notes.push(format!("the submodule {path} has uncommitted files: kept at {}", saved.name));
    }
    if let Err(error) = history {
        notes.push(format!("the submodule {path} points to a commit that could not be kept ({error})"));
    }
    Ok(())
}

/// Takes the nested repository's HEAD into the user's repository under a ref that names the commit.
async fn keep_history(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    path: &FilePath,
    head: &str,
) -> Result<String, WorkspaceError> {
    let name = workspace.keep_ref("nested", &format!("{}-{head}", keep_name(path)));
    if git.read_ref(&name).await?.is_none() {
        let Some(git_dir) = git_dir_at(workspace, path.as_bytes()) else {
            return Err(GitError::LeadsOut { path: path.to_string() }.into());
        };
        workspaces.take(workspace, &git_dir, &[head]).await?;
        return Ok(save::keep(git, workspace, &name, head).await?.name);
    }
    Ok(name)
}

/// A path as part of a ref's or file's name.
fn keep_name(path: &FilePath) -> String {
    path.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// `fetch` between local repositories: named program, no tags, no FETCH_HEAD, no submodules, no maintenance.
pub(super) fn fetch_args<'a>(from: &'a str, refspecs: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--no-prune",
        "--upload-pack=git-upload-pack",
        from,
    ];
    args.extend(refspecs);
    args
}

/// Paths that `.gitmodules` declares as submodules.
async fn declared(git: &Git, workspace: &Workspace) -> Result<Vec<FilePath>, GitError> {
    let file = workspace.dir.join(".gitmodules");
    let regular = std::fs::symlink_metadata(&file).is_ok_and(|data| data.is_file());
    if !regular {
        return Ok(Vec::new());
    }
    let file = file.to_string_lossy();
    let args = ["config", "-z", "--no-includes", "-f", &file, "--get-regexp", r"^submodule\..*\.path$"];
    // A file the agent broke declares nothing.
    let output = git.call(&args).answers(&[1, 3, 128]).run().await?;
    let values = output.stdout.split(|&byte| byte == 0).filter_map(|entry| {
        let line = entry.iter().position(|&byte| byte == b'\n')?;
        Some(FilePath::new(&entry[line + 1..]))
    });
    Ok(values.collect())
}

/// Those of the files that git ignores, in order.
pub(super) async fn ignored(git: &Git, files: &[FilePath]) -> Result<Vec<FilePath>, GitError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let output = git
        .call(&["check-ignore", "--no-index", "-z", "--stdin"])
        .input(joined(files.iter()))
        .answers(&[1])
        .run()
        .await?;
    let mut ignored: Vec<FilePath> =
        output.stdout.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(FilePath::new).collect();
    ignored.sort();
    Ok(ignored)
}

async fn feed_paths<'a>(
    git: &Git,
    args: &[&str],
    paths: impl IntoIterator<Item = &'a FilePath>,
) -> Result<(), GitError> {
    git.call(args).input(joined(paths.into_iter())).run().await.map(drop)
}

fn joined<'a>(paths: impl Iterator<Item = &'a FilePath>) -> Vec<u8> {
    paths.flat_map(|path| path.as_bytes().iter().copied().chain([0])).collect()
}

/// Regular files and symbolic links below `start`, without any `.git`.
fn files_below(top: &Path, start: &FilePath) -> Vec<FilePath> {
    let mut files = Vec::new();
    let mut pending = vec![start.clone()];
    while let Some(dir) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(dir.below(top)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.eq_ignore_ascii_case(".git") {
                continue;
            }
            let path = FilePath::new([dir.as_bytes(), b"/", name.as_encoded_bytes()].concat());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                Ok(kind) if kind.is_file() || kind.is_symlink() => files.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files
}

fn has_files(workspace: &Workspace, path: &FilePath) -> bool {
    let listed = Beneath::open(&workspace.dir).and_then(|top| top.list(&path.below(Path::new(""))));
    listed.is_ok_and(|names| !names.is_empty())
}

/// The commit checked out in the repository at `path`, read from its files.
fn head_commit(workspace: &Workspace, path: &FilePath) -> Option<String> {
    let git_dir = git_dir_at(workspace, path.as_bytes())?;
    AgentGit::in_workspace(workspace, &git_dir)?.head_commit()
}

/// A scratch file beside the engine's index, not shared with another process.
pub(super) fn scratch(workspace: &Workspace, what: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    beside(&workspace.index, &format!(".{what}.{}.{number}", std::process::id()))
}
