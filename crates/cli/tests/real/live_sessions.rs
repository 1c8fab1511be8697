//! Whole loops with real agent CLIs whose process lives from turn to turn, against the scripted model on loopback. A
//! CLI that is not installed is skipped, loudly; `cargo run -p windlass-testkit --bin agent-clis -- install` installs
//! all of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::*;
use windlass_testkit::World;
use windlass_testkit::clis::Cli;
use windlass_testkit::model::ModelServer;

/// A CLI as an agent of Windlass, in a world and against its own server.
struct Driven {
    cli: Cli,
    world: World,
    server: ModelServer,
}

impl Driven {
    /// `profile` is what the agent's profile says besides its command and environment; `words` follow the program.
    fn new(cli: Cli, test: &str, profile: &str, words: &[&str], script: &str) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{test} with {}", cli.name()))?;
        let world = World::new();
        let server = ModelServer::with_toml(script);
        let setup = cli.setup(&program, &world.home(), &server.url());
        setup.write_files();
        let env: Vec<String> = setup.env.iter().map(|(name, value)| format!("{name:?} = {value:?}")).collect();
        let command: Vec<String> =
            [&*program.to_string_lossy()].iter().chain(words).map(|word| format!("{word:?}")).collect();
        let (command, env) = (command.join(", "), env.join(", "));
        world.config(&format!("[agents.live]\n{profile}\ncommand = [{command}]\nenv = {{ {env} }}\n"));
        Some(Driven { cli, world, server })
    }

    fn run(&self, more: &[&str]) -> Command {
        let mut args = vec!["run", "Write the file out.txt.", "--name", "work", "--agent", "live"];
        args.extend(more);
        windlass(&self.world, &args)
    }

    /// What the agent printed in the last turn of the second iteration.
    fn last_transcript(&self) -> String {
        let subdirs = |dir: &Path| std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
        let loops = subdirs(&self.world.data_dir().join("transcripts"));
        let turns = loops.flat_map(|dir| subdirs(&dir).collect::<Vec<_>>());
        let of_second = |dir: &PathBuf| dir.file_name().unwrap().to_string_lossy().starts_with("2.coder.");
        let last = turns.filter(of_second).max().expect("there was a second iteration");
        String::from_utf8_lossy(&std::fs::read(last.join("stdout")).unwrap()).into_owned()
    }

    /// Whether the model was sent the earlier prompt together with the last one.
    fn went_on(&self) -> bool {
        let work = self.server.work();
        let prompts: Vec<usize> =
            work.iter().filter_map(|seen| seen.asked.as_ref()).map(|asked| asked.prompts.len()).collect();
        prompts.first() < prompts.last()
    }
}

/// The agent claims too early; told that the gate failed, it writes the file and claims again. In both turns its shell
/// says when the first process of its PID namespace started.
const TOO_EARLY: &str = r#"
    [[turn]]
    contains = "gates failed"
    steps = [
        { say = "I will write the file.", shell = "echo scripted > out.txt; cut -d' ' -f22 /proc/1/stat >> who", usage = { input = 100, output = 10 } },
        { say = "The file is written.\n<promise>COMPLETE</promise>" },
    ]
    [[turn]]
    steps = [
        { say = "I will look.", shell = "cut -d' ' -f22 /proc/1/stat >> who" },
        { say = "Nothing to do.\n<promise>COMPLETE</promise>" },
    ]
"#;

const GATED: [&str; 5] = ["--gate", "test -f out.txt", "--no-baseline", "--max-iterations", "4"];

#[track_caller]
fn assert_completed_in_two(driven: &Driven, output: &windlass_testkit::Output) {
    output.assert_code(0);
    let status = status(&driven.world, "work");
    let shown = || format!("{}: {}\n{}", driven.cli.name(), output.shown(), driven.server.summary());
    assert_eq!(status["status"], "completed", "{}", shown());
    assert_eq!(status["verified"], true);
    assert_eq!(status["iterations"], 2, "{}", shown());
    assert_eq!(status["claims"]["refused"], 1);
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
    driven.world.wait_no_processes();
}

#[test]
fn claude_is_kept_alive_through_a_promise_loop() {
    let model = format!("adapter = \"claude\"\nmodel = {:?}", Cli::Claude.model());
    let Some(driven) = Driven::new(Cli::Claude, "a loop that keeps it alive", &model, &[], TOO_EARLY) else { return };
    let mut args = GATED.to_vec();
    args.extend(["--session", "keep_alive"]);
    let output = driven.world.run(driven.run(&args));
    assert_completed_in_two(&driven, &output);
    assert!(driven.went_on(), "{}", driven.server.summary());
    // When the first process of the tree started: the same tree took both turns.
    let who = file_at_branch(&driven.world, "work", "who");
    let who: Vec<&str> = who.lines().collect();
    assert_eq!(who.len(), 2, "{who:?}");
    assert_eq!(who[0], who[1]);
    let feed = feed(&driven.world, "work");
    let sessions: Vec<_> = of_type(&feed, "turn_ended").iter().map(|item| item["report"]["session"].clone()).collect();
    assert_eq!(sessions[0], sessions[1]);
    // The second turn has its own figures, not those of the whole life of the process.
    let second = of_type(&feed, "turn_ended")[1]["report"]["usage"].clone();
    assert!(second.to_string().contains("output_tokens"), "{second}");
}

/// A loop over ACP, under each policy: kept alive it has one process, resumed it has two in the same session, unless the
/// agent is one that may lose it.
fn acp_loops(cli: Cli, words: &[&str], keeps_sessions: bool) {
    for (policy, one_process) in [("keep_alive", true), ("resume", false)] {
        let test = format!("an ACP loop with --session {policy}");
        let Some(driven) = Driven::new(cli, &test, "adapter = \"acp\"", words, TOO_EARLY) else { return };
        let mut args = GATED.to_vec();
        args.extend(["--session", policy]);
        let output = driven.world.run(driven.run(&args));
        assert_completed_in_two(&driven, &output);
        let shown = format!("{policy}: {}\n{}", output.shown(), driven.server.summary());
        let last_turn = driven.last_transcript();
        assert_eq!(!last_turn.contains("\"protocolVersion\""), one_process, "{shown}\n{last_turn}");
        let feed = feed(&driven.world, "work");
        let ended = of_type(&feed, "turn_ended");
        let lost = types(&feed).contains(&"session_lost");
        assert!(!lost || !(one_process || keeps_sessions), "{shown}");
        if !lost {
            assert_eq!(ended.len(), 2, "{shown}");
            assert_eq!(ended[0]["report"]["session"], ended[1]["report"]["session"], "{shown}");
            assert!(driven.went_on(), "{shown}");
        } else {
            // It was told so and started afresh, with the whole task.
            assert!(!driven.went_on(), "{shown}");
        }
        let last = &ended[ended.len() - 1]["report"];
        assert_eq!(last["tools"].as_array().map(Vec::len), Some(1), "{last}");
        assert!(last["last_words"].as_str().unwrap().contains("The file is written."), "{last}");
        assert!(last["usage"].as_object().is_some_and(|usage| !usage.is_empty()), "{last}");
    }
}

#[test]
fn claude_agent_acp_runs_loops() {
    acp_loops(Cli::ClaudeAcp, &[], true);
}

#[test]
fn codex_acp_runs_loops() {
    acp_loops(Cli::CodexAcp, &[], true);
}

#[test]
fn gemini_runs_loops_over_acp() {
    // It offers to load sessions, and then finds them only if it had the time to write them.
    acp_loops(Cli::Gemini, &["--acp", "-m", Cli::Gemini.model()], false);
}

#[test]
fn copilot_runs_loops_over_acp() {
    acp_loops(Cli::Copilot, &["--acp"], true);
}

#[test]
fn opencode_runs_loops_over_acp() {
    acp_loops(Cli::Opencode, &["acp"], true);
}

#[test]
fn qwen_runs_loops_over_acp() {
    acp_loops(Cli::Qwen, &["--acp"], true);
}
