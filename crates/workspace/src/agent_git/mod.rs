//! The repository that an agent works with: a directory of files to the engine, never a git directory.
//!
//! The agent can write everything in `<workspace>/.git`, so no git of the engine is started on it. Where HEAD and the
//! branches are is read from its files; after a checkpoint the branch, HEAD and the index are written there, so that the
//! agent's own git agrees with the engine's. Invariant: nothing is followed out of the workspace; what cannot be read
//! counts as not there.

pub(crate) mod beneath;
pub(crate) mod heads;
pub(crate) mod publish;
pub(crate) mod take;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use beneath::{Beneath, Found};

use crate::git::{HeadFile, is_id, packed_refs};
use crate::project::OPERATIONS;
use crate::{Workspace, WorkspaceError};

/// No file of git's that is read here is larger in earnest.
const LARGEST: u64 = 64 << 20;

/// So many refs of an agent are checked.
const MOST_REFS: usize = 10_000;

/// The files of a repository.
#[derive(Debug)]
pub(super) struct AgentGit {
    files: Beneath,
}

impl AgentGit {
    /// The clone in the workspace, if its form is one that git writes.
    pub(super) fn of(workspace: &Workspace) -> Option<Self> {
        Self::in_workspace(workspace, Path::new(".git"))
    }

    /// A repository somewhere in the workspace, by the path of its git directory from the top.
    pub(super) fn in_workspace(workspace: &Workspace, git_dir: &Path) -> Option<Self> {
        let files = Beneath::open(&workspace.dir).and_then(|top| top.inside(git_dir)).ok()?;
        let git = Self { files };
        let is = |name: &str, wanted: fn(Found) -> bool| git.files.look(Path::new(name)).is_ok_and(wanted);
        let file = |found: Found| matches!(found, Found::File { .. });
        let dir = |found: Found| found == Found::Dir;
        let whole = is("HEAD", file) && is("objects", dir) && is("refs", dir) && is("config", file);
        let plain = is("commondir", |found| found == Found::Nothing) && is("reftable", |found| found == Found::Nothing);
        (whole && plain).then_some(git)
    }

    pub(super) fn files(&self) -> &Beneath {
        &self.files
    }

    pub(super) fn head(&self) -> HeadFile {
        let text = self.text(Path::new("HEAD"));
        let text = text.as_deref().unwrap_or_default().trim();
        match text.strip_prefix("ref:").map(str::trim) {
            Some(name) if is_ref_name(name) => HeadFile::Ref(name.to_owned()),
            None if is_id(text) => HeadFile::Commit(text.to_owned()),
            Some(_) | None => HeadFile::Unknown,
        }
    }

    /// The commit a ref points to.
    pub(super) fn read_ref(&self, name: &str) -> Option<String> {
        if !is_ref_name(name) {
            return None;
        }
        match self.files.read(Path::new(name), LARGEST) {
            Ok(Some(text)) => {
                let id = String::from_utf8(text).ok()?.trim().to_owned();
                is_id(&id).then_some(id)
            }
            Ok(None) => self.packed().remove(name),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => self.packed().remove(name),
            // What is packed is older than what cannot be read.
            Err(_) => None,
        }
    }

    /// What HEAD stands for.
    pub(super) fn head_commit(&self) -> Option<String> {
        match self.head() {
            HeadFile::Ref(name) => self.read_ref(&name),
            HeadFile::Commit(commit) => Some(commit),
            HeadFile::Unknown => None,
        }
    }

    /// All refs with their ids, a bounded number of them.
    pub(super) fn refs(&self) -> BTreeMap<String, String> {
        let mut refs = self.packed();
        let mut pending = vec![PathBuf::from("refs")];
        while let Some(dir) = pending.pop() {
            for name in self.files.list(&dir).unwrap_or_default() {
                let path = dir.join(name);
                match self.files.look(&path) {
                    Ok(Found::Dir) if path.components().count() < 32 => pending.push(path),
                    Ok(Found::File { .. }) => {
                        let id = self.text(&path).map(|text| text.trim().to_owned()).filter(|id| is_id(id));
                        if let (Some(id), Some(name)) = (id, path.to_str().filter(|name| is_ref_name(name))) {
                            refs.insert(name.to_owned(), id);
                        }
                    }
                    Ok(_) | Err(_) => {}
                }
                if refs.len() > MOST_REFS {
                    return refs;
                }
            }
        }
        refs
    }

    /// Points a ref to a commit.
    pub(super) fn write_ref(&self, name: &str, commit: &str) -> io::Result<()> {
        self.files.write(Path::new(name), format!("{commit}\n").as_bytes(), None)
    }

    /// Puts HEAD onto the branch, and the branch onto the commit.
    pub(super) fn check_out(&self, branch: &str, commit: &str) -> io::Result<()> {
        if self.read_ref(branch).as_deref() != Some(commit) {
            self.write_ref(branch, commit)?;
        }
        if self.head() != HeadFile::Ref(branch.to_owned()) {
            self.files.write(Path::new("HEAD"), format!("ref: {branch}\n").as_bytes(), None)?;
        }
        Ok(())
    }

    /// Puts HEAD onto a commit, and onto no branch.
    pub(super) fn detach(&self, commit: &str) -> io::Result<()> {
        match self.head() == HeadFile::Commit(commit.to_owned()) {
            true => Ok(()),
            false => self.files.write(Path::new("HEAD"), format!("{commit}\n").as_bytes(), None),
        }
    }

    /// Makes the engine's index the agent's, unless it is that already.
    pub(super) fn take_index(&self, index: &Path) -> io::Result<()> {
        let content = std::fs::read(index)?;
        let end = content.len().saturating_sub(20);
        let there = self.files.read(Path::new("index"), LARGEST.max(content.len() as u64)).ok().flatten();
        if there.is_none_or(|there| there.len() != content.len() || there[end..] != content[end..]) {
            // With its time: git takes a file that is not older than the index for possibly changed.
            self.files.write(Path::new("index"), &content, Some(std::fs::metadata(index)?.modified()?))?;
        }
        Ok(())
    }

    /// Sets aside what stands for an operation in progress; each with the commit of its other side, if it names one.
    pub(super) fn end_operations(&self, tag: &str) -> io::Result<Vec<(&'static str, Option<String>)>> {
        let mut ended = Vec::new();
        for (file, operation) in OPERATIONS {
            if self.files.look(Path::new(file))? == Found::Nothing {
                continue;
            }
            let other = self.text(Path::new(file)).and_then(|text| text.lines().next().map(str::to_owned));
            let names = (1..).map(|number| match number {
                1 => format!("windlass-{file}-{tag}"),
                number => format!("windlass-{file}-{tag}-{number}"),
            });
            let free = |name: &String| self.files.look(Path::new(name)).is_ok_and(|found| found == Found::Nothing);
            let aside = names.take(10_000).find(free).ok_or(io::ErrorKind::AlreadyExists)?;
            self.files.rename(OsStr::new(file), OsStr::new(&aside))?;
            ended.push((*operation, other.filter(|id| is_id(id))));
        }
        Ok(ended)
    }

    fn packed(&self) -> BTreeMap<String, String> {
        let packed = self.files.read(Path::new("packed-refs"), LARGEST).ok().flatten().unwrap_or_default();
        packed_refs(&packed).filter(|(name, _)| is_ref_name(name)).take(MOST_REFS).collect()
    }

    fn text(&self, path: &Path) -> Option<String> {
        let content = self.files.read(path, LARGEST).ok()??;
        String::from_utf8(content).ok()
    }
}

/// A name below `refs/` that is a path of plain names.
fn is_ref_name(name: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.starts_with("refs/") && name.split('/').all(plain) && !name.bytes().any(|byte| byte < 0x21 || byte == 0x7f)
}

/// The git directory of a repository at `path` in the workspace, as a path from the top, if it is there.
pub(super) fn git_dir_at(workspace: &Workspace, path: &[u8]) -> Option<PathBuf> {
    let top = Beneath::open(&workspace.dir).ok()?;
    let dir = Path::new(OsStr::from_bytes(path));
    let dot_git = dir.join(".git");
    match top.look(&dot_git).ok()? {
        Found::Dir => Some(dot_git),
        Found::File { .. } => {
            let text = String::from_utf8(top.read(&dot_git, 4096).ok()??).ok()?;
            let named = Path::new(text.strip_prefix("gitdir:")?.trim()).to_owned();
            let whole = if named.is_absolute() { named } else { workspace.dir.join(dir).join(named) };
            let plain = without_dots(&whole)?;
            plain.strip_prefix(&workspace.dir).ok().map(Path::to_owned)
        }
        Found::Nothing | Found::Link | Found::Special => None,
    }
}

/// The path with each `..` applied to the name before it.
pub(crate) fn without_dots(path: &Path) -> Option<PathBuf> {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(step),
        }
    }
    Some(plain)
}

/// An error about a file of the agent's repository.
pub(super) fn failed(workspace: &Workspace) -> impl FnOnce(io::Error) -> WorkspaceError {
    WorkspaceError::file("write", workspace.dir.join(".git"))
}
