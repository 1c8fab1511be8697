//! Copies directories: files by reflink if supported, symbolic links as links, never as hard links.
//!
//! Invariant: nothing below a symbolic link is read or written, and times are kept, because build tools compare them.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::still_wanted;

/// Copies what is at `from` to `to`, unless something is there. Directories are merged.
pub(crate) fn copy_missing(from: &Path, to: &Path) -> io::Result<()> {
    still_wanted()?;
    let data = fs::symlink_metadata(from)?;
    if data.is_dir() {
        return copy_dir(from, &data, to);
    }
    if fs::symlink_metadata(to).is_ok() {
        return Ok(());
    }
    copy_one(from, &data, to)
}

fn copy_dir(from: &Path, data: &Metadata, to: &Path) -> io::Result<()> {
    let made = match fs::symlink_metadata(to) {
        Ok(there) if there.is_dir() => false,
        // A file or link is in the place of the directory: leave it.
        Ok(_) => return Ok(()),
        Err(_) => {
            fs::create_dir(to)?;
            true
        }
    };
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_missing(&entry.path(), &to.join(entry.file_name()))?;
    }
    // Last, because a read-only directory takes no entries.
    if made { fs::set_permissions(to, data.permissions()) } else { Ok(()) }
}

/// Copies one file or symbolic link. Sockets, pipes and devices are left out.
fn copy_one(from: &Path, data: &Metadata, to: &Path) -> io::Result<()> {
    if data.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if !data.is_file() {
        return Ok(());
    }
    // The standard library shares blocks if the file system supports it.
    fs::copy(from, to)?;
    let times = fs::FileTimes::new().set_modified(data.modified()?);
    match fs::File::options().write(true).open(to) {
        Ok(file) => file.set_times(times),
        // A read-only file: its time can be set through a descriptor for reading.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => fs::File::open(to)?.set_times(times),
        Err(error) => Err(error),
    }
}

/// Atomically replaces `to` with a copy of `from`, built in `partial`.
pub(crate) fn copy_over(from: &Path, to: &Path, partial: &Path) -> io::Result<()> {
    remove(partial)?;
    copy_missing(from, partial)?;
    remove(to)?;
    if fs::symlink_metadata(partial).is_err() {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(partial, to)
}

/// Copies a file or directory that git does not have from one checkout into another, which may have links of an agent's.
pub fn copy_into_checkout(from: &Path, to: &Path, relative: &Path) -> io::Result<()> {
    let mut dir = to.to_owned();
    for part in relative.parent().into_iter().flat_map(Path::components) {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(_) => fs::create_dir(&dir)?,
        }
    }
    copy_missing(&from.join(relative), &to.join(relative))
}

/// Removes whatever is there, without following a symbolic link.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match crate::remove_tree(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The path below `top`, if every directory on the way is a real one.
pub(crate) fn without_links(top: &Path, relative: &Path) -> Option<PathBuf> {
    let mut path = top.to_owned();
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_some() && !fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) {
            return None;
        }
    }
    Some(path)
}

/// A file next to another, named by it.
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Copies an index with its time: git takes a file that is not older than the index for possibly changed.
pub(crate) fn copy_into(from: &Path, to: &mut fs::File) -> io::Result<()> {
    let mut index = fs::File::open(from)?;
    io::copy(&mut index, to)?;
    to.set_modified(index.metadata()?.modified()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_keeps_links_modes_and_times() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("bin")).unwrap();
        fs::write(from.join("tool.js"), "run").unwrap();
        fs::set_permissions(from.join("tool.js"), fs::Permissions::from_mode(0o555)).unwrap();
        std::os::unix::fs::symlink("../tool.js", from.join("bin/tool")).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::open(from.join("tool.js")).unwrap().set_times(fs::FileTimes::new().set_modified(old)).unwrap();
        copy_missing(&from, &to).unwrap();
        assert_eq!(fs::read_link(to.join("bin/tool")).unwrap(), Path::new("../tool.js"));
        let copied = fs::metadata(to.join("tool.js")).unwrap();
        assert_eq!(copied.modified().unwrap(), old);
        assert_eq!(copied.permissions().mode() & 0o777, 0o555);
        fs::remove_file(from.join("tool.js")).unwrap();
        assert_eq!(fs::read_to_string(to.join("tool.js")).unwrap(), "run");
    }

    #[test]
    fn copy_into_a_checkout_makes_no_directory_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, outside) = (dir.path().join("from"), dir.path().join("to"), dir.path().join("outside"));
        fs::create_dir_all(from.join("conf/deep")).unwrap();
        fs::write(from.join("conf/deep/.env"), "KEY=1").unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, to.join("conf")).unwrap();
        let relative = Path::new("conf/deep/.env");
        assert_eq!(copy_into_checkout(&from, &to, relative).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(to.join("conf")).unwrap();
        copy_into_checkout(&from, &to, relative).unwrap();
        assert_eq!(fs::read_to_string(to.join(relative)).unwrap(), "KEY=1");
    }

    #[test]
    fn copy_does_not_write_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, outside) = (dir.path().join("from"), dir.path().join("to"), dir.path().join("outside"));
        fs::create_dir_all(from.join("deps")).unwrap();
        fs::write(from.join("deps/a"), "a").unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, to.join("deps")).unwrap();
        copy_missing(&from, &to).unwrap();
        assert!(!outside.join("a").exists());
        assert_eq!(without_links(&to, Path::new("deps/a")), None);
    }
}
