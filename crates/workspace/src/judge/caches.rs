//! What gates add to the caches of tools, which are outside the checkout: package downloads, compiled objects. And directories
//! outside that the loop's agent may write, as they were before its first turn.
//!
//! The engine shows them to gates in a sandbox. Invariants: after `rewind_caches` they contain what the set-up and gates on the
//! base wrote, and nothing else. A directory is copied once, so it never has anything of this loop's agent.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::stamps::{Stamps, tells_changes};
use super::{Judge, Reader, TICK_MS};
use crate::disk::blocking;
use crate::disk::copying;
use crate::{Workspace, WorkspaceError, Workspaces};

pub(super) const LIVE: &str = "caches";
pub(super) const STAMPS: &str = "caches.stamps";
const SAVED: &str = "caches.saved";

/// More of what an agent may write outside its workspace is not copied for gates.
const MOST: Room = Room { bytes: 2 << 30, files: 200_000 };

/// How much more is copied.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: u64,
    files: u64,
}

impl Workspace {
    /// Where files and directories that the agent may write are kept as they were before it; gone with the workspace.
    pub fn before_agents(&self) -> PathBuf {
        self.index.with_extension("before")
    }

    /// Goes on without these copies if they are gone; false if they are there, or were missed already.
    pub fn lose_before_agents(&self) -> Result<bool, WorkspaceError> {
        let to = self.before_agents();
        if to.exists() {
            return Ok(false);
        }
        std::fs::create_dir_all(&to).map_err(WorkspaceError::file("create", to))?;
        Ok(true)
    }
}

impl Workspaces {
    /// Copies these before the agent's first turn, each to the directory of its name, and returns those that are too large or
    /// cannot be read.
    pub async fn keep_before_agents(
        &self,
        workspace: &Workspace,
        paths: Vec<(String, PathBuf)>,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let to = workspace.before_agents();
        if paths.is_empty() || to.exists() {
            return Ok(Vec::new());
        }
        let failed = WorkspaceError::file("copy to", to.clone());
        blocking(move || {
            let partial = to.with_extension("before-partial");
            copying::remove(&partial)?;
            let (mut room, mut left_out) = (MOST, Vec::new());
            for (name, path) in paths {
                let own = partial.join(name);
                std::fs::create_dir_all(&own)?;
                let mut left = room;
                let fits = measure(&path, &mut left).unwrap_or(false);
                match fits.then(|| copying::copy_missing(&path, &own.join(BEFORE))) {
                    Some(Ok(())) => room = left,
                    Some(Err(error)) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
                    Some(Err(_)) | None => {
                        // Never half of a copy.
                        copying::remove(&own)?;
                        left_out.push(path);
                    }
                }
            }
            std::fs::create_dir_all(&partial)?;
            std::fs::rename(&partial, &to)?;
            Ok(left_out)
        })
        .await
        .map_err(failed)
    }
}

/// What the copy is called in the directory of its name.
pub const BEFORE: &str = "before";

/// Takes what a file or directory needs from the room; false if it is too little.
fn measure(path: &Path, room: &mut Room) -> io::Result<bool> {
    let data = path.symlink_metadata()?;
    let size = if data.is_file() { data.len() } else { 0 };
    let (Some(files), Some(bytes)) = (room.files.checked_sub(1), room.bytes.checked_sub(size)) else {
        return Ok(false);
    };
    *room = Room { bytes, files };
    if data.is_dir() {
        for entry in std::fs::read_dir(path)? {
            if !measure(&entry?.path(), room)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

impl Judge {
    /// Where gates in a sandbox keep what they add to caches of tools.
    pub fn caches(&self) -> Option<PathBuf> {
        (self.reader == Reader::Gates).then(|| self.root.join(LIVE))
    }

    /// Takes the caches back to what was saved of them.
    pub(super) async fn rewind_caches(&self) -> Result<(), WorkspaceError> {
        let [live, saved, file] = [LIVE, SAVED, STAMPS].map(|name| self.root.join(name));
        if !live.is_dir() && !saved.is_dir() {
            return Ok(());
        }
        let failed = WorkspaceError::file("clean", live.clone());
        let rewound = blocking(move || {
            match Stamps::read(&file).filter(|_| live.is_dir() && tells_changes(&live)) {
                Some(stamps) if !stamps.sweep(&live, &|_| false)?.differed => return Ok(()),
                Some(_) => {}
                None => copying::remove(&live)?,
            }
            copying::remove(&file)?;
            std::fs::create_dir_all(&live)?;
            if saved.is_dir() {
                copying::copy_missing(&saved, &live)?;
            }
            std::thread::sleep(Duration::from_millis(TICK_MS));
            Stamps::take(&live)?.write(&file)
        });
        rewound.await.map_err(failed)
    }

    /// Adds what was written to the caches to what is saved of them. Only before any agent's code ran.
    pub(super) async fn save_caches(&self) -> Result<(), WorkspaceError> {
        let [live, saved, file] = [LIVE, SAVED, STAMPS].map(|name| self.root.join(name));
        if !live.is_dir() {
            return Ok(());
        }
        let partial = self.root.join("caches.partial");
        let failed = WorkspaceError::file("save", live.clone());
        let kept = blocking(move || {
            let stamps = Stamps::read(&file).unwrap_or_default();
            for (path, _) in stamps.changed(&live)? {
                copying::copy_over(&live.join(&path), &saved.join(&path), &partial)?;
            }
            std::thread::sleep(Duration::from_millis(TICK_MS));
            Stamps::take(&live)?.write(&file)
        });
        kept.await.map_err(failed)
    }
}
