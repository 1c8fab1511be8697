//! The real agent CLIs in the sandbox that users get by default: they find their logins and keep their sessions, use
//! their shells, and are done. The name of this binary is what switches the sandbox on (see `World`).
#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "a part of what the conformance tests have is used here")]

use windlass_testkit::clis::Cli;

use crate::driven::Driven;

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

#[test]
fn pi() {
    crate::working::promise_loop(Cli::Pi);
}

#[test]
fn cline() {
    crate::working::promise_loop(Cli::Cline);
}

#[test]
fn aider() {
    crate::working::promise_loop(Cli::Aider);
}

#[test]
fn vibe() {
    crate::working::promise_loop(Cli::Vibe);
}

#[test]
fn goose() {
    crate::working::promise_loop(Cli::Goose);
}

#[test]
fn kimi() {
    crate::working::promise_loop(Cli::Kimi);
}

#[test]
fn kimi_audits_with_its_own_shell() {
    audits(Cli::Kimi, &[]);
}

#[test]
fn vibe_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Vibe);
}

#[test]
fn goose_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Goose);
}

#[test]
fn vibe_audits_with_its_own_shell() {
    audits(Cli::Vibe, &[]);
}

#[test]
fn goose_audits_with_its_own_shell() {
    audits(Cli::Goose, &[]);
}

#[test]
fn aider_reviews_without_a_shell() {
    let Some(driven) = Driven::new(Cli::Aider, "a reviewed loop", REVIEWED) else { return };
    let output = driven.run(&["--recipe", "audited", "--gate", "test -f out.txt"]);
    driven.assert_completed(&output);
    // Its changes where it looks are reverted and reported; what it writes for itself there is not.
    output.assert_stdout_has("reverted changes of a read-only role");
    assert!(!output.stdout.contains(".aider"), "{}", output.shown());
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "whole\n");
    let changed = driven.world.repo().git(["diff", "--name-only", "main", "windlass/work"]);
    assert!(!changed.contains(".aider"), "{changed}");
}

#[test]
fn aider_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Aider);
}

#[test]
fn pi_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Pi);
}

#[test]
fn cline_through_a_list_of_hosts() {
    through_a_list_of_hosts(Cli::Cline);
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
    let Some(driven) = Driven::new(cli, "a list of hosts", script) else { return };
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

/// The coder writes a file. The auditor checks it with its own shell, changes it, and hands in its verdict as
/// a block.
const AUDITED: &str = r###"
    select = "starts"
    [[turn]]
    steps = [{ shell = "echo whole > out.txt" }, { say = "Written." }]
    [[turn]]
    steps = [
        { shell = "tr a-z A-Z < out.txt; echo spoiled > out.txt" },
        { say = "It is clean.\n\n```windlass-review\n{\"verdict\": \"clean\"}\n```" },
    ]
"###;

/// The same of one that only edits.
const REVIEWED: &str = r###"
    select = "starts"
    [[turn]]
    steps = [{ shell = "echo whole > out.txt" }, { say = "Written." }]
    [[turn]]
    steps = [
        { shell = "echo spoiled > out.txt" },
        { say = "It is clean.\n\n```windlass-review\n{\"verdict\": \"clean\"}\n```" },
    ]
"###;

/// An audited loop with one CLI as coder and as auditor.
fn audits(cli: Cli, more: &[&str]) {
    let Some(driven) = Driven::new(cli, "an audited loop", AUDITED) else { return };
    assert_audits(&driven, more);
}

/// The same over ACP; `args` make the CLI speak it.
fn audits_over_acp(cli: Cli, args: &[&str]) {
    let Some(driven) = Driven::new(cli, "an audited loop over ACP", AUDITED) else { return };
    let config = std::fs::read_to_string(driven.world.config_file()).unwrap();
    let words: String = args.iter().map(|word| format!(", {word:?}")).collect();
    let line = |line: &str| match line {
        command if command.starts_with("command = [") => {
            format!("adapter = \"acp\"\n{}{words}]\n", command.trim_end_matches(']'))
        }
        // Not every agent lets its model be chosen over ACP; the setup names one.
        model if model.starts_with("model = ") => String::new(),
        other => format!("{other}\n"),
    };
    driven.world.config(&config.lines().map(line).collect::<String>());
    assert_audits(&driven, &[]);
}

fn assert_audits(driven: &Driven, more: &[&str]) {
    let output = driven.run(&[&["--recipe", "audited", "--gate", "test -f out.txt"], more].concat());
    driven.assert_completed(&output);
    let heard: Vec<String> = driven.server.requests().iter().map(|seen| seen.body.to_string()).collect();
    let saw = |what: &str| heard.iter().any(|body| body.contains(what));
    assert!(saw("WHOLE"), "the auditor ran no command: {}", output.shown());
    // It may write where it looks, since that is its own checkout; nobody else ever sees it.
    output.assert_stdout_has("reverted changes of a read-only role");
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "whole\n");
}

#[test]
fn codex_audits_with_its_own_shell() {
    audits(Cli::Codex, &[]);
}

#[test]
fn claude_audits_with_its_own_shell() {
    audits(Cli::Claude, &[]);
}

#[test]
fn opencode_audits_with_its_own_shell() {
    audits(Cli::Opencode, &[]);
}

#[test]
fn gemini_audits_with_its_own_shell() {
    audits(Cli::Gemini, &[]);
}

#[test]
fn copilot_audits_with_its_own_shell() {
    audits(Cli::Copilot, &[]);
}

#[test]
fn qwen_audits_with_its_own_shell() {
    audits(Cli::Qwen, &[]);
}

#[test]
fn pi_audits_with_its_own_shell() {
    audits(Cli::Pi, &[]);
}

#[test]
fn cline_audits_with_its_own_shell() {
    audits(Cli::Cline, &[]);
}

#[test]
fn copilot_audits_over_acp() {
    audits_over_acp(Cli::Copilot, &["--acp"]);
}

#[test]
fn qwen_audits_over_acp() {
    audits_over_acp(Cli::Qwen, &["--acp"]);
}

#[test]
fn opencode_audits_over_acp() {
    audits_over_acp(Cli::Opencode, &["acp"]);
}

#[test]
fn gemini_audits_over_acp() {
    audits_over_acp(Cli::Gemini, &["--acp", "-m", Cli::Gemini.model()]);
}

#[test]
fn claude_agent_acp_audits() {
    audits_over_acp(Cli::ClaudeAcp, &[]);
}

#[test]
fn codex_acp_audits() {
    audits_over_acp(Cli::CodexAcp, &[]);
}

/// The auditor looks with its shell, and hands in its verdict through Windlass's own tool.
#[test]
fn codex_audits_with_the_tools() {
    let script = r###"
        select = "starts"
        [[turn]]
        steps = [{ shell = "echo whole > out.txt" }, { say = "Written." }]
        [[turn]]
        steps = [
            { shell = "echo saw-$(cat out.txt)" },
            { tool = { name = "verdict", input = { verdict = "clean" } } },
            { say = "It is clean." },
        ]
    "###;
    let Some(driven) = Driven::new(Cli::Codex, "an audited loop with tools", script) else { return };
    // Of a model that it knows, Codex expects to search for tools, which the scripted one does not.
    let config = std::fs::read_to_string(driven.world.config_file()).unwrap();
    driven.world.config(&config.replace(&format!("model = {:?}", Cli::Codex.model()), "model = \"scripted\""));
    let output = driven.run(&["--recipe", "audited", "--gate", "test -f out.txt"]);
    driven.assert_completed(&output);
    let feed = crate::support::feed(&driven.world, "work");
    assert_eq!(
        crate::support::of_type(&feed, "verdict_given").len(),
        1,
        "{}\n{}",
        output.shown(),
        driven.server.summary()
    );
}
