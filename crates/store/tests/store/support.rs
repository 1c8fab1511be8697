//! What the store's tests share: entries, events and holders that are quick to make and easy to distinguish.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::Path;

use jiff::Timestamp;
use windlass_store::{
    Access, Append, CatalogueEntry, Create, Holder, InboxItem, LOOP, NewEvent, ProcessIdentity, Seat, SqliteStore,
    Store,
};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::new(1_760_000_000 + second, 123_456_789).expect("a time of this century")
}

pub(crate) fn entry(id: &str, project: &str, name: &str) -> CatalogueEntry {
    CatalogueEntry {
        id: id.into(),
        kind: LOOP.into(),
        project: project.into(),
        name: name.into(),
        goal: format!("goal of {name}"),
        recipe: "promise".into(),
        status: "running".into(),
        open: true,
        iterations: 0,
        max_iterations: Some(5),
        stop_reason: None,
        created_at: at(0),
        updated_at: at(0),
        stopped_at: None,
        summary: format!(r#"{{"id":"{id}"}}"#),
    }
}

pub(crate) fn event(kind: &str) -> NewEvent {
    event_with(kind, "")
}

pub(crate) fn event_with(kind: &str, text: &str) -> NewEvent {
    let body = serde_json::json!({ "type": kind, "text": text }).to_string();
    NewEvent { at: at(1), kind: kind.into(), body }
}

/// A worker, because every store keeps those; a process only means something on its machine.
pub(crate) fn holder(token: &str) -> Holder {
    Holder { seat: Seat::Worker { id: WORKER.into(), name: "größe 'w' \u{1F9F5}".into() }, token: token.into() }
}

pub(crate) const WORKER: &str = "0199a1b2-0000-7000-8000-000000000001";

/// This very process.
pub(crate) fn process(token: &str) -> Holder {
    let process = ProcessIdentity::current().expect("this system reports processes");
    Holder { seat: Seat::Process { process, socket: "/run/windlass/a b.sock".into() }, token: token.into() }
}

pub(crate) fn item(id: &str) -> InboxItem {
    InboxItem { id: id.into(), at: at(2), body: format!(r#"{{"type":"stop","id":"{id}"}}"#) }
}

/// A loop `id` named like its id in project `/p`, led by `token`, with its first event.
pub(crate) async fn new_loop(store: &dyn Store, id: &str, token: &str) {
    let new = Create { entry: entry(id, "/p", id), events: vec![event("loop_created")], holder: Some(holder(token)) };
    assert_eq!(store.create(new).await.expect("a new loop"), 1);
}

/// A step of loop `id` with one event after `expected_seq`.
pub(crate) fn step(id: &str, expected_seq: u64, token: &str) -> Append {
    let mut entry = entry(id, "/p", id);
    entry.iterations = u32::try_from(expected_seq).expect("a small number");
    entry.updated_at = at(i64::try_from(expected_seq).expect("a small number"));
    Append {
        loop_id: id.into(),
        expected_seq,
        events: vec![event_with("turn_ended", &format!("after {expected_seq}"))],
        entry,
        token: token.into(),
        consumed: Vec::new(),
        answers: Vec::new(),
    }
}

pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Access::ReadWrite).expect("a database that can be written")
}
