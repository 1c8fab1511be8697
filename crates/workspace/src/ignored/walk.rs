//! Files on disk that are not in the index.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::Index;

/// More are not checked: they are counted as so many.
pub(super) const MOST: usize = 10_000;
/// So many pipes, sockets and devices are named.
const MOST_SPECIAL: usize = 100;

/// Names by which tools call directories of installed packages, builds and their own caches.
const TOOLS: [&str; 37] = [
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
    ".nox",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    ".eggs",
    ".nyc_output",
    "coverage",
    "htmlcov",
    "__pycache__",
    "node_modules",
    ".venv",
    "venv",
    "vendor",
    ".bundle",
    ".terraform",
];

/// The uppermost directory of a tool's that a path is in or is.
pub(super) fn dir_of_tool(path: &Path) -> Option<PathBuf> {
    let mut above = PathBuf::new();
    for part in path.parent()?.components() {
        above.push(part);
        if part.as_os_str().to_str().is_some_and(|name| TOOLS.contains(&name)) {
            return Some(above);
        }
    }
    None
}

/// What a walk found, by path from the top and in order.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files and symbolic links.
    pub(super) files: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git passes over in silence.
    pub(super) special: Vec<PathBuf>,
}

/// Looks for what the index does not have; nothing below `known` is checked.
pub(super) fn not_in_index(top: &Path, index: &Index, known: &HashSet<PathBuf>) -> io::Result<Walked> {
    let tracked: HashSet<&[u8]> = index.entries.iter().map(|entry| entry.path.as_slice()).collect();
    let mut found = Walked::default();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        // Skip what vanished or cannot be read.
        for entry in std::fs::read_dir(top.join(&dir)).into_iter().flatten().flatten() {
            crate::disk::still_wanted()?;
            let (name, path) = (entry.file_name(), dir.join(entry.file_name()));
            let in_index = tracked.contains(path.as_os_str().as_bytes());
            let Ok(kind) = entry.file_type() else { continue };
            if name == OsStr::new(".git") || in_index || (!known.is_empty() && known.contains(&path)) {
                continue;
            }
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                found.files.push(path);
                if found.files.len() >= MOST {
                    return Ok(found);
                }
            } else if found.special.len() < MOST_SPECIAL {
                found.special.push(path);
            }
        }
    }
    found.files.sort();
    found.special.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_tools_are_known_by_their_names() {
        let of = |path: &str| dir_of_tool(Path::new(path)).map(|dir| dir.display().to_string());
        assert_eq!(of("a/node_modules/b/dist/x").as_deref(), Some("a/node_modules"));
        assert_eq!(of("src/target"), None, "a file of that name");
        assert_eq!(of("src/x"), None);
    }

    #[test]
    fn only_what_the_index_does_not_have_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/tracked", "a/new", "known/x", ".git/config", "b/.git/config", "b/c/d"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("b/socket")).unwrap();
        let entry = crate::git::Entry {
            path: b"a/tracked".to_vec(),
            mode: 0o100_644,
            id: [0; 32],
            stage: 0,
            is_to_be_added: false,
        };
        let index = Index { entries: vec![entry], ..Index::default() };
        let known = HashSet::from([PathBuf::from("known")]);
        let found = not_in_index(dir.path(), &index, &known).unwrap();
        assert_eq!(found.files, ["a/new", "b/c/d", "link"].map(PathBuf::from));
        assert_eq!(found.special, ["b/socket"].map(PathBuf::from));
    }
}
