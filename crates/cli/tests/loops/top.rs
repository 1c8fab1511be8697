//! `windlass top` on a real terminal.

use std::os::unix::process::ExitStatusExt;

use crate::pty::Pty;
use crate::support::*;
use rustix::process::Signal;
use windlass_testkit::World;

const ASKS: &str = r#"
    [[turn]]
    steps = [
        { write = { path = "one", content = "1\n" } },
        { say = "\u001b[2JI \u001b]0;owned\u0007looked." },
        { say = '<question default="SQLite">Which database?</question>' },
    ]
    [[turn]]
    steps = [{ write = { path = "two", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// A loop in the background whose agent has asked.
fn asking(world: &World) {
    let agent = world.script(ASKS).command_line();
    let args =
        ["run", "do the work", "--name", "work", "--agent-command", &agent, "--question-wait", "30m", "--detach"];
    call(world, &args).assert_code(0);
}

fn top(world: &World, columns: u16, rows: u16) -> Pty {
    Pty::start(&windlass(world, &["top"]), columns, rows)
}

#[test]
// promise: top-1, top-2, top-3, top-5
fn a_question_is_answered_and_its_feed_read_from_the_view() {
    let world = World::new();
    asking(&world);
    let mut top = top(&world, 80, 24);
    top.wait_screen(|shown| shown.contains("needs answer") && shown.contains("asks: Which database?"));
    top.types("w");
    top.wait_screen(|shown| shown.contains("Default if nobody answers: SQLite"));
    top.types("PostgreSQL\r");
    top.wait_screen(|shown| {
        shown.contains("work: answered; the next turn gets it") || shown.contains("No loops match")
    });
    top.wait_screen(|shown| shown.contains("No loops match"));
    top.types("e");
    top.wait_screen(|shown| shown.contains("claimed"));
    top.types("\r");
    let feed = top.wait_screen(|shown| shown.contains("answer to q1: PostgreSQL") && shown.contains("looked."));
    assert!(!feed.contains("owned\u{7}"), "{feed}");
    top.types("\x1b");
    top.wait_screen(|shown| shown.contains("last words"));
    top.types("q");
    assert_eq!(top.wait_left().code(), Some(0));
}

#[test]
// promise: top-4
fn the_view_follows_the_size_of_the_terminal() {
    let world = World::new();
    let mut top = top(&world, 120, 40);
    top.wait_screen(|shown| shown.contains("No loops yet"));
    top.resize(50, 20);
    top.wait_screen(|shown| shown.contains("at least 80×24"));
    top.resize(80, 24);
    top.wait_screen(|shown| shown.contains("No loops yet"));
    top.types("\x03");
    assert_eq!(top.wait_left().code(), Some(0));
}

#[test]
// promise: top-5
fn the_terminal_is_as_it_was_after_a_signal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let world = World::new();
        let top = top(&world, 80, 24);
        top.wait_screen(|shown| shown.contains("No loops yet"));
        top.signal(signal);
        assert_eq!(top.wait_left().code(), Some(code));
    }
}

#[test]
// promise: top-5
fn the_view_ends_when_its_terminal_does() {
    let world = World::new();
    let top = top(&world, 80, 24);
    top.wait_screen(|shown| shown.contains("No loops yet"));
    let status = top.hang_up();
    assert!(status.code() == Some(129) || status.signal() == Some(1), "{status:?}");
    world.wait_no_processes();
}

#[test]
fn without_a_terminal_the_view_refuses_with_a_hint() {
    let world = World::new();
    call(&world, &["top"]).assert_code(2).assert_stderr_has("windlass list");
}
