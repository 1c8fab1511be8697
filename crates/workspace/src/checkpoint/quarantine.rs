//! Where git works on what an agent made until it is known what of it may stay.
//!
//! Invariants: objects in a quarantine are in no object store, and the engine's index does not know of them. Dropping a
//! quarantine removes it. `release` moves objects first and the index last, so that a cut-off at any point leaves an index whose
//! objects are all there; what a killed process left is removed by the next one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::blocking;
use crate::disk::copying::{beside, copy_into};
use crate::git::{Git, HeldObjects};
use crate::{Workspace, WorkspaceError};

/// Objects and an index of their own, beside those of a workspace.
pub(crate) struct Quarantine {
    git: Git,
    held: Arc<HeldObjects>,
    /// A copy of the engine's index, then what git makes of it.
    index: PathBuf,
    engine_index: PathBuf,
    objects: PathBuf,
}

impl Quarantine {
    pub(crate) fn open(git: &Git, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        Self::within(git, workspace, HeldObjects::beside)
    }

    /// The same for what is done in each iteration.
    pub(crate) fn again(git: &Git, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        Self::within(git, workspace, HeldObjects::again)
    }

    fn within(
        git: &Git,
        workspace: &Workspace,
        make: impl FnOnce(&Path, &[PathBuf]) -> io::Result<HeldObjects>,
    ) -> Result<Self, WorkspaceError> {
        let objects = workspace.objects();
        if !objects.is_dir() {
            // Making directories there would look like a repository.
            return Err(WorkspaceError::RepositoryMissing { path: workspace.common_dir.clone() });
        }
        let lasting = Some(lasting(workspace)).filter(|dir| dir.is_dir());
        let held = make(&objects, lasting.as_slice());
        let held = Arc::new(held.map_err(WorkspaceError::file("create objects in", &objects))?);
        let name = held.dir().file_name().unwrap_or_default().to_string_lossy().replace("tmp_objdir-windlass-", "");
        let index = beside(&workspace.index, &format!(".staged.{name}"));
        let quarantined = git.clone().holding(Some(held.clone())).index(&index).owning([beside(&index, ".lock")]);
        let opened = Self { git: quarantined, held, index, engine_index: workspace.index.clone(), objects };
        opened.fill().map_err(WorkspaceError::file("create", &opened.index))?;
        Ok(opened)
    }

    fn fill(&self) -> io::Result<()> {
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
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Lets everything in, except what was set aside: the index becomes the engine's. `tip` is the commit below it.
    pub(crate) async fn release(self, tip: &str) -> Result<(), WorkspaceError> {
        if self.held.is_tainted() {
            let tree = self.git.line(&["write-tree"]).await?;
            self.git.admit(&[tip, &tree]).await?;
        } else {
            let held = self.held.clone();
            let failed = WorkspaceError::file("move objects to", &self.objects);
            blocking(move || held.move_all()).await.map_err(failed)?;
        }
        self.release_index()
    }

    /// The index becomes the engine's, whose objects are all in the store. The others go.
    pub(crate) fn release_index(self) -> Result<(), WorkspaceError> {
        let failed = WorkspaceError::file("replace", &self.engine_index);
        std::fs::rename(&self.index, &self.engine_index).map_err(failed)?;
        // The note is bound to the index by its checksum; losing it costs a git call.
        let _ = std::fs::rename(beside(&self.index, ".tree"), beside(&self.engine_index, ".tree"));
        Ok(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        for file in [self.index.clone(), beside(&self.index, ".tree")] {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Where the trees of a loop without commits are: no ref may come to them, and the user's repository needs none of them.
pub(crate) fn lasting(workspace: &Workspace) -> PathBuf {
    beside(&workspace.index, ".objects")
}
