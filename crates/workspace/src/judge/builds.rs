//! Directories in which tools keep what they built: the only ones whose content may outlive a judgement.
//!
//! Invariant: such a directory counts only if the base's own ignore rules ignore it, so an agent's rules add none.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Judge;
use crate::git::Git;
use crate::{WorkspaceError, copying};

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
        let rules = self.rules().await?;
        let mut input = Vec::new();
        for dir in &dirs {
            input.extend_from_slice(dir.as_os_str().as_bytes());
            input.extend_from_slice(b"/\0");
        }
        let args = ["check-ignore", "--no-index", "-z", "--stdin"];
        let output = self.git.clone().work_tree(&rules).call(&args).input(input).answers(&[1]).run().await?;
        let ignored = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let path = |name: &[u8]| {
            let name = name.strip_suffix(b"/").unwrap_or(name);
            PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()))
        };
        Ok(ignored.map(path).collect())
    }

    /// A directory that holds the base's ignore files and nothing else.
    async fn rules(&self) -> Result<PathBuf, WorkspaceError> {
        let dir = self.root.join("rules");
        if dir.is_dir() {
            return Ok(dir);
        }
        let partial = self.root.join("rules.partial");
        copying::remove(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        std::fs::create_dir_all(&partial).map_err(WorkspaceError::file("create", &partial))?;
        let index = self.root.join("rules.index");
        let git: Git = self.git.clone().work_tree(&partial).index(&index);
        git.run(&["read-tree", &self.base]).await?;
        let files = git.run(&["ls-files", "-z", "--", ":(glob)**/.gitignore"]).await?;
        git.call(&["checkout-index", "-z", "--stdin"]).input(files).run().await?;
        std::fs::remove_file(&index).map_err(WorkspaceError::file("remove", &index))?;
        std::fs::rename(&partial, &dir).map_err(WorkspaceError::file("create", &dir))?;
        Ok(dir)
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
