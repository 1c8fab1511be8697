//! A few read-only connections that are lent to one query at a time.
//!
//! Invariant: at most `LIMIT` queries run at once, each on a blocking thread and its own connection, and
//! no connection is kept inside a transaction: every query sees all that was acknowledged before it started.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::explain;
use super::open::{self, Mode};
use crate::{Result, StoreError};

/// Enough to keep the disk busy; a connection caches up to 2 MB of pages.
const LIMIT: usize = 4;

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    mode: Mode,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: &Path, mode: Mode, first: Option<Connection>) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            idle: Mutex::new(first.into_iter().collect()),
            permits: Arc::new(Semaphore::new(LIMIT)),
        }
    }

    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| StoreError::Stopped)?;
        let readers = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || {
            // Moved in: a caller that is dropped does not free the place before the query has ended.
            let _permit = permit;
            let connection = match readers.idle().pop() {
                Some(connection) => connection,
                None => open::open_reader(&readers.path, readers.mode)?,
            };
            let outcome = query(&connection).map_err(|error| explain(&readers.path, error));
            readers.idle().push(connection);
            outcome
        });
        match work.await {
            Ok(outcome) => outcome,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => Err(StoreError::Stopped),
            },
        }
    }

    pub(super) fn close_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
