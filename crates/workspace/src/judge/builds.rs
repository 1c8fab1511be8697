//! Directories in which tools keep what they built: the only ones whose content may outlive a judgement.
//!
//! What the gates built on the base of one loop is passed on to the next loop of the project, which compiles from there.
//!
//! Invariants: such a directory counts only if the base's own ignore rules ignore it, so an agent's rules add none. What is
//! passed on was built before any agent's code ran, and the next loop works on a copy. It makes judgements fast, and a claim is
//! not accepted by it alone: it may have outputs of files that the judged commit no longer has.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Judge, blocking};
use crate::disk::copying;
use crate::ignored::{check_out_rules, ignored_by};
use crate::{WorkspaceError, Workspaces};

/// Where they are kept, beside the checkout.
pub(super) const DIR: &str = "builds";

/// Names by which build tools call their directories.
const NAMES: [&str; 24] = [
    "target",
    "build",
    "dist",
    "out",
    "_build",
    "obj",
    "cmake-build-debug",
    "cmake-build-release",
    "dist-newstyle",
    "zig-cache",
    ".zig-cache",
    "zig-out",
    ".gradle",
    ".stack-work",
    ".dart_tool",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".svelte-kit",
    ".tox",
    ".mypy_cache",
    ".ruff_cache",
    "__pycache__",
];

/// The uppermost build directory that a path is in or is.
pub(super) fn build_dir(path: &Path, is_dir: bool) -> Option<PathBuf> {
    let mut above = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let cache = part.as_os_str() == ".cache" && above.file_name() == Some(OsStr::new("node_modules"));
        above.push(part);
        let named = part.as_os_str().to_str().is_some_and(|name| NAMES.contains(&name));
        if (named || cache) && (is_dir || parts.peek().is_some()) {
            return Some(above);
        }
    }
    None
}

/// So many projects have builds that are passed on.
const MOST_HANDED_ON: usize = 8;

impl Workspaces {
    /// Passes on the build directories that the judge's checkout at `root` has saved, when its loop is over. Nothing else of
    /// the saved state is kept: it may hold copied files such as `.env`.
    pub fn hand_on(&self, root: &Path, to: &Path) -> Result<(), WorkspaceError> {
        let (saved, own) = (root.join("saved"), root.join(DIR));
        let mut found = build_dirs(&own);
        // Of what the set-up made, only what gates changed is there.
        found.retain(|dir| !saved.join(dir).exists());
        let Some(all) = to.parent().filter(|_| !found.is_empty()) else { return Ok(()) };
        let failed = |error| WorkspaceError::File { action: "keep", path: to.to_owned(), source: error };
        copying::remove(to).map_err(failed)?;
        for dir in found {
            let place = to.join(&dir);
            std::fs::create_dir_all(place.parent().unwrap_or(to)).map_err(failed)?;
            std::fs::rename(own.join(&dir), place).map_err(failed)?;
        }
        let age = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let mut others: Vec<PathBuf> =
            std::fs::read_dir(all).map_err(failed)?.flatten().map(|one| one.path()).collect();
        others.retain(|other| other != to);
        others.sort_by_key(age);
        for old in others.iter().rev().skip(MOST_HANDED_ON - 1) {
            copying::remove(old).map_err(failed)?;
        }
        Ok(())
    }
}

impl Judge {
    /// Takes the build directories that an earlier loop passed on, once, after the set-up and before any agent's code ran. What the
    /// set-up made itself stays as it made it.
    pub async fn take_builds(&self, from: &Path) -> Result<(), WorkspaceError> {
        let done = self.root.join("builds-taken");
        if done.exists() {
            return Ok(());
        }
        let top = from.to_owned();
        let found = blocking(move || Ok(build_dirs(&top))).await.map_err(WorkspaceError::file("read", from))?;
        let mut wanted = self.ignored_by_base(found).await?;
        wanted.retain(|dir| !self.saved.join(dir).exists());
        if !wanted.is_empty() {
            // The checkout does not have them yet.
            copying::remove(&self.stamps()).map_err(WorkspaceError::file("remove", self.stamps()))?;
        }
        let (from, builds, partial) = (from.to_owned(), self.builds.clone(), self.root.join("saved.partial"));
        let copied = blocking(move || {
            wanted.iter().try_for_each(|dir| copying::copy_over(&from.join(dir), &builds.join(dir), &partial))
        });
        if let Err(error) = copied.await {
            // Another loop of the project has just ended and put its own there: gates compile from nothing.
            tracing::info!(%error, "builds of an earlier loop cannot be taken");
            copying::remove(&self.builds).map_err(WorkspaceError::file("remove", &self.builds))?;
        }
        std::fs::write(&done, "").map_err(WorkspaceError::file("write", done))
    }

    /// Those of the directories that the base's rules ignore.
    pub(super) async fn ignored_by_base(&self, dirs: HashSet<PathBuf>) -> Result<HashSet<PathBuf>, WorkspaceError> {
        if dirs.is_empty() {
            return Ok(dirs);
        }
        let rules = self.root.join("rules");
        if !rules.is_dir() {
            check_out_rules(&self.git, &self.base, &rules).await?;
        }
        ignored_by(&self.git, &rules, &dirs).await
    }
}

/// The uppermost build directories below a directory.
fn build_dirs(top: &Path) -> HashSet<PathBuf> {
    let mut found = HashSet::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(top.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match build_dir(&path, is_dir) {
                Some(dir) => drop(found.insert(dir)),
                None if is_dir => pending.push(path),
                None => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_directories_are_known_by_their_names() {
        let of = |path: &str, is_dir| build_dir(Path::new(path), is_dir).map(|dir| dir.display().to_string());
        assert_eq!(of("target/debug/app", false).as_deref(), Some("target"));
        assert_eq!(of("packages/a/dist", true).as_deref(), Some("packages/a/dist"));
        assert_eq!(of("node_modules/.cache/x/build/y", false).as_deref(), Some("node_modules/.cache"));
        assert_eq!(of("target", false), None, "a file of that name");
        assert_eq!(of(".cache/x", false), None);
    }
}
