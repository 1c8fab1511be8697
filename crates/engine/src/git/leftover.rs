//! Lock files that a killed git left behind.
//!
//! Git takes a lock by creating `<file>.lock` and never writes its pid into it, so a lock of a dead process looks
//! like one of a living process. Invariant: a lock is deleted only if it belongs to the loop's own files and no
//! living process seems to hold it. A process holds it if it has the file open, or if it is a git that works in that
//! tree or repository (some commands keep the lock without keeping the file open). Processes of other users cannot
//! be looked into and count as not holding: they have no business in a loop's own files. Where there is no `/proc`
//! a lock must also be older than ten minutes.

use std::path::{Path, PathBuf};
use std::time::Duration;

const OLD: Duration = Duration::from_secs(600);

/// Deletes `lock` if nobody alive holds it; says whether it is gone.
pub(crate) fn clear(lock: &Path, git_dir: &Path, work_tree: &Path) -> bool {
    let Ok(held) = std::fs::symlink_metadata(lock) else {
        return true;
    };
    if held.is_dir() {
        return false;
    }
    let free = match processes() {
        Some(processes) => !processes.iter().any(|process| holds(process, lock, git_dir, work_tree)),
        None => held.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > OLD),
    };
    if free {
        tracing::warn!(lock = %lock.display(), "removed a lock that no living process holds");
    }
    free && std::fs::remove_file(lock).is_ok()
}

fn processes() -> Option<Vec<PathBuf>> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").ok()?;
    let found: Vec<_> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.bytes().all(|byte| byte.is_ascii_digit()) && name != own
        })
        .map(|entry| entry.path())
        .collect();
    (!found.is_empty()).then_some(found)
}

fn holds(process: &Path, lock: &Path, git_dir: &Path, work_tree: &Path) -> bool {
    let open = std::fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == lock));
    if open {
        return true;
    }
    let is_git = std::fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.starts_with("git"));
    if !is_git {
        return false;
    }
    let inside = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(work_tree));
    inside || names(&std::fs::read(process.join("environ")).unwrap_or_default(), git_dir)
}

fn names(environ: &[u8], git_dir: &Path) -> bool {
    let wanted = format!("GIT_DIR={}", git_dir.display());
    environ.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
}
