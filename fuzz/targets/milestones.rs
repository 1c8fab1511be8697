//! Milestones: nothing panics, and a milestone that was written out is read as the same milestone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::milestone::Milestone;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Ok(milestone) = Milestone::parse("m1", &text) else { return };
    let Ok((written, kept)) = milestone.write() else { return };
    let again = Milestone::parse("m1", &written).expect("a milestone that was written can be read");
    assert_eq!(kept, again, "what was written is read differently");
});
