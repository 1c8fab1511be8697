//! Positions in a feed, which clients send back: nothing panics, and a position that is accepted is written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_engine::feed::Cursor;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(cursor) = text.parse::<Cursor>() else { return };
    assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor), "a position changes on its way");
});
