//! Windlass is told to leave, or dies, or is asked to pause, while a real agent is at work.

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process_group};
use windlass_testkit::clis::Cli;

use crate::driven::{COMPLETES, Driven, HELD_SLEEP, Held};
use crate::support::call;

/// The second answer stops half way.
const STOPS_IN_AN_ANSWER: &str = r#"
    [[turn]]
    steps = [
        { shell = "echo half > half.txt" },
        { say = ["I am about to ", { gate = "middle" }, "finish."] },
    ]
"#;

/// Killed with -9 while the model's answer is half out: the agent is gone at once, and `resume` completes.
pub fn killed_in_an_answer(cli: Cli) {
    let Some(driven) = Driven::new(cli, "killed in an answer", STOPS_IN_AN_ANSWER) else { return };
    let running = driven.start(&["--gate", "test -f out.txt"]);
    driven.server.wait_reached("middle");
    running.kill();
    running.wait_ended();
    driven.world.wait_no_processes();
    assert_eq!(driven.status()["status"], "interrupted");
    driven.server.change_script(COMPLETES);
    let output = driven.resume();
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.status()["iterations"], 1, "{}", output.shown());
    assert_eq!(driven.outcomes()[0]["type"], "cut_off");
    if !cli.resumes() {
        assert_began_again(&driven);
    } else if cli == Cli::Copilot && driven.sessions().len() == 3 {
        // It had not written its session yet: the turn began again at the checkpoint, and that was said.
        assert_eq!(driven.sessions(), ["fresh", "resume", "fresh"]);
        output.assert_stdout_has("session is lost");
    } else {
        assert_session_went_on(&driven);
    }
}

#[track_caller]
fn assert_session_went_on(driven: &Driven) {
    assert_eq!(driven.sessions(), ["fresh", "resume"], "{}", driven.server.summary());
    let prompts = driven.prompts_of_last_request();
    assert_eq!(prompts.len(), 2, "the session has both prompts: {}", driven.server.summary());
    // Tree and memory move together.
    assert_eq!(driven.world.repo().file_at("windlass/work", "half.txt"), "half\n");
}

/// The second thing it does takes ten minutes.
fn sleeps() -> String {
    format!(
        "[[turn]]\nsteps = [{{ shell = 'echo half > half.txt' }}, {{ shell = '{HELD_SLEEP}' }}, {{ say = 'Over.' }}]"
    )
}

/// Told to leave while the agent's shell tool runs: nothing of either is left, and `resume` completes.
pub fn terminated_in_a_tool(cli: Cli) {
    let Some(driven) = Driven::new(cli, "terminated in a tool", &sleeps()) else { return };
    let held = Held::new(&driven.world);
    let running = driven.start(&["--gate", "test -f out.txt"]);
    held.wait_started();
    assert_sees_the_tool(&driven);
    running.signal(Signal::TERM);
    running.wait().assert_code(143);
    assert_interrupted(&driven, &held);
    driven.server.change_script(COMPLETES);
    let output = driven.resume();
    output.assert_code(0);
    driven.assert_completed(&output);
    if !cli.resumes() {
        return assert_began_again(&driven);
    }
    assert_session_went_on(&driven);
}

/// Without a session to go on in, the turn begins again at the checkpoint.
#[track_caller]
fn assert_began_again(driven: &Driven) {
    assert_eq!(driven.sessions(), ["fresh", "fresh"], "{}", driven.server.summary());
    assert_eq!(driven.prompts_of_last_request().len(), 1, "{}", driven.server.summary());
}

/// Ctrl-C in a terminal goes to the whole foreground group.
pub fn ctrl_c_in_a_tool(cli: Cli) {
    let Some(driven) = Driven::new(cli, "Ctrl-C in a tool", &sleeps()) else { return };
    let held = Held::new(&driven.world);
    let mut command = driven.command(&["--gate", "test -f out.txt"]);
    command.process_group(0);
    let running = driven.world.start(command);
    held.wait_started();
    assert_sees_the_tool(&driven);
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    running.wait().assert_code(130);
    assert_interrupted(&driven, &held);
}

/// Or finding nothing afterwards would prove nothing.
#[track_caller]
fn assert_sees_the_tool(driven: &Driven) {
    let all = driven.world.processes();
    assert!(all.iter().any(|process| process.command.contains(HELD_SLEEP)), "{all:?}");
}

/// Nothing may be left at the moment when Windlass has ended.
#[track_caller]
fn assert_interrupted(driven: &Driven, held: &Held) {
    let left = driven.world.processes();
    assert!(left.is_empty(), "{left:?}");
    held.wait_ended();
    let status = driven.status();
    assert_eq!(status["status"], "interrupted");
    assert_eq!(status["iterations"], 1);
    call(&driven.world, &["status", "work", "--exit-code"]).assert_code(11);
}

/// Asked to pause, it ends the turn and leaves; another process goes on in the same session.
pub fn paused_and_resumed(cli: Cli) {
    let Some(driven) = Driven::new(cli, "paused and resumed", STOPS_IN_AN_ANSWER) else { return };
    let paused = driven.pause_in_the_answer();
    paused.assert_code(6);
    driven.server.change_script(COMPLETES);
    let output = driven.resume();
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.status()["iterations"], 2);
    assert_session_went_on(&driven);
}
