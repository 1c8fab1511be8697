//! Leaving without cutting off a turn. A process that drains takes nothing new; each of its loops is left at its next boundary:
//! when the turn or gate that runs has ended and its work is committed.

use tokio::sync::watch;

use crate::engine::Engine;

/// How a driver shall leave its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Stay,
    /// When nothing would be cut off.
    AtBoundary,
    /// What runs is interrupted.
    Now,
}

/// Whether the process drains.
#[derive(Debug)]
pub(crate) struct Drain(watch::Sender<bool>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Engine {
    /// Lets go of all loops that this process drives, each at its next boundary. There is no way back.
    pub fn drain(&self) {
        self.drain.0.send_replace(true);
    }

    pub fn is_draining(&self) -> bool {
        *self.drain.0.borrow()
    }

    /// Returns when the process drains.
    pub async fn drains(&self) {
        // The sender is this engine's.
        let _ = self.drain.0.subscribe().wait_for(|drain| *drain).await;
    }

    /// How the process shall leave, which is told to leave at once by `shutdown`.
    pub(crate) fn leave(&self, shutdown: &watch::Receiver<bool>) -> Leave {
        match (*shutdown.borrow(), self.is_draining()) {
            (true, _) => Leave::Now,
            (false, true) => Leave::AtBoundary,
            (false, false) => Leave::Stay,
        }
    }

    /// Returns when the process shall leave, now or at a boundary.
    pub(crate) async fn told_to_leave(&self, mut shutdown: watch::Receiver<bool>) {
        // A sender that is gone cannot ask for anything any more.
        tokio::select! {
            _ = shutdown.wait_for(|leave| *leave) => {}
            () = self.drains() => {}
        }
    }
}
