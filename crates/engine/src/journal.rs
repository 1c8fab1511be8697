//! Events between the machine and the store: as JSON text, with their time.

use jiff::Timestamp;
use thiserror::Error;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState, replay};

use windlass_store::{NewEvent, Store, StoreError, StoredEvent};

#[derive(Debug, Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("event {seq} of loop {id} cannot be read")]
    Unreadable {
        id: String,
        seq: u64,
        #[source]
        source: serde_json::Error,
    },
    #[error("there is no loop {id}")]
    NoSuchLoop { id: String },
}

pub fn encode(at: Timestamp, event: &Event) -> NewEvent {
    let body = serde_json::to_string(event).unwrap_or_else(|error| unreachable!("an event is plain data: {error}"));
    NewEvent { at, kind: event.name().to_owned(), body }
}

pub fn decode(id: &LoopId, stored: &StoredEvent) -> Result<Event, JournalError> {
    serde_json::from_str(&stored.body).map_err(|source| JournalError::Unreadable {
        id: id.0.clone(),
        seq: stored.seq,
        source,
    })
}

/// The state of a loop, from its whole journal.
pub async fn load(store: &dyn Store, id: &LoopId) -> Result<LoopState, JournalError> {
    const PAGE: usize = 1_000;
    let mut events = Vec::new();
    let mut after = 0;
    loop {
        let page = store.read(&id.0, after, PAGE).await?;
        for stored in &page {
            events.push((stored.at, decode(id, stored)?));
            after = stored.seq;
        }
        if page.len() < PAGE {
            break;
        }
    }
    replay(events).map_err(|_| JournalError::NoSuchLoop { id: id.0.clone() })
}
