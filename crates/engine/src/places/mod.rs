//! Places: how many loops of this data directory run at once, whoever drives them.
//!
//! A place is a file that the loop's driver has locked. The kernel releases the lock however the process ends, so a
//! crash leaves nothing to clean up. Loops that wait stand in line: each has locked its own file there, and only
//! the first tries for a place.

mod drain;

use std::any::Any;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::sync::watch;
use uuid::Uuid;

use crate::changes;
use crate::data::private_dir;
pub use drain::{Drain, Leave};

/// Loops that run immediately if nobody says another number.
pub(crate) const DEFAULT_MAX_RUNNING: u32 = 8;
/// The kernel may report that a killed process closed its files just before it releases their locks.
const RELEASED_AFTER: Duration = Duration::from_millis(50);
/// What the names of the files in line start with.
const TICKET: &str = "line-";

#[derive(Debug)]
pub struct Places {
    dir: PathBuf,
    max: OnceLock<u32>,
    /// Changes when somebody left a place or the line.
    left: OnceLock<watch::Receiver<u64>>,
}

/// A file that is locked as long as this lives. It is open for writing too, because closing that is what wakes the
/// others; looking at somebody else's file must not.
#[derive(Debug)]
struct Locked {
    _lock: File,
    _wakes: File,
}

/// The right to run one loop.
#[derive(Debug)]
pub struct Place(#[expect(dead_code, reason = "held")] Box<dyn Any + Send + Sync>);

impl Place {
    /// A slot that is free when this is dropped.
    pub(crate) fn of(held: Box<dyn Any + Send + Sync>) -> Self {
        Self(held)
    }
}

/// A place in line.
#[derive(Debug)]
struct Ticket {
    path: PathBuf,
    _locked: Locked,
}

impl Places {
    pub fn in_dir(dir: PathBuf) -> Self {
        Self { dir, max: OnceLock::new(), left: OnceLock::new() }
    }

    /// Sets the number of loops that run at once, the first time only.
    pub fn limit(&self, max: u32) {
        let _ = self.max.set(max);
    }

    pub fn max(&self) -> u32 {
        *self.max.get_or_init(|| DEFAULT_MAX_RUNNING)
    }

    /// A free place, if there is one and nobody waits for it.
    pub fn take(&self) -> io::Result<Option<Place>> {
        private_dir(&self.dir)?;
        if self.waits_before(None)? { Ok(None) } else { self.free() }
    }

    /// Stands in line until a place is free.
    pub async fn wait(&self) -> io::Result<Place> {
        private_dir(&self.dir)?;
        let mut left = self.left()?;
        let ticket = Ticket::draw(&self.dir)?;
        loop {
            left.mark_unchanged();
            for wait in [Duration::ZERO, RELEASED_AFTER] {
                tokio::time::sleep(wait).await;
                if !self.waits_before(Some(&ticket.path))?
                    && let Some(place) = self.free()?
                {
                    return Ok(place);
                }
            }
            if left.changed().await.is_err() {
                return Err(io::Error::other("no longer watching the slot directory"));
            }
        }
    }

    /// One watch for all loops of this process that wait.
    fn left(&self) -> io::Result<watch::Receiver<u64>> {
        if let Some(left) = self.left.get() {
            return Ok(left.clone());
        }
        let left = changes::watch_closed(&self.dir)?;
        Ok(self.left.get_or_init(|| left).clone())
    }

    fn free(&self) -> io::Result<Option<Place>> {
        for number in 1..=self.max() {
            if let Some(locked) = Locked::try_lock(&self.dir.join(number.to_string()))? {
                return Ok(Some(Place(Box::new(locked))));
            }
        }
        Ok(None)
    }

    /// Whether anybody living stands in line before this ticket; without one, whether anybody does.
    fn waits_before(&self, ticket: Option<&Path>) -> io::Result<bool> {
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let is_ticket = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TICKET));
            if !is_ticket || ticket.is_some_and(|own| path.as_path() >= own) {
                continue;
            }
            match File::open(&path) {
                Ok(file) if !lock(&file)? => return Ok(true),
                // Whoever drew it is gone.
                Ok(_) => drop(std::fs::remove_file(&path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

impl Locked {
    fn try_lock(path: &Path) -> io::Result<Option<Self>> {
        if !path.exists() {
            File::create(path)?;
        }
        let file = File::open(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        let wakes = File::options().write(true).open(path)?;
        Ok(Some(Self { _lock: file, _wakes: wakes }))
    }
}

impl Ticket {
    fn draw(dir: &Path) -> io::Result<Self> {
        let id = Uuid::now_v7();
        // Under its name it is locked from the first moment, or it would look left behind.
        let making = dir.join(format!(".{id}"));
        let locked =
            Locked::try_lock(&making)?.ok_or_else(|| io::Error::other("somebody else has locked a new file"))?;
        let path = dir.join(format!("{TICKET}{id}"));
        std::fs::rename(&making, &path)?;
        Ok(Self { path, _locked: locked })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the file is locked by this call; not if somebody else has locked it.
fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(dir: &Path, max: u32) -> Places {
        let places = Places::in_dir(dir.join("places"));
        places.limit(max);
        places
    }

    #[tokio::test]
    async fn place_is_free_again_once_its_loop_has_left() {
        let dir = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (places(dir.path(), 2), places(dir.path(), 2));
        let first = here.take().unwrap().unwrap();
        let second = elsewhere.take().unwrap().unwrap();
        assert!(here.take().unwrap().is_none());
        drop(first);
        let third = elsewhere.take().unwrap().unwrap();
        assert!(here.take().unwrap().is_none());
        drop((second, third));
        assert!(here.take().unwrap().is_some());
    }

    #[tokio::test]
    async fn loops_in_line_get_places_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let held = places(dir.path(), 1).take().unwrap().unwrap();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..3 {
            let (places, tell) = (places(dir.path(), 1), tell.clone());
            let ahead = move |dir: &Path| std::fs::read_dir(dir).unwrap().flatten().count() - 1;
            let line = places.dir.clone();
            tokio::spawn(async move {
                let place = places.wait().await.unwrap();
                tell.send((number, place)).unwrap();
            });
            while ahead(&line) <= number {
                tokio::task::yield_now().await;
            }
        }
        assert!(places(dir.path(), 1).take().unwrap().is_none(), "who comes later does not pass the line");
        drop(held);
        for number in 0..3 {
            let (first, place) = told.recv().await.unwrap();
            assert_eq!(first, number);
            drop(place);
        }
        assert!(places(dir.path(), 1).take().unwrap().is_some());
    }

    #[test]
    fn ticket_of_a_process_that_is_gone_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let places = places(dir.path(), 1);
        std::fs::create_dir(&places.dir).unwrap();
        std::fs::write(places.dir.join("line-0"), "").unwrap();
        assert!(places.take().unwrap().is_some());
        assert!(!places.dir.join("line-0").exists());
    }
}
