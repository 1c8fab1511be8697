//! What the judge's checkout looked like before a judgement, so that what a gate wrote can be undone cheaply.
//!
//! A file is known by inode, size, mode, and the time of its last change, which the kernel sets and no process can
//! choose. Invariant: after `sweep` the checkout contains nothing that was created or changed since the stamps were taken.
//!
//! A judgement of an unchanged checkout walks it twice, so a walk costs one `fstatat` for each entry, on several
//! threads.

mod file;

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};

use crate::disk::copying;
use crate::disk::{Wanted, still_wanted};

/// The gates' own repository at the top of the checkout, which is recreated for each judgement.
pub(super) const DOT_GIT: &str = ".git";

/// More do not make a disk faster.
const MOST_THREADS: usize = 4;
/// Fewer directories are not worth a thread.
const SMALLEST_SHARE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    /// Nothing for directories, which change with their entries.
    file: Option<Version>,
}

/// What tells one content of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    inode: u64,
    size: u64,
    seconds: i64,
    nanos: i64,
}

impl Stamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the types differ from system to system")]
    fn of(stat: &Stat) -> Self {
        let file = (!is_dir(stat)).then_some(Version {
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            seconds: stat.st_ctime as i64,
            nanos: stat.st_ctime_nsec as i64,
        });
        Self { mode: stat.st_mode as u32, file }
    }
}

fn is_dir(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Whether the file system notes every change of a file. One in memory does not: what a process writes through a mapping of the
/// file changes no time.
pub(super) fn tells_changes(dir: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
        #[allow(
            clippy::useless_conversion,
            clippy::unnecessary_cast,
            reason = "the type differs from machine to machine"
        )]
        let kind = |found: rustix::fs::StatFs| found.f_type as i64;
        rustix::fs::statfs(dir).is_ok_and(|found| !IN_MEMORY.contains(&kind(found)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = dir;
        true
    }
}

/// The entries of one directory, by name and in this order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listing(Vec<(Box<[u8]>, Stamp)>);

impl Listing {
    fn place(&self, name: &[u8]) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name))
    }
}

/// The stamps of a whole checkout: its directories, by path from its top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(HashMap<PathBuf, Listing>);

/// What a sweep found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// Something had been made, changed or removed.
    pub(super) differed: bool,
}

/// What a comparison found.
#[derive(Debug, Default)]
struct Compared {
    /// Known directories that are yet to be compared.
    below: Vec<PathBuf>,
    differences: Vec<Difference>,
    skipped: bool,
}

/// An entry that is not what it was when the stamps were taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) is_dir: bool,
    /// It was removed, and nothing took its place.
    pub(super) gone: bool,
}

impl Stamps {
    pub(super) fn take(top: &Path) -> io::Result<Self> {
        let mut stamps = Self::default();
        stamps.take_below(top, PathBuf::new())?;
        Ok(stamps)
    }

    fn take_below(&mut self, top: &Path, dir: PathBuf) -> io::Result<()> {
        let mut pending = vec![dir];
        while let Some(dir) = pending.pop() {
            let mut listing: Vec<(Box<[u8]>, Stamp)> = Vec::new();
            each_entry(top, &dir, |name, stat| {
                if is_dir(stat) {
                    pending.push(dir.join(as_path(name)));
                }
                listing.push((name.into(), Stamp::of(stat)));
            })?;
            listing.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            self.0.insert(dir, Listing(listing));
        }
        Ok(())
    }

    /// Every entry that differs, the uppermost of each. Directories that `skips` names are not entered; says whether there were
    /// any.
    fn compare(&self, top: &Path, skips: &(dyn Fn(&Path) -> bool + Sync)) -> io::Result<Compared> {
        let mut all = Compared { below: vec![PathBuf::new()], ..Compared::default() };
        while !all.below.is_empty() {
            let dirs = std::mem::take(&mut all.below);
            let parts = on_threads(&dirs, |dirs| self.compare_dirs(top, dirs, skips));
            for part in parts {
                let part = part?;
                all.below.extend(part.below);
                all.differences.extend(part.differences);
                all.skipped |= part.skipped;
            }
        }
        Ok(all)
    }

    fn compare_dirs(&self, top: &Path, dirs: &[PathBuf], skips: &dyn Fn(&Path) -> bool) -> io::Result<Compared> {
        let nothing = Listing::default();
        let mut found = Compared::default();
        for dir in dirs {
            let known = self.0.get(dir).unwrap_or(&nothing);
            let mut seen = vec![false; known.0.len()];
            each_entry(top, dir, |name, stat| {
                let place = known.place(name).ok();
                place.into_iter().for_each(|place| seen[place] = true);
                let same = place.is_some_and(|place| known.0[place].1 == Stamp::of(stat));
                let is_dir = is_dir(stat);
                if same && !is_dir {
                    return;
                }
                let path = dir.join(as_path(name));
                if is_dir && skips(&path) {
                    found.skipped = true;
                } else if same {
                    found.below.push(path);
                } else {
                    found.differences.push(Difference { path, is_dir, gone: false });
                }
            })?;
            let gone = known.0.iter().zip(&seen).filter(|(_, seen)| !**seen);
            found.differences.extend(gone.map(|((name, stamp), _)| Difference {
                path: dir.join(as_path(name)),
                is_dir: stamp.file.is_none(),
                gone: true,
            }));
        }
        Ok(found)
    }

    /// Removes what was made or changed since, except below a directory that `keeps` names.
    pub(super) fn sweep(&self, top: &Path, keeps: &(dyn Fn(&Path) -> bool + Sync)) -> io::Result<Swept> {
        let found = self.compare(top, keeps)?;
        for one in found.differences.iter().filter(|one| !one.gone) {
            copying::remove(&top.join(&one.path))?;
        }
        Ok(Swept { differed: !found.differences.is_empty() || found.skipped })
    }

    /// Directories and files that were made, changed or removed since, the uppermost of each.
    pub(super) fn differences(&self, top: &Path) -> io::Result<Vec<Difference>> {
        Ok(self.compare(top, &|_| false)?.differences)
    }

    /// The same without what was removed.
    pub(super) fn changed(&self, top: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
        let all = self.differences(top)?;
        Ok(all.into_iter().filter(|one| !one.gone).map(|one| (one.path, one.is_dir)).collect())
    }

    /// Takes what is at this path now for known.
    pub(super) fn adopt(&mut self, top: &Path, path: &Path) -> io::Result<()> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let stat = statat(CWD, top.join(path), AtFlags::SYMLINK_NOFOLLOW)?;
        if is_dir(&stat) {
            self.take_below(top, path.to_owned())?;
        }
        let listing = self.0.entry(dir.to_owned()).or_default();
        let stamp = Stamp::of(&stat);
        match listing.place(name.as_bytes()) {
            Ok(place) => listing.0[place].1 = stamp,
            Err(place) => listing.0.insert(place, (name.as_bytes().into(), stamp)),
        }
        Ok(())
    }
}

/// Shares directories among threads, if there are many.
fn on_threads<T: Send>(dirs: &[PathBuf], work: impl Fn(&[PathBuf]) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let share = dirs.len().div_ceil(threads).max(SMALLEST_SHARE);
    let mut shares = dirs.chunks(share);
    let own = shares.next().unwrap_or_default();
    let (work, wanted) = (&work, &Wanted::here());
    std::thread::scope(|scope| {
        let others = shares.map(|dirs| scope.spawn(move || wanted.during(|| work(dirs))));
        let others: Vec<_> = others.collect();
        let mut done = vec![work(own)];
        done.extend(others.into_iter().map(|other| match other.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        done
    })
}

/// Tells of each entry of a directory below `top`, except the gates' own repository.
fn each_entry(top: &Path, dir: &Path, mut tell: impl FnMut(&[u8], &Stat)) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at_top = dir.as_os_str().is_empty();
    // With a slash at its end, a link would be followed.
    let path = if at_top { top.to_owned() } else { top.join(dir) };
    let open: OwnedFd = openat(CWD, path, flags, Mode::empty())?;
    for entry in Dir::read_from(&open)? {
        still_wanted()?;
        let entry = entry?;
        let name: &CStr = entry.file_name();
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || at_top && bytes == DOT_GIT.as_bytes() {
            continue;
        }
        tell(bytes, &statat(&open, name, AtFlags::SYMLINK_NOFOLLOW)?);
    }
    Ok(())
}

fn as_path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
