//! How the processes of one data directory reach each other: who they are, and how one wakes another.

use std::sync::Arc;

use tokio::sync::watch;
use uuid::Uuid;
use windlass_store::{Holder, ProcessIdentity, Seat};

use super::{Engine, EngineError};
use crate::changes;
use crate::socket::{Hub, Line, Listening};

impl Engine {
    pub(crate) fn hub(&self) -> Result<&Hub, EngineError> {
        if let Some(hub) = self.hub.get() {
            return Ok(hub);
        }
        let hub = match &self.outside {
            Some(_) => Hub::without_socket(),
            None => {
                let name = Uuid::now_v7().simple().to_string();
                Hub::listen(self.data.root(), &name[20..]).map_err(EngineError::Socket)?
            }
        };
        Ok(self.hub.get_or_init(|| hub))
    }

    pub(crate) fn holder(&self) -> Result<Holder, EngineError> {
        let seat = match (&self.outside, &self.station) {
            (Some(outside), _) => outside.seat(),
            (None, Some(station)) => station.seat(),
            (None, None) => {
                let process = ProcessIdentity::current().ok_or(EngineError::Identity)?;
                Seat::Process { process, socket: self.hub()?.path().to_owned() }
            }
        };
        Ok(Holder { seat, token: Uuid::now_v7().to_string() })
    }

    /// Connects to the holder of a loop or a group, which wakes its driver.
    pub(crate) async fn listen(&self, seat: &Seat, id: &str) -> std::io::Result<Listening> {
        match (&self.outside, &self.station) {
            (Some(outside), _) => outside.listen(seat, id).await,
            (None, Some(station)) => station.listen(seat, id).await,
            (None, None) => Listening::to(seat, id).await,
        }
    }

    /// The line of a loop or a group, while this process holds it.
    pub fn line(&self, id: &str) -> Option<Arc<Line>> {
        self.hub.get()?.line(id)
    }

    pub(crate) fn changes(&self) -> std::io::Result<watch::Receiver<u64>> {
        match &self.outside {
            Some(outside) => Ok(outside.changes()),
            None => changes::watch(self.data.root()),
        }
    }

    /// Releases a lease whose journal could not be read: this process lives on, so nobody else could take it.
    pub(crate) async fn give_back(&self, id: &str, token: &str) {
        let _line = self.hub().ok().and_then(|hub| hub.close_line(id));
        if let Err(error) = self.store.release(id, token).await {
            tracing::warn!(loop_id = id, %error, "cannot release the lease");
        }
    }
}
