//! Brings the engine's index to what is on disk.
//!
//! Invariant: afterwards the index holds every file that is not ignored and not named in `never_commit`, whether or
//! not it is in a nested repository; what could not be read is said in a note, never silently left out.

use std::path::Path;

use super::hold_back::HELD_BACK;
use super::nested::{self, Nested};
use crate::agent_git::beneath::{Beneath, Found};
use crate::disk::copying::{beside, copy_into};
use crate::git::{ChangedFile, Entry, FilePath, Git, GitError, Index, Output, between, is_id, parse_raw};
use crate::{Workspace, WorkspaceError, Workspaces};

/// The file beside the index that names what is never committed.
const LEFT_OUT: &str = ".left_out";

/// What the engine's index tells after it took in the disk.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// The tree the index made before, if known, and what taking in the disk changed.
    from: Option<(String, Vec<ChangedFile>)>,
    /// The tree on disk, if known without writing it.
    tree: Option<String>,
    /// The index now, if it could be read.
    pub(super) index: Option<Index>,
    /// Files that git cannot take as they are, each with the reason. The index has them as they were before.
    pub(crate) refused: Vec<(FilePath, String)>,
    /// Submodules with content that is in no commit, each with the reason.
    pub(crate) unrecorded: Vec<(FilePath, String)>,
    pub(crate) notes: Vec<String>,
}

impl Staged {
    /// The tree on disk.
    pub(crate) async fn tree(&self, git: &Git) -> Result<String, GitError> {
        match &self.tree {
            Some(tree) => Ok(tree.clone()),
            None => git.line(&["write-tree"]).await,
        }
    }

    /// The tree on disk, if git wrote it before and nothing changed since.
    pub(crate) fn known_tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// What differs from `commit`. If the index is known to have started from that commit's `tree`, the two states of
    /// the index tell; otherwise, and to recognize renames, git is asked.
    pub(crate) async fn changed_since(
        &self,
        git: &Git,
        commit: &str,
        tree: Option<&str>,
    ) -> Result<Vec<ChangedFile>, GitError> {
        if let (Some((before, files)), Some(tree)) = (&self.from, tree)
            && before == tree
            && !could_be_renames(files)
        {
            return Ok(files.clone());
        }
        let args = ["diff-index", "--cached", "--raw", "-z", "-M", "--ignore-submodules=dirty", commit, "--"];
        parse_raw("diff-index", &git.run(&args).await?)
    }
}

fn could_be_renames(files: &[ChangedFile]) -> bool {
    use crate::git::Change::{Added, Deleted};
    let any = |change| files.iter().any(|file| file.change == change);
    any(Added) && any(Deleted)
}

/// Takes the disk into the index of `git`. `tag` names what is kept of nested repositories.
pub(crate) async fn stage(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    never_commit: &[String],
    tag: &str,
) -> Result<Staged, WorkspaceError> {
    let file = workspace.index_of(git);
    let mut before = seed(workspaces, git, workspace, &file).await?;
    // A pointer whose directory is gone, or a link now, is git's to take out.
    let pointers = before.iter().flat_map(Index::gitlinks);
    let links: Vec<_> = pointers.filter(|link| nested::is_dir(workspace, &link.path)).cloned().collect();
    let mut staged = Staged::default();
    let mut left_out = left_out(workspace, never_commit);
    let (output, args, input) = add(git, workspace, excluded(&left_out, &links), &mut staged.refused).await?;
    let closed = closed_folders(&output.stderr);
    if !closed.is_empty() {
        let names = closed.join(", ");
        staged.notes.push(format!("unreadable directories are not committed: {names}"));
    }
    let mut found = Vec::new();
    if output.code != 0 {
        left_out.extend(staged.refused.iter().map(|(path, _)| path.as_glob()));
        let (repositories, unread) = skipped(git, &left_out).await?;
        if repositories.is_empty() && unread.is_empty() && !only_ignored(&output.stderr) {
            // Not a matter of single files: let git's own words decide.
            git.call(&args).input(input).run().await?;
        }
        found.extend(repositories.into_iter().map(Nested::unborn));
        let why = "git cannot store it: it cannot be read, is no regular file, or git does not allow its name";
        staged.refused.extend(unread.into_iter().take(MOST_REFUSED).map(|path| (path, why.to_owned())));
    }
    let mut after = Index::read(&file, workspace.id_len).ok();
    if let Some(after) = &after {
        let new = after.gitlinks().filter(|link| !links.iter().any(|known| known.path == link.path));
        found.extend(new.map(|link| Nested::with_commit(FilePath::new(link.path.clone()))));
    }
    let taken = nested::take_in(workspaces, git, workspace, found, &links, tag, &mut staged.notes).await?;
    staged.unrecorded = taken.unrecorded;
    if taken.touched {
        after = Index::read(&file, workspace.id_len).ok();
    }
    if let (Some(before), Some(mut after)) = (before.take(), after) {
        let files = between(&before, &after);
        if files.is_empty() && after.tree.is_none() && before.tree.is_some() {
            // Git forgets the tree when it looks again at files that changed in the same tick as the index.
            after.tree = before.tree.clone();
            remember_tree(&file, &after);
        }
        staged.tree.clone_from(&after.tree);
        staged.from = before.tree.map(|tree| (tree, files));
        staged.index = Some(after);
    }
    Ok(staged)
}

/// Takes files alone into the index of `git`, while an agent may be writing them: nested repositories are left as they are in the
/// index. None if it cannot be read.
pub(crate) async fn stage_files(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    never_commit: &[String],
) -> Result<Option<Index>, WorkspaceError> {
    let file = workspace.index_of(git);
    let Some(before) = seed(workspaces, git, workspace, &file).await? else { return Ok(None) };
    let links: Vec<Entry> = before.gitlinks().cloned().collect();
    let mut refused = Vec::new();
    add(git, workspace, excluded(&left_out(workspace, never_commit), &links), &mut refused).await?;
    let Ok(after) = Index::read(&file, workspace.id_len) else { return Ok(None) };
    let new = after.gitlinks().filter(|link| !links.iter().any(|known| known.path == link.path));
    let paths: Vec<u8> = new.flat_map(|link| link.path.iter().copied().chain([0])).collect();
    if paths.is_empty() {
        return Ok(Some(after));
    }
    git.call(&["update-index", "--force-remove", "-z", "--stdin"]).input(paths).run().await?;
    Ok(Index::read(&file, workspace.id_len).ok())
}

/// What no commit may take, as globs.
fn left_out(workspace: &Workspace, never_commit: &[String]) -> Vec<String> {
    let noted = [LEFT_OUT, HELD_BACK].into_iter().flat_map(|note| noted(workspace, note));
    never_commit.iter().cloned().chain(noted).collect()
}

/// The same in git's words, with submodules: git would run its status inside them, with the configuration an agent can edit
/// there.
fn excluded(left_out: &[String], links: &[Entry]) -> Vec<Vec<u8>> {
    let globs = left_out.iter().map(|pattern| format!(":(top,exclude,glob){pattern}").into_bytes());
    globs.chain(links.iter().map(|link| [b":(top,exclude,literal)", &link.path[..]].concat())).collect()
}

/// So many files that git cannot take are left out of one checkpoint.
const MOST_REFUSED: usize = 100;

/// Adds all that is on disk but what is excluded and what git cannot take, which makes it give up altogether.
async fn add(
    git: &Git,
    workspace: &Workspace,
    mut excluded: Vec<Vec<u8>>,
    refused: &mut Vec<(FilePath, String)>,
) -> Result<(Output, Vec<&'static str>, Vec<u8>), WorkspaceError> {
    loop {
        let mut args = vec!["add", "-A", "--ignore-errors", "--sparse"];
        let mut input = Vec::new();
        if !excluded.is_empty() {
            args.extend(["--pathspec-from-file=-", "--pathspec-file-nul"]);
            input = [&[b":(top)".to_vec()], &excluded[..]].concat().join(&0);
        }
        let error = match git.call(&args).input(input.clone()).answers(&[1]).run().await {
            Ok(output) => return Ok((output, args, input)),
            Err(error) => error,
        };
        match cannot_take(&error, workspace) {
            Some((path, why)) if refused.len() < MOST_REFUSED && !refused.iter().any(|(known, _)| *known == path) => {
                excluded.push([b":(top,exclude,literal)", path.as_bytes()].concat());
                refused.push((path, why));
            }
            Some(_) | None => return Err(error.into()),
        }
    }
}

/// The file of the workspace that made git give up, with the reason, if its words name one.
fn cannot_take(error: &GitError, workspace: &Workspace) -> Option<(FilePath, String)> {
    if let GitError::FileTooLarge { path, limit } = error {
        let path = FilePath::new(path.strip_prefix(&workspace.dir).ok()?.as_os_str().as_encoded_bytes());
        return Some((path, format!("git cannot store it: larger than {} GiB", limit >> 30)));
    }
    let (GitError::Failed { stderr, .. } | GitError::FilterFailed { stderr }) = error else { return None };
    let said = stderr.lines().rev().find_map(|line| line.strip_prefix("fatal: "))?;
    let (path, why) = match said.rsplit_once(": clean filter '") {
        Some((path, filter)) => (path, format!("the filter '{filter}")),
        None => (quoted_name(said)?, said.to_owned()),
    };
    let found = Beneath::open(&workspace.dir).and_then(|top| top.look(Path::new(path))).ok()?;
    matches!(found, Found::File { .. }).then(|| (FilePath::from(path), format!("git cannot store it: {why}")))
}

/// The first name that git put in quotes.
fn quoted_name(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once('\'')?;
    Some(rest.rsplit_once("' ").map_or(rest.trim_end_matches('\''), |(name, _)| name))
}

/// Git adds everything, and complains all the same, when a path that is to be left out is ignored too.
fn only_ignored(stderr: &[u8]) -> bool {
    String::from_utf8_lossy(stderr).starts_with("The following paths are ignored by one of your .gitignore files")
}

/// Folders that git could not open, which it takes for no failure; the first ten of them.
fn closed_folders(stderr: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(stderr);
    let names = said.lines().filter_map(|line| {
        let rest = line.strip_prefix("warning: could not open directory '")?;
        // Git cuts off what it says of a very long name.
        let name = rest.rsplit_once("/': ").map_or(rest, |(name, _)| name);
        Some(if name.len() > 200 { name.chars().take(200).chain(['…']).collect() } else { name.to_owned() })
    });
    names.take(10).collect()
}

/// Notes beside the index which tree it makes, bound to the index by its checksum.
fn remember_tree(file: &Path, index: &Index) {
    if let Some(tree) = &index.tree {
        // Losing the note costs a git call, nothing else.
        let _ = std::fs::write(beside(file, ".tree"), format!("{} {tree}\n", index.checksum));
    }
}

fn remembered_tree(file: &Path, index: &Index) -> Option<String> {
    let text = std::fs::read_to_string(beside(file, ".tree")).ok()?;
    let (checksum, tree) = text.trim().split_once(' ')?;
    (checksum == index.checksum && is_id(tree)).then(|| tree.to_owned())
}

/// Reads the index to start from, making it from HEAD if it is lost.
async fn seed(
    workspaces: &Workspaces,
    git: &Git,
    workspace: &Workspace,
    file: &Path,
) -> Result<Option<Index>, WorkspaceError> {
    match Index::read(file, workspace.id_len) {
        Ok(mut index) if index.entries.iter().all(|entry| entry.stage == 0) => {
            let known = || workspaces.known.tree_of_index(workspace, &index.checksum);
            index.tree = index.tree.clone().or_else(known).or_else(|| remembered_tree(file, &index));
            return Ok(Some(index));
        }
        // A form git knows and this reader does not.
        Err(crate::git::IndexError::Unsupported(_)) => return Ok(None),
        Ok(_) | Err(_) => {}
    }
    if file.exists() {
        std::fs::remove_file(file).map_err(WorkspaceError::file("replace", file))?;
    }
    let tip = git.read_ref(&workspace.loop_ref(git).await?).await?;
    let tip = tip.unwrap_or_else(|| workspace.base_commit.clone());
    git.run(&["read-tree", &tip]).await?;
    Ok(Index::read(file, workspace.id_len).ok())
}

/// What `add` skipped: directories that are repositories without a commit, and files it could not read.
async fn skipped(git: &Git, left_out: &[String]) -> Result<(Vec<FilePath>, Vec<FilePath>), GitError> {
    let mut args =
        vec!["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"];
    let excluded: Vec<String> = left_out.iter().map(|pattern| format!(":(top,exclude,glob){pattern}")).collect();
    args.extend(["--", ":(top)"]);
    args.extend(excluded.iter().map(String::as_str));
    let output = git.run(&args).await?;
    let (mut repositories, mut unread) = (Vec::new(), Vec::new());
    for record in output.split(|&byte| byte == 0) {
        if let Some(path) = record.strip_prefix(b"? ") {
            match path.strip_suffix(b"/") {
                Some(path) => repositories.push(FilePath::new(path)),
                None => unread.push(FilePath::new(path)),
            }
        } else if record.starts_with(b"1 .") && !record.starts_with(b"1 ..") {
            // `1 XY sub mH mI mW hH hI path`, where Y says that the disk differs from the index.
            if let Some(path) = record.splitn(9, |&byte| byte == b' ').nth(8) {
                unread.push(FilePath::new(path));
            }
        }
    }
    Ok((repositories, unread))
}

/// The tree that the engine's index is known to make.
pub(crate) fn tree_in_index(git: &Git, workspace: &Workspace) -> Option<String> {
    Index::read(&workspace.index_of(git), workspace.id_len).ok()?.tree
}

impl Workspaces {
    /// Remembers paths or globs, from the top of the workspace, that no commit, saved state or reset may touch: files
    /// copied into it from the user's checkout, such as `.env`. They add up over calls.
    pub fn leave_out(&self, workspace: &Workspace, patterns: &[String]) -> Result<(), WorkspaceError> {
        let mut all = noted(workspace, LEFT_OUT);
        all.extend(patterns.iter().filter(|pattern| !all.contains(pattern)).cloned().collect::<Vec<_>>());
        let file = beside(&workspace.index, LEFT_OUT);
        let text = serde_json::to_vec(&all).unwrap_or_default();
        std::fs::write(&file, text).map_err(WorkspaceError::file("write", file))
    }
}

/// The paths or globs in a note beside the index.
pub(crate) fn noted(workspace: &Workspace, ending: &str) -> Vec<String> {
    let text = std::fs::read(beside(&workspace.index, ending)).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// A copy of an index that vanishes with it.
pub(crate) struct Scratch {
    pub(crate) file: std::path::PathBuf,
}

impl Scratch {
    pub(crate) fn of(git: &Git, workspace: &Workspace) -> Self {
        let file = workspace.scratch("look");
        let index = workspace.index_of(git);
        // Without it the index is made from the branch, which only takes longer.
        let _ = std::fs::File::create(&file).and_then(|mut copy| copy_into(&index, &mut copy));
        Self { file }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(beside(&self.file, ".tree"));
    }
}
