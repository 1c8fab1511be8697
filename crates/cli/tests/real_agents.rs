//! Whole loops with the real agent CLIs, against the scripted model on loopback. A CLI that is not installed is
//! skipped, loudly; `cargo run -p windlass-testkit --bin agent-clis -- install` installs all of them.

mod support;

use std::process::Command;

use support::*;
use windlass_testkit::World;
use windlass_testkit::clis::Cli;
use windlass_testkit::model::ModelServer;

/// A CLI as an agent of Windlass, in a world and against a server of its own.
struct Driven {
    cli: Cli,
    world: World,
    server: ModelServer,
}

impl Driven {
    fn new(cli: Cli, test: &str, script: &str) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{test} with {}", cli.name()))?;
        let world = World::new();
        let server = ModelServer::with_toml(script);
        let setup = cli.setup(&program, &world.home(), &server.url());
        setup.write_files();
        let env: Vec<String> =
            setup.env.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        // OpenCode names a model with its provider, which its settings do here already.
        let model = if cli == Cli::Opencode { String::new() } else { format!("model = {}\n", quoted(cli.model())) };
        world.config(&format!(
            "[agents.{}]\ncommand = [{}]\n{model}env = {{ {} }}\n",
            cli.name(),
            quoted(&program.to_string_lossy()),
            env.join(", ")
        ));
        Some(Driven { cli, world, server })
    }

    fn run(&self, more: &[&str]) -> Command {
        let mut args = vec!["run", "Write the file out.txt.", "--name", "work", "--agent", self.cli.name()];
        args.extend(more);
        windlass(&self.world, &args)
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// The agent claims too early; told that the gate failed, it uses its shell and claims again.
const TOO_EARLY: &str = r#"
    [[turn]]
    contains = "gates failed"
    steps = [
        { say = "I will write the file.", shell = "echo scripted > out.txt", usage = { input = 100, output = 10 } },
        { say = "The file is written.\n<promise>COMPLETE</promise>" },
    ]
    [[turn]]
    steps = [{ say = "Nothing to do.\n<promise>COMPLETE</promise>" }]
"#;

fn promise_loop_with_gate(cli: Cli) {
    let Some(driven) = Driven::new(cli, "a promise loop with a gate", TOO_EARLY) else { return };
    let output = driven.world.run(driven.run(&["--gate", "test -f out.txt", "--no-baseline", "--max-iterations", "4"]));
    output.assert_code(0);
    let status = status(&driven.world, "work");
    assert_eq!(status["status"], "completed", "{}\n{}", output.shown(), driven.server.summary());
    assert_eq!(status["verified"], true);
    assert_eq!(status["iterations"], 2, "{}\n{}", output.shown(), driven.server.summary());
    assert_eq!(status["claims"]["refused"], 1);
    let commits = driven.world.repo().commits("windlass/work");
    assert_eq!(commits[0].trailer("Windlass-Iteration"), Some("2"));
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
    // The second turn went on in the session of the first: the model was sent both prompts.
    let prompts = driven.server.work().iter().filter_map(|seen| seen.asked.as_ref()).map(|a| a.prompts.len()).max();
    assert_eq!(prompts, Some(2), "{}", driven.server.summary());
    driven.world.wait_no_processes();
}

#[test]
fn claude_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Claude);
}

#[test]
fn codex_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Codex);
}

#[test]
fn copilot_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Copilot);
}

#[test]
fn opencode_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Opencode);
}

#[test]
fn gemini_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Gemini);
}

#[test]
fn qwen_runs_a_promise_loop_with_a_gate() {
    promise_loop_with_gate(Cli::Qwen);
}
