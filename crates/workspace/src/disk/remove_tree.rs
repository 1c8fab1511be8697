//! Removes a directory whatever is in it: read-only directories, and nesting deeper than there are descriptors.
//!
//! Invariants: no symbolic link is followed, and nothing outside the directory is touched; the number of open descriptors
//! does not grow with the depth.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::still_wanted;

/// Deeper directories are moved up to the top first. Each level has two open descriptors.
const DEEPEST: usize = 32;

/// Removes a directory and all in it. Nothing there is an error of the kind `NotFound`.
pub fn remove_tree(dir: &Path) -> io::Result<()> {
    let top = match open(CWD, dir) {
        Ok(top) => top,
        Err(error)
            if matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::NOTDIR | Errno::LOOP)) =>
        {
            return Ok(unlinkat(CWD, dir, AtFlags::empty())?);
        }
        Err(error) => return Err(error),
    };
    let mut moved = 0_u64;
    // Each round removes all that is not too deep, and brings the rest up.
    loop {
        let before = moved;
        empty(&top, &top, 0, &mut moved)?;
        if moved == before {
            break;
        }
    }
    Ok(unlinkat(CWD, dir, AtFlags::REMOVEDIR)?)
}

fn open(parent: impl std::os::fd::AsFd, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let _ = open_up(&parent, name);
            openat(&parent, name, flags, Mode::empty())
        }
        other => other,
    }?;
    Ok(dir)
}

/// Makes a directory readable for its owner. By its descriptor: what has this name may have become a link.
#[cfg(target_os = "linux")]
fn open_up(parent: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(parent, name, flags, Mode::empty())?;
    chmodat(CWD, format!("/proc/self/fd/{}", dir.as_raw_fd()), Mode::RWXU, AtFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn open_up(parent: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> Result<(), Errno> {
    chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

fn empty(dir: &OwnedFd, top: &OwnedFd, depth: usize, moved: &mut u64) -> io::Result<()> {
    let mut writable = false;
    let mut retry = |action: &dyn Fn() -> Result<(), Errno>| match action() {
        // Caches of build tools are often read-only directories.
        Err(Errno::ACCESS | Errno::PERM) if !writable => {
            writable = true;
            fchmod(dir, Mode::RWXU)?;
            action()
        }
        other => other,
    };
    let names: Vec<(CString, FileType)> = Dir::read_from(dir)?
        .filter_map(Result::ok)
        .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        .map(|entry| (entry.file_name().to_owned(), entry.file_type()))
        .collect();
    for (name, kind) in names {
        still_wanted()?;
        let name = name.as_c_str();
        if kind != FileType::Directory {
            match retry(&|| unlinkat(dir, name, AtFlags::empty())) {
                Ok(()) | Err(Errno::NOENT) => continue,
                // Some file systems do not report the type of an entry.
                Err(Errno::ISDIR | Errno::PERM) if kind == FileType::Unknown => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if depth >= DEEPEST {
            *moved += 1;
            let number = *moved;
            retry(&|| renameat(dir, name, top, format!(".windlass-{}-{number}", std::process::id())))?;
            continue;
        }
        let below = open(dir, name)?;
        empty(&below, top, depth + 1, moved)?;
        drop(below);
        retry(&|| unlinkat(dir, name, AtFlags::REMOVEDIR))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn removes_nesting_deeper_than_a_path_can_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut at = open(CWD, &root).unwrap();
        for depth in 0..6_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            if depth % 100 == 0 {
                rustix::fs::symlinkat("/", &at, "link").unwrap();
            }
            at = open(&at, c"d").unwrap();
        }
        drop(at);
        let before = std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
        remove_tree(&root).unwrap();
        let after = std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
        assert!(!root.exists());
        assert!(after <= before + 8, "{before} descriptors before, {after} after");
    }

    #[test]
    fn removes_read_only_directories_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        std::fs::create_dir_all(root.join("sealed/below")).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("file"), "stays").unwrap();
        std::fs::write(root.join("sealed/below/file"), "x").unwrap();
        symlink(&other, root.join("link")).unwrap();
        std::fs::set_permissions(root.join("sealed/below"), PermissionsExt::from_mode(0o000)).unwrap();
        std::fs::set_permissions(root.join("sealed"), PermissionsExt::from_mode(0o555)).unwrap();
        remove_tree(&root).unwrap();
        assert!(!root.exists());
        assert_eq!(std::fs::read_to_string(other.join("file")).unwrap(), "stays");
        assert_eq!(remove_tree(&root).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
