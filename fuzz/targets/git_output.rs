//! What git prints, and its index: nothing panics, whatever an agent's repository makes git say.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| windlass_workspace::fuzzing::read_everything(data));
