//! `agents` and `doctor`: what is installed, in which version, and with `--call` whether it answers. The agents are
//! programs on the PATH that print what the real ones once printed.

use std::path::Path;

use crate::support::*;
use serde_json::Value;
use windlass_testkit::World;

/// What a real agent printed, with the code it ended with.
fn plays(agent: &str, case: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings").join(agent);
    let meta: Value = serde_json::from_slice(&std::fs::read(dir.join(format!("{case}.meta.json"))).unwrap()).unwrap();
    let file = dir.join(format!("{case}.jsonl")).canonicalize().unwrap();
    format!("cat '{}'\nexit {}", file.display(), meta["exit"].as_i64().unwrap_or(1))
}

/// Installs an agent that tells its version, notes every other start, and then does `body`.
fn install(world: &World, name: &str, version: &str, body: &str) {
    let started = world.root().join("started");
    world.install_script(
        name,
        &format!(
            "if [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\necho {name} >> '{}'\ncat > /dev/null\n{body}",
            started.display()
        ),
    );
}

fn started(world: &World) -> String {
    std::fs::read_to_string(world.root().join("started")).unwrap_or_default()
}

fn agents(world: &World, args: &[&str]) -> Vec<Value> {
    let mut all = vec!["agents", "--json"];
    all.extend(args);
    call(world, &all).assert_code(0).json().as_array().cloned().unwrap()
}

fn one<'a>(reports: &'a [Value], name: &str) -> &'a Value {
    reports.iter().find(|report| report["name"] == name).unwrap()
}

#[test]
fn nothing_is_called_unless_it_is_asked_for() {
    let world = World::new();
    install(&world, "claude", "2.1.325 (Claude Code)", &plays("claude", "plain"));
    for command in ["agents", "doctor"] {
        call(&world, &[command]).assert_code(0);
        call(&world, &[command, "--json"]).assert_code(0);
    }
    assert_eq!(started(&world), "");
    let reports = agents(&world, &[]);
    assert_eq!(one(&reports, "claude")["call"], Value::Null);
    assert_eq!(one(&reports, "claude")["version"], "2.1.325 (Claude Code)");
    assert_eq!(one(&reports, "claude")["known_good"]["from"], "2.1.325");
    assert_eq!(one(&reports, "claude")["logged_out"], true);
    call(&world, &["agents"]).assert_code(0).assert_stdout_has("does not look logged in: claude auth login");
    assert_eq!(one(&reports, "codex")["installed"], false);
    assert_eq!(one(&reports, "codex")["logged_out"], false);
    assert_eq!(one(&reports, "pi")["installed"], false);
    assert!(one(&reports, "pi")["problem"].as_str().unwrap().contains("npm install -g @mariozechner/pi-coding-agent"));
    assert!(one(&reports, "codex")["problem"].as_str().unwrap().contains("npm install -g @openai/codex"));
}

#[test]
fn older_and_newer_versions_are_said_and_not_refused() {
    let world = World::new();
    install(&world, "claude", "1.0.5 (Claude Code)", &plays("claude", "plain"));
    install(&world, "codex", "codex-cli 9.0.0", &plays("codex", "plain"));
    let reports = agents(&world, &["--call"]);
    let problem = |name: &str| one(&reports, name)["problem"].as_str().unwrap().to_owned();
    assert!(problem("claude").starts_with("older than the tested versions: 2.1.325"), "{}", problem("claude"));
    assert!(problem("codex").starts_with("newer than the tested versions"), "{}", problem("codex"));
    assert_eq!(one(&reports, "claude")["call"]["result"], "ok");
    assert_eq!(one(&reports, "codex")["call"]["result"], "ok");
}

#[test]
fn each_agent_is_called_once_and_its_answer_told_apart() {
    let world = World::new();
    install(&world, "claude", "2.1.325", &plays("claude", "plain"));
    install(&world, "codex", "0.166.0", &plays("codex", "auth_401"));
    install(&world, "copilot", "1.0.102", &plays("copilot", "rate_limit"));
    install(&world, "gemini", "0.61.0", &plays("gemini", "model_not_found"));
    install(&world, "opencode", "1.18.33", "echo 'first line' >&2; echo 'cannot open the database' >&2; exit 9");
    install(&world, "qwen", "0.24.4", "echo 'no json at all'; exit 0");
    let reports = agents(&world, &["--call"]);
    let result = |name: &str| one(&reports, name)["call"]["result"].as_str().unwrap_or("none").to_owned();
    assert_eq!(result("claude"), "ok");
    assert_eq!(result("codex"), "not_logged_in");
    assert_eq!(result("copilot"), "rate_limited");
    assert_eq!(result("gemini"), "model_not_found");
    assert_eq!(result("opencode"), "failed");
    assert_eq!(one(&reports, "opencode")["call"]["stderr"][1], "cannot open the database");
    assert_eq!(result("qwen"), "failed");
    assert_eq!(result("demo"), "none", "what is built in needs no call");
    let mut lines: Vec<_> = started(&world).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["claude", "codex", "copilot", "gemini", "opencode", "qwen"]);
    let shown = call(&world, &["agents", "--call"]).assert_code(0).stdout.clone();
    for said in ["answers (", "is not logged in", "log in with `codex login`", "cannot open the database", "--model"] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    // Nothing of the calls is left.
    let left: Vec<_> = std::fs::read_dir(world.root().join("tmp")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_agent_that_does_not_answer_is_ended_in_time_and_with_all_it_started() {
    let world = World::new();
    install(&world, "claude", "2.1.325", "sleep 600 &\nwait");
    let reports = agents(&world, &["--call", "--call-timeout", "1s"]);
    assert_eq!(one(&reports, "claude")["call"]["result"], "timed_out");
    assert_eq!(one(&reports, "claude")["call"]["after_ms"], 1_000);
    world.wait_no_processes();
    call(&world, &["agents", "--call-timeout", "1s"]).assert_code(2);
    call(&world, &["agents", "--call", "--call-timeout", "soon"]).assert_code(2);
}

#[test]
fn doctor_says_who_answers_and_what_to_do_about_the_others() {
    let world = World::new();
    install(&world, "claude", "2.1.325", &plays("claude", "auth_401"));
    let output = call(&world, &["doctor", "--call", "--json"]);
    output.assert_code(1);
    let report: Value = output.json();
    assert_eq!(report["ok"], false);
    let finding = |what: &str, of: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|one| one["what"] == what && one["detail"].as_str().unwrap().contains(of)).cloned()
    };
    assert_eq!(finding("call", "claude").unwrap()["fix"], "log in with `claude auth login`");
    assert!(finding("agents", "no agent responded").is_some());
    // Without a call nobody is asked, and nothing is wrong.
    call(&world, &["doctor"]).assert_code(0);

    install(&world, "codex", "0.166.0", &plays("codex", "plain"));
    let output = call(&world, &["doctor", "--call"]);
    output.assert_code(0);
    assert!(output.stdout.contains("codex: answers ("), "{}", output.shown());
    assert!(output.stdout.contains("claude: is not logged in"), "{}", output.shown());
}

#[test]
fn an_agent_of_the_users_own_is_called_from_wherever_its_profile_says() {
    let world = World::new();
    world.repo().write("tools/agent.sh", "#!/bin/sh\ncat\n");
    std::process::Command::new("chmod").arg("755").arg(world.repo().path().join("tools/agent.sh")).status().unwrap();
    world.config("[agents.mine]\ncommand = [\"tools/agent.sh\"]\n");
    assert_eq!(one(&agents(&world, &["--call"]), "mine")["call"]["result"], "ok");
}

#[test]
fn an_agent_that_a_repository_brings_runs_only_after_consent() {
    let world = World::new();
    let mark = world.root().join("ran");
    let program = world.install_script("theirs", &format!("touch '{}'\necho 1.0\n", mark.display()));
    let settings = format!("sandbox = 'off'\n[agents.theirs]\ncommand = ['{}']\n", program.display());
    world.repo().write(".windlass/config.toml", &settings);
    for command in [&["agents", "--call"][..], &["doctor", "--call"], &["agents"]] {
        call(&world, command);
        assert!(!mark.exists(), "{command:?}");
    }
    let reports = agents(&world, &["--call"]);
    let theirs = one(&reports, "theirs");
    assert!(theirs["problem"].as_str().unwrap().contains("windlass trust"), "{theirs}");
    assert_eq!((&theirs["version"], &theirs["call"]), (&Value::Null, &Value::Null));
    trust(&world);
    assert_eq!(one(&agents(&world, &["--call"]), "theirs")["call"]["result"], "ok");
}

#[test]
fn agents_add_shows_a_template_and_writes_it_when_told_to() {
    let world = World::new();
    world.config("# mine\nmax_iterations = 3\n");
    let shown = call(&world, &["agents", "add", "openhands"]);
    shown.assert_code(0).assert_stdout_has("[agents.openhands]");
    shown.assert_stdout_has("not tried with this agent");
    shown.assert_stdout_has("nothing written");
    let read = || std::fs::read_to_string(world.config_file()).unwrap();
    assert_eq!(read(), "# mine\nmax_iterations = 3\n");
    let added = call(&world, &["agents", "add", "openhands", "--yes"]);
    added.assert_code(0).assert_stdout_has("not tried with this agent");
    added.assert_stdout_has("openhands login");
    assert!(read().starts_with("# mine\nmax_iterations = 3\n\n# Windlass was not tried"), "{}", read());
    let reports = agents(&world, &[]);
    assert_eq!(one(&reports, "openhands")["login"], "openhands login");
    let again = call(&world, &["agents", "add", "openhands", "--yes"]);
    again.assert_code(2);
    assert!(again.stderr.contains("already"), "{}", again.shown());
}

#[test]
fn agents_add_writes_a_profile_for_any_command() {
    let world = World::new();
    // As pi does, it prints its version to standard error.
    world.install_script("my-agent", "[ \"$1 $2\" = '--version ' ] && echo 1.2.3 >&2");
    call(&world, &["agents", "add", "mine", "--command", "my-agent 'a b'", "--yes"]).assert_code(0);
    let reports = agents(&world, &[]);
    assert_eq!(one(&reports, "mine")["installed"], true);
    assert_eq!(one(&reports, "mine")["version"], "1.2.3");
    for (words, why) in [
        (&["agents", "add", "pi", "--yes"][..], "built in"),
        (&["agents", "add", "nobody", "--yes"], "no template"),
        (&["agents", "add", "a b", "--command", "x", "--yes"], "cannot be the name"),
        (&["agents", "add", "other", "--command", "it's", "--yes"], "quote"),
    ] {
        let refused = call(&world, words);
        assert_ne!(refused.code, Some(0), "{words:?}");
        assert!(refused.stderr.contains(why), "{words:?}: {}", refused.shown());
    }
}

#[test]
// promise: settings-9
fn a_profile_of_the_user_reads_json_lines_as_a_built_in_one_does() {
    let world = World::new();
    let lines = [
        r#"{"kind":"hello","id":"s-7"}"#,
        r#"{"kind":"says","words":"Done.\\n<promise>COMPLETE</promise>"}"#,
        r#"{"kind":"count","in":12,"out":3}"#,
        r#"{"kind":"bye"}"#,
    ];
    let body: String = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    install(&world, "my-agent", "1.2.3", &format!("echo x > out.txt\n{body}"));
    world.config(
        r#"
        [agents.mine]
        command = ["my-agent"]
        output = "jsonl"
        events = [
            { when = { kind = "hello" }, session = "id" },
            { when = { kind = "says" }, text = "words" },
            { when = { kind = "count" }, input_tokens = "in", output_tokens = "out" },
            { when = { kind = "bye" }, end = "finished" },
        ]
        "#,
    );
    call(&world, &["run", "x", "--name", "work", "--agent", "mine", "--gate", "test -f out.txt"]).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["outcome"], "verified", "{status}");
    assert_eq!(status["usage"]["input_tokens"], 12, "{status}");
    assert_eq!(status["usage"]["output_tokens"], 3, "{status}");
}
