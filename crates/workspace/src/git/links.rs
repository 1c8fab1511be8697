//! Symbolic links and pipes in a git directory.
//!
//! The engine's git is not in the agent's sandbox and follows every link: a `COMMIT_EDITMSG`, a reflog or a folder of
//! refs that points to a file outside would have it written there, with words of the agent's; objects that lead outside
//! would have it read there. A pipe would have it wait. Git itself makes neither. Looked at is what git reads and writes
//! for the engine; large stores next to it (`lfs`, `modules`, `annex`) are not.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Directories of git's own that are looked into.
const LOOKED_INTO: [&str; 4] = ["refs", "logs", "objects", "info"];

/// Links and pipes below `git_dir`, in no order.
pub(crate) fn links_in(git_dir: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    let mut pending = vec![git_dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() || kind.is_fifo() {
                links.push(entry.path());
            } else if kind.is_dir() && (dir != git_dir || LOOKED_INTO.iter().any(|name| entry.file_name() == *name)) {
                pending.push(entry.path());
            }
        }
    }
    links
}
