//! Loops in the sandbox that users get by default: the tests of the other files, once more. The name of this binary is
//! what switches it on (see `World`).
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod, reason = "each of the files brings what it shares with others")]

#[path = "audited_loop.rs"]
mod audited_loop;
#[path = "promise_loop.rs"]
mod promise_loop;
#[path = "refine_gates.rs"]
mod refine_gates;
#[path = "refine_target.rs"]
mod refine_target;
#[path = "reviewed_crash.rs"]
mod reviewed_crash;
#[path = "sessions.rs"]
mod sessions;
