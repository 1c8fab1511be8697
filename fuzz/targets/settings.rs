//! Settings, agent profiles, and recipes: nothing panics, and a refusal names what is wrong.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_engine::config;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = config::profile_in("fuzzed", text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = config::fuzzing::read_recipe(text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = config::fuzzing::read_settings(text) {
        assert!(!error.to_string().is_empty());
    }
});
