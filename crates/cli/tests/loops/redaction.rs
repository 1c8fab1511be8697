//! No secret is stored: not in transcripts, journal, prompts, logs, notifications or commit messages.

use std::path::{Path, PathBuf};

use crate::support::{PROMISE, call, run, status};
use windlass_testkit::World;

const KNOWN: &str = "correct-horse-battery-9";
const DOTENV: &str = "dotenv-value-4711";
const SPLIT: [&str; 3] = ["ghp_16C7e42F29", "2c6912E7710c838347", "Ae178B4a"];
const IN_GOAL: &str = "sk-ant-api03-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z";
const IN_GATE: &str = "AKIAIOSFODNN7REALKEY";
const STEERED: &str = "postgres://app:s3cr3t-pw-9@db.internal:5432/x";

/// Every file below a directory that holds the text.
fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(text.len()).any(|part| part == text.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

#[test]
// promise: safety-5
fn what_agents_gates_and_people_say_is_stored_without_its_secrets() {
    let mut world = World::new();
    world.set_env("DB_PASSWORD", KNOWN);
    world.repo().write(".gitignore", ".env\n").commit("ignore");
    world.repo().write(".env", format!("API_TOKEN={DOTENV}\n"));
    let told = world.root().join("told");
    world.config(&format!("copy = [\".env\"]\nnotify_command = \"cat > {}\"\n", told.display()));
    let [one, two, three] = SPLIT;
    let script = format!(
        r#"
[[turn]]
steps = [
    {{ say = "the password is {KNOWN}, quoted \"{KNOWN}\"" }},
    {{ split = {{ chunks = ["{one}", "{two}", "{three}"], gates = ["g1", "g2"] }} }},
    {{ say = "and in the file: {DOTENV}" }},
    {{ write = {{ path = "made", content = "1\n" }} }},
]
[[turn]]
steps = [{{ say = "{PROMISE}" }}]
"#
    );
    let agent = world.script(&script);
    // Of its own making, so that the command line does not hold it.
    let gate = format!("echo {}''{}; test -f made", &IN_GATE[..8], &IN_GATE[8..]);
    let goal = format!("use {IN_GOAL} and {KNOWN}");
    let line = agent.command_line();
    let args = ["run", &goal, "--name", "work", "--agent-command", &line, "--gate", &gate, "--max-iterations", "2"];
    let mut running = world.start(crate::support::windlass(&world, &args));
    // Fails at once where the loop does not even start.
    running.wait_line(windlass_testkit::Stream::Stdout, "iteration 1");
    agent.wait_turns(1);
    call(&world, &["steer", "work", &format!("connect to {STEERED}")]).assert_code(0);
    agent.open_gate("g1");
    agent.open_gate("g2");
    running.wait().assert_code(0);
    let secrets = [KNOWN, DOTENV, &SPLIT.concat(), IN_GOAL, IN_GATE, "s3cr3t-pw-9"];
    for secret in secrets {
        let mut found = holding(&world.data_dir(), secret);
        // The file was copied there, which is what was requested.
        found.retain(|path| !path.ends_with(".env"));
        assert!(found.is_empty(), "{secret} is in {found:?}");
        assert!(!std::fs::read_to_string(&told).unwrap().contains(secret), "{secret} was told");
    }
    let said = call(&world, &["logs", "work"]).assert_code(0).stdout.clone();
    for name in ["DB_PASSWORD", "API_TOKEN", "github-token", "password"] {
        assert!(said.contains(&format!("[redacted:{name}]")), "{name}: {said}");
    }
    let gates = crate::support::feed(&world, "work");
    assert!(gates.iter().any(|item| item["type"] == "gate_ended" && item.to_string().contains("[redacted:aws-key]")));
    assert!(status(&world, "work")["goal"].as_str().unwrap().contains("[redacted:anthropic-key]"));
    let prompts = agent.prompts();
    assert!(prompts[0].contains("[redacted:anthropic-key] and [redacted:DB_PASSWORD]"), "{}", prompts[0]);
    assert!(prompts.iter().all(|prompt| secrets.iter().all(|secret| !prompt.contains(secret))));
    let messages = world.repo().git(["log", "--all", "--format=%B"]);
    assert!(secrets.iter().all(|secret| !messages.contains(secret)), "{messages}");
}

#[test]
fn an_agents_json_stays_json_and_its_session_is_known() {
    let mut world = World::new();
    world.set_env("API_SECRET", "quote\"and\\slash-1");
    let script = format!(
        r#"
[[turn]]
steps = [
    {{ event = {{ type = "session", id = "0b9f2c1e-7a53-4f0d-9c1e-2f4a6b8d0e13" }} }},
    {{ event = {{ type = "text", text = 'it is quote"and\slash-1, {PROMISE}' }} }},
]
"#
    );
    let agent = world.script(&script);
    let words: Vec<String> = agent.command_line().split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    world.config(&format!("[agents.mine]\ncommand = {words:?}\noutput = \"jsonl\"\n"));
    let args = ["run", "do the work", "--name", "work", "--agent", "mine"];
    world.run(crate::support::windlass(&world, &args)).assert_code(0);
    let said = call(&world, &["logs", "work"]).assert_code(0).stdout.clone();
    assert!(said.contains("it is [redacted:API_SECRET],"), "{said}");
    let status = status(&world, "work");
    assert_eq!(status["claims"]["made"], 1);
    let feed = crate::support::feed(&world, "work");
    assert!(feed.iter().any(|item| item.to_string().contains("0b9f2c1e-7a53-4f0d-9c1e-2f4a6b8d0e13")), "{feed:?}");
}

#[test]
fn a_short_value_is_no_secret() {
    let mut world = World::new();
    world.set_env("MY_TOKEN", "abc");
    let agent = world.script(&format!("[[turn]]\nsteps = [{{ say = \"abc {PROMISE}\" }}]"));
    run(&world, &agent, &[]).assert_code(0).assert_stdout_has("abc");
}
