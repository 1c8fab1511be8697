//! One durable append of an event with its link of the hash chain, against the same bytes appended to a file.

use std::io::Write;

use jiff::Timestamp;
use windlass_store::{
    Access, Append, CatalogueEntry, Create, Holder, NewEvent, ProcessIdentity, Seat, SqliteStore, Store,
};
use windlass_testkit::World;

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::report::Row;

/// As large as the report of a turn.
const BYTES: usize = 2_000;

pub fn rows(scale: Scale) -> Vec<Row> {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let store = SqliteStore::open(world.data_dir().join("windlass.db"), Access::ReadWrite).expect("it opens");
    let body = format!("{{\"type\":\"measured\",\"text\":\"{}\"}}", "x".repeat(BYTES));
    let event = || NewEvent { at: Timestamp::now(), kind: "measured".to_owned(), body: body.clone() };
    let now = Timestamp::now();
    let entry = CatalogueEntry {
        id: "measured".to_owned(),
        kind: windlass_store::LOOP.to_owned(),
        project: "/measured".to_owned(),
        name: "measured".to_owned(),
        goal: "measure".to_owned(),
        recipe: "promise".to_owned(),
        status: "running".to_owned(),
        open: true,
        iterations: 0,
        max_iterations: None,
        stop_reason: None,
        created_at: now,
        updated_at: now,
        stopped_at: None,
        summary: "{}".to_owned(),
    };
    let token = "measured".to_owned();
    let process = ProcessIdentity::current().expect("this system reports processes");
    let holder = Holder { seat: Seat::Process { process, socket: world.root().join("socket") }, token: token.clone() };
    let create = Create { entry: entry.clone(), events: vec![event()], holder: Some(holder) };
    runtime.block_on(store.create(create)).expect("it is new");
    let mut file = std::fs::File::create(world.root().join("journal")).expect("the world is writable");
    let by_hand = || {
        let write = || file.write_all(body.as_bytes()).and_then(|()| file.sync_data()).expect("the world is writable");
        ms(timed(write).1)
    };
    let mut seq = 1;
    let ours = || {
        let append = Append {
            loop_id: entry.id.clone(),
            expected_seq: seq,
            events: vec![event()],
            entry: entry.clone(),
            token: token.clone(),
            consumed: Vec::new(),
            answers: Vec::new(),
        };
        seq += 1;
        ms(timed(|| runtime.block_on(store.append(append)).expect("it is held")).1)
    };
    let pairs = Pairs::take(scale.of(301, 1), by_hand, ours);
    let what = format!("one durable append of {BYTES} bytes, with catalogue and hash chain");
    vec![Row::of_times(&what, "the same bytes to a file, and `fdatasync`", &pairs, "≤ 3×", |ratio, _| ratio <= 3.0)]
}
