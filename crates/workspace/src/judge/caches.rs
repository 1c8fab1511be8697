//! What gates add to the caches of tools, which are outside the checkout: package downloads, compiled objects.
//!
//! The engine shows them to gates in a sandbox. Invariant: after `rewind_caches` they contain what the set-up and gates on the
//! base wrote, and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use super::stamps::{Stamps, tells_changes};
use super::{Judge, Reader, TICK_MS};
use crate::disk::blocking;
use crate::{WorkspaceError, copying};

pub(super) const LIVE: &str = "caches";
pub(super) const STAMPS: &str = "caches.stamps";
const SAVED: &str = "caches.saved";

impl Judge {
    /// Where gates in a sandbox keep what they add to caches of tools.
    pub fn caches(&self) -> Option<PathBuf> {
        (self.reader == Reader::Gates).then(|| self.root.join(LIVE))
    }

    /// Takes the caches back to what was saved of them.
    pub(super) async fn rewind_caches(&self) -> Result<(), WorkspaceError> {
        let [live, saved, file] = [LIVE, SAVED, STAMPS].map(|name| self.root.join(name));
        if !live.is_dir() && !saved.is_dir() {
            return Ok(());
        }
        let failed = WorkspaceError::file("clean", live.clone());
        let rewound = blocking(move || {
            match Stamps::read(&file).filter(|_| live.is_dir() && tells_changes(&live)) {
                Some(stamps) if !stamps.sweep(&live, &|_| false)?.differed => return Ok(()),
                Some(_) => {}
                None => copying::remove(&live)?,
            }
            copying::remove(&file)?;
            std::fs::create_dir_all(&live)?;
            if saved.is_dir() {
                copying::copy_missing(&saved, &live)?;
            }
            std::thread::sleep(Duration::from_millis(TICK_MS));
            Stamps::take(&live)?.write(&file)
        });
        rewound.await.map_err(failed)
    }

    /// Adds what was written to the caches to what is saved of them. Only before any agent's code ran.
    pub(super) async fn save_caches(&self) -> Result<(), WorkspaceError> {
        let [live, saved, file] = [LIVE, SAVED, STAMPS].map(|name| self.root.join(name));
        if !live.is_dir() {
            return Ok(());
        }
        let partial = self.root.join("caches.partial");
        let failed = WorkspaceError::file("save", live.clone());
        let kept = blocking(move || {
            let stamps = Stamps::read(&file).unwrap_or_default();
            for (path, _) in stamps.changed(&live)? {
                copying::copy_over(&live.join(&path), &saved.join(&path), &partial)?;
            }
            std::thread::sleep(Duration::from_millis(TICK_MS));
            Stamps::take(&live)?.write(&file)
        });
        kept.await.map_err(failed)
    }
}
