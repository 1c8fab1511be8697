//! Directories in which tools keep what they built: the only ones whose content may outlive a judgement.
//!
//! Invariant: such a directory counts only if the base's own ignore rules ignore it, so an agent's rules add none.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Judge;
use crate::WorkspaceError;
use crate::ignored::{check_out_rules, ignored_by};

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

/// The uppermost build directory that a path lies in or is.
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

impl Judge {
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
