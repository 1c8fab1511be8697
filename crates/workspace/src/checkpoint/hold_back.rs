//! Changes with a secret in them stay out of every commit: they are reported, and wait in the workspace.
//!
//! Invariant: no commit that a checkpoint leaves on the branch contains a new secret, neither in
//! its files nor in its message, author, committer or other headers. If nothing is found, it starts no git,
//! unless the agent made several commits.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass_redact::secrets::{Place, Rules, Scan};

use super::CheckpointRequest;
use super::history::Entry;
use super::stage::noted;
use crate::disk::copying::beside;
use crate::disk::{blocking, still_wanted};
use crate::git::{Change, ChangedFile, FilePath, Git, GitError, Index, hex};
use crate::{Workspace, WorkspaceError};

/// Of what the agent committed and took back, larger files are not checked.
const LARGEST: u64 = 8 * 1024 * 1024;
/// So much of a file is read at once.
const PIECE: usize = 256 << 10;
/// So many objects are requested at once, to use little memory.
const OBJECTS_AT_ONCE: usize = 64;
/// The file next to the index that lists held-back files.
pub(crate) const HELD_BACK: &str = ".held_back";

/// What no commit may contain.
#[derive(Debug, Clone, Default)]
pub struct Unwanted {
    pub secrets: Rules,
    /// Globs of files that may contain what looks like a secret.
    pub allowed: Vec<String>,
}

/// What may not be committed as it is.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files on disk, each with its secrets.
    pub(crate) files: Vec<(FilePath, String)>,
    /// Additional secrets in the agent's own commits.
    pub(crate) in_commits: Vec<String>,
}

impl Found {
    pub(crate) fn nothing(&self) -> bool {
        self.files.is_empty() && self.in_commits.is_empty()
    }
}

/// Checks what is on disk, and at what the agent committed on the way there. `tree` is the one on disk.
pub(crate) async fn search(
    git: &Git,
    workspace: &Workspace,
    request: &CheckpointRequest,
    files: &[ChangedFile],
    history: &[Entry],
    tree: Option<&str>,
) -> Result<Found, WorkspaceError> {
    let on_disk = on_disk(git, workspace, request, files).await?;
    let mut found = Found { files: on_disk, in_commits: in_words(request, history) };
    if history.iter().any(|entry| Some(entry.tree.as_str()) != tree) {
        found.in_commits.extend(in_between(git, request, files, history).await?);
    }
    Ok(found)
}

/// Checks what the agent committed, wherever it is now.
pub(crate) async fn in_commits(
    git: &Git,
    request: &CheckpointRequest,
    history: &[Entry],
) -> Result<Vec<String>, GitError> {
    let mut found = in_words(request, history);
    found.extend(in_between(git, request, &[], history).await?);
    Ok(found)
}

/// The secrets in what is said of commits.
fn in_words(request: &CheckpointRequest, history: &[Entry]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in history {
        for (part, text) in [("message", &entry.message), ("author, committer or headers", &entry.header)] {
            if let Some(secret) = request.unwanted.secrets.find(text.as_bytes()).first() {
                found.push(format!("the {part} of {} ({})", &entry.commit[..12], secret.name));
            }
        }
    }
    found
}

async fn on_disk(
    git: &Git,
    workspace: &Workspace,
    request: &CheckpointRequest,
    files: &[ChangedFile],
) -> Result<Vec<(FilePath, String)>, WorkspaceError> {
    let mut found = Vec::new();
    let files: Vec<&ChangedFile> = files.iter().filter(|file| file.change != Change::Deleted).collect();
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.below(&workspace.dir)).collect();
    let rules = request.unwanted.secrets.clone();
    // They may be large, and other loops continue meanwhile.
    let searched = blocking(move || paths.iter().map(|path| in_file(&rules, path)).collect::<io::Result<Vec<_>>>());
    let searched = searched.await.map_err(WorkspaceError::file("read", &workspace.dir))?;
    for (file, mut secrets) in files.into_iter().zip(searched) {
        secrets.extend(in_name(&request.unwanted.secrets, &file.path));
        let before = file.from.as_ref().unwrap_or(&file.path);
        let (head, rules) = (&request.previous_head, &request.unwanted.secrets);
        if let Some(what) = new_secret(git, head, rules, (&file.path, before), &secrets).await? {
            found.push((file.path.clone(), what));
        }
    }
    allow(git, &request.unwanted, &mut found).await?;
    Ok(found)
}

/// Takes out what may contain what looks like a secret.
async fn allow(git: &Git, unwanted: &Unwanted, found: &mut Vec<(FilePath, String)>) -> Result<(), GitError> {
    if found.is_empty() || unwanted.allowed.is_empty() {
        return Ok(());
    }
    let allowed: Vec<String> = unwanted.allowed.iter().map(|glob| format!(":(top,glob){glob}")).collect();
    let mut args = vec!["ls-files", "-z", "--cached", "--"];
    args.extend(allowed.iter().map(String::as_str));
    let listed = git.run(&args).await?;
    found.retain(|(path, _)| !listed.split(|&byte| byte == 0).any(|name| name == path.as_bytes()));
    Ok(())
}

/// The staged files that may not be stored as they are: those with a new secret, and those too large to be searched. It
/// searches the staged objects, not the files, which the agent may be changing.
pub(crate) async fn in_staged(
    git: &Git,
    head: &str,
    unwanted: &Unwanted,
    files: &[ChangedFile],
    (index, id_len): (&Index, usize),
) -> Result<Vec<FilePath>, GitError> {
    let staged = |file: &ChangedFile| {
        let at = index.entries.binary_search_by(|entry| entry.path.as_slice().cmp(file.path.as_bytes())).ok()?;
        index.entries.get(at).filter(|entry| !entry.is_gitlink()).map(|entry| hex(&entry.id[..id_len]))
    };
    let files = files.iter().filter(|file| file.change != Change::Deleted);
    let files: Vec<(&ChangedFile, String)> = files.filter_map(|file| Some((file, staged(file)?))).collect();
    let ids: String = files.iter().map(|(_, id)| format!("{id}\n")).collect();
    let sizes = git.call(&["cat-file", "--batch-check=%(objectsize)"]).input(ids).run().await?.stdout;
    let sizes =
        String::from_utf8_lossy(&sizes).lines().map(|size| size.parse().unwrap_or(u64::MAX)).collect::<Vec<u64>>();
    let (mut unfit, mut found) = (Vec::new(), Vec::new());
    let mut small = Vec::new();
    for ((file, id), size) in files.iter().zip(sizes) {
        if size > LARGEST { unfit.push(file.path.clone()) } else { small.push((file, id)) }
    }
    for some in small.chunks(OBJECTS_AT_ONCE) {
        let ids: String = some.iter().map(|(_, id)| format!("{id}\n")).collect();
        let output = git.call(&["cat-file", "--batch", "--buffer"]).input(ids).run().await?.stdout;
        let mut rest = output.as_slice();
        for (file, _) in some {
            let (_, content) = next_object(&mut rest).ok_or_else(|| GitError::unexpected("cat-file", rest))?;
            let mut secrets = in_name(&unwanted.secrets, &file.path);
            secrets.extend(places(&unwanted.secrets, content));
            let paths = (&file.path, file.from.as_ref().unwrap_or(&file.path));
            if let Some(what) = new_secret(git, head, &unwanted.secrets, paths, &secrets).await? {
                found.push((file.path.clone(), what));
            }
        }
    }
    allow(git, unwanted, &mut found).await?;
    unfit.extend(found.into_iter().map(|(path, _)| path));
    Ok(unfit)
}

/// The secrets in the files of commits, also of those that a later commit took back: they would stay in the branch's history.
async fn in_between(
    git: &Git,
    request: &CheckpointRequest,
    files: &[ChangedFile],
    history: &[Entry],
) -> Result<Vec<String>, GitError> {
    let Some(tip) = history.first() else { return Ok(Vec::new()) };
    let (limit, before) = (format!("--filter=blob:limit={LARGEST}"), format!("^{}", request.previous_head));
    let mut args = vec!["rev-list", "--objects", "--full-history", &limit, &tip.commit, &before, "--", ":(top)"];
    let allowed: Vec<String> =
        request.unwanted.allowed.iter().map(|glob| format!(":(top,exclude,glob){glob}")).collect();
    args.extend(allowed.iter().map(String::as_str));
    let listed = git.run(&args).await?;
    let named = listed.split(|&byte| byte == b'\n').filter_map(|line| {
        let space = line.iter().position(|&byte| byte == b' ')?;
        let path = FilePath::new(&line[space + 1..]);
        (!path.as_bytes().is_empty()).then(|| (String::from_utf8_lossy(&line[..space]).into_owned(), path))
    });
    let objects: Vec<(String, FilePath)> = named.collect();
    let mut found = BTreeMap::new();
    for some in objects.chunks(OBJECTS_AT_ONCE) {
        let ids: String = some.iter().map(|(id, _)| format!("{id}\n")).collect();
        let output = git.call(&["cat-file", "--batch", "--buffer"]).input(ids).run().await?.stdout;
        let mut rest = output.as_slice();
        for (_, path) in some {
            let (kind, content) = next_object(&mut rest).ok_or_else(|| GitError::unexpected("cat-file", rest))?;
            let renamed = files.iter().find(|file| file.path == *path).and_then(|file| file.from.as_ref());
            let mut secrets = in_name(&request.unwanted.secrets, path);
            secrets.extend(if kind == "blob" { places(&request.unwanted.secrets, content) } else { Vec::new() });
            if kind == "blob"
                && let Some(what) = new_secret(
                    git,
                    &request.previous_head,
                    &request.unwanted.secrets,
                    (path, renamed.unwrap_or(path)),
                    &secrets,
                )
                .await?
            {
                found.entry(path.to_string()).or_insert(what);
            }
        }
    }
    Ok(found.into_iter().map(|(path, what)| shown(&request.unwanted.secrets, &path, &what)).collect())
}

/// A file that is held back; its name may be why.
pub(crate) fn shown(rules: &Rules, path: &str, what: &str) -> String {
    format!("{} ({what})", rules.text(path))
}

/// One object of `cat-file --batch`: `<id> <kind> <size>`, a line end, the content, a line end.
pub(crate) fn next_object<'a>(output: &mut &'a [u8]) -> Option<(&'a str, &'a [u8])> {
    let end = output.iter().position(|&byte| byte == b'\n')?;
    let header = std::str::from_utf8(&output[..end]).ok()?;
    let mut words = header.split(' ').skip(1);
    let (kind, size) = (words.next()?, words.next()?.parse::<usize>().ok()?);
    let content = output.get(end + 1..end + 1 + size)?;
    *output = output.get(end + size + 2..)?;
    Some((kind, content))
}

/// The secrets of a file, whatever its size, or of a link's target, which is what git stores.
fn in_file(rules: &Rules, path: &Path) -> io::Result<Vec<Place>> {
    still_wanted()?;
    if let Ok(target) = std::fs::read_link(path) {
        return Ok(places(rules, target.as_os_str().as_bytes()));
    }
    let mut scan = Scan::new(rules.clone());
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if let Some(mut file) = is_file.then(|| File::open(path).ok()).flatten() {
        let mut piece = vec![0; PIECE];
        while let Ok(read @ 1..) = file.read(&mut piece) {
            still_wanted()?;
            scan.push(&piece[..read]);
        }
    }
    Ok(scan.finish())
}

/// The secrets in a file's name, which have no line.
pub(crate) fn in_name(rules: &Rules, path: &FilePath) -> Vec<Place> {
    places(rules, path.as_bytes()).into_iter().map(|place| Place { line: 0, ..place }).collect()
}

pub(crate) fn places(rules: &Rules, content: &[u8]) -> Vec<Place> {
    let mut scan = Scan::new(rules.clone());
    scan.push(content);
    scan.finish()
}

/// The forbidden content of a file, except what was there before the agent.
async fn new_secret(
    git: &Git,
    head: &str,
    rules: &Rules,
    (path, path_before): (&FilePath, &FilePath),
    secrets: &[Place],
) -> Result<Option<String>, GitError> {
    if path.as_bytes().rsplit(|&byte| byte == b'/').next() == Some(b".env") {
        return Ok(Some("is never committed".to_owned()));
    }
    if secrets.is_empty() {
        return Ok(None);
    }
    let name = format!("{head}:{path_before}");
    let before = git.call(&["cat-file", "blob", &name]).answers(&[128]).run().await?;
    let mut known = Vec::new();
    if before.code == 0 {
        known = in_name(rules, path_before);
        known.extend(places(rules, &before.stdout));
    }
    let new = secrets.iter().find(|new| !known.iter().any(|old| old.value == new.value));
    Ok(new.map(|new| match new.line {
        0 => format!("its name: {}", new.name),
        line => format!("line {line}: {}", new.name),
    }))
}

/// Takes these files out of the engine's index and out of the branch, whose commits may not be kept. All files of the
/// workspace stay as they are, and nothing of these is staged or reset until the next checkpoint.
pub(crate) async fn hold(
    git: &Git,
    workspace: &Workspace,
    request: &CheckpointRequest,
    files: &[(FilePath, String)],
) -> Result<(), WorkspaceError> {
    note(workspace, &files.iter().map(|(path, _)| path.as_glob()).collect::<Vec<_>>())?;
    let branch = workspace.loop_ref(git).await?;
    if git.read_ref(&branch).await?.as_deref() != Some(&request.previous_head) {
        git.run(&["update-ref", &branch, &request.previous_head]).await?;
    }
    if files.is_empty() {
        return Ok(());
    }
    Ok(unstage(git, &request.previous_head, files.iter().map(|(path, _)| path)).await?)
}

/// Has these files in the index as they are in the commit.
pub(crate) async fn unstage<'a>(
    git: &Git,
    commit: &str,
    files: impl Iterator<Item = &'a FilePath>,
) -> Result<(), GitError> {
    // Unlike `restore`, it accepts files that neither the index nor the commit has.
    let args = ["reset", "--quiet", commit, "--pathspec-from-file=-", "--pathspec-file-nul"];
    let paths: Vec<u8> = files.flat_map(|path| path.as_bytes().iter().copied().chain([0])).collect();
    git.call(&args).input(paths).literal_paths().run().await.map(drop)
}

/// Remembers what waits, instead of what did.
pub(crate) fn note(workspace: &Workspace, globs: &[String]) -> Result<(), WorkspaceError> {
    if noted(workspace, HELD_BACK) == globs {
        return Ok(());
    }
    let file = beside(&workspace.index, HELD_BACK);
    std::fs::write(&file, serde_json::to_vec(globs).unwrap_or_default()).map_err(WorkspaceError::file("write", file))
}
