//! The difference between two commits as parts that can be kept or dropped one by one, and commits made of some of them.
//!
//! A text file is split into hunks. What has no lines (a new or deleted file, a rename, a mode, a binary file, a link, a
//! submodule) is one part. Invariants: all parts together are exactly the second commit, none of them exactly the first; no
//! ref moves and no checkout is touched.

mod mix;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::checkpoint::protect::pathspec;
use crate::checkpoint::save;
use crate::git::{FilePath, Git, GitError};
use crate::opening::create::checked_out_at;
use crate::{Workspace, WorkspaceError, Workspaces};
use mix::Edit;

/// Larger files are one part.
const LARGEST_SPLIT: usize = 4 << 20;
const NO_FILE: &str = "000000";
const FILE_MODES: [&str; 2] = ["100644", "100755"];

/// What a part of a difference does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    Lines,
    Added,
    Deleted,
    Renamed,
    Mode,
    /// The whole content: binary, large, a link or a submodule.
    Content,
}

impl PartKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Mode => "mode",
            Self::Content => "content",
        }
    }
}

/// One part of a difference, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file's name in the second commit, or in the first if it was deleted.
    pub path: FilePath,
    /// Its earlier name.
    pub from: Option<FilePath>,
    pub kind: PartKind,
    /// The first of its lines in the second commit.
    pub line: Option<u32>,
    pub added: u32,
    pub removed: u32,
    /// The user protects the file.
    pub protected: bool,
}

/// A file on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    path: FilePath,
    mode: String,
    id: String,
}

/// A file that differs, with the numbers of its parts.
#[derive(Debug)]
struct FileChange {
    old: Option<Side>,
    new: Option<Side>,
    /// The part that gives the file its place: added, deleted, renamed, mode, or all of it.
    shape: Option<usize>,
    edits: Vec<(usize, Edit)>,
    /// Only of a file that has several edits.
    texts: Option<(Vec<u8>, Vec<u8>)>,
}

/// The parts between two commits.
#[derive(Debug)]
pub struct Parts {
    base: String,
    files: Vec<FileChange>,
    parts: Vec<Part>,
}

impl Parts {
    pub fn list(&self) -> &[Part] {
        &self.parts
    }

    /// The numbers of the parts, file by file.
    pub fn by_file(&self) -> Vec<Vec<usize>> {
        let of =
            |file: &FileChange| file.shape.into_iter().chain(file.edits.iter().map(|(number, _)| *number)).collect();
        self.files.iter().map(of).collect()
    }
}

impl Workspaces {
    /// Splits the difference between two commits of a loop. `protect` are the loop's globs of protected paths.
    pub async fn parts(
        &self,
        workspace: &Workspace,
        base: &str,
        head: &str,
        protect: &[String],
    ) -> Result<Parts, WorkspaceError> {
        let git = self.home_git(workspace);
        let range = [base, head, "--"];
        let raw = ["diff-tree", "-r", "-M", "--raw", "-z", "--no-abbrev", "--end-of-options"];
        let mut files = read_raw(&git.run(&[&raw[..], &range].concat()).await?)?;
        let patch =
            ["diff-tree", "-r", "-M", "-p", "-U0", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"];
        let patch = [&patch[..], &["--submodule=short", "--end-of-options"], &range].concat();
        let edits = mix::read_patch(&git.run(&patch).await?);
        let protected = protected(&git, base, head, protect).await?;
        let mut parts = Vec::new();
        for file in &mut files {
            split(&git, file, &edits, &protected, &mut parts).await?;
        }
        Ok(Parts { base: base.to_owned(), files, parts })
    }

    /// The tree of the base with these parts.
    pub async fn tree_with(
        &self,
        workspace: &Workspace,
        parts: &Parts,
        kept: &BTreeSet<usize>,
        scratch: &Path,
    ) -> Result<String, WorkspaceError> {
        let git = self.home_git(workspace).index(scratch);
        git.run(&["read-tree", &parts.base]).await?;
        let mut entries = Vec::new();
        for file in &parts.files {
            entries_of(&git, file, kept, &mut entries).await?;
        }
        git.call(&["update-index", "-z", "--index-info"]).input(entries).run().await?;
        Ok(git.line(&["write-tree"]).await?)
    }

    /// Writes a commit; no ref moves.
    pub async fn commit_of(
        &self,
        workspace: &Workspace,
        tree: &str,
        parent: &str,
        message: &str,
    ) -> Result<String, WorkspaceError> {
        save::commit_tree(&self.home_git(workspace), tree, &[parent], message).await
    }

    /// Points a branch of the user's repository at a commit. One that exists is moved only if `ours` reports it of its commit's
    /// message, and never while it is checked out.
    pub async fn offer_branch(
        &self,
        workspace: &Workspace,
        branch: &str,
        commit: &str,
        ours: impl Fn(&str) -> bool,
    ) -> Result<(), WorkspaceError> {
        let git = self.home_git(workspace);
        let name = format!("refs/heads/{branch}");
        let old = git.read_ref(&name).await?;
        if let Some(old) = &old {
            let at = checked_out_at(&git, branch).await?;
            let message = git.run(&["log", "-1", "--format=%B", old, "--"]).await?;
            if !ours(&String::from_utf8_lossy(&message)) {
                return Err(WorkspaceError::BranchExists { branch: branch.to_owned(), checked_out_at: at });
            }
            if let Some(at) = at {
                return Err(WorkspaceError::BranchCheckedOut { branch: branch.to_owned(), at });
            }
        }
        let reason = format!("windlass: minimise {}", workspace.branch);
        git.run(&["update-ref", "-m", &reason, &name, commit, old.as_deref().unwrap_or("")]).await?;
        Ok(())
    }
}

/// Files that the globs protect, by their bytes.
async fn protected(git: &Git, base: &str, head: &str, globs: &[String]) -> Result<BTreeSet<Vec<u8>>, WorkspaceError> {
    if !globs.iter().any(|glob| !glob.starts_with('!')) {
        return Ok(BTreeSet::new());
    }
    let specs: Vec<String> = globs.iter().map(|glob| pathspec(glob)).collect();
    let mut args = vec!["diff-tree", "-r", "--no-renames", "--name-only", "-z", base, head, "--"];
    args.extend(specs.iter().map(String::as_str));
    let names = git.run(&args).await?;
    Ok(names.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Reads `--raw -z` with modes and ids.
fn read_raw(output: &[u8]) -> Result<Vec<FileChange>, GitError> {
    let unexpected = || GitError::unexpected("diff-tree", output);
    let mut fields = output.split(|&byte| byte == 0);
    let mut files = Vec::new();
    while let Some(header) = fields.next() {
        if header.is_empty() {
            continue;
        }
        let header = String::from_utf8_lossy(header.strip_prefix(b":").ok_or_else(unexpected)?).into_owned();
        let facts: Vec<&str> = header.split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, letter] = facts[..] else { return Err(unexpected()) };
        let first = FilePath::new(fields.next().ok_or_else(unexpected)?);
        let second = match letter.starts_with('R') {
            true => FilePath::new(fields.next().ok_or_else(unexpected)?),
            false => first.clone(),
        };
        let side = |path: FilePath, mode: &str, id: &str| {
            (mode != NO_FILE).then(|| Side { path, mode: mode.to_owned(), id: id.to_owned() })
        };
        let (old, new) = (side(first, old_mode, old_id), side(second, new_mode, new_id));
        files.push(FileChange { old, new, shape: None, edits: Vec::new(), texts: None });
    }
    Ok(files)
}

/// Numbers the parts of a file.
async fn split(
    git: &Git,
    file: &mut FileChange,
    edits: &HashMap<(String, String), Vec<Edit>>,
    protected: &BTreeSet<Vec<u8>>,
    parts: &mut Vec<Part>,
) -> Result<(), WorkspaceError> {
    let sides = || file.old.iter().chain(&file.new);
    let Some(path) = sides().last().map(|side| side.path.clone()) else { return Ok(()) };
    let from = sides().next().map(|side| side.path.clone()).filter(|from| *from != path);
    let protected = sides().any(|side| protected.contains(side.path.as_bytes()));
    let plain =
        |kind| Part { path: path.clone(), from: from.clone(), kind, line: None, added: 0, removed: 0, protected };
    let mut add = |part: Part| {
        parts.push(part);
        parts.len() - 1
    };
    let (Some(old), Some(new)) = (&file.old, &file.new) else {
        let kind = if file.new.is_some() { PartKind::Added } else { PartKind::Deleted };
        let id = |side: &Option<Side>| side.as_ref().map(|side| side.id.clone());
        let counted = edits.get(&mix::pair(id(&file.old).as_deref(), id(&file.new).as_deref()));
        let (added, removed) = counted.map_or((0, 0), |edits| mix::lines(edits));
        file.shape = Some(add(Part { added, removed, ..plain(kind) }));
        return Ok(());
    };
    let found = edits.get(&(old.id.clone(), new.id.clone())).filter(|edits| !edits.is_empty());
    let files = FILE_MODES.contains(&old.mode.as_str()) && FILE_MODES.contains(&new.mode.as_str());
    let texts = match found {
        Some(_) if files => Some((blob(git, &old.id).await?, blob(git, &new.id).await?)),
        Some(_) | None => None,
    };
    let texts = texts.filter(|(old, new)| old.len().max(new.len()) <= LARGEST_SPLIT);
    let (Some(found), Some(texts)) = (found, texts) else {
        let only_mode = old.id == new.id && files;
        let kind = match (&from, only_mode) {
            (Some(_), _) => PartKind::Renamed,
            (None, true) => PartKind::Mode,
            (None, false) => PartKind::Content,
        };
        file.shape = Some(add(plain(kind)));
        return Ok(());
    };
    if from.is_some() {
        file.shape = Some(add(plain(PartKind::Renamed)));
    } else if old.mode != new.mode {
        file.shape = Some(add(plain(PartKind::Mode)));
    }
    for edit in found {
        let (line, added, removed) = (Some(edit.new.0), edit.new.1, edit.old.1);
        let number = add(Part { line, added, removed, ..plain(PartKind::Lines) });
        file.edits.push((number, *edit));
    }
    file.texts = Some(texts);
    Ok(())
}

async fn blob(git: &Git, id: &str) -> Result<Vec<u8>, WorkspaceError> {
    Ok(git.run(&["cat-file", "blob", id]).await?)
}

/// What the index gets for a file.
async fn entries_of(
    git: &Git,
    file: &FileChange,
    kept: &BTreeSet<usize>,
    entries: &mut Vec<u8>,
) -> Result<(), WorkspaceError> {
    let has = |number: &usize| kept.contains(number);
    let shaped = file.shape.as_ref().is_none_or(has);
    let chosen: Vec<Edit> = file.edits.iter().filter(|(number, _)| has(number)).map(|(_, edit)| *edit).collect();
    let mut put = |mode: &str, id: &str, path: &FilePath| {
        entries.extend_from_slice(format!("{mode} {id}\t").as_bytes());
        entries.extend_from_slice(path.as_bytes());
        entries.push(0);
    };
    let (old, new) = match (&file.old, &file.new) {
        (Some(old), Some(new)) => (old, new),
        (Some(old), None) if shaped => {
            put("0", &old.id, &old.path);
            return Ok(());
        }
        (None, Some(new)) if shaped => {
            put(&new.mode, &new.id, &new.path);
            return Ok(());
        }
        (Some(_) | None, None) | (None, Some(_)) => return Ok(()),
    };
    let place = if shaped { new } else { old };
    let id = match &file.texts {
        None => place.id.clone(),
        Some(_) if chosen.is_empty() => old.id.clone(),
        Some(_) if chosen.len() == file.edits.len() => new.id.clone(),
        Some((before, after)) => {
            let mixed = mix::mixed(before, after, &chosen);
            let output = git.call(&["hash-object", "-w", "--stdin"]).input(mixed).run().await?;
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
    };
    if place.path != old.path {
        put("0", &old.id, &old.path);
    }
    put(&place.mode, &id, &place.path);
    Ok(())
}

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    pub(crate) fn read_everything(bytes: &[u8]) {
        let _ = super::read_raw(bytes);
        for edits in super::mix::read_patch(bytes).values() {
            let _ = super::mix::mixed(bytes, bytes, edits);
        }
    }
}
