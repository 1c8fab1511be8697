//! The commits between two checkpoints.

use crate::git::{Git, GitError};

/// More commits than this in one turn are not listed one by one.
pub(crate) const LONGEST_HISTORY: usize = 10_000;

/// One commit as `rev-list --header` shows it.
pub(crate) struct Entry {
    pub(crate) commit: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    /// Author, committer, and other headers above the message.
    pub(crate) header: String,
    pub(crate) message: String,
}

/// Commits that `to` has and `from` has not, newest first.
pub(crate) async fn history(git: &Git, from: &str, to: &str) -> Result<Vec<Entry>, GitError> {
    let exclude = format!("^{from}");
    let most = format!("--max-count={LONGEST_HISTORY}");
    let output = git.run(&["rev-list", "--header", "--topo-order", &most, to, &exclude, "--"]).await?;
    let entries =
        output.split(|&byte| byte == 0).filter(|record| !record.is_empty() && *record != b"\n").map(|record| {
            let text = String::from_utf8_lossy(record).into_owned();
            let mut lines = text.lines();
            let commit = lines.next().unwrap_or_default().to_owned();
            let (mut tree, mut parents, mut header) = (String::new(), Vec::new(), String::new());
            for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                if let Some(id) = line.strip_prefix("tree ") {
                    tree = id.to_owned();
                } else if let Some(id) = line.strip_prefix("parent ") {
                    parents.push(id.to_owned());
                } else {
                    header.push_str(line);
                    header.push('\n');
                }
            }
            Entry { commit, tree, parents, header, message: lines.collect::<Vec<_>>().join("\n") }
        });
    Ok(entries.collect())
}
