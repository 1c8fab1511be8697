//! Single files of a revision, without a checkout.

use std::path::Path;

use super::project::Project;
use super::{WorkspaceError, Workspaces};
use crate::git::GitError;

/// A file as a revision has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// Seen from the root of the repository.
    pub path: String,
    /// A symbolic link; its content is where it leads to.
    pub is_link: bool,
    pub content: Vec<u8>,
}

impl Workspaces {
    /// The files of a revision at and below these places, and the links on the way there. None if there is no such
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
        let args = [&["ls-tree", "-r", "-z", "--full-tree", &commit, "--"][..], &tops].concat();
        let listed = git.call(&args).literal_paths().run().await?.stdout;
        let mut files = Vec::new();
        let mut wanted = String::new();
        for entry in listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let (Some((facts, path)), mut ids) = (entry.split_once('\t'), entry.split_whitespace()) else {
                return Err(GitError::unexpected("ls-tree", entry.as_bytes()).into());
            };
            let (Some(mode), Some("blob"), Some(id)) = (ids.next(), ids.next(), ids.next()) else { continue };
            let is_link = facts.starts_with("120000") && mode == "120000";
            let inside =
                |place: &&str| path == *place || path.strip_prefix(*place).is_some_and(|rest| rest.starts_with('/'));
            let above = |place: &&str| is_link && place.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            if places.iter().any(|place| inside(place) || above(place)) {
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
}
