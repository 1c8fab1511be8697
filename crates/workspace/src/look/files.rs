//! Single files of a revision or of a checkout, without following any link.
//!
//! Invariant: reads are bounded, and metadata comes from the opened file.

use std::path::Path;

use crate::agent_git::beneath::{Beneath, Found};
use crate::git::GitError;
use crate::project::Project;
use crate::{WorkspaceError, Workspaces};

/// A file as a revision or a checkout has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// Seen from the root of the repository.
    pub path: String,
    /// A symbolic link; its content is its target.
    pub is_link: bool,
    pub content: Vec<u8>,
}

/// Larger files than any that an agent reads its settings or plug-ins from.
const LARGEST: u64 = 16 << 20;
/// Of all files at once.
const MOST: u64 = 64 << 20;
/// Deeper files are not settings.
const DEEPEST: usize = 32;

/// A commit, without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    pub commit: String,
    pub tree: String,
    pub message: String,
}

impl CommitFacts {
    /// The value of a trailer: the last line of the message that has this name.
    pub fn trailer(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}:");
        self.message.lines().rev().find_map(|line| line.strip_prefix(&prefix)).map(str::trim)
    }
}

impl Workspaces {
    /// The commit that a revision names in a project's repository.
    pub async fn commit_facts(&self, project: &Path, revision: &str) -> Result<Option<CommitFacts>, WorkspaceError> {
        let git = Project::inspect(&self.host, project).await?.git(&self.host);
        let Some(commit) = git.commit(revision).await? else { return Ok(None) };
        let tree = git.tree_of(&commit).await?;
        let message = git.run(&["log", "-1", "--format=%B", &commit, "--"]).await?;
        Ok(Some(CommitFacts { commit, tree, message: String::from_utf8_lossy(&message).into_owned() }))
    }

    /// Whether a commit is the other one, or comes before it.
    pub async fn comes_before(&self, project: &Path, earlier: &str, later: &str) -> Result<bool, WorkspaceError> {
        Ok(Project::inspect(&self.host, project).await?.git(&self.host).is_ancestor(earlier, later).await?)
    }

    /// The files of a revision at and below these paths, and the links on the way. None if there is no such
    /// revision.
    pub async fn files_at(
        &self,
        project: &Path,
        revision: &str,
        places: &[&str],
    ) -> Result<Vec<FileAt>, WorkspaceError> {
        let git = Project::inspect(&self.host, project).await?.git(&self.host);
        let Some(commit) = git.commit(revision).await? else { return Ok(Vec::new()) };
        let mut tops: Vec<&str> = places.iter().map(|place| place.split('/').next().unwrap_or(place)).collect();
        tops.sort_unstable();
        tops.dedup();
        if tops.contains(&"") {
            tops.clear();
        }
        let args = [&["ls-tree", "-r", "-l", "-z", "--full-tree", &commit, "--"][..], &tops].concat();
        let listed = git.call(&args).literal_paths().run().await?.stdout;
        let mut files = Vec::new();
        let mut wanted = String::new();
        let mut all = 0;
        for entry in listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let Some((facts, path)) = entry.split_once('\t') else {
                return Err(GitError::unexpected("ls-tree", entry.as_bytes()).into());
            };
            let mut facts = facts.split_whitespace();
            let (Some(mode), Some("blob"), Some(id)) = (facts.next(), facts.next(), facts.next()) else { continue };
            let is_link = mode == "120000";
            let inside = |place: &&str| is_at_or_below(path, place);
            let above = |place: &&str| is_link && is_at_or_below(place, path);
            if places.iter().any(|place| inside(place) || above(place)) {
                let size = facts.next().and_then(|size| size.parse().ok()).unwrap_or(u64::MAX);
                all = add(all, size).map_err(WorkspaceError::file("read", project.join(path)))?;
                wanted.push_str(id);
                wanted.push('\n');
                files.push(FileAt { path: path.to_owned(), is_link, content: Vec::new() });
            }
        }
        if files.is_empty() {
            return Ok(files);
        }
        let output = git.call(&["cat-file", "--batch"]).input(wanted).run().await?.stdout;
        let mut rest = &output[..];
        for file in &mut files {
            let unexpected = || GitError::unexpected("cat-file", rest);
            let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(unexpected)?;
            let size = String::from_utf8_lossy(&rest[..end]).rsplit(' ').next().and_then(|size| size.parse().ok());
            let size: usize = size.ok_or_else(unexpected)?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(unexpected)?;
            file.content = content.to_vec();
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(files)
    }

    /// The same of the files as they are below a directory.
    pub fn files_in(dir: &Path, places: &[&str]) -> Result<Vec<FileAt>, WorkspaceError> {
        let root = dir.canonicalize().and_then(|real| Beneath::open(&real));
        let root = root.map_err(WorkspaceError::file("read", dir))?;
        let (mut files, mut all) = (Vec::new(), 0);
        for place in places {
            // A link on the way is what counts of a place behind it.
            let steps = place.match_indices('/').map(|(end, _)| &place[..end]);
            let link = steps.filter(|step| !step.is_empty()).find_map(|step| match root.look(Path::new(step)) {
                Ok(Found::Link) => Some(step.to_owned()),
                _ => None,
            });
            let from = link.unwrap_or_else(|| (*place).to_owned());
            let name = from.clone();
            gather(&root, from, 0, &mut files, &mut all).map_err(WorkspaceError::file("read", dir.join(name)))?;
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(files)
    }
}

/// One place, with all below it.
fn gather(
    root: &Beneath,
    path: String,
    depth: usize,
    files: &mut Vec<FileAt>,
    all: &mut u64,
) -> Result<(), std::io::Error> {
    let at = Path::new(&path);
    let found = match root.look(at) {
        _ if path.is_empty() => Found::Dir,
        // A file in the place of a directory.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Found::Nothing,
        found => found?,
    };
    match found {
        Found::Nothing | Found::Special => {}
        Found::Link => {
            let content = root.read_link(at)?;
            *all = add(*all, content.len() as u64)?;
            files.push(FileAt { path, is_link: true, content });
        }
        Found::File { size } => {
            *all = add(*all, size)?;
            let content = root.read(at, LARGEST)?.unwrap_or_default();
            files.push(FileAt { path, is_link: false, content });
        }
        Found::Dir if depth == DEEPEST => return Err(std::io::Error::other("directories are nested too deeply")),
        Found::Dir => {
            for name in root.list(at)? {
                let name = name.to_string_lossy();
                let below = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
                gather(root, below, depth + 1, files, all)?;
            }
        }
    }
    Ok(())
}

/// Counts a file, and refuses what is too much. An empty one counts too, since there may be a million of them.
fn add(all: u64, size: u64) -> Result<u64, std::io::Error> {
    const EACH: u64 = 4096;
    let all = all.saturating_add(size.max(EACH));
    match size <= LARGEST && all <= MOST {
        true => Ok(all),
        false => Err(std::io::Error::other("too large")),
    }
}

/// Whether a path is a place or is below it; everything is below the empty one.
fn is_at_or_below(path: &str, place: &str) -> bool {
    place.is_empty() || path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
