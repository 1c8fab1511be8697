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

/// One turn with a tool call, with nothing but the model within reach.
fn through_a_list_of_hosts(cli: Cli) {
    let script = r#"
        [[turn]]
        steps = [
            { say = "I will write the file.", shell = "echo scripted > out.txt" },
            { say = "The file is written.\n<promise>COMPLETE</promise>" },
        ]
    "#;
    let Some(driven) = driven::Driven::new(cli, "a list of hosts", script) else { return };
    let model = format!("127.0.0.1:{}", driven.server.port());
    let listed = ["--network", "list", "--network-host", &model, "--gate", "test -f out.txt"];
    let output = driven.run(&listed);
    driven.assert_completed(&output);
    let status = driven.status();
    assert_eq!(status["sandbox"]["network"], "list", "{status}");
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
}

#[test]
fn claude_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Claude);
}

#[test]
fn codex_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Codex);
}
