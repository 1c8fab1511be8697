//! Plans: nothing panics, and a plan that was written out is read as the same plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::plan::Plan;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Ok(plan) = Plan::parse(&text) else { return };
    let written = plan.render();
    let again = Plan::parse(&written).expect("a plan that was written out can be read");
    assert_eq!(plan.count(), again.count(), "the number of sections changes");
});
