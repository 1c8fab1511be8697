//! Where git writes objects until it is known that they may stay.
//!
//! Invariants: nothing in a quarantine is in an object store, and the engine's index does not know of it. Dropping a quarantine
//! removes it. `release` moves objects first and the index last, so that a cut-off at any point leaves an index whose objects
//! are all there; what a killed process left is removed by the next one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};

use super::copying::{beside, copy_into};
use super::{Workspace, WorkspaceError};
use crate::disk::{blocking, remove_tree, still_wanted};
use crate::git::Git;

/// As git calls its own, which `git prune` removes if they are old.
const PREFIX: &str = "tmp_objdir-windlass-";

/// Tells quarantines of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Objects and an index of their own, beside those of a workspace.
pub(super) struct Quarantine {
    git: Git,
    /// The objects.
    dir: PathBuf,
    /// A copy of the engine's index, then what git makes of it.
    index: PathBuf,
    /// Where both go.
    objects: PathBuf,
    engine_index: PathBuf,
}

impl Quarantine {
    pub(super) fn open(git: &Git, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        let objects = workspace.objects();
        if !objects.is_dir() {
            // Making directories there would look like a repository.
            return Err(WorkspaceError::RepositoryMissing { path: workspace.common_dir.clone() });
        }
        remove_left(&objects);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let index = beside(&workspace.index, &format!(".staged.{name}"));
        let dir = objects.join(format!("{PREFIX}{name}"));
        let quarantined = git.clone().quarantined(&dir).index(&index).owning([beside(&index, ".lock")]);
        let opened = Self { git: quarantined, dir, index, objects, engine_index: workspace.index.clone() };
        opened.fill().map_err(WorkspaceError::file("create", &opened.dir))?;
        Ok(opened)
    }

    fn fill(&self) -> io::Result<()> {
        std::fs::create_dir(&self.dir)?;
        std::fs::create_dir(self.dir.join("info"))?;
        let objects = std::path::absolute(&self.objects)?;
        let mut line = objects.into_os_string().into_encoded_bytes();
        line.push(b'\n');
        std::fs::write(self.dir.join("info/alternates"), line)?;
        // Git replaces an index and never writes into it. Without one it is made from the branch.
        match std::fs::hard_link(&self.engine_index, &self.index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                std::fs::File::create(&self.index).and_then(|mut copy| copy_into(&self.engine_index, &mut copy))?;
            }
            Ok(()) | Err(_) => {}
        }
        let _ = std::fs::copy(beside(&self.engine_index, ".tree"), beside(&self.index, ".tree"));
        Ok(())
    }

    /// Git that writes here, and reads what the workspace's git reads too.
    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// Lets everything in: the index becomes the engine's.
    pub(super) async fn release(self) -> Result<(), WorkspaceError> {
        let (dir, objects) = (self.dir.clone(), self.objects.clone());
        let failed = WorkspaceError::file("move objects to", &self.objects);
        blocking(move || move_objects(&dir, &objects)).await.map_err(failed)?;
        let failed = WorkspaceError::file("replace", &self.engine_index);
        std::fs::rename(&self.index, &self.engine_index).map_err(failed)?;
        // The note is bound to the index by its checksum; losing it costs a git call.
        let _ = std::fs::rename(beside(&self.index, ".tree"), beside(&self.engine_index, ".tree"));
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process.
        let _ = remove_tree(&self.dir);
        for file in [self.index.clone(), beside(&self.index, ".tree")] {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Removes what processes left that are gone.
fn remove_left(objects: &Path) {
    for entry in std::fs::read_dir(objects).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|owner| owner.parse().ok()).and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(rustix::io::Errno::SRCH)) {
            let _ = remove_tree(&entry.path());
        }
    }
}

/// Moves loose objects and packs. One that is there already is the same.
fn move_objects(from: &Path, to: &Path) -> io::Result<()> {
    for dir in std::fs::read_dir(from)? {
        let dir = dir?;
        let name = dir.file_name();
        if name == "info" || !dir.file_type()?.is_dir() {
            continue;
        }
        let target = to.join(&name);
        let mut files =
            std::fs::read_dir(dir.path())?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        // A pack counts once its `.idx` is there.
        files.sort_by_key(|file| file.extension().is_some_and(|ending| ending == "idx"));
        for file in files {
            still_wanted()?;
            let place = target.join(file.file_name().unwrap_or_default());
            if place.exists() {
                continue;
            }
            if let Err(error) = std::fs::rename(&file, &place) {
                if error.kind() != io::ErrorKind::NotFound {
                    return Err(error);
                }
                std::fs::create_dir_all(&target)?;
                std::fs::rename(&file, &place)?;
            }
        }
    }
    Ok(())
}
