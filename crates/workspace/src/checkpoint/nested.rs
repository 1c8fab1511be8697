//! Repositories inside the workspace.
//!
//! `git add -A` would record a nested repository as a bare pointer to a commit that no other clone can find. Decided:
//! - A nested repository that `.gitmodules` does not declare is committed as plain files (its `.git` stays on disk),
//!   and its history is kept under `refs/windlass/<loop>/nested/…`.
//! - A declared submodule stays a pointer; the commit it points to is kept under such a ref, and so is whatever it
//!   holds uncommitted. That is in no commit, so no gate sees it: it is reported and blocks a claim. If the submodule is
//!   one of the user's, refs and objects go to the user's own repository of it, where `git submodule update` finds them.
//!
//! Invariant: to the engine a nested repository is data. No git is started on its git directory; its commits are taken as
//! those of the agent's clone are, and its files are read with the engine's own repository and configuration. What leads
//! out of the workspace, a `.git` or the directory itself, is not followed: a link is committed as a link.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::save;
use crate::agent_git::beneath::{Beneath, Found};
use crate::agent_git::{AgentGit, git_dir_at};
use crate::disk::copying::beside;
use crate::disk::{blocking, still_wanted};
use crate::git::{Entry, FilePath, Git, GitError, HeldObjects, hex};
use crate::submodules::{self, Repository};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

/// A repository found inside the workspace.
#[derive(Debug)]
pub(crate) struct Nested {
    path: FilePath,
    /// It has a commit, so `add` put a pointer into the index.
    committed: bool,
}

impl Nested {
    pub(crate) fn unborn(path: FilePath) -> Self {
        Self { path, committed: false }
    }

    pub(crate) fn with_commit(path: FilePath) -> Self {
        Self { path, committed: true }
    }
}

/// What settling nested repositories did.
#[derive(Debug, Default)]
pub(crate) struct TakenIn {
    /// The index changed.
    pub(crate) touched: bool,
    /// Submodules with content that is in no commit, each with the reason.
    pub(crate) unrecorded: Vec<(FilePath, String)>,
}

/// Settles new nested repositories and the pointers that were there before.
pub(crate) async fn take_in(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    found: Vec<Nested>,
    known: &[Entry],
    tag: &str,
    notes: &mut Vec<String>,
) -> Result<TakenIn, WorkspaceError> {
    let mut taken = TakenIn::default();
    if !found.is_empty() {
        let declared = declared(git, workspace).await?;
        for nested in found {
            if declared.contains(&nested.path) {
                if workspace.kind == Kind::Clone && workspace.users_submodule(&nested.path).is_none() {
                    let path = &nested.path;
                    notes.push(format!(
                        "{path} is a new submodule: your repository does not have it, so gates see it empty"
                    ));
                }
                let kept = keep_submodule(workspaces, git, workspace, &nested.path, tag, notes).await?;
                taken.unrecorded.extend(kept);
            } else {
                flatten(workspaces, git, workspace, &nested, notes).await?;
                taken.touched = true;
            }
        }
    }
    for link in known {
        let path = FilePath::new(link.path.clone());
        let old = hex(&link.id[..workspace.id_len]);
        if let Some(head) = head_commit(workspace, &path) {
            let kept = keep_submodule(workspaces, git, workspace, &path, tag, notes).await?;
            let lost = kept.iter().any(|(of, why)| *of == path && why.starts_with(NOT_KEPT));
            if head != old && !lost {
                let info = [b"160000 ", head.as_bytes(), b"\t", path.as_bytes(), b"\0"].concat();
                git.call(&["update-index", "-z", "--index-info"]).input(info).run().await?;
                taken.touched = true;
            }
            taken.unrecorded.extend(kept);
        } else if look(workspace, &below(&path, ".git")) != Found::Nothing {
            taken.unrecorded.push((path, "the submodule's .git cannot be read".to_owned()));
        } else if has_files(workspace, &path) {
            // No repository any more: its files are files.
            feed_paths(git, &["update-index", "--force-remove", "-z", "--stdin"], [&path]).await?;
            flatten(workspaces, git, workspace, &Nested::unborn(path), notes).await?;
            taken.touched = true;
        }
    }
    Ok(taken)
}

/// Whether a real directory is at a path of the workspace.
pub(crate) fn is_dir(workspace: &Workspace, path: &[u8]) -> bool {
    look(workspace, &FilePath::new(path)) == Found::Dir
}

/// What is at a path of the workspace; nothing, if a link points there.
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
    let files = blocking(move || files_below(&top, &start)).await;
    let files = files.map_err(WorkspaceError::file("read", &workspace.dir))?;
    let ignored = ignored(git, &files).await?;
    let kept = files.iter().filter(|file| !ignored.contains(file));
    feed_paths(git, &["update-index", "--add", "-z", "--stdin"], kept).await?;
    let mut note = format!("{path} is a nested repository: its files are committed as plain files");
    if nested.committed {
        let head = head_commit(workspace, path).unwrap_or_default();
        let home = Store { git: git.clone(), objects: workspace.objects(), held: git.held().cloned() };
        match keep_history(workspaces, &home, workspace, path, &head).await {
            Ok(Some(name)) => note.push_str(&format!("; its history is at {name}")),
            Ok(None) => {}
            Err(error) => note.push_str(&format!("; its history is only there ({error})")),
        }
    }
    notes.push(note);
    Ok(())
}

/// Why a submodule's commit is not recorded.
const NOT_KEPT: &str = "the submodule's commit cannot be kept";

/// Where commits and files of a submodule are kept.
struct Store {
    git: Git,
    objects: PathBuf,
    /// Where its new objects are until they are searched.
    held: Option<Arc<HeldObjects>>,
}

impl Store {
    /// The user's own repository of the submodule, or the user's repository if they have none.
    fn of(workspaces: &Workspaces, git: &Git, workspace: &Workspace, path: &FilePath) -> Self {
        match workspace.users_submodule(path).filter(|_| workspace.kind == Kind::Clone) {
            Some(module) => Self {
                git: submodules::users(&workspaces.host, &module.git_dir)
                    .committing_as_windlass(workspace.fallback_identity),
                objects: module.git_dir.join("objects"),
                held: None,
            },
            None => Self { git: git.clone(), objects: workspace.objects(), held: git.held().cloned() },
        }
    }

    /// The same, with a place for new objects.
    fn held(mut self) -> Result<Self, WorkspaceError> {
        if self.held.is_none() {
            let held = HeldObjects::beside(&self.objects, &[]);
            let held = Arc::new(held.map_err(WorkspaceError::file("create objects in", &self.objects))?);
            self.git = self.git.holding(Some(held.clone()));
            self.held = Some(held);
        }
        Ok(self)
    }
}

/// Where the engine has its own repositories of submodules.
pub(crate) fn own_repositories(workspace: &Workspace) -> PathBuf {
    beside(&workspace.index, ".modules")
}

/// Keeps what a submodule and those within it point to, and what they hold beyond that; says of which, and why, not
/// everything is recorded.
async fn keep_submodule(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    path: &FilePath,
    tag: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<(FilePath, String)>, WorkspaceError> {
    let mut unrecorded = Vec::new();
    let mut pending = vec![(path.clone(), None)];
    while let Some((path, recorded)) = pending.pop() {
        let Some(head) = head_commit(workspace, &path).filter(|_| is_dir(workspace, path.as_bytes())) else {
            continue;
        };
        let store = Store::of(workspaces, git, workspace, &path).held()?;
        let history = keep_history(workspaces, &store, workspace, &path, &head).await;
        // Its index is kept from one checkpoint to the next, so that unchanged files are not read again.
        let own = Repository::at(&own_repositories(workspace), &path, workspace.id_len);
        let inner = own.writing(git, &path.below(&workspace.dir), &store.objects)?.holding(store.held.clone());
        let within = own.pointers(&path);
        let there = within.iter().filter(|inside| is_dir(workspace, inside.path.as_bytes()));
        let excluded = there.map(|inside| {
            let from_here = inside.path.as_bytes().get(path.as_bytes().len() + 1..).unwrap_or_default();
            [b":(top,exclude,literal)", from_here].concat()
        });
        let paths = [b":(top)".to_vec()].into_iter().chain(excluded).collect::<Vec<_>>().join(&0);
        let add = ["add", "-A", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"];
        inner.call(&add).input(paths).answers(&[1]).run().await?;
        let tree = inner.line(&["write-tree"]).await?;
        let known = match &history {
            Ok(_) => store.git.tree_of(&head).await.ok(),
            Err(_) => None,
        };
        let within = own.pointers(&path);
        let same = match &known {
            Some(known) if *known == tree => true,
            // Where the submodules within it are is checked below.
            Some(known) if !within.is_empty() => {
                let args = ["diff-tree", "-r", "--quiet", "--ignore-submodules=all", known, &tree];
                store.git.call(&args).answers(&[1]).run().await?.code == 0
            }
            Some(_) | None => false,
        };
        if !same {
            let name = workspace.keep_ref("nested", &format!("{tag}-{}-tree", keep_name(&path)));
            let parents: Vec<&str> = known.iter().map(|_| head.as_str()).collect();
            let message = "windlass: submodule's tree\n";
            let saved = save::keep_tree(&store.git, workspace, &name, &tree, &parents, message).await?;
            notes.push(format!("the submodule {path} has uncommitted files; saved at {}", saved.name));
            let why = "a submodule with uncommitted files: commit them in it, or undo them";
            unrecorded.push((path.clone(), why.to_owned()));
        }
        if store.held.as_ref().is_some_and(|held| held.is_tainted()) {
            // Objects that it knows go with their quarantine.
            own.forget_index().map_err(WorkspaceError::file("remove", own.index()))?;
        }
        match history {
            Err(error) => {
                notes.push(format!("the submodule {path} points to a commit that cannot be saved ({error})"));
                unrecorded.push((path.clone(), format!("{NOT_KEPT}: {error}")));
            }
            Ok(Some(bundle)) if !bundle.starts_with("refs/") => {
                unrecorded.push((path.clone(), format!("{NOT_KEPT}: its commits hold a secret, and are at {bundle}")));
            }
            Ok(_) if recorded.is_some_and(|recorded| recorded != head) => {
                let why = "its commit is not the one that the submodule around it records: commit that there";
                unrecorded.push((path.clone(), why.to_owned()));
            }
            Ok(_) => {}
        }
        if known.is_some() && !within.is_empty() {
            let recorded = submodules::pointers_of(&store.git, &head, &path).await?;
            pending.extend(recorded.into_iter().map(|inside| (inside.path, Some(inside.commit))));
        }
    }
    Ok(unrecorded)
}

/// Takes the nested repository's HEAD into the store, under a ref that names the commit unless another one reaches it.
async fn keep_history(
    workspaces: &Workspaces,
    store: &Store,
    workspace: &Workspace,
    path: &FilePath,
    head: &str,
) -> Result<Option<String>, WorkspaceError> {
    let new = ["rev-list", "-n", "1", head, "--not", "--all", "--"];
    let new = store.git.call(&new).answers(&[128]).run().await?;
    if new.code == 0 && new.stdout.is_empty() {
        return Ok(None);
    }
    let name = workspace.keep_ref("nested", &format!("{}-{head}", keep_name(path)));
    if new.code != 0 {
        let Some(git_dir) = git_dir_at(workspace, path.as_bytes()) else {
            return Err(GitError::LeadsOut { path: path.to_string() }.into());
        };
        workspaces.take_to(workspace, &store.git, &store.objects, &git_dir, &[head]).await?;
    }
    Ok(Some(save::keep(&store.git, workspace, &name, head).await?.name))
}

/// A path as part of a ref's or file's name.
fn keep_name(path: &FilePath) -> String {
    path.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
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
pub(crate) async fn ignored(git: &Git, files: &[FilePath]) -> Result<Vec<FilePath>, GitError> {
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
fn files_below(top: &Path, start: &FilePath) -> std::io::Result<Vec<FilePath>> {
    let mut files = Vec::new();
    let mut pending = vec![start.clone()];
    while let Some(dir) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(dir.below(top)) else {
            continue;
        };
        for entry in entries.flatten() {
            still_wanted()?;
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
    Ok(files)
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

impl Workspaces {
    /// Brings the submodules of a clone to the commits that its index names; what they held beyond that is kept already.
    pub(crate) async fn fill_submodules(&self, git: &Git, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let mut pending = submodules::pointers(&workspace.index, None, workspace.id_len);
        while let Some(pointer) = pending.pop() {
            let path = &pointer.path;
            if workspace.kind != Kind::Clone || !is_dir(workspace, path.as_bytes()) {
                continue;
            }
            let store = Store::of(self, git, workspace, path);
            let own = Repository::at(&own_repositories(workspace), path, workspace.id_len);
            let inner = own.writing(git, &path.below(&workspace.dir), &store.objects)?;
            if !own.check_out(&inner, &pointer.commit).await? {
                continue;
            }
            let dot_git = below(path, ".git");
            let failed = WorkspaceError::file("write", dot_git.below(&workspace.dir));
            let agent = git_dir_at(workspace, path.as_bytes()).and_then(|dir| AgentGit::in_workspace(workspace, &dir));
            let shown = match (agent, look(workspace, &dot_git)) {
                (Some(agent), _) => agent.detach(&pointer.commit).and_then(|()| agent.take_index(&own.index())),
                (None, Found::Nothing) => {
                    let who = self.identity_settings(workspace).await?;
                    own.show(
                        &dot_git.below(&workspace.dir),
                        &pointer.commit,
                        std::slice::from_ref(&store.objects),
                        &who,
                    )
                }
                // What is there stays; its files are right, and the next checkpoint reports it.
                (None, _) => Ok(()),
            };
            shown.map_err(failed)?;
            pending.extend(own.pointers(path));
        }
        Ok(())
    }
}
