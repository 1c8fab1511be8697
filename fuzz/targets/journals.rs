//! Journals, one event a line: nothing panics, and what was read is written and read as the same.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use windlass_core::machine::{Event, LoopState, effects, evolve};

fuzz_target!(|data: &[u8]| {
    let mut state: Option<LoopState> = None;
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<Event>(line) else { continue };
        let written = serde_json::to_vec(&event).expect("an event is plain data");
        let again: Event = serde_json::from_slice(&written).expect("what was written can be read");
        assert_eq!(event, again, "an event changes on its way");
        state = match state {
            None => LoopState::created(Timestamp::UNIX_EPOCH, &event),
            Some(state) => Some(evolve(state, Timestamp::UNIX_EPOCH, &event)),
        };
        if let Some(state) = &state {
            let _ = effects(state);
        }
    }
});
