//! The commit of what the engine's index holds.
//!
//! Starting git takes longer than all the rest of a commit, so most are written here. Invariants: the first commit of a workspace
//! in each process, and one every hour, is git's own, and shows who commits. Only if trees and commit made here from the same
//! index are those of git, byte by byte, are the next ones made here. What is out of the ordinary is left to git: a checkout of
//! the user's, a branch that is not a plain file, a lock, an index with conflicts.
//!
//! The branch moves last, by renaming its lock, as with git.

mod objects;
mod trees;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_faults as faults;

use super::CheckpointRequest;
use super::message::compose;
use crate::disk::blocking;
use crate::git::{Git, GitError, HeadFile, Index, hex};
use crate::{Kind, Workspace, WorkspaceError, Workspaces};
use objects::Id;

/// So long git's own commit tells who commits.
const TRUSTED_FOR: Duration = Duration::from_secs(60 * 60);

/// What is known of the commits of each workspace, by its index.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<PathBuf, Seen>>);

#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    /// Who commits, as git wrote it; `None` if commits cannot be made here.
    people: Option<People>,
    /// Trees that are in the store: those of the last commit.
    stored: HashSet<Id>,
    /// The root of them.
    tree: String,
    /// Of the index that makes them.
    checksum: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct People {
    /// Name and address.
    author: Vec<u8>,
    committer: Vec<u8>,
    /// Offset from UTC.
    zone: Vec<u8>,
}

impl Known {
    fn get(&self, workspace: &Workspace) -> Option<Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&workspace.index).cloned()
    }

    fn put(&self, workspace: &Workspace, seen: Seen) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(workspace.index.clone(), seen);
    }

    pub(crate) fn forget(&self, workspace: &Workspace) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&workspace.index);
    }

    /// The tree of the last commit, if the index with this checksum makes it. It is in the store.
    pub(crate) fn tree_of_index(&self, workspace: &Workspace, checksum: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&workspace.index).filter(|seen| seen.checksum == checksum).map(|seen| seen.tree.clone())
    }
}

impl Workspaces {
    /// Commits the engine's index, which `index` shows if it could be read. Returns the commit and its tree.
    pub(super) async fn commit(
        &self,
        git: &Git,
        workspace: &Workspace,
        request: &CheckpointRequest,
        (index, empty): (Option<Index>, bool),
        notes: &mut Vec<String>,
    ) -> Result<(String, String), WorkspaceError> {
        let message = compose(request);
        if let (Some(index), Some(seen)) = (&index, self.known.get(workspace))
            && let Some(made) = self.commit_here(git, workspace, request, index, seen, &message).await?
        {
            return Ok(made);
        }
        let named = commit_by_git(git, &message, empty, notes).await?;
        let Some(commit) = git.read_ref(&workspace.loop_ref(git).await?).await? else {
            return Err(GitError::unexpected("commit", b"the branch does not exist").into());
        };
        // `commit` leaves the tree it wrote in the index.
        let tree = match super::stage::tree_in_index(git, workspace) {
            Some(tree) => tree,
            None => git.tree_of(&commit).await?,
        };
        match index {
            Some(index) if named && workspace.kind == Kind::Clone => {
                let made = Made { commit: &commit, tree: &tree, parent: &request.previous_head, message: &message };
                self.learn(git, workspace, &index, made).await?;
            }
            Some(_) | None => self.known.forget(workspace),
        }
        Ok((commit, tree))
    }

    /// Sees in git's own commit who commits, and whether what is made here is the same.
    async fn learn(
        &self,
        git: &Git,
        workspace: &Workspace,
        index: &Index,
        made: Made<'_>,
    ) -> Result<(), WorkspaceError> {
        let mut seen = Seen {
            at: Instant::now(),
            people: None,
            stored: HashSet::new(),
            tree: made.tree.to_owned(),
            checksum: String::new(),
        };
        let known = self.known.get(workspace).filter(|seen| seen.people.is_none() && seen.at.elapsed() < TRUSTED_FOR);
        let trees = trees::trees(&index.entries, workspace.id_len);
        let same = trees.as_ref().and_then(|trees| trees.last());
        if known.is_none()
            && let Some(trees) = &trees
            && same.is_some_and(|(root, _)| hex(&root[..workspace.id_len]) == made.tree)
            && plain_store(workspace, made.commit)
        {
            let bytes = git.run(&["cat-file", "commit", made.commit]).await?;
            seen.people = made.people(&bytes, workspace.id_len);
            seen.stored = trees.iter().map(|(id, _)| *id).collect();
        } else if let Some(known) = known {
            seen.at = known.at;
        }
        self.known.put(workspace, seen);
        Ok(())
    }

    /// Makes the commit without git, if it is known to be the same.
    async fn commit_here(
        &self,
        git: &Git,
        workspace: &Workspace,
        request: &CheckpointRequest,
        index: &Index,
        seen: Seen,
        message: &str,
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let Some(people) = seen.people.clone().filter(|_| seen.at.elapsed() < TRUSTED_FOR) else { return Ok(None) };
        // The trees that need not be written are in the store only as part of that commit.
        if workspace.kind != Kind::Clone || request.previous_tree.as_ref() != Some(&seen.tree) {
            return Ok(None);
        }
        let HeadFile::Ref(branch) = git.head().await? else { return Ok(None) };
        let Some(trees) = trees::trees(&index.entries, workspace.id_len) else { return Ok(None) };
        let Some((root, _)) = trees.last() else { return Ok(None) };
        let tree = hex(&root[..workspace.id_len]);
        let made = Made { commit: "", tree: &tree, parent: &request.previous_head, message };
        let content = made.content(&people, now());
        let id = objects::id_of("commit", &content, workspace.id_len);
        let commit = hex(&id[..workspace.id_len]);
        let stored = trees.iter().map(|(id, _)| *id).collect();
        let mut new: Vec<(&str, Id, Vec<u8>)> = Vec::new();
        new.extend(trees.into_iter().filter(|(id, _)| !seen.stored.contains(id)).map(|(id, tree)| ("tree", id, tree)));
        let log = reflog_line(&made, &commit, &people, &content);
        new.push(("commit", id, content));
        let (objects, id_len) = (workspace.objects(), workspace.id_len);
        let index_lock = with_lock(&workspace.index);
        let branch = Branch {
            file: git.common_dir().join(&branch),
            logs: [git.git_dir().join("logs/HEAD"), git.common_dir().join("logs").join(&branch)],
            from: request.previous_head.clone(),
            to: commit.clone(),
            log,
        };
        let place = branch.file.clone();
        let failed = WorkspaceError::file("commit to", &place);
        let moved = blocking(move || {
            for (kind, id, content) in &new {
                objects::write(&objects, kind, content, &id[..id_len])?;
            }
            faults::point("commit.written");
            // Somebody's git is at work on the index.
            Ok(!index_lock.exists() && branch.advance()?)
        });
        if !moved.await.map_err(failed)? {
            return Ok(None);
        }
        faults::point("commit.moved");
        let checksum = index.checksum.clone();
        self.known.put(workspace, Seen { stored, tree: tree.clone(), checksum, ..seen });
        Ok(Some((commit, tree)))
    }
}

/// Lets git commit its index; says whether the user is known to it.
async fn commit_by_git(git: &Git, message: &str, empty: bool, notes: &mut Vec<String>) -> Result<bool, WorkspaceError> {
    let mut args = vec!["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--file=-"];
    if empty {
        args.push("--allow-empty");
    }
    match git.call(&args).input(message).run().await {
        Err(GitError::NoIdentity) => {
            git.clone().committing_as_windlass(true).call(&args).input(message).run().await?;
            notes.push("git has no user.name and user.email: committed as Windlass <windlass@localhost>".to_owned());
            Ok(false)
        }
        other => other.map(|_| true).map_err(WorkspaceError::from),
    }
}

/// Whether git writes plain files that nobody else may write, and wrote this commit so.
fn plain_store(workspace: &Workspace, commit: &str) -> bool {
    let mode = |path: &Path| std::fs::metadata(path).map(|facts| facts.permissions().mode() & 0o7777).ok();
    let objects = workspace.objects();
    let (dir, file) = commit.split_at(2);
    mode(&objects).is_some_and(|mode| mode & 0o2000 == 0)
        && mode(&objects.join(dir).join(file)).is_some_and(|mode| mode == 0o444)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn with_lock(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// What a commit is made of.
struct Made<'a> {
    commit: &'a str,
    tree: &'a str,
    parent: &'a str,
    message: &'a str,
}

impl Made<'_> {
    fn content(&self, people: &People, seconds: u64) -> Vec<u8> {
        let time = [b" ", seconds.to_string().as_bytes(), b" ", &people.zone, b"\n"].concat();
        let head = format!("tree {}\nparent {}\nauthor ", self.tree, self.parent);
        [
            head.as_bytes(),
            &people.author,
            &time,
            b"committer ",
            &people.committer,
            &time,
            b"\n",
            self.message.as_bytes(),
        ]
        .concat()
    }

    /// Who made git's commit, if the same bytes under the same name come of it here.
    fn people(&self, commit: &[u8], id_len: usize) -> Option<People> {
        let mut lines = commit.split(|&byte| byte == b'\n').skip(2);
        let author = lines.next()?.strip_prefix(b"author ")?;
        let committer = lines.next()?.strip_prefix(b"committer ")?;
        let (author, seconds, zone) = stamp(author)?;
        let (committer, ..) = stamp(committer)?;
        let people = People { author: author.to_owned(), committer: committer.to_owned(), zone: zone.to_owned() };
        let same = self.content(&people, seconds) == commit
            && hex(&objects::id_of("commit", commit, id_len)[..id_len]) == self.commit;
        // Somebody who sets the clock of commits sets the next one too.
        (same && now().abs_diff(seconds) < 600).then_some(people)
    }
}

/// The parts of `Name <address> seconds zone`.
fn stamp(line: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let mut parts = line.rsplitn(3, |&byte| byte == b' ');
    let zone = parts.next()?;
    let seconds = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    Some((parts.next()?, seconds, zone))
}

fn reflog_line(made: &Made<'_>, commit: &str, people: &People, content: &[u8]) -> Vec<u8> {
    let subject = made.message.lines().next().unwrap_or_default();
    let subject = subject.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let seconds = content.split(|&byte| byte == b'\n').nth(3).and_then(stamp).map_or(0, |(_, seconds, _)| seconds);
    let head = format!("{} {commit} ", made.parent);
    let time = format!(" {seconds} ");
    let tail = format!("\tcommit: {subject}\n");
    [head.as_bytes(), &people.committer, time.as_bytes(), &people.zone, tail.as_bytes()].concat()
}

/// A branch on its way from one commit to the next.
struct Branch {
    file: PathBuf,
    logs: [PathBuf; 2],
    from: String,
    to: String,
    log: Vec<u8>,
}

impl Branch {
    /// Moves the branch. Says no, having moved nothing, if it is not the plain file that it should be, or somebody has its lock.
    fn advance(&self) -> io::Result<bool> {
        let lock = with_lock(&self.file);
        let Ok(mut file) = std::fs::File::create_new(&lock) else { return Ok(false) };
        let plain = std::fs::symlink_metadata(&self.file).is_ok_and(|facts| facts.is_file());
        if !plain || !std::fs::read(&self.file).is_ok_and(|bytes| bytes.trim_ascii() == self.from.as_bytes()) {
            std::fs::remove_file(&lock)?;
            return Ok(false);
        }
        let written = file
            .write_all(format!("{}\n", self.to).as_bytes())
            // As git does: the branch must not be empty after a power failure.
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&lock, &self.file));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&lock);
            return Err(error);
        }
        for log in &self.logs {
            // Git keeps a log that is there, and has made it with its own commit if it wants one.
            if let Ok(mut log) = std::fs::OpenOptions::new().append(true).open(log) {
                let _ = log.write_all(&self.log);
            }
        }
        Ok(true)
    }
}
