//! Every step of the scripted agent does what it says; starts and prompts are recorded.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;
use windlass_testkit::{Output, ScriptedAgent, Stream, World};

/// One turn with these steps, played once in its own world.
fn play(steps: &str) -> Output {
    let world = World::new();
    let agent = one_turn(&world, steps);
    world.run(world.agent(&agent))
}

fn one_turn(world: &World, steps: &str) -> ScriptedAgent {
    world.script(&format!("[[turn]]\nsteps = [{steps}]"))
}

#[test]
fn it_says_prints_and_complains() {
    let output = play(r#"{ say = "one" }, { print = "two" }, { stderr = "three" }"#);
    output.assert_code(0);
    assert_eq!(output.stdout, "one\ntwo");
    assert_eq!(output.stderr, "three\n");
}

#[test]
fn it_writes_bytes_that_are_no_text() {
    let output = play(r#"{ bytes = { hex = "ff 00 1b" } }, { bytes = { base64 = "/wD+aGk=" } }"#);
    assert_eq!(output.stdout_bytes, b"\xff\x00\x1b\xff\x00\xfehi");
}

#[test]
fn it_writes_shift_jis() {
    let output = play(r#"{ shift_jis = "表示: あんアミムヶー" }"#);
    let expected = b"\x95\x5c\x8e\xa6: \x82\xa0\x82\xf1\x83\x41\x83\x7e\x83\x80\x83\x96\x81\x5b\n";
    assert_eq!(output.stdout_bytes, expected);
}

#[test]
fn it_echoes_its_prompt_plain_quoted_and_indented() {
    let world = World::new();
    let steps = r#""echo_prompt", { echo_prompt = { style = "quoted" } },
                   { echo_prompt = { style = "indented" } }"#;
    let agent = one_turn(&world, steps);
    let output = world.run_with_input(world.agent(&agent), "do\nit");
    assert_eq!(output.stdout, "do\nit\n> do\n> it\n    do\n    it\n");
}

#[test]
fn split_writes_wait_for_their_gates() {
    let world = World::new();
    let steps = r#"{ split = { chunks = ["<prom", "ise>", { hex = "0a" }, "end\n"], gates = ["g1", "g2"] } }"#;
    let agent = one_turn(&world, steps);
    let mut running = world.start(world.agent(&agent));
    running.wait_bytes(Stream::Stdout, 5);
    assert_eq!(running.stdout_so_far(), b"<prom");
    agent.open_gate("g1");
    running.wait_bytes(Stream::Stdout, 9);
    assert_eq!(running.stdout_so_far(), b"<promise>");
    agent.open_gate("g2");
    assert_eq!(running.wait_line(Stream::Stdout, "end"), "end");
    assert_eq!(running.wait().stdout, "<promise>\nend\n");
}

#[test]
fn it_floods_with_lines_of_the_asked_length() {
    let output = play("{ flood = { bytes = 3_000_007, line = 100 } }");
    assert_eq!(output.stdout_bytes.len(), 3_000_007);
    let lines: Vec<&[u8]> = output.stdout_bytes.split(|&b| b == b'\n').collect();
    assert_eq!(lines.len(), 30_001);
    assert!(lines[..30_000].iter().all(|l| l.len() == 99));
    assert_eq!(lines[30_000].len(), 7);
}

#[test]
fn it_floods_in_a_single_line_and_on_stderr() {
    let output =
        play(r#"{ flood = { bytes = 5_000_000 } }, { flood = { bytes = 1000, line = 10, stream = "stderr" } }"#);
    assert_eq!(output.stdout_bytes.len(), 5_000_000);
    assert!(!output.stdout_bytes.contains(&b'\n'));
    assert_eq!(output.stderr.lines().count(), 100);
}

#[test]
fn neutral_events_are_checked_and_printed_as_json_lines() {
    let output = play(
        r#"{ event = { type = "session", id = "s-1" } },
           { event = { type = "usage", model = "m", input_tokens = 3, cost_usd = 0.25 } },
           { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 50 } },
           { event = { type = "tool_result", id = "t", output = "ok" } },
           { json = { type = "of_tomorrow", n = 1 } }"#,
    );
    let expected = concat!(
        r#"{"type":"session","id":"s-1"}"#,
        "\n",
        r#"{"type":"usage","model":"m","input_tokens":3,"cost_usd":0.25}"#,
        "\n",
        r#"{"type":"error","kind":"rate_limit","message":"slow down","retry_after_ms":50}"#,
        "\n",
        r#"{"type":"tool_result","id":"t","output":"ok","is_error":false}"#,
        "\n",
    );
    assert!(output.stdout.starts_with(expected), "{}", output.shown());
    assert_eq!(output.json_lines()[4]["type"], "of_tomorrow");
}

#[test]
fn it_edits_files_in_its_working_directory() {
    let world = World::new();
    let agent = one_turn(
        &world,
        r#"{ write = { path = "d/a.txt", content = "{{iteration}}.{{role}}\n" } },
           { append = { path = "d/a.txt", content = "more\n" } },
           { rename = { from = "d/a.txt", to = "e/b.txt" } },
           { write = { path = "run.sh" } },
           { chmod = { path = "run.sh", mode = "755" } },
           { symlink = { path = "link", target = "e/b.txt" } },
           { delete = "README.md" }, { delete = "d" }, { delete = "not there" }"#,
    );
    let mut command = world.agent(&agent);
    command.env("WINDLASS_TURN", "0190-aa.7.coder.1");
    world.run(command).assert_code(0);
    let repo = world.repo();
    assert_eq!(repo.read("link"), "7.coder\nmore\n");
    let mode = repo.path().join("run.sh").metadata().expect("run.sh is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!repo.path().join("README.md").exists() && !repo.path().join("d").exists());
}

#[test]
fn it_runs_commands_and_goes_on_when_one_fails() {
    let output = play(r#"{ run = "echo $((1+1)); exit 3" }, { run = ["printf", "%s", "$HOME"] }"#);
    output.assert_code(0).assert_stderr_has("exit status: 3");
    assert_eq!(output.stdout, "2\n$HOME");
}

#[test]
fn it_commits_by_itself() {
    let world = World::new();
    let steps = r#"{ write = { path = "a", content = "x" } }, { git_commit = "Agent's own" }"#;
    let agent = one_turn(&world, steps);
    world.run(world.agent(&agent)).assert_code(0);
    assert_eq!(world.repo().commits("main")[0].subject, "Agent's own");
    assert_eq!(world.repo().tree_files("main"), ["README.md", "a"]);
    assert_eq!(world.repo().status(), "");
}

#[test]
fn it_touches_and_waits_for_files_beside_the_script() {
    let world = World::new();
    let agent = one_turn(&world, r#"{ touch = "here" }, { wait_for = "go" }, { say = "went" }"#);
    let running = world.start(world.agent(&agent));
    agent.wait_touched("here");
    assert!(!running.ended());
    agent.open_gate("go");
    assert_eq!(running.wait().stdout, "went\n");
    assert_eq!(world.repo().status(), "");
}

#[test]
fn it_sleeps_in_real_time() {
    let before = std::time::Instant::now();
    play("{ sleep_ms = 60 }").assert_code(0);
    assert!(before.elapsed().as_millis() >= 60);
}

#[test]
fn it_hangs_until_a_signal_ends_it() {
    let world = World::new();
    let agent = one_turn(&world, r#"{ say = "hanging" }, "hang""#);
    let mut running = world.start(world.agent(&agent));
    running.wait_line(Stream::Stdout, "hanging");
    running.signal(Signal::TERM);
    assert_eq!(running.wait().signal, Some(15));
}

#[test]
fn it_hangs_through_term_int_and_hup() {
    let world = World::new();
    let agent = one_turn(&world, r#"{ hang = { ignore_signals = true, touch = "deaf" } }"#);
    let running = world.start(world.agent(&agent));
    agent.wait_touched("deaf");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        running.signal(signal);
    }
    // Killed by the last signal, not by one before it.
    running.kill();
    assert_eq!(running.wait_ended().signal(), Some(9));
}

#[test]
fn it_ignores_the_signals_it_is_told_to() {
    let output = play(
        r#"{ ignore_signals = ["SIGUSR1"] }, "ignore_signals", { kill_self = "USR1" },
           { kill_self = "TERM" }, { say = "alive" }, { kill_self = 12 }, { say = "not reached" }"#,
    );
    assert_eq!(output.stdout, "alive\n");
    assert_eq!(output.signal, Some(12));
}

#[test]
fn it_exits_with_any_code_and_plays_nothing_after_it() {
    let output = play(r#"{ exit = 7 }, { say = "not reached" }"#);
    output.assert_code(7);
    assert_eq!(output.stdout, "");
}

#[test]
fn it_crashes_without_leaving_a_core_file() {
    let world = World::new();
    let agent = one_turn(&world, r#"{ say = "so far" }, "crash""#);
    let output = world.run(world.agent(&agent));
    assert_eq!((output.signal, output.stdout.as_str()), (Some(6), "so far\n"));
    assert_eq!(world.repo().status(), "");
}

#[test]
fn it_shows_and_checks_its_environment() {
    let output = play(
        r#"{ print_env = ["TZ", "LANG", "NOT_SET"] }, { check_env = { name = "NO_COLOR" } },
           { check_env = { name = "TZ", is = "UTC" } }, { check_env = { name = "TZ", is = "CET" } }"#,
    );
    output.assert_code(64).assert_stderr_has("TZ is Some(\"UTC\")");
    assert_eq!(output.stdout, "LANG=C.UTF-8\nTZ=UTC\n");
    assert!(play("\"print_env\"").stdout.contains("WINDLASS_SANDBOX=off\n"));
}

#[test]
fn the_agent_dies_of_sigpipe_as_other_programs_do() {
    let world = World::new();
    let agent = one_turn(&world, r#"{ wait_for = "go" }, { flood = { bytes = 10_000_000 } }"#);
    let mut command = world.agent(&agent);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = command.stdout(writer).spawn().expect("the agent starts");
    // The command keeps its copy of the writing end, which does not matter; the reading one must go.
    drop(reader);
    agent.open_gate("go");
    assert_eq!(child.wait().expect("it ends").signal(), Some(13));
}
