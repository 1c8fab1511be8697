//! What every request is answered from.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::engine::Engine;
use windlass_store::Listed;

use crate::board::Board;
use crate::guard::Guard;
use crate::host::Host;
use crate::problem::Problem;
use crate::reports::SandboxReport;
use crate::wakes::Wakes;

/// What the server knows of itself.
#[derive(Debug, Clone)]
pub struct Facts {
    pub version: String,
    pub address: String,
    /// The project that `serve` was started in.
    pub project: Option<PathBuf>,
    pub sandbox: Option<SandboxReport>,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub engine: Arc<Engine>,
    pub host: Arc<dyn Host>,
    pub guard: Guard,
    pub wakes: Wakes,
    pub board: Board,
    pub facts: Facts,
    pub shutdown: watch::Receiver<bool>,
    subscribers: AtomicUsize,
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// `changes` tells that some process wrote to the database.
    pub fn new(
        engine: Arc<Engine>,
        host: Arc<dyn Host>,
        guard: Guard,
        facts: Facts,
        changes: watch::Receiver<u64>,
        shutdown: watch::Receiver<bool>,
    ) -> Self {
        let wakes = Wakes::new(Arc::clone(&engine), changes.clone());
        let board = Board::new(Arc::clone(&engine), changes, shutdown.clone());
        Self(Arc::new(Parts { engine, host, guard, wakes, board, facts, shutdown, subscribers: AtomicUsize::new(0) }))
    }

    /// A loop by its id.
    pub(crate) async fn find(&self, id: &str) -> Result<Listed, Problem> {
        let listed = self.engine.store.get(id).await?.ok_or_else(|| Problem::no_loop(id))?;
        // A driver's last act is to write the end and to leave.
        let gone = listed.holder.as_ref().is_some_and(|holder| !windlass_engine::engine::is_alive(holder));
        if gone {
            return self.engine.store.get(id).await?.ok_or_else(|| Problem::no_loop(id));
        }
        Ok(listed)
    }

    pub(crate) async fn loop_id(&self, id: &str) -> Result<LoopId, Problem> {
        Ok(LoopId(self.find(id).await?.entry.id))
    }

    /// One more who reads a stream, until the answer is dropped.
    pub(crate) fn subscribed(&self) -> Subscribed {
        self.subscribers.fetch_add(1, Ordering::Relaxed);
        Subscribed(self.clone())
    }

    pub(crate) fn subscribers(&self) -> usize {
        self.subscribers.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Subscribed(App);

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.0.subscribers.fetch_sub(1, Ordering::Relaxed);
    }
}
