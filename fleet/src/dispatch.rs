//! Which loop a worker takes next.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgListener;
use windlass_store::Result;

use crate::store::{LEASE, PgStore, WORK};

/// So often loops of workers that died are looked for: nobody tells of a death.
const LOOK: Duration = Duration::from_secs(1);

/// Places loops. Taking a loop is the store's business, so a loop may be offered to several workers.
#[async_trait]
pub trait Dispatch: fmt::Debug + Send {
    /// Loops that wait for a worker, those first that shall be taken first.
    async fn offers(&mut self, room: usize) -> Result<Vec<String>>;

    /// Returns when it is worth asking again.
    async fn changed(&mut self);

    /// This worker drives the loop no more, or could not take it.
    fn left(&mut self, _loop_id: &str) {}

    /// This worker takes no more loops.
    fn drain(&mut self) {}

    /// This worker has left all loops.
    async fn end(&mut self) {}
}

/// By priority, then in turn from each project, by the store's own tables.
#[derive(Debug)]
pub struct PgDispatch {
    store: PgStore,
    worker: String,
    listener: PgListener,
}

impl PgDispatch {
    pub async fn new(store: PgStore, worker: String) -> Result<Self> {
        let listener = store.listener(&[WORK, LEASE]).await?;
        Ok(Self { store, worker, listener })
    }
}

#[async_trait]
impl Dispatch for PgDispatch {
    async fn offers(&mut self, room: usize) -> Result<Vec<String>> {
        Ok(self.store.waiting_for(&self.worker, room).await?.into_iter().map(|waiting| waiting.id).collect())
    }

    async fn changed(&mut self) {
        // While the database is away there is nothing to hear, and the listener connects again by itself.
        tokio::select! {
            heard = self.listener.recv() => if heard.is_err() { tokio::time::sleep(LOOK).await },
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
