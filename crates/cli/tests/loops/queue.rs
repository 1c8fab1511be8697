//! `max_running`: loops beyond it are queued, however they are started, and start by themselves.

use crate::support::*;
use rustix::process::Signal;
use windlass_testkit::{Mcp, Running, ScriptedAgent, Stream, World};

/// Stays until it may continue, then is done.
const STAYS: &str =
    "[[turn]]\nsteps = [{ touch = \"here\" }, { wait_for = \"go\" }, { say = \"<promise>COMPLETE</promise>\" }]";
const DONE: &str = "[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]";

/// A world in which one loop may run, and the loop that does.
fn full() -> (World, ScriptedAgent, Running) {
    let world = World::new();
    world.config("max_running = 1\n");
    let agent = world.script(STAYS);
    let words = ["run", "x", "--name", "first", "--agent-command", &agent.command_line()];
    let running = world.start(windlass(&world, &words));
    agent.wait_touched("here");
    (world, agent, running)
}

fn profile(name: &str, agent: &ScriptedAgent) -> String {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    format!("[agents.{name}]\ncommand = [{}]\n", words.join(", "))
}

/// The first loop makes room.
fn make_room(agent: &ScriptedAgent, running: Running) {
    agent.open_gate("go");
    running.wait().assert_code(0);
}

fn finish(world: &World, name: &str) {
    call(world, &["logs", name, "-f"]);
    assert_eq!(status(world, name)["status"], "completed", "{name}");
}

/// Waits until the loop was queued for the n-th time.
fn wait_queued(world: &World, name: &str, times: usize) {
    let mut logs = world.start(windlass(world, &["logs", name, "-f", "--json"]));
    for _ in 0..times {
        logs.wait_line(Stream::Stdout, "loop_queued");
    }
    logs.kill();
    logs.wait_ended();
    assert_eq!(word(world, name), "queued");
}

fn word(world: &World, name: &str) -> String {
    status(world, name)["status"].as_str().unwrap().to_owned()
}

#[test]
// promise: control-5, control-10
fn run_waits_for_a_free_place_says_so_and_starts_by_itself() {
    let (world, first, running) = full();
    let second = world.script(DONE);
    let words = ["run", "x", "--name", "second", "--agent-command", &second.command_line()];
    let mut waiting = world.start(windlass(&world, &words));
    waiting.wait_line(Stream::Stdout, "queued: 1 of 1 loops are running");
    assert_eq!(word(&world, "second"), "queued");
    call(&world, &["status", "second", "--exit-code"]).assert_code(10);
    assert!(second.turns().is_empty());
    make_room(&first, running);
    waiting.wait().assert_code(0);
    assert_eq!(second.turns().len(), 1);
}

#[test]
fn queued_run_that_is_interrupted_starts_nothing_and_can_be_resumed() {
    let (world, first, running) = full();
    let second = world.script(DONE);
    let words = ["run", "x", "--name", "second", "--json", "--agent-command", &second.command_line()];
    let mut waiting = world.start(windlass(&world, &words));
    waiting.wait_line(Stream::Stdout, "loop_queued");
    waiting.signal(Signal::INT);
    waiting.wait().assert_code(130);
    assert_eq!(word(&world, "second"), "interrupted");
    let mut waiting = world.start(windlass(&world, &["resume", "second", "--json"]));
    waiting.wait_line(Stream::Stdout, "loop_queued");
    assert!(second.turns().is_empty());
    make_room(&first, running);
    waiting.wait().assert_code(0);
}

#[test]
// promise: control-10
fn place_of_a_killed_driver_is_free_at_once() {
    let (world, _first, running) = full();
    let second = world.script(DONE);
    let words = ["run", "x", "--name", "second", "--json", "--agent-command", &second.command_line()];
    let mut waiting = world.start(windlass(&world, &words));
    waiting.wait_line(Stream::Stdout, "loop_queued");
    running.kill();
    running.wait_ended();
    waiting.wait().assert_code(0);
}

#[test]
// promise: control-5, control-10
fn detached_resumed_and_restarted_loops_are_queued_too() {
    let (world, first, running) = full();
    let agent = world.script(DONE);
    let detach = |name: &str| {
        let words = ["run", "x", "--name", name, "--detach", "--agent-command", &agent.command_line()];
        call(&world, &words).assert_code(0);
    };
    for name in ["second", "third", "fourth"] {
        detach(name);
        wait_queued(&world, name, 1);
    }
    call(&world, &["pause", "third"]).assert_code(0);
    call(&world, &["stop", "fourth"]).assert_code(0);
    assert_eq!((word(&world, "third"), word(&world, "fourth")), ("paused".into(), "cancelled".into()));
    call(&world, &["resume", "third", "--detach"]).assert_code(0);
    call(&world, &["restart", "fourth", "--detach"]).assert_code(0);
    for name in ["third", "fourth"] {
        wait_queued(&world, name, 2);
    }
    assert!(agent.turns().is_empty());
    make_room(&first, running);
    for name in ["second", "third", "fourth"] {
        finish(&world, name);
    }
    world.wait_no_processes();
}

#[test]
fn milestone_is_queued_when_a_person_or_the_server_starts_it() {
    for by_server in [false, true] {
        let (world, first, running) = full();
        let developer = world.script(
            "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { git_commit = \"feat: a\" }, { say = \"## Implementation Report — Round 1\\n\\n**Feature**: F1: a\\n**Tests**: 1 passed, 0 failed\\n**Lint**: clean\\n\" }]\n[[turn]]\nsteps = [{ say = \"## ALL_FEATURES_COMPLETE\\n\\nDone.\\n\\n### Summary\\nall\\n\" }]",
        );
        let acceptor = world.script("[[turn]]\nsteps = [{ say = \"ACCEPTED\" }]");
        let words = ["milestone", "add", "m", "--title", "m", "--goal", "g", "--feature", "F1: a", "--criterion", "b"];
        call(&world, &words).assert_code(0);
        world.config(&format!(
            "max_running = 1\nauto_start = {by_server}\nsession = \"fresh\"\nagent = \"developer\"\nreviewer = \"acceptor\"\n{}{}",
            profile("developer", &developer),
            profile("acceptor", &acceptor)
        ));
        let words: &[&str] = if by_server { &["serve", "--once"] } else { &["milestone", "start", "m", "--json"] };
        let mut waiting = world.start(windlass(&world, words));
        waiting.wait_line(Stream::Stdout, if by_server { "started milestone m" } else { "loop_queued" });
        wait_queued(&world, "milestone-m", 1);
        assert!(developer.turns().is_empty());
        make_room(&first, running);
        waiting.wait().assert_code(0);
        assert_eq!(word(&world, "milestone-m"), "completed");
    }
}

#[test]
fn plan_that_an_agent_hands_over_by_mcp_is_queued() {
    let (world, first, running) = full();
    let coder = world.script("[[turn]]\nsteps = [{ write = { path = \"a\", content = \"a\" } }, { say = \"Done.\" }]");
    let block = "```windlass-review\n{\"findings\": [], \"verdict\": \"clean\"}\n```";
    let judge = world.script(&format!("[[turn]]\nsteps = [{{ say = {block:?} }}]"));
    world.config(&format!(
        "max_running = 1\nagent = \"mine\"\n{}{}",
        profile("mine", &coder),
        profile("judge", &judge)
    ));
    let mut tools = Mcp::start(windlass(&world, &["mcp"]));
    let given =
        serde_json::json!({ "plan": "Loop Name: Planned\n# The letter\nWrite the file a.\n", "reviewer": "judge" });
    let started = tools.call("execute-plan", &given).json();
    let name = started["name"].as_str().unwrap();
    wait_queued(&world, name, 1);
    assert!(coder.turns().is_empty());
    make_room(&first, running);
    finish(&world, name);
}

#[test]
// promise: control-10
fn loop_that_waits_for_an_answer_leaves_its_place_and_takes_one_again() {
    let world = World::new();
    world.config("max_running = 1\n");
    let asks = world.script(
        "[[turn]]\nsteps = [{ say = '<question default=\"SQLite\">Which database?</question>' }]\n\
         [[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]",
    );
    let words = ["run", "x", "--name", "first", "--question-wait", "30m", "--agent-command", &asks.command_line()];
    let mut first = world.start(windlass(&world, &words));
    first.wait_line(Stream::Stdout, "waiting");
    let stays = world.script(STAYS);
    let words = ["run", "x", "--name", "second", "--agent-command", &stays.command_line()];
    let second = world.start(windlass(&world, &words));
    stays.wait_touched("here");
    call(&world, &["answer", "first", "PostgreSQL"]).assert_code(0);
    first.wait_line(Stream::Stdout, "queued: 1 of 1 loops are running");
    assert_eq!(asks.turns().len(), 1);
    make_room(&stays, second);
    first.wait().assert_code(0);
    assert_eq!(asks.turns().len(), 2);
}
