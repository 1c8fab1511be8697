//! Named pipes that git would wait at forever.
//!
//! Git opens a `.gitignore`, `.gitattributes` or `.gitmodules`, and what is in a nested `.git`, without asking what it is.
//! An agent that creates a pipe with that name would block the engine's git, and with it the loop, including `stop`. A look at
//! all files before each call would cost more than the call, so they are looked for once git takes long. Invariant: only
//! if a process waits at one of these pipes are they removed; they contain nothing to commit.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

/// Longer than most calls take.
const FIRST_LOOK: Duration = Duration::from_secs(1);

const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Files of the work tree that git opens by name.
const OPENED_BY_NAME: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Takes such pipes out of the way for as long as it is waited for.
pub(super) async fn keep_clear(work_tree: Option<&Path>) -> Infallible {
    let Some(work_tree) = work_tree else {
        return std::future::pending().await;
    };
    let mut pause = FIRST_LOOK;
    loop {
        tokio::time::sleep(pause).await;
        let tree = work_tree.to_owned();
        let _ = tokio::task::spawn_blocking(move || clear(&tree)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Removes them if somebody waits at one, who then finds an empty file.
pub(crate) fn clear(work_tree: &Path) {
    let pipes = pipes_below(work_tree);
    let mut held: Vec<OwnedFd> =
        pipes.iter().filter_map(|pipe| open_pipe(pipe, OFlags::WRONLY | OFlags::NONBLOCK)).collect();
    if held.is_empty() {
        return;
    }
    for pipe in &pipes {
        tracing::warn!(pipe = %pipe.display(), "removed a named pipe that would block git");
        // A process that opens it before it is removed would wait at an unnamed pipe, where it cannot be found.
        held.extend(open_pipe(pipe, OFlags::RDWR));
        let _ = std::fs::remove_file(pipe);
    }
}

/// Only to write, there is an end only if somebody reads or waits to; for both there always is.
fn open_pipe(pipe: &Path, how: OFlags) -> Option<OwnedFd> {
    rustix::fs::open(pipe, how | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn pipes_below(work_tree: &Path) -> Vec<PathBuf> {
    let mut pipes = Vec::new();
    let mut pending = vec![(work_tree.to_owned(), false)];
    while let Some((dir, in_git)) = pending.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            if kind.is_dir() {
                pending.push((entry.path(), in_git || name == ".git"));
            } else if kind.is_fifo() && (in_git || OPENED_BY_NAME.iter().any(|opened| name == *opened)) {
                pipes.push(entry.path());
            }
        }
    }
    pipes
}
