//! The pipes between engine and shim: nothing panics, and a frame that was read is written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_supervise::fuzzing::read_everything(data));
