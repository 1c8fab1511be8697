//! Failures that no waiting cures: the session, the key, the model.

use std::path::Path;

use serde_json::Value;
use windlass_testkit::Output;
use windlass_testkit::clis::Cli;

use crate::driven::{COMPLETES, Driven, GOAL};
use crate::support::{feed, of_type};

/// A first turn that is paused in its answer, with work done.
const FIRST_TURN: &str = r#"
    [[turn]]
    steps = [
        { shell = "echo half > half.txt" },
        { say = ["The rest is ", { gate = "middle" }, "still to do."] },
    ]
"#;

/// Two turns of one loop, with something done to the agent in between; the second one completes.
fn second_turn(cli: Cli, case: &str, between: impl FnOnce(&Driven)) -> Option<(Driven, Output)> {
    let driven = Driven::new(cli, case, FIRST_TURN)?;
    driven.pause_in_the_answer().assert_code(6);
    between(&driven);
    let output = driven.resume();
    output.assert_code(0);
    driven.assert_completed(&output);
    Some((driven, output))
}

/// The transcript is longer than the model's context: a fresh session gets what there is to know.
pub fn context_overflow(cli: Cli) {
    let script = format!(
        "apart_fail = 'overflow'\n[[turn]]\ncontains = '<task_context>'\n{}\n[[turn]]\nsteps = [{{ fail = 'overflow' }}]",
        COMPLETES.replace("[[turn]]", "")
    );
    let done = second_turn(cli, "the context overflows", |driven| driven.server.change_script(&script));
    let Some((driven, output)) = done else { return };
    // What the turn wrote before is committed and judged, so it counts as an iteration.
    assert_went_on_fresh(&driven, &output, "context_overflow", 3);
}

/// The agent's memory is gone: so is its session.
pub fn session_unknown(cli: Cli) {
    let done = second_turn(cli, "the session is unknown", |driven| {
        forget(&driven.world.home());
        driven.write_agent_files();
        driven.server.change_script(COMPLETES);
    });
    let Some((driven, output)) = done else { return };
    // Nothing was worked on, so it does not count.
    assert_went_on_fresh(&driven, &output, "unknown_session", 2);
}

/// All that the agent has written into its home, but not git's settings, which are the person's.
fn forget(home: &Path) {
    for entry in std::fs::read_dir(home).expect("a home").flatten() {
        let path = entry.path();
        if path.ends_with(".gitconfig") {
            continue;
        }
        let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.unwrap_or_else(|e| panic!("cannot remove {}: {e}", path.display()));
    }
}

#[track_caller]
fn assert_went_on_fresh(driven: &Driven, output: &Output, kind: &str, iterations: u32) {
    assert_eq!(driven.sessions(), ["fresh", "resume", "fresh"], "{}\n{}", output.shown(), driven.server.summary());
    let outcomes = driven.outcomes();
    assert_eq!((&outcomes[1]["type"], &outcomes[1]["kind"]), (&"failed".into(), &Value::from(kind)), "{outcomes:?}");
    let feed = feed(&driven.world, "work");
    assert_eq!(of_type(&feed, "session_lost").len(), 1);
    output.assert_stdout_has("session is lost");
    output.assert_stdout_has("starting a new one");
    // The fresh session knows the goal and what was done for it.
    let prompts = driven.prompts_of_last_request();
    let [prompt] = &prompts[..] else { panic!("a fresh session has one prompt: {prompts:?}") };
    for part in ["<task_context>", GOAL, "half.txt", "Iteration 1"] {
        assert!(prompt.contains(part), "no {part:?} in {prompt}");
    }
    assert_eq!(driven.status()["iterations"], iterations);
}

/// A wrong key: a person has to do something, and is told what.
pub fn wrong_key(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ fail = 'auth' }]";
    let Some(driven) = Driven::new(cli, "the key is wrong", script) else { return };
    let output = driven.run(&["--gate", "test -f out.txt"]);
    output.assert_code(6);
    let status = driven.status();
    assert_eq!(status["status"], "paused");
    assert!(status["waiting_for"].as_str().is_some_and(|why| why.contains("not logged in")), "{status}");
    let profile = &windlass_engine::config::built_in_agents()[cli.name()];
    let login = windlass_agents::Facts::of(profile).login.expect("known");
    let told = output.stdout.lines().find(|line| line.trim_start().starts_with("log in"));
    assert!(told.is_some_and(|line| line.contains(&login)), "no {login:?}: {}", output.shown());
    driven.server.change_script(COMPLETES);
    let output = driven.resume();
    output.assert_code(0);
    driven.assert_completed(&output);
}

/// There is no such model: no turn can be better, and the loop says what it was.
pub fn model_not_found(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ fail = 'model_not_found' }]";
    let Some(driven) = Driven::new(cli, "there is no such model", script) else { return };
    let output = driven.run(&["--gate", "test -f out.txt"]);
    output.assert_code(7);
    let outcomes = driven.outcomes();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    assert_eq!(outcomes[0]["kind"], "model_not_found", "{outcomes:?}");
    let status = driven.status();
    assert_eq!(status["stop_reason"]["type"], "agent_failed");
    let message = status["stop_reason"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("model"), "{message}");
    driven.world.wait_no_processes();
}

/// There is no such model, and another one is named for that case: it takes over.
pub fn model_fallback(cli: Cli) {
    let name = |model: &'static str| model.rsplit('/').next().unwrap_or(model);
    let model = name(cli.model());
    let script = format!("[[turn]]\nmodel = {model:?}\nsteps = [{{ fail = 'model_not_found' }}]\n{COMPLETES}");
    let Some(driven) = Driven::new(cli, "another model takes over", &script) else { return };
    let other = format!("{}:{}", cli.name(), other_model(cli));
    let output = driven.run(&["--gate", "test -f out.txt", "--fallback", &other]);
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.outcomes()[0]["kind"], "model_not_found");
    let feed = feed(&driven.world, "work");
    assert_eq!(of_type(&feed, "agent_changed").len(), 1);
    assert_eq!(driven.status()["iterations"], 1, "the one that could not begin used up no iteration");
    let last = driven.server.work().pop().and_then(|seen| seen.asked).map(|asked| asked.model);
    assert_eq!(last.as_deref(), Some(name(other_model(cli))), "{}", driven.server.summary());
}

/// A model that the CLI itself takes for one.
fn other_model(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "claude-opus-4-5",
        Cli::Gemini => "gemini-2.5-flash",
        Cli::Pi => "local/other",
        Cli::Aider => "openai/other",
        Cli::Vibe | Cli::Goose | Cli::Kimi => "other",
        Cli::Cline | Cli::Codex | Cli::Copilot | Cli::Opencode | Cli::Qwen | Cli::ClaudeAcp | Cli::CodexAcp => "gpt-5",
    }
}
