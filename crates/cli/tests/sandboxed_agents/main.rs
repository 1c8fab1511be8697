//! The real agent CLIs in the sandbox that users get by default: they find their logins and keep their sessions, use
//! their shells, and are done. The name of this binary is what switches the sandbox on (see `World`).
#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "a part of what the conformance tests have is used here")]

#[path = "../support/clocked.rs"]
mod clocked;
#[path = "../real_conformance/driven.rs"]
mod driven;
#[path = "../support/mod.rs"]
mod support;
#[path = "../real_conformance/working.rs"]
mod working;

use windlass_testkit::clis::Cli;

#[test]
fn claude() {
    working::promise_loop(Cli::Claude);
}

#[test]
fn codex() {
    working::promise_loop(Cli::Codex);
}

#[test]
fn opencode() {
    working::promise_loop(Cli::Opencode);
}

#[test]
fn gemini() {
    working::promise_loop(Cli::Gemini);
}

#[test]
fn copilot() {
    working::promise_loop(Cli::Copilot);
}

#[test]
fn qwen() {
    working::promise_loop(Cli::Qwen);
}
