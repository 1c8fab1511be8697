//! What the judge's checkout looked like before a judgement, so that what a gate wrote can be undone cheaply.
//!
//! A file is known by inode, size, mode, and the time of its last change, which the kernel sets and no process can
//! choose. Invariant: after `sweep` the checkout contains nothing that was created or changed since the stamps were taken.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::copying;
use crate::disk::still_wanted;

/// The gates' own repository at the top of the checkout, which is recreated for each judgement.
pub(super) const DOT_GIT: &str = ".git";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    /// Nothing for directories, which change with their entries.
    file: Option<(u64, u64, i64, i64)>,
}

impl Stamp {
    fn of(data: &Metadata) -> Self {
        let file = (!data.is_dir()).then(|| (data.ino(), data.len(), data.ctime(), data.ctime_nsec()));
        Self { mode: data.mode(), file }
    }

    fn line(self) -> String {
        match self.file {
            Some((inode, size, seconds, nanos)) => format!("{} {inode} {size} {seconds} {nanos} ", self.mode),
            None => format!("{} ", self.mode),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace();
        let mode = numbers.next()?.parse().ok()?;
        let Some(inode) = numbers.next() else { return Some(Self { mode, file: None }) };
        let file = (
            inode.parse().ok()?,
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
        );
        Some(Self { mode, file: Some(file) })
    }
}

/// The stamps of a whole checkout, by path from its top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(HashMap<PathBuf, Stamp>);

/// What a sweep found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// Something had been made, changed or removed.
    pub(super) differed: bool,
}

impl Stamps {
    pub(super) fn take(top: &Path) -> io::Result<Self> {
        let mut stamps = Self::default();
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(top.join(&dir))? {
                still_wanted()?;
                let entry = entry?;
                let path = dir.join(entry.file_name());
                if path == Path::new(DOT_GIT) {
                    continue;
                }
                let data = entry.metadata()?;
                if data.is_dir() {
                    pending.push(path.clone());
                }
                stamps.0.insert(path, Stamp::of(&data));
            }
        }
        Ok(stamps)
    }

    /// Whether the file at this path is as it was.
    pub(super) fn same(&self, path: &Path, data: &Metadata) -> bool {
        self.0.get(path) == Some(&Stamp::of(data))
    }

    /// Removes what was made or changed since, except below a directory that `keeps` names.
    pub(super) fn sweep(&self, top: &Path, keeps: &dyn Fn(&Path) -> bool) -> io::Result<Swept> {
        let mut swept = Swept::default();
        let mut seen = 0;
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(top.join(&dir))? {
                still_wanted()?;
                let entry = entry?;
                let path = dir.join(entry.file_name());
                if path == Path::new(DOT_GIT) {
                    continue;
                }
                let data = entry.metadata()?;
                if data.is_dir() && keeps(&path) {
                    swept.differed = true;
                } else if self.same(&path, &data) {
                    seen += 1;
                    if data.is_dir() {
                        pending.push(path);
                    }
                } else {
                    swept.differed = true;
                    copying::remove(&entry.path())?;
                }
            }
        }
        swept.differed |= seen != self.0.len();
        Ok(swept)
    }

    /// Directories and files that were made or changed since, the uppermost of each.
    pub(super) fn changed(&self, top: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
        let mut changed = Vec::new();
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(top.join(&dir))? {
                still_wanted()?;
                let entry = entry?;
                let path = dir.join(entry.file_name());
                let data = entry.metadata()?;
                if path == Path::new(DOT_GIT) {
                } else if !self.same(&path, &data) {
                    changed.push((path, data.is_dir()));
                } else if data.is_dir() {
                    pending.push(path);
                }
            }
        }
        Ok(changed)
    }

    /// Takes what is at this path now for known.
    pub(super) fn adopt(&mut self, top: &Path, path: &Path) -> io::Result<()> {
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            let data = fs::symlink_metadata(top.join(&path))?;
            if data.is_dir() {
                for entry in fs::read_dir(top.join(&path))? {
                    pending.push(path.join(entry?.file_name()));
                }
            }
            self.0.insert(path, Stamp::of(&data));
        }
        Ok(())
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, stamp) in &self.0 {
            bytes.extend_from_slice(stamp.line().as_bytes());
            bytes.push(b'/');
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        // One that was cut off must not be taken for the whole.
        bytes.extend_from_slice(b"end");
        fs::write(file, bytes)
    }

    pub(super) fn read(file: &Path) -> Option<Self> {
        let bytes = fs::read(file).ok()?;
        let mut records = bytes.strip_suffix(b"\0end")?.split(|&byte| byte == 0);
        let parsed = records.try_fold(HashMap::new(), |mut stamps, record| {
            let split = record.iter().position(|&byte| byte == b'/')?;
            let stamp = Stamp::read(std::str::from_utf8(&record[..split]).ok()?)?;
            stamps.insert(PathBuf::from(std::ffi::OsString::from_vec(record[split + 1..].to_vec())), stamp);
            Some(stamps)
        })?;
        Some(Self(parsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &Path) -> bool {
        false
    }

    #[test]
    fn sweep_removes_what_was_made_or_changed_and_leaves_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("tree");
        fs::create_dir_all(top.join("src")).unwrap();
        for name in ["src/same", "src/rewritten", "src/touched back"] {
            fs::write(top.join(name), "1").unwrap();
        }
        let stamps = Stamps::take(&top).unwrap();
        let file = dir.path().join("stamps");
        stamps.write(&file).unwrap();
        let stamps = Stamps::read(&file).unwrap();
        assert_eq!(stamps.sweep(&top, &nothing).unwrap(), Swept { differed: false });
        // The kernel's clock ticks between the stamps and whatever a gate writes.
        std::thread::sleep(std::time::Duration::from_millis(super::super::TICK_MS));
        fs::write(top.join("src/rewritten"), "2").unwrap();
        let before = fs::metadata(top.join("src/touched back")).unwrap().modified().unwrap();
        let touched = fs::File::options().write(true).open(top.join("src/touched back")).unwrap();
        io::Write::write_all(&mut &touched, b"2").unwrap();
        touched.set_times(fs::FileTimes::new().set_modified(before)).unwrap();
        fs::create_dir_all(top.join("new/deep")).unwrap();
        std::os::unix::fs::symlink("/", top.join("link")).unwrap();
        assert_eq!(stamps.sweep(&top, &nothing).unwrap(), Swept { differed: true });
        let left: Vec<_> = fs::read_dir(&top).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["src"]);
        let left: Vec<_> = fs::read_dir(top.join("src")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["same"]);
    }

    #[test]
    fn stamps_cut_off_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "1").unwrap();
        let file = dir.path().join("stamps");
        Stamps::take(dir.path()).unwrap().write(&file).unwrap();
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 4]).unwrap();
        assert_eq!(Stamps::read(&file), None);
    }
}
