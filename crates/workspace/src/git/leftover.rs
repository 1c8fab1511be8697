//! Lock files that a killed git left behind.
//!
//! Git takes a lock by creating `<file>.lock` and never writes its pid into it, so a lock of a dead process looks
//! like one of a living process. Invariant: a lock is deleted only if it belongs to the loop's own files and no
//! live process seems to own it. A process owns it if it has the file open, or if it is a git that runs in that
//! tree or repository (some commands keep the lock without keeping the file open). Processes of other users cannot
//! be looked into and count as not holding: they have no business in a loop's own files. Where there is no `/proc`
//! a lock must also be older than ten minutes.

use std::path::{Path, PathBuf};
use std::time::Duration;

const OLD: Duration = Duration::from_secs(600);

/// Deletes `lock` if no live process owns it; returns whether it is gone.
pub(crate) fn clear(lock: &Path, git_dir: &Path, work_tree: &Path) -> bool {
    let Ok(held) = std::fs::symlink_metadata(lock) else {
        return true;
    };
    if held.is_dir() {
        return false;
    }
    let free = !is_held(lock, git_dir, work_tree);
    if free {
        tracing::warn!(lock = %lock.display(), "removed a stale lock");
    }
    free && std::fs::remove_file(lock).is_ok()
}

/// Whether a live process owns `lock`, or may own it.
pub(crate) fn is_held(lock: &Path, git_dir: &Path, work_tree: &Path) -> bool {
    let Ok(held) = std::fs::symlink_metadata(lock) else {
        return false;
    };
    match processes() {
        Some(processes) => processes.iter().any(|process| holds(process, lock, git_dir, work_tree)),
        None => held.modified().ok().and_then(|at| at.elapsed().ok()).is_none_or(|age| age <= OLD),
    }
}

/// Whether a git that the engine started on this index is still alive: it outlives an engine that was killed.
pub(crate) fn at_work(index: &Path) -> bool {
    let wanted = format!("GIT_INDEX_FILE={}", index.display());
    processes().unwrap_or_default().iter().any(|process| {
        is_git(process)
            && std::fs::read(process.join("environ"))
                .unwrap_or_default()
                .split(|&byte| byte == 0)
                .any(|variable| variable == wanted.as_bytes())
    })
}

fn is_git(process: &Path) -> bool {
    std::fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.starts_with("git"))
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
    if !is_git(process) {
        return false;
    }
    let inside = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(work_tree));
    inside || names(&std::fs::read(process.join("environ")).unwrap_or_default(), git_dir)
}

fn names(environ: &[u8], git_dir: &Path) -> bool {
    let wanted = format!("GIT_DIR={}", git_dir.display());
    environ.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_on_this_index_is_seen_until_it_ends() {
        let index = std::env::temp_dir().join(format!("windlass-at-work-{}", std::process::id()));
        assert!(!at_work(&index));
        // An alias keeps a real git alive without doing anything; it ends when its stdin does.
        let mut git = std::process::Command::new("git")
            .args(["-c", "alias.wait=!echo ready; cat", "wait"])
            .env("GIT_INDEX_FILE", &index)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("git");
        let mut ready = [0; 6];
        std::io::Read::read_exact(git.stdout.as_mut().expect("stdout"), &mut ready).expect("ready");
        let seen = at_work(&index);
        drop(git.stdin.take());
        git.wait().expect("wait");
        assert_eq!((seen, at_work(&index)), (true, false));
    }
}
