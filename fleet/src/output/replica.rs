//! The reader's side: copies of what was shipped, in the places where a machine that drives loops has its own files.
//!
//! They are a cache: what is removed is fetched again.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use windlass_core::ids::{LoopId, TurnKey};
use windlass_engine::data::{DataDir, TurnFiles, private_dir};
use windlass_engine::driver::DriveError;

use super::{FILES, NAMES, paths};
use crate::archive::{self, Archive};
use crate::store::{Fetched, Kept, PgStore};
use crate::worker::Failure;

#[derive(Debug)]
pub(crate) struct Replica {
    store: PgStore,
    data: DataDir,
    /// Turns that are here to their end.
    whole: Mutex<HashSet<(String, TurnKey)>>,
    /// One copy at a time for each of these, so that a file grows without holes.
    copying: [tokio::sync::Mutex<()>; 16],
}

impl Replica {
    pub(crate) fn new(store: PgStore, data: DataDir) -> Self {
        Self { store, data, whole: Mutex::default(), copying: Default::default() }
    }

    fn whole(&self) -> std::sync::MutexGuard<'_, HashSet<(String, TurnKey)>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings what was shipped of a turn.
    pub(crate) async fn fetch(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError> {
        let files = self.data.turn(id, turn);
        let key = (id.0.clone(), turn);
        if self.whole().contains(&key) && files.have_begun() {
            return Ok(());
        }
        let stripe = usize::from(id.0.as_bytes().last().copied().unwrap_or_default()) % self.copying.len();
        let _one = self.copying[stripe].lock().await;
        loop {
            let known = paths(&files).map(|path| length(&path));
            let fetched = self.store.fetch(&id.0, &turn.to_string(), &known).await?;
            let (has_more, is_closed) = (fetched.has_more, fetched.is_closed);
            if let Some(kept) = &fetched.kept {
                self.fetch_kept(id, turn, &files, known, kept).await?;
                self.whole().insert(key);
                return Ok(());
            }
            if !fetched.chunks.is_empty() {
                let files = files.clone();
                let written = tokio::task::spawn_blocking(move || write(&files, known, fetched)).await;
                let written = written.map_err(|panic| DriveError::Lost(panic.to_string()))?;
                let path = || self.data.turn(id, turn).dir.display().to_string();
                written.map_err(|source| match source.kind() == io::ErrorKind::StorageFull {
                    true => DriveError::DiskFull { path: path() },
                    false => DriveError::Transcript { path: path(), source },
                })?;
            }
            if !has_more {
                if is_closed {
                    self.whole().insert(key);
                }
                return Ok(());
            }
        }
    }

    /// Brings the files of a turn from an archive.
    async fn fetch_kept(
        &self,
        id: &LoopId,
        turn: TurnKey,
        files: &TurnFiles,
        known: [i64; FILES],
        kept: &Kept,
    ) -> Result<(), DriveError> {
        let lost = |error: Failure| DriveError::Lost(format!("cannot read the archive {}: {error}", kept.archive));
        let archive = Archive::parse(&kept.archive).map_err(lost)?;
        for (file, (&size, &here)) in kept.sizes.iter().zip(&known).enumerate() {
            // What is here is the beginning of what is there.
            let mut at = 0_i64;
            for key in archive::parts(&id.0, &turn.to_string(), NAMES[file], size.cast_unsigned()) {
                let end = (at + archive::PART as i64).min(size);
                if here >= end {
                    at = end;
                    continue;
                }
                let missing = || Failure::from(format!("it has no {key}"));
                let bytes = archive.get(&key).await.map_err(lost)?.ok_or_else(missing).map_err(lost)?;
                let file = i16::try_from(file).unwrap_or_default();
                let fetched = Fetched { chunks: vec![(file, at, bytes)], ..Fetched::default() };
                let (files, mut known) = (files.clone(), known);
                known[usize::try_from(file).unwrap_or_default()] = here.max(at);
                let written = tokio::task::spawn_blocking(move || write(&files, known, fetched)).await;
                let written = written.map_err(|panic| DriveError::Lost(panic.to_string()))?;
                let path = self.data.turn(id, turn).dir.display().to_string();
                written.map_err(|source| DriveError::Transcript { path, source })?;
                at = end;
            }
        }
        Ok(())
    }

    /// Removes copies that nobody changed for so long.
    pub(crate) fn forget_older_than(&self, age: Duration) -> io::Result<()> {
        let Ok(loops) = std::fs::read_dir(self.data.root().join("transcripts")) else { return Ok(()) };
        let is_old = |path: &Path| {
            let changed = path.metadata().and_then(|meta| meta.modified());
            changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|since| since >= age))
        };
        for one in loops {
            let one = one?.path();
            for turn in std::fs::read_dir(&one)?.flatten().map(|turn| turn.path()) {
                let newest = std::fs::read_dir(&turn).into_iter().flatten().flatten();
                if turn.is_dir() && newest.map(|file| file.path()).all(|file| is_old(&file)) {
                    std::fs::remove_dir_all(&turn)?;
                }
            }
            // Only if it is empty.
            let _ = std::fs::remove_dir(&one);
        }
        Ok(())
    }
}

fn length(path: &Path) -> i64 {
    path.metadata().map_or(0, |meta| meta.len().cast_signed())
}

fn write(files: &TurnFiles, mut known: [i64; FILES], fetched: Fetched) -> io::Result<()> {
    private_dir(&files.dir)?;
    let paths = paths(files);
    for (file, at, bytes) in fetched.chunks {
        let Some((path, known)) = usize::try_from(file).ok().and_then(|file| paths.get(file).zip(known.get_mut(file)))
        else {
            continue;
        };
        let new = usize::try_from(*known - at).ok().and_then(|here| bytes.get(here..));
        // What starts behind the end has a part before it that is still to come.
        let Some(new) = new.filter(|new| !new.is_empty()) else { continue };
        let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        open.write_all_at(new, known.cast_unsigned())?;
        *known += i64::try_from(new.len()).unwrap_or_default();
    }
    Ok(())
}
