//! Named gates between a test and the answers of the server.
//!
//! Invariant: a gate once open stays open; whoever waits is woken by the opening, by the end of the server, or (where
//! gates are files) by the file, never by time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::watch;

/// The gates of one server.
#[derive(Debug, Default)]
pub(super) struct Gates {
    state: Mutex<State>,
    changed: Condvar,
    /// Where a file of its name opens a gate, for a server in its own process.
    dir: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    open: BTreeSet<String>,
    reached: BTreeSet<String>,
    closing: bool,
}

impl Gates {
    pub(super) fn with_dir(dir: Option<PathBuf>) -> Gates {
        Gates { dir, ..Gates::default() }
    }

    pub(super) fn open(&self, name: &str) {
        self.lock().open.insert(name.to_owned());
        self.changed.notify_all();
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        self.lock().open.contains(name) || self.file(name).is_some_and(|f| f.exists())
    }

    /// Wakes everyone, permanently.
    pub(super) fn close_down(&self) {
        self.lock().closing = true;
        self.changed.notify_all();
    }

    /// Blocks an answer until the gate is open; false if the server ends first.
    pub(super) fn pass(&self, name: &str) -> bool {
        self.lock().reached.insert(name.to_owned());
        self.changed.notify_all();
        if let Some(file) = self.file(name) {
            // A server that is its own process ends with it, so nothing else needs to wake this.
            return watch::wait_exists(&file, None).unwrap_or(false);
        }
        let mut state = self.lock();
        while !state.open.contains(name) && !state.closing {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.closing
    }

    /// Blocks until an answer has come to the gate; false if the time is over first.
    pub(super) fn wait_reached(&self, name: &str, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        while !state.reached.contains(name) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.dir.as_deref().map(|d: &Path| d.join(name))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
