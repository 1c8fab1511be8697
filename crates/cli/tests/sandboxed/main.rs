//! Loops in the sandbox that users get by default: hostile agents, the network list, the real agent CLIs, and the tests of
//! `loops` that matter there, again.
#![cfg(target_os = "linux")]

mod admitted;
mod agents;
mod copied_caches;
mod gallery;
mod hidden_gates;
mod honest_cli;
mod in_place_secrets;
mod judged;
mod network;
mod planted;
mod probes;
mod projects;
mod trials;
mod view;

#[path = "../loops/audited_loop.rs"]
mod audited_loop;
#[path = "../loops/continuing.rs"]
mod continuing;
#[path = "../loops/honesty.rs"]
mod honesty;
#[path = "../loops/judged_gates.rs"]
mod judged_gates;
#[path = "../loops/promise_loop.rs"]
mod promise_loop;
#[path = "../loops/refine_gates.rs"]
mod refine_gates;
#[path = "../loops/refine_target.rs"]
mod refine_target;
#[path = "../loops/reviewed_crash.rs"]
mod reviewed_crash;
#[path = "../loops/sessions.rs"]
mod sessions;
#[path = "../loops/verdict_gallery.rs"]
mod verdict_gallery;

#[path = "../real/driven.rs"]
#[allow(dead_code, reason = "a part of what the conformance tests have is used here")]
mod driven;
#[path = "../real/working.rs"]
#[allow(dead_code, reason = "a part of what the conformance tests have is used here")]
mod working;

#[path = "../support/clocked.rs"]
mod clocked;
#[path = "../support/reviewed.rs"]
mod reviewed;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/sweep.rs"]
mod sweep;

use windlass_testkit::{World, sandbox_works};

/// For tests that hold without a sandbox too: on a machine without one, loops run with it off.
fn world() -> World {
    World::sandboxed()
}

/// For tests that mean nothing without a sandbox: none on a machine without one, which is printed.
fn sandboxed() -> Option<World> {
    sandbox_works().then(world)
}
