//! Fault points: named places where a test kills the whole program.
//!
//! They exist in debug builds only; in a release they are nothing.

/// Dies here, as if killed with -9, when `WINDLASS_TEST_FAULT` is `<name>:<n>` and this is the n-th time.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock};

    struct Plan {
        name: String,
        count: u64,
    }
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    static PASSED: OnceLock<Mutex<HashMap<String, u64>>> = OnceLock::new();

    let plan = PLAN.get_or_init(|| {
        let wish = std::env::var("WINDLASS_TEST_FAULT").ok()?;
        let (name, count) = wish.rsplit_once(':')?;
        Some(Plan { name: name.to_owned(), count: count.parse().ok()? })
    });
    let Some(plan) = plan else { return };
    let mut passed = match PASSED.get_or_init(Mutex::default).lock() {
        Ok(passed) => passed,
        Err(poisoned) => poisoned.into_inner(),
    };
    let times = passed.entry(name.to_owned()).or_default();
    *times += 1;
    if plan.name == name && plan.count == *times {
        let me = rustix::process::getpid();
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub fn point(_name: &str) {}
