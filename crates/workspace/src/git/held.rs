//! Objects that git writes beside a repository's store until it is known that they may stay.
//!
//! Invariant: nothing of them is in the store unless `admit` or a caller that has searched all of them moves it there. A store of
//! this kind that is dropped is removed, unless it was made to last; of those that checkpoints use again and again, an empty one is
//! kept for the next until [`remove_spare`], because making and removing directories takes longer than all that is done in them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, test_kill_process};

use super::{Git, GitError};
use crate::disk::{remove_tree, still_wanted};

/// As git calls its own, which `git prune` removes if they are old.
const PREFIX: &str = "tmp_objdir-windlass-";
const ALTERNATES: &str = "info/alternates";

/// Tells those of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Empty ones of this process, at most one of each store.
static SPARE: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
pub(crate) struct HeldObjects {
    dir: PathBuf,
    store: PathBuf,
    lasts: bool,
    /// Kept for the next of its store.
    recurs: bool,
    tainted: AtomicBool,
}

impl HeldObjects {
    /// Makes a place beside the objects of `store`, which git reads too, as it does those of `others`. What killed processes left
    /// there is removed.
    pub(crate) fn beside(store: &Path, others: &[PathBuf]) -> io::Result<Self> {
        remove_left(store);
        Self::make(store, others)
    }

    /// The same for what is done again and again.
    pub(crate) fn again(store: &Path, others: &[PathBuf]) -> io::Result<Self> {
        remove_left(store);
        let mut made = match take_spare(store) {
            Some(dir)
                if std::fs::read(dir.join(ALTERNATES))
                    .is_ok_and(|is| alternates(store, others).is_ok_and(|to_be| is == to_be)) =>
            {
                Self::new(dir, store, false)
            }
            Some(dir) => {
                let _ = remove_tree(&dir);
                Self::make(store, others)?
            }
            None => Self::make(store, others)?,
        };
        made.recurs = true;
        Ok(made)
    }

    fn make(store: &Path, others: &[PathBuf]) -> io::Result<Self> {
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let made = Self::new(store.join(format!("{PREFIX}{name}")), store, false);
        std::fs::create_dir(&made.dir)?;
        made.fill(others)?;
        Ok(made)
    }

    /// A place that stays when this is dropped.
    pub(crate) fn lasting(dir: &Path, store: &Path) -> io::Result<Self> {
        let made = Self::new(dir.to_owned(), store, true);
        if !dir.join(ALTERNATES).is_file() {
            std::fs::create_dir_all(dir)?;
            made.fill(&[])?;
        }
        Ok(made)
    }

    fn new(dir: PathBuf, store: &Path, lasts: bool) -> Self {
        Self { dir, store: store.to_owned(), lasts, recurs: false, tainted: AtomicBool::new(false) }
    }

    fn fill(&self, others: &[PathBuf]) -> io::Result<()> {
        std::fs::create_dir_all(self.dir.join("info"))?;
        std::fs::write(self.dir.join(ALTERNATES), alternates(&self.store, others)?)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Marks that something in it must never get into the store.
    pub(crate) fn taint(&self) {
        self.tainted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_tainted(&self) -> bool {
        self.tainted.load(Ordering::Relaxed)
    }

    /// Moves everything into the store. What is there already is the same.
    pub(crate) fn move_all(&self) -> io::Result<()> {
        for dir in std::fs::read_dir(&self.dir)? {
            let dir = dir?;
            let name = dir.file_name();
            if name == "info" || !dir.file_type()?.is_dir() {
                continue;
            }
            let target = self.store.join(&name);
            let mut files =
                std::fs::read_dir(dir.path())?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            // A pack counts once its `.idx` is there.
            files.sort_by_key(|file| file.extension().is_some_and(|ending| ending == "idx"));
            for file in files {
                still_wanted()?;
                let place = target.join(file.file_name().unwrap_or_default());
                if place.exists() {
                    continue;
                }
                if let Err(error) = std::fs::rename(&file, &place) {
                    if error.kind() != io::ErrorKind::NotFound {
                        return Err(error);
                    }
                    std::fs::create_dir_all(&target)?;
                    std::fs::rename(&file, &place)?;
                }
            }
        }
        Ok(())
    }
}

impl HeldObjects {
    /// Removes all but what makes it a store; says whether nothing else is left.
    fn empty(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return false };
        entries.flatten().filter(|entry| entry.file_name() != "info").all(|entry| remove_tree(&entry.path()).is_ok())
    }
}

impl Drop for HeldObjects {
    fn drop(&mut self) {
        if self.lasts {
            return;
        }
        if self.recurs && !self.is_tainted() && self.empty() {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if !spare.contains_key(&self.store) {
                spare.insert(self.store.clone(), self.dir.clone());
                return;
            }
        }
        // What cannot be removed now is removed by the next process.
        let _ = remove_tree(&self.dir);
    }
}

fn take_spare(store: &Path) -> Option<PathBuf> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).remove(store)
}

/// Removes what is kept for the next checkpoint.
pub(crate) fn remove_spare(store: &Path) {
    if let Some(dir) = take_spare(store) {
        let _ = remove_tree(&dir);
    }
}

fn alternates(store: &Path, others: &[PathBuf]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for store in [store].into_iter().chain(others.iter().map(PathBuf::as_path)) {
        lines.extend(std::path::absolute(store)?.into_os_string().into_encoded_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

impl Git {
    /// Copies these commits or trees, with all that no ref reaches yet, to the repository's own store. Without held objects they
    /// are there.
    pub(crate) async fn admit(&self, tips: &[&str]) -> Result<(), GitError> {
        let Some(held) = self.held() else { return Ok(()) };
        let mut args = vec!["rev-list", "--objects", "--no-object-names", "--missing=allow-promisor"];
        args.extend(tips);
        args.extend(["--not", "--all", "--"]);
        let ids = self.run(&args).await?;
        let pack = held.store.join("pack/pack");
        let args = ["pack-objects", "--quiet", "--non-empty", &pack.to_string_lossy()];
        self.call(&args).input(ids).run().await.map(drop)
    }
}

/// Removes what processes left that are gone.
fn remove_left(store: &Path) {
    for entry in std::fs::read_dir(store).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
        let owner = owner.and_then(|owner| owner.parse().ok()).and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(rustix::io::Errno::SRCH)) {
            let _ = remove_tree(&entry.path());
        }
    }
}
