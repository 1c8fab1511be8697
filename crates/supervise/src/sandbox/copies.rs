//! Copies of layered directories, for machines and containers that mount no overlay.
//!
//! Invariants: a layered place is a whole copy or empty, never the real directory, and never half of a copy; what a tree changed in
//! its copy stays. Nothing behind a symbolic link is copied.

use std::fs::{self, FileTimes, Metadata};
use std::io;
use std::path::Path;

use super::{Access, LAYERS, SandboxPolicy};

/// More is not copied for one process; blocks are shared if the file system can do that.
const MOST: Room = Room { bytes: 2 << 30, files: 200_000 };

/// How much more is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    bytes: u64,
    files: u64,
}

/// Copies the real directory to where a tree sees it, unless it has a copy, for those whose directory of changes is `wanted`. One
/// that is too large or cannot be read stays empty.
pub(crate) fn fill(policy: &SandboxPolicy, wanted: impl Fn(&Path) -> bool) {
    let mut room = MOST;
    for place in policy.ordered() {
        if let (Access::Layered, Some(kept)) = (place.access, &place.from)
            && wanted(kept)
        {
            // An empty cache only costs time.
            let _ = fill_one(&place.path, kept, &mut room);
        }
    }
}

fn fill_one(real: &Path, kept: &Path, room: &mut Room) -> io::Result<()> {
    let [merged, ..] = LAYERS.map(|name| kept.join(name));
    if fs::read_dir(&merged)?.next().is_some() {
        return Ok(());
    }
    let mut left = *room;
    measure(real, &mut left)?;
    let partial = kept.join("partial");
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let copied = copy(real, &fs::symlink_metadata(real)?, &partial).and_then(|()| fs::rename(&partial, &merged));
    if copied.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    *room = left;
    copied
}

/// Takes what a directory needs from the room; an error if it is too little.
fn measure(dir: &Path, room: &mut Room) -> io::Result<()> {
    let too_large = || io::Error::other("too large");
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let data = entry.metadata()?;
        room.files = room.files.checked_sub(1).ok_or_else(too_large)?;
        if data.is_dir() {
            measure(&entry.path(), room)?;
        } else if data.is_file() {
            room.bytes = room.bytes.checked_sub(data.len()).ok_or_else(too_large)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, data: &Metadata, to: &Path) -> io::Result<()> {
    if data.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if data.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &entry.metadata()?, &to.join(entry.file_name()))?;
        }
    } else if data.is_file() {
        fs::copy(from, to)?;
    } else {
        return Ok(());
    }
    // Build tools compare times. A read-only file takes them through a descriptor for reading.
    fs::File::open(to)?.set_times(FileTimes::new().set_modified(data.modified()?))?;
    // Last, because a read-only directory takes no entries.
    fs::set_permissions(to, data.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(dir: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
        let (real, kept) = (dir.join("real"), dir.join("kept"));
        fs::create_dir_all(real.join("deep")).unwrap();
        fs::write(real.join("deep/file"), "cached").unwrap();
        std::os::unix::fs::symlink("deep/file", real.join("link")).unwrap();
        fs::create_dir_all(kept.join("merged")).unwrap();
        (real, kept)
    }

    #[test]
    fn tree_sees_a_copy_and_keeps_what_it_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, kept) = made(dir.path());
        let mut room = MOST;
        fs::create_dir_all(kept.join("partial/of-a-killed-process")).unwrap();
        fill_one(&real, &kept, &mut room).unwrap();
        let merged = kept.join("merged");
        assert_eq!(fs::read_to_string(merged.join("link")).unwrap(), "cached");
        assert_eq!(room, Room { bytes: MOST.bytes - 6, files: MOST.files - 3 });
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(time(&merged.join("deep/file")), time(&real.join("deep/file")));
        fs::write(merged.join("deep/file"), "changed").unwrap();
        fill_one(&real, &kept, &mut room).unwrap();
        assert_eq!(fs::read_to_string(merged.join("deep/file")).unwrap(), "changed");
        assert_eq!(fs::read_to_string(real.join("deep/file")).unwrap(), "cached");
    }

    #[test]
    fn what_is_too_large_is_empty_and_leaves_room_for_others() {
        let dir = tempfile::tempdir().unwrap();
        let (real, kept) = made(dir.path());
        for small in [Room { bytes: 5, files: 9 }, Room { bytes: 9, files: 2 }] {
            let mut room = small;
            assert!(fill_one(&real, &kept, &mut room).is_err());
            assert_eq!(room, small);
            assert_eq!(fs::read_dir(kept.join("merged")).unwrap().count(), 0);
        }
    }
}
