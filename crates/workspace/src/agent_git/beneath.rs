//! Files below a directory that an agent can write, read and written without following any link.
//!
//! Invariant: each step of a path is opened from the directory above it and must be a real directory, so nothing outside
//! the first directory is reached, whatever an agent puts in the way. Only regular files are read, up to a size.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory and what is below it.
#[derive(Debug)]
pub struct Beneath {
    dir: OwnedFd,
}

/// The kind of an entry below the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    File { size: u64 },
    Dir,
    Link,
    Special,
}

impl Beneath {
    /// The directory itself must not be a link; the caller vouches for its parents.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: rustix::fs::open(dir, DIRECTORY, Mode::empty())? })
    }

    /// The same, made readable and writable for its owner first: git needs less of a directory than to list it.
    pub(crate) fn unlocked(dir: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::symlink_metadata(dir)?;
        let mode = found.permissions().mode();
        if found.is_dir() && mode & 0o700 != 0o700 {
            std::fs::set_permissions(dir, PermissionsExt::from_mode(mode & 0o7777 | 0o700))?;
        }
        Self::open(dir)
    }

    /// A directory below this one.
    pub(crate) fn inside(&self, path: &Path) -> io::Result<Self> {
        let mut dir = self.dir.try_clone()?;
        for name in names(path)? {
            dir = rustix::fs::openat(&dir, name, DIRECTORY, Mode::empty())?;
        }
        Ok(Self { dir })
    }

    pub(crate) fn look(&self, path: &Path) -> io::Result<Found> {
        let Some((above, name)) = self.above(path)? else { return Ok(Found::Nothing) };
        match rustix::fs::statat(&above.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Found::File { size: u64::try_from(stat.st_size).unwrap_or_default() },
                FileType::Directory => Found::Dir,
                FileType::Symlink => Found::Link,
                FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => Found::Special,
            }),
            Err(rustix::io::Errno::NOENT) => Ok(Found::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a regular file of at most `limit` bytes; `None` if there is nothing.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.file(path)? else { return Ok(None) };
        if file.metadata()?.len() > limit {
            return Err(io::Error::other("the file is too large"));
        }
        let mut content = Vec::new();
        file.take(limit).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// A regular file, opened to be read.
    pub fn file(&self, path: &Path) -> io::Result<Option<File>> {
        let Some((above, name)) = self.above(path)? else { return Ok(None) };
        // Opening a pipe would wait otherwise.
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&above.dir, name, how, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match file.metadata()?.is_file() {
            true => Ok(Some(file)),
            false => Err(io::Error::other("not a regular file")),
        }
    }

    /// The literal target of a symbolic link.
    pub(crate) fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (above, name) = self.above(path)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(rustix::fs::readlinkat(&above.dir, name, Vec::new())?.into_bytes())
    }

    /// The names in a directory below this one, or in itself if `path` is empty.
    pub(crate) fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let dir = match self.inside(path) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut listed = Vec::new();
        for entry in Dir::read_from(dir.dir.as_fd())? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                listed.push(OsString::from_vec(name));
            }
        }
        Ok(listed)
    }

    /// The same with what each of them is; nothing is opened.
    pub(crate) fn typed(&self, path: &Path) -> io::Result<Vec<(OsString, Found)>> {
        let dir = self.inside(path)?;
        let mut listed = Vec::new();
        for entry in Dir::read_from(dir.dir.as_fd())? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let found = match entry.file_type() {
                FileType::RegularFile => Found::File { size: 0 },
                FileType::Directory => Found::Dir,
                FileType::Symlink => Found::Link,
                FileType::Unknown => dir.look(Path::new(&name))?,
                FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => Found::Special,
            };
            listed.push((name, found));
        }
        Ok(listed)
    }

    /// Puts a file in its place in one step, making the directories above it.
    pub(crate) fn write(&self, path: &Path, content: &[u8], modified: Option<SystemTime>) -> io::Result<()> {
        let mut names = names(path)?;
        let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let dir = self.made(&names, 0o777)?;
        let mut new = last.to_owned();
        new.push(".windlass");
        match rustix::fs::unlinkat(&dir, &new, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&dir, &new, how, Mode::from_raw_mode(0o666))?);
        file.write_all(content)?;
        if let Some(time) = modified {
            file.set_modified(time)?;
        }
        Ok(rustix::fs::renameat(&dir, &new, &dir, last)?)
    }

    /// A directory, with those above it, for the owner alone.
    pub fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.made(&names(path)?, 0o700).map(drop)
    }

    /// A symbolic link, with the directories above it; what is there already stays.
    pub fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let mut names = names(path)?;
        let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(rustix::fs::symlinkat(target, self.made(&names, 0o700)?, last)?)
    }

    /// The directory below this one, made if it is not there.
    fn made(&self, names: &[&OsStr], mode: rustix::fs::RawMode) -> io::Result<OwnedFd> {
        let mut dir = self.dir.try_clone()?;
        for name in names {
            match rustix::fs::mkdirat(&dir, *name, Mode::from_raw_mode(mode)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            dir = rustix::fs::openat(&dir, *name, DIRECTORY, Mode::empty())?;
        }
        Ok(dir)
    }

    /// Gives something another name in the same directory.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, from, &self.dir, to)?)
    }

    /// Removes a file, a link or a pipe; that there is none is fine.
    pub(crate) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let Some((above, name)) = self.above(path)? else { return Ok(()) };
        match rustix::fs::unlinkat(&above.dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The parent directory of `path`, if it exists.
    fn above<'a>(&self, path: &'a Path) -> io::Result<Option<(Self, &'a OsStr)>> {
        let mut names = names(path)?;
        let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
        let mut dir = self.dir.try_clone()?;
        for name in names {
            dir = match rustix::fs::openat(&dir, name, DIRECTORY, Mode::empty()) {
                Ok(dir) => dir,
                Err(rustix::io::Errno::NOENT) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(Some((Self { dir }, last)))
    }
}

/// The components of a path, which must not go up.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let steps = path.components().filter(|step| *step != Component::CurDir);
    let names = steps.map(|step| match step {
        Component::Normal(name) if !name.as_bytes().contains(&0) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir | Component::Normal(_) => {
            Err(io::Error::from(io::ErrorKind::InvalidInput))
        }
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_pipes_on_the_way_are_refused_and_nothing_outside_is_written() {
        let dir = tempfile::tempdir().expect("dir");
        let (top, outside) = (dir.path().join("top"), dir.path().join("outside"));
        std::fs::create_dir_all(top.join("real")).expect("dirs");
        std::fs::create_dir_all(&outside).expect("dirs");
        std::fs::write(outside.join("secret"), "s").expect("write");
        symlink(&outside, top.join("link")).expect("link");
        symlink(outside.join("secret"), top.join("real/file")).expect("link");
        let beneath = Beneath::open(&top).expect("open");
        assert!(beneath.read(Path::new("link/secret"), 10).is_err());
        assert!(beneath.read(Path::new("real/file"), 10).is_err());
        assert!(beneath.read(Path::new("../outside/secret"), 10).is_err());
        assert!(beneath.inside(Path::new("link")).is_err());
        assert_eq!(beneath.look(Path::new("link")).expect("look"), Found::Link);
        assert!(beneath.write(Path::new("link/new"), b"x", None).is_err());
        assert!(beneath.make_dir(Path::new("link/new")).is_err());
        assert!(beneath.make_link(Path::new("link/new"), Path::new("x")).is_err());
        beneath.make_link(Path::new("made/new"), Path::new("x")).expect("a link");
        assert_eq!(std::fs::read_dir(&outside).expect("read").count(), 1);
        beneath.write(Path::new("real/file"), b"mine", None).expect("replaces the link itself");
        assert_eq!(std::fs::read_to_string(outside.join("secret")).expect("read"), "s");
        assert_eq!(beneath.read(Path::new("real/file"), 10).expect("read").as_deref(), Some(&b"mine"[..]));
        assert!(beneath.read(Path::new("real/file"), 2).is_err(), "larger than allowed");
        assert_eq!(beneath.read(Path::new("real/none/at/all"), 2).expect("read"), None);
        assert!(Beneath::open(&top.join("link")).is_err());
    }
}
