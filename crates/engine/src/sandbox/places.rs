//! A list of places in the making: only what is there, by its real path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_supervise::{Access, Place};

#[derive(Debug, Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    /// A rule for what is there; a symbolic link means what it leads to.
    pub(super) fn put(&mut self, path: &Path, access: Access) {
        if let Ok(path) = path.canonicalize() {
            self.0.push(Place::new(path, access));
        }
    }

    /// Another directory or file is seen here, and may be written to.
    pub(super) fn put_from(&mut self, path: &Path, from: &Path) {
        if let (Ok(path), Ok(from)) = (path.canonicalize(), from.canonicalize()) {
            self.0.push(Place { from: Some(from), ..Place::new(path, Access::Writable) });
        }
    }

    pub(super) fn hide(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let access = if path.is_dir() { Access::HiddenDir } else { Access::HiddenFile };
        self.0.push(Place::new(path, access));
    }

    /// Shows what lies below something hidden or replaced.
    pub(super) fn show_if_hidden(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        if self.hides(&path) {
            self.0.push(Place::new(path, Access::ReadOnly));
        }
    }

    /// Whether something above this path hides or replaces it; the nearest rule decides.
    fn hides(&self, path: &Path) -> bool {
        let above = self.0.iter().filter(|place| path.starts_with(&place.path) && path != place.path);
        above.max_by_key(|place| place.path.components().count()).is_some_and(|place| match place.access {
            Access::HiddenDir | Access::HiddenFile => true,
            Access::ReadOnly => false,
            Access::Writable => place.from.is_some(),
        })
    }

    /// Sockets of services, wherever they are: a read-only directory does not keep anybody from using one.
    pub(super) fn hide_sockets(&mut self) {
        let Ok(table) = std::fs::read_to_string("/proc/net/unix") else { return };
        for path in listening(&table) {
            if !self.hides(&path) {
                self.hide(&path);
            }
        }
    }

    pub(super) fn list(self) -> Vec<Place> {
        self.0
    }
}

/// The paths in the kernel's table of Unix sockets; without those that have none and those of no name on disk.
fn listening(table: &str) -> BTreeSet<PathBuf> {
    let paths = table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(7));
    paths.filter(|path| path.starts_with('/')).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_with_a_path_are_found_in_the_kernels_table() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0: 00000002 00000000 00010000 0001 01 123 /var/lib/docker.sock\n\
            1: 00000002 00000000 00010000 0001 01 124 @abstract\n\
            2: 00000003 00000000 00000000 0001 03 125\n";
        assert_eq!(listening(table), BTreeSet::from([PathBuf::from("/var/lib/docker.sock")]));
    }

    #[test]
    fn only_what_is_hidden_by_its_nearest_rule_is_shown_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("hidden/shown/below")).unwrap();
        let mut places = Places::default();
        places.hide(&root.join("hidden"));
        places.show_if_hidden(&root.join("hidden/shown"));
        places.show_if_hidden(&root.join("hidden/shown/below"));
        places.show_if_hidden(&root);
        let list = places.list();
        assert_eq!(list.len(), 2, "{list:?}");
        assert_eq!(list[1], Place::new(root.join("hidden/shown"), Access::ReadOnly));
    }
}
