//! Events between the machine and the store: as JSON text, with their time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState, Replayed, replay};
use windlass_core::spec::LoopSpec;

use windlass_store::{NewEvent, Store, StoreError, StoredEvent};

#[derive(Debug, Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot read event {seq} of loop {id}")]
    Unreadable {
        id: String,
        seq: u64,
        #[source]
        source: serde_json::Error,
    },
    #[error(
        "event {seq} of loop {id} was written by another version of Windlass (format {version}, this one reads {FORMAT})"
    )]
    OtherFormat { id: String, seq: u64, version: u64 },
    #[error("loop {id} not found")]
    NoSuchLoop { id: String },
}

/// The format that events are written in, as `v` in each of them. Events of earlier ones decided too little to be replayed:
/// the first had no number, and the second left it to the fold which turns are tried again.
const FORMAT: u64 = 3;

/// An event as it is stored.
#[derive(Serialize)]
struct Versioned<'a> {
    v: u64,
    #[serde(flatten)]
    event: &'a Event,
}

/// What is checked before an event is read.
#[derive(Deserialize)]
struct Version {
    #[serde(default = "first_format")]
    v: u64,
}

fn first_format() -> u64 {
    1
}

pub fn encode(at: Timestamp, event: &Event) -> NewEvent {
    let body = serde_json::to_string(&Versioned { v: FORMAT, event });
    let body = body.unwrap_or_else(|error| unreachable!("an event is plain data: {error}"));
    NewEvent { at, kind: event.name().to_owned(), body }
}

pub fn decode(id: &LoopId, stored: &StoredEvent) -> Result<Event, JournalError> {
    let unreadable = |source| JournalError::Unreadable { id: id.0.clone(), seq: stored.seq, source };
    let Version { v: version } = serde_json::from_str(&stored.body).map_err(unreadable)?;
    if version != FORMAT {
        return Err(JournalError::OtherFormat { id: id.0.clone(), seq: stored.seq, version });
    }
    serde_json::from_str(&stored.body).map_err(unreadable)
}

/// What a loop was created with, from its first event.
pub async fn spec(store: &dyn Store, id: &LoopId) -> Result<Box<LoopSpec>, JournalError> {
    let first = store.read(&id.0, 0, 1).await?;
    match first.first().map(|stored| decode(id, stored)).transpose()? {
        Some(Event::LoopCreated { spec, .. }) => Ok(spec),
        _ => Err(JournalError::NoSuchLoop { id: id.0.clone() }),
    }
}

/// The state of a loop, from its whole journal.
pub async fn load(store: &dyn Store, id: &LoopId) -> Result<LoopState, JournalError> {
    let events = events(store, id, u64::MAX).await?;
    replay(events).map_err(|_| JournalError::NoSuchLoop { id: id.0.clone() })
}

/// The events of a journal, up to the one of this number.
pub async fn events(store: &dyn Store, id: &LoopId, until: u64) -> Result<Vec<Replayed>, JournalError> {
    const PAGE: usize = 1_000;
    let mut events = Vec::new();
    let mut after = 0;
    loop {
        let page = store.read(&id.0, after, PAGE).await?;
        for stored in page.iter().take_while(|stored| stored.seq <= until) {
            events.push((stored.at, decode(id, stored)?));
        }
        after = page.last().map_or(u64::MAX, |stored| stored.seq);
        if page.len() < PAGE || after >= until {
            return Ok(events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(body: &str) -> StoredEvent {
        StoredEvent { seq: 7, at: Timestamp::UNIX_EPOCH, kind: "wait_ended".into(), body: body.into() }
    }

    #[test]
    fn every_event_carries_the_format_it_is_written_in() {
        let written = encode(Timestamp::UNIX_EPOCH, &Event::WaitEnded);
        assert_eq!(written.body, r#"{"v":3,"type":"wait_ended"}"#);
        assert_eq!(decode(&LoopId("l1".into()), &stored(&written.body)).unwrap(), Event::WaitEnded);
    }

    #[test]
    fn event_of_another_format_is_refused_by_its_number() {
        let others = [
            (r#"{"type":"wait_ended"}"#, "format 1"),
            (r#"{"v":2,"type":"wait_ended"}"#, "format 2"),
            (r#"{"v":4,"type":"new"}"#, "format 4"),
        ];
        for (body, format) in others {
            let refused = decode(&LoopId("l1".into()), &stored(body)).unwrap_err().to_string();
            assert!(refused.contains(format) && refused.contains("event 7 of loop l1"), "{refused}");
        }
    }
}
