//! The real agent CLIs in the sandbox that users get by default: they find their logins and keep their sessions, use
//! their shells, and are done. The name of this binary is what switches the sandbox on (see `World`).
#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "a part of what the conformance tests have is used here")]

use windlass_testkit::clis::Cli;

#[test]
fn claude() {
    crate::working::promise_loop(Cli::Claude);
}

#[test]
fn codex() {
    crate::working::promise_loop(Cli::Codex);
}

#[test]
fn opencode() {
    crate::working::promise_loop(Cli::Opencode);
}

#[test]
fn gemini() {
    crate::working::promise_loop(Cli::Gemini);
}

#[test]
fn copilot() {
    crate::working::promise_loop(Cli::Copilot);
}

#[test]
fn qwen() {
    crate::working::promise_loop(Cli::Qwen);
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
    let Some(driven) = crate::driven::Driven::new(cli, "a list of hosts", script) else { return };
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
