//! Counts what a directory takes, however deep it is.
//!
//! Invariants: no symbolic link is followed; the number of open descriptors does not grow with the depth; what lies deeper
//! than a path can name counts too.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};

use super::DiskUse;

/// Directories down to this depth stay open. From a deeper one the way back is its parent, which must be the one that the
/// way came from.
const HELD_OPEN: usize = 32;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory on the way down.
struct Level {
    /// By device and number.
    id: (u64, u64),
    /// Directories in it that were not checked yet.
    left: Vec<CString>,
    held: Option<OwnedFd>,
}

pub(super) fn measure(dir: &Path) -> DiskUse {
    let mut used = DiskUse::default();
    let Ok(mut at) = openat(CWD, dir, DIRECTORY, Mode::empty()) else { return used };
    let mut levels: Vec<Level> = Vec::new();
    let Some(top) = look(&at, &mut used) else { return used };
    levels.push(top);
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.left.pop() {
            let Ok(below) = openat(&at, &name, DIRECTORY, Mode::empty()) else { continue };
            let Some(next) = look(&below, &mut used) else { continue };
            let above = std::mem::replace(&mut at, below);
            let held = levels.len() < HELD_OPEN;
            if let Some(level) = levels.last_mut().filter(|_| held) {
                level.held = Some(above);
            }
            levels.push(next);
            continue;
        }
        levels.pop();
        let Some(level) = levels.last_mut() else { break };
        let Some(above) = level.held.take().or_else(|| openat(&at, "..", DIRECTORY, Mode::empty()).ok()) else { break };
        if identity(&above) == Some(level.id) {
            at = above;
            continue;
        }
        // Somebody moves directories about: back to one that is still open.
        while levels.last().is_some_and(|level| level.held.is_none()) {
            levels.pop();
        }
        let Some(open) = levels.last_mut().and_then(|level| level.held.take()) else { break };
        at = open;
    }
    used
}

/// Counts the entries of a directory.
fn look(dir: &OwnedFd, used: &mut DiskUse) -> Option<Level> {
    let id = identity(dir)?;
    let mut left = Vec::new();
    for entry in Dir::read_from(dir).ok()?.flatten() {
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        used.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            left.push(entry.file_name().to_owned());
        } else {
            used.files += 1;
        }
    }
    Some(Level { id, left, held: None })
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ from system to system")]
fn identity(dir: &OwnedFd) -> Option<(u64, u64)> {
    let stat = fstat(dir).ok()?;
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_deeper_than_a_path_can_name_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut at = openat(CWD, &root, DIRECTORY, Mode::empty()).unwrap();
        let file = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        for depth in 0..3_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            if depth % 1_000 == 0 {
                rustix::fs::mkdirat(&at, "beside", Mode::RWXU).unwrap();
                openat(&at, "beside/file", file, Mode::RWXU).unwrap();
            }
            at = openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        let deep = std::fs::File::from(openat(&at, "file", file, Mode::RWXU).unwrap());
        std::io::Write::write_all(&mut &deep, &vec![7; 1 << 20]).unwrap();
        rustix::fs::symlinkat("/", &at, "link").unwrap();
        drop(at);
        let used = measure(&root);
        assert_eq!(used.files, 3 + 1 + 1);
        assert!(used.bytes >= 1 << 20, "{}", used.bytes);
        super::super::remove_tree(&root).unwrap();
    }
}
