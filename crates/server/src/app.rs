//! What every request is answered from.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::FromRef;
use jiff::Timestamp;
use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::engine::Engine;

use crate::access::guard::Guard;
use crate::feeds::board::Board;
use crate::feeds::wakes::Wakes;
use windlass_app::{Local, Problem, SandboxReport};

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
    pub local: Local,
    pub driving: Arc<AtomicUsize>,
    pub guard: Arc<Guard>,
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

impl FromRef<App> for Arc<Guard> {
    fn from_ref(app: &App) -> Self {
        Arc::clone(&app.guard)
    }
}

impl App {
    /// `changes` signals that some process wrote to the database.
    pub fn new(
        engine: Arc<Engine>,
        local: Local,
        driving: Arc<AtomicUsize>,
        guard: Guard,
        facts: Facts,
        changes: watch::Receiver<u64>,
        shutdown: watch::Receiver<bool>,
    ) -> Self {
        let wakes = Wakes::new(Arc::clone(&engine), changes.clone());
        let board = Board::new(Arc::clone(&engine), changes, shutdown.clone());
        Self(Arc::new(Parts {
            engine,
            local,
            driving,
            guard: Arc::new(guard),
            wakes,
            board,
            facts,
            shutdown,
            subscribers: AtomicUsize::new(0),
        }))
    }

    pub(crate) async fn loop_id(&self, id: &str) -> Result<LoopId, Problem> {
        Ok(LoopId(self.local.found(id).await?.entry.id))
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
