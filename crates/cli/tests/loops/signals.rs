//! Signals to the driving process, and its sudden death.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use crate::support::*;
use rustix::process::{Pid, Signal, kill_process_group};
use windlass_testkit::{Running, ScriptedAgent, World};

/// Works, tells, hangs in its first attempt; in the second it ends.
const HANGS_ONCE: &str = r#"
    [[turn]]
    steps = [
        { append = { path = "log", content = "first\n" } },
        { say = "I am at it" },
        { touch = "reached" },
        { hang = { ignore_signals = true } },
    ]
    [[turn]]
    steps = [{ append = { path = "log", content = "second\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// Leaves everything behind that one can leave, then hangs.
const LEAVES_CHILDREN: &str = r#"
    [[turn]]
    steps = [
        { leave = { kind = "holds_stdout" } },
        { leave = { kind = "double_fork", ignore_signals = true } },
        { leave = { kind = "setsid", ignore_signals = true } },
        { leave = { kind = "setsid_bare", ignore_signals = true } },
        { touch = "reached" },
        { hang = { ignore_signals = true } },
    ]
    [[turn]]
    steps = [{ say = "<promise>COMPLETE</promise>" }]
"#;

fn started(world: &World, agent: &ScriptedAgent, more: &[&str]) -> Running {
    let running = start(world, agent, more);
    agent.wait_touched("reached");
    running
}

/// Blocks until all the agent ever started is gone; how long that took.
fn wait_gone(agent: &ScriptedAgent) -> Duration {
    let from = Instant::now();
    while let Some(one) = agent.still_alive().first() {
        one.process.wait_dead();
    }
    from.elapsed()
}

/// Whether the tests themselves were started by `nohup` or the like, which all that they start inherits.
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[test]
// promise: recovery-3
fn int_term_and_hup_interrupt_the_loop_and_resume_completes_it() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        if signal == Signal::HUP && hang_ups_are_ignored() {
            continue;
        }
        let world = World::new();
        let agent = world.script(HANGS_ONCE);
        let running = started(&world, &agent, &["--gate", "true"]);
        running.signal(signal);
        let out = running.wait();
        out.assert_code(code);
        assert!(agent.still_alive().is_empty(), "agents are gone when the program ends");
        out.assert_stdout_has("windlass resume work");
        let interrupted = status(&world, "work");
        assert_eq!(interrupted["status"], "interrupted");
        assert!(interrupted["stop_reason"].is_null(), "{interrupted}");
        call(&world, &["status", "work", "--exit-code"]).assert_code(11);
        call(&world, &["resume", "work"]).assert_code(0);
        let done = status(&world, "work");
        assert_eq!(done["status"], "completed");
        assert_eq!(done["iterations"], 1);
        assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
        // The agent has no session, so the second attempt started at the checkpoint; what was there is kept.
        assert_eq!(file_at_branch(&world, "work", "log"), "second\n");
        let saved = world.repo().refs("refs/windlass/").into_iter().find(|name| name.contains("/cut/")).expect("saved");
        assert_eq!(world.repo().file_at(&saved, "log"), "first\n");
        world.wait_no_processes();
    }
}

#[test]
// promise: recovery-3
fn a_second_ctrl_c_kills_at_once() {
    let world = World::new();
    let agent = world.script(LEAVES_CHILDREN);
    let running = started(&world, &agent, &[]);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let out = running.wait();
    out.assert_code(130);
    wait_gone(&agent);
    assert_eq!(status(&world, "work")["status"], "interrupted");
    call(&world, &["resume", "work"]).assert_code(0);
}

#[test]
fn ctrl_c_in_a_terminal_reaches_the_group_and_still_leaves_everything_in_order() {
    let world = World::new();
    let agent = world.script(HANGS_ONCE);
    let mut command = run_command(&world, &agent, &["--gate", "true"]);
    command.process_group(0);
    let running = world.start(command);
    agent.wait_touched("reached");
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    running.wait().assert_code(130);
    assert!(agent.still_alive().is_empty());
    call(&world, &["resume", "work"]).assert_code(0);
}

#[test]
fn a_gate_is_ended_by_ctrl_c_and_runs_again() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let reached = world.root().join("gate-reached");
    let gate = format!("if test -e {0}; then true; else touch {0}; exec sleep 1000; fi", reached.display());
    let running = start(&world, &agent, &["--gate", &gate]);
    windlass_testkit::watch::wait_exists(&reached, None).unwrap();
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    world.wait_no_processes();
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(agent.turns().len(), 1, "the turn had ended and is not repeated");
    assert_eq!(status(&world, "work")["verified"], true);
    assert_eq!(committed_iterations(&world, "work"), ["1"]);
}

#[test]
// promise: recovery-2
fn killed_with_9_its_agents_are_gone_within_a_second() {
    let world = World::new();
    let agent = world.script(LEAVES_CHILDREN);
    let running = started(&world, &agent, &[]);
    assert_eq!(agent.pids().len(), 4);
    running.kill();
    running.wait_ended();
    let took = wait_gone(&agent);
    assert!(took <= Duration::from_secs(1), "{took:?}");
    world.wait_no_processes();
    assert_eq!(status(&world, "work")["status"], "interrupted");
    call(&world, &["status", "work", "--exit-code"]).assert_code(11);
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
    let feed = feed(&world, "work");
    let ended: Vec<_> =
        of_type(&feed, "turn_ended").iter().map(|item| item["report"]["outcome"]["type"].clone()).collect();
    assert_eq!(ended, ["cut_off", "finished"]);
}

#[test]
// promise: recovery-6
fn three_cut_offs_in_a_row_are_an_error() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"{{count}}\" }, { say = \"here {{count}}\" }, \"hang\"]");
    let mut running = start(&world, &agent, &[]);
    for attempt in 1..=3 {
        agent.wait_turns(attempt);
        running.kill();
        running.wait_ended();
        running = world.start(windlass(&world, &["resume", "work"]));
    }
    let out = running.wait();
    out.assert_code(7);
    assert_eq!(status(&world, "work")["stop_reason"]["type"], "cut_off");
    assert_eq!(status(&world, "work")["iterations"], 1);
    assert_eq!(starts(&agent), [(1, 1), (1, 2), (1, 3)]);
}

#[test]
// promise: recovery-5
fn a_turn_that_ended_before_the_kill_is_not_run_again() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let mut command = run_command(&world, &agent, &["--gate", "test -f a"]);
    command.env("WINDLASS_TEST_FAULT", "turn.closed:1");
    let out = world.run(command);
    assert_eq!(out.signal, Some(9), "{}", out.shown());
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(agent.turns().len(), 1);
    assert_eq!(status(&world, "work")["claims"]["made"], 1);
}

#[test]
fn a_reader_that_stops_reading_does_not_hold_up_the_loop() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ flood = { bytes = 3_000_000, line = 100 } }, { touch = "flooded" }, "hang"]
    "#,
    );
    // The program's stdout is a pipe that nobody reads.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = run_command(&world, &agent, &[]);
    command.stdout(writer).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    agent.wait_touched("flooded");
    call(&world, &["stop", "work"]).assert_code(0);
    assert!(agent.still_alive().is_empty());
    assert_eq!(status(&world, "work")["status"], "cancelled");
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn under_nohup_a_closed_terminal_does_not_end_the_loop() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ touch = \"reached\" }, { wait_for = \"go\" }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let mut command = world.command("nohup");
    command.arg(binary()).args(["run", "x", "--name", "work", "--agent-command", &agent.command_line()]);
    let running = world.start(command);
    agent.wait_touched("reached");
    running.signal(Signal::HUP);
    agent.open_gate("go");
    running.wait().assert_code(0);
}
