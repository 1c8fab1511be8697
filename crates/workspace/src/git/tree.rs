//! A git that runs, with the programs it started: what it reads, and how it is ended.
//!
//! Invariant: when a call is given up, the whole process group is gone, and so are its locks and the unfinished objects that git
//! would leave in the object store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::GitError;

/// A file that is larger is left to other tools than git.
pub(crate) const LARGEST_FILE: u64 = 4 << 30;

/// Longer than most calls take.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Kills the process group of a git that has not exited.
pub(super) struct Tree {
    pid: Option<u32>,
}

impl Tree {
    pub(super) fn of(pid: Option<u32>) -> Self {
        Self { pid }
    }

    pub(super) fn has_ended(&mut self) {
        self.pid = None;
    }

    /// Returns once git reads a file of the work tree that is too large, which a look at sizes beforehand would have
    /// to walk the whole tree for.
    pub(super) async fn reads_too_much(&self, work_tree: Option<&Path>) -> GitError {
        let (Some(pid), Some(work_tree)) = (self.pid, work_tree) else {
            return std::future::pending().await;
        };
        let mut pause = FIRST_LOOK;
        loop {
            tokio::time::sleep(pause).await;
            let large = open_files(pid).into_iter().find(|path| {
                let size = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
                path.starts_with(work_tree) && size.is_some_and(|size| size > LARGEST_FILE)
            });
            if let Some(path) = large {
                return GitError::FileTooLarge { path, limit: LARGEST_FILE };
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(pid) = self.pid else { return };
        let unfinished = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // A lock that it has open is its own.
            name.starts_with("tmp_pack_") || name.starts_with("tmp_obj_") || name.ends_with(".lock")
        };
        let left: Vec<PathBuf> = open_files(pid).into_iter().filter(unfinished).collect();
        // It has its own process group, and is not reaped before its status is requested.
        if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for path in left {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn open_files(pid: u32) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}
