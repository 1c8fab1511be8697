//! Which agent session a turn gets.

use crate::support::*;
use rustix::process::Signal;
use windlass_testkit::{ScriptedAgent, Stream, World};

/// Prints its own session id each time it is started.
const PRINTS_ITS_SESSION: &str = r#"
    [[turn]]
    steps = [{ say = "session: abc-{{count}}" }, { append = { path = "log", content = "1\n" } }]
    [[turn]]
    steps = [{ say = "session: abc-{{count}}" }, { append = { path = "log", content = "2\n" } }]
    [[turn]]
    steps = [{ say = "session: abc-{{count}}" }, { say = "<promise>COMPLETE</promise>" }]
"#;

fn profile(world: &World, agent: &ScriptedAgent) {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!(
        "[agents.scripted]\ncommand = [{}]\nsession_pattern = 'session: (\\S+)'\nresume_args = [\"--resume\", \"{{session}}\"]\n",
        words.join(", ")
    ));
}

/// What follows `--resume` in each start.
fn resumed(agent: &ScriptedAgent) -> Vec<Option<String>> {
    let after = |args: &[String]| {
        let at = args.iter().position(|word| word == "--resume")?;
        args.get(at + 1).cloned()
    };
    agent.turns().iter().map(|turn| after(&turn.args)).collect()
}

fn some(id: &str) -> Option<String> {
    Some(id.to_owned())
}

#[test]
// promise: sessions-1
fn resume_gives_the_agent_the_session_it_printed() {
    let world = crate::world();
    let agent = world.script(PRINTS_ITS_SESSION);
    profile(&world, &agent);
    call(&world, &["run", "do it", "--name", "work", "--agent", "scripted"]).assert_code(0);
    assert_eq!(resumed(&agent), [None, some("abc-1"), some("abc-2")]);
    // A resumed turn is told to continue; the task is in the session already.
    assert!(agent.prompts()[1].contains("continue"), "{}", agent.prompts()[1]);
    assert_eq!(status(&world, "work")["session_policy"], "resume");
}

#[test]
// promise: sessions-2
fn fresh_never_resumes_a_session() {
    let world = crate::world();
    let agent = world.script(PRINTS_ITS_SESSION);
    profile(&world, &agent);
    call(&world, &["run", "do it", "--name", "work", "--agent", "scripted", "--session", "fresh"]).assert_code(0);
    assert_eq!(resumed(&agent), [None, None, None]);
    assert!(agent.prompts()[2].contains("do it"), "a fresh session knows nothing: {}", agent.prompts()[2]);
}

#[test]
// promise: sessions-4
fn without_a_session_id_the_next_turn_is_fresh_and_the_journal_says_so() {
    let world = crate::world();
    let agent = world.script(
        "[[turn]]\nsteps = [{ say = \"no id here\" }]\n[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]",
    );
    profile(&world, &agent);
    call(&world, &["run", "do it", "--name", "work", "--agent", "scripted"]).assert_code(0);
    assert_eq!(resumed(&agent), [None, None]);
    let feed = feed(&world, "work");
    let uses: Vec<_> = of_type(&feed, "turn_started").iter().map(|item| item["session"]["type"].clone()).collect();
    assert_eq!(uses, ["fresh", "fresh_instead"]);
}

#[test]
fn an_interrupted_turn_goes_on_in_its_own_session_with_its_tree() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { say = "session: abc-1" },
            { write = { path = "half", content = "done\n" } },
            { touch = "reached" },
            "hang",
        ]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    profile(&world, &agent);
    let mut running =
        world.start(windlass(&world, &["run", "do it", "--name", "work", "--agent", "scripted", "--json"]));
    agent.wait_touched("reached");
    running.wait_line(windlass_testkit::Stream::Stdout, "session_found");
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(resumed(&agent), [None, some("abc-1")]);
    assert_eq!(file_at_branch(&world, "work", "half"), "done\n", "tree and memory move together");
    assert!(agent.prompts()[1].to_lowercase().contains("interrupt"), "a recovery note: {}", agent.prompts()[1]);
}

#[test]
fn a_session_that_was_told_before_kill_9_is_known_after_it() {
    let world = crate::world();
    let agent = world.script(
        "[[turn]]\nsteps = [{ say = \"session: abc-1\" }, { touch = \"reached\" }, \"hang\"]\n[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]",
    );
    profile(&world, &agent);
    let running = world.start(windlass(&world, &["run", "do it", "--name", "work", "--agent", "scripted"]));
    agent.wait_touched("reached");
    // Perhaps before it was journalled: the transcript has it all the same.
    running.kill();
    running.wait_ended();
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(resumed(&agent), [None, some("abc-1")]);
}

#[test]
fn a_message_that_cannot_wait_reaches_the_session_that_is_at_work() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ say = "session: abc" }, { append = { path = "log", content = "half\n" } }, { hang = { ignore_signals = true } }]
        [[turn]]
        steps = [{ append = { path = "log", content = "whole\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    profile(&world, &agent);
    let mut running =
        world.start(windlass(&world, &["run", "do it", "--name", "work", "--agent", "scripted", "--json"]));
    running.wait_line(Stream::Stdout, "session_found");
    call(&world, &["steer", "work", "--now", "that is the wrong file"])
        .assert_code(0)
        .assert_stdout_has("interrupting the current turn");
    running.wait().assert_code(0);
    assert_eq!(resumed(&agent), [None, some("abc")]);
    assert!(agent.prompts()[1].contains("that is the wrong file"), "{}", agent.prompts()[1]);
    assert_eq!(status(&world, "work")["iterations"], 1, "the same turn, tried again");
    assert_eq!(file_at_branch(&world, "work", "log"), "half\nwhole\n", "what it had done stays");
}

#[test]
fn an_agent_that_would_start_over_is_not_interrupted_for_a_message() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ touch = "at1" }, { wait_for = "go1" }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at1");
    call(&world, &["steer", "work", "--now", "hello"])
        .assert_code(2)
        .assert_stderr_has("no session to resume")
        .assert_stderr_has("without --now");
    agent.open_gate("go1");
    running.wait().assert_code(0);
    assert_eq!(status(&world, "work")["steering"], serde_json::json!([]));
}
