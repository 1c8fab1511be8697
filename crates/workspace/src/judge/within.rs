//! Submodules in the judge's checkout: exactly the commits that the judged commit points to.
//!
//! Invariant: their files come from objects alone, by the ids that the commit names; what `.gitmodules` says counts for
//! nothing here. A submodule whose commit no submodule of the user's has is an empty directory, as in a new clone.

use std::path::{Path, PathBuf};

use super::stamps::DOT_GIT;
use super::{Judge, write};
use crate::WorkspaceError;
use crate::disk::copying;
use crate::git::{FilePath, Git, Index};
use crate::submodules::{Pointer, Repository, pointers};

/// The engine's own repositories of them, beside the checkout.
pub(super) const DIR: &str = "modules";

impl Judge {
    fn repository(&self, path: &FilePath) -> Repository {
        Repository::at(&self.root.join(DIR), path, self.id_len)
    }

    /// The real directory of a submodule; none if something else is there.
    fn dir_within(&self, path: &FilePath) -> Option<PathBuf> {
        let dir = copying::without_links(&self.tree(), &path.below(Path::new("")))?;
        std::fs::symlink_metadata(&dir).is_ok_and(|data| data.is_dir()).then_some(dir)
    }

    /// Git on a submodule of the checkout.
    pub(super) fn git_within(&self, pointer: &Pointer) -> Result<Option<Git>, WorkspaceError> {
        let Some(dir) = self.dir_within(&pointer.path) else { return Ok(None) };
        self.repository(&pointer.path).reading(&self.git, &dir, &self.stores).map(Some)
    }

    /// The submodules that were checked out last.
    pub(super) fn submodules(&self) -> Vec<Pointer> {
        let bytes = std::fs::read(self.list()).unwrap_or_default();
        let lines = bytes.split(|&byte| byte == 0).filter_map(|line| {
            let split = line.iter().position(|&byte| byte == b' ')?;
            let commit = String::from_utf8(line[..split].to_vec()).ok()?;
            Some(Pointer { path: FilePath::new(&line[split + 1..]), commit })
        });
        lines.collect()
    }

    fn list(&self) -> PathBuf {
        self.root.join(DIR).join("list")
    }

    /// Brings submodules to what the commit in the index points to.
    pub(super) async fn fill_submodules(&self, commit: &str) -> Result<(), WorkspaceError> {
        let index = self.root.join("index");
        let before = self.submodules();
        let mut pending = pointers(&index, None, self.id_len);
        if before.is_empty() && pending.is_empty() {
            return Ok(());
        }
        let mut gone = false;
        let stays = |old: &Pointer| pending.iter().any(|pointer| is_below(&old.path, &pointer.path));
        for old in before.iter().filter(|old| !stays(old)) {
            // What git found there it did not remove.
            let dir = old.path.below(&self.tree());
            copying::remove(&dir).map_err(WorkspaceError::file("remove", &dir))?;
            gone = true;
        }
        if gone {
            self.check_out(commit).await?;
            pending = pointers(&index, None, self.id_len);
        }
        let mut list = Vec::new();
        while let Some(pointer) = pending.pop() {
            let Some(dir) = self.dir_within(&pointer.path) else { continue };
            let own = self.repository(&pointer.path);
            let git = own.reading(&self.git, &dir, &self.stores)?;
            let moved = before.iter().any(|old| old.path == pointer.path && old.commit != pointer.commit);
            let held = before.iter().any(|old| old.path != pointer.path && is_below(&old.path, &pointer.path));
            if moved && held {
                // The same for submodules within it.
                empty(&dir)?;
            }
            if !own.check_out(&git, &pointer.commit).await? {
                empty(&dir)?;
                continue;
            }
            write(&own.head(), format!("{}\n", pointer.commit))?;
            let shown = dir.join(DOT_GIT);
            copying::remove(&shown).map_err(WorkspaceError::file("remove", &shown))?;
            own.show(&shown, &pointer.commit, &self.stores, "").map_err(WorkspaceError::file("write", &shown))?;
            list.extend([pointer.commit.as_bytes(), b" ", pointer.path.as_bytes(), b"\0"].concat());
            pending.extend(own.pointers(&pointer.path));
        }
        std::fs::create_dir_all(self.root.join(DIR)).map_err(WorkspaceError::file("create", self.root.join(DIR)))?;
        write(&self.list(), list)
    }

    /// Files of the submodules' commits, and their repositories.
    pub(super) fn tracked_within(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for pointer in self.submodules() {
            let above = pointer.path.below(Path::new(""));
            files.push(above.join(DOT_GIT));
            let index = Index::read(&self.repository(&pointer.path).index(), self.id_len).unwrap_or_default();
            files.extend(index.entries.iter().map(|entry| FilePath::new(entry.path.clone()).below(&above)));
        }
        files
    }
}

/// Whether a path is another one, or is below it.
fn is_below(path: &FilePath, above: &FilePath) -> bool {
    path.below(Path::new("")).starts_with(above.below(Path::new("")))
}

fn empty(dir: &Path) -> Result<(), WorkspaceError> {
    copying::remove(dir).map_err(WorkspaceError::file("remove", dir))?;
    std::fs::create_dir(dir).map_err(WorkspaceError::file("create", dir))
}
