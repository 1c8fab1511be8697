//! Questions of an agent: notifications, answers, and defaults.

use serde_json::{Value, json};

use crate::support::*;
use crate::tools::{socket_of, tools_of};
use windlass_testkit::{ScriptedAgent, Stream, World};

const ASKS: &str = r#"
    [[turn]]
    steps = [
        { write = { path = "one", content = "1\n" } },
        { say = '<question default="SQLite">Which database?</question>' },
    ]
    [[turn]]
    steps = [{ write = { path = "two", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

fn run<'a>(agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "do the work", "--name", "work", "--agent-command", agent];
    args.extend(more);
    args
}

/// A loop that waits for an answer to the first turn's question.
fn asking(world: &World, agent: &ScriptedAgent) -> windlass_testkit::Running {
    let command = agent.command_line();
    let mut running = world.start(windlass(world, &run(&command, &["--question-wait", "30m"])));
    running.wait_line(Stream::Stdout, "waiting");
    running
}

fn answers(world: &World) -> Vec<(Value, Value)> {
    let items = feed(world, "work");
    of_type(&items, "question_answered").iter().map(|item| (item["by"].clone(), item["answer"].clone())).collect()
}

#[test]
// promise: questions-1
fn an_unattended_loop_takes_the_default_at_once() {
    let world = World::new();
    let agent = world.script(ASKS);
    let out = world.run(windlass(&world, &run(&agent.command_line(), &[])));
    out.assert_code(0).assert_stdout_has("question q1: Which database?").assert_stdout_has("default taken: SQLite");
    assert_eq!(answers(&world), [(json!("default"), json!("SQLite"))]);
    assert!(!agent.prompts()[0].contains("<question"), "{}", agent.prompts()[0]);
    assert!(agent.prompts()[1].contains("Continue with your default: SQLite"), "{}", agent.prompts()[1]);
    let late = call(&world, &["answer", "work", "MySQL"]);
    late.assert_code(2).assert_stderr_has("the loop was completed");
}

#[test]
// promise: questions-3, questions-5
fn an_answer_from_another_process_is_in_the_next_prompt() {
    let world = World::new();
    let told = world.root().join("told");
    world.config(&format!("notify_command = \"cat >> '{}'\"\n", told.display()));
    let agent = world.script(ASKS);
    let running = asking(&world, &agent);
    call(&world, &["list"]).assert_code(0).assert_stdout_has("needs answer");
    call(&world, &["status", "work"])
        .assert_code(0)
        .assert_stdout_has("Which database? (open until")
        .assert_stdout_has("windlass answer work");
    let status = status(&world, "work");
    assert_eq!(status["wait"]["type"], "question");
    assert_eq!(status["questions"][0]["open"], true);
    call(&world, &["answer", "work", "--question", "q9", "x"]).assert_code(2).assert_stderr_has("no open question");
    call(&world, &["answer", "work", "PostgreSQL, please"]).assert_code(0).assert_stdout_has("answered");
    running.wait().assert_code(0);
    assert!(agent.prompts()[0].contains("<question default="), "{}", agent.prompts()[0]);
    assert!(agent.prompts()[1].contains("The user answers:\nPostgreSQL, please"), "{}", agent.prompts()[1]);
    assert_eq!(answers(&world), [(json!("person"), json!("PostgreSQL, please"))]);
    let told = std::fs::read_to_string(told).unwrap();
    let first: Value = serde_json::Deserializer::from_str(&told).into_iter().next().unwrap().unwrap();
    assert_eq!(
        (&first["event"], &first["loop"]["question"]["question"]),
        (&json!("needs_person"), &json!("Which database?"))
    );
}

#[test]
// promise: questions-6
fn a_question_survives_a_kill_and_is_answered_afterwards() {
    let world = World::new();
    let agent = world.script(ASKS);
    let running = asking(&world, &agent);
    running.kill();
    running.wait_ended();
    assert_eq!(status(&world, "work")["status"], "interrupted");
    let mut resumed = world.start(windlass(&world, &["resume", "work"]));
    resumed.wait_line(Stream::Stdout, "resuming");
    call(&world, &["answer", "work", "PostgreSQL"]).assert_code(0);
    resumed.wait().assert_code(0);
    assert_eq!(agent.turns().len(), 2, "no turn ran twice");
    assert_eq!(answers(&world), [(json!("person"), json!("PostgreSQL"))]);
}

#[test]
// promise: questions-7
fn an_agent_with_tools_asks_by_tool_and_does_not_wait_in_it() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ touch = "there" }, { wait_for = "go" }, { write = { path = "one", content = "1\n" } }, { say = "Asked." }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
        "#,
    );
    let command = agent.command_line();
    let running = world.start(windlass(&world, &run(&command, &["--question-wait", "30m"])));
    agent.wait_touched("there");
    let mut tools = tools_of(&world, "coder");
    assert_eq!(tools.tools(), ["ask"], "a loop without a reviewer has no other tool");
    let told = tools.call("ask", &json!({ "question": "Which?", "default": "this" })).ok();
    assert!(told.contains("Recorded as q1") && told.contains("end your turn"), "{told}");
    call(&world, &["answer", "work", "that"]).assert_code(0);
    agent.open_gate("go");
    running.wait().assert_code(0);
    assert!(agent.prompts()[1].contains("The user answers:\nthat"), "{}", agent.prompts()[1]);
    assert!(!socket_of(&world, "coder").exists());
}

#[test]
fn a_bad_wait_and_an_empty_answer_are_refused_with_a_hint() {
    let world = World::new();
    let out = call(&world, &["run", "x", "--question-wait", "soon"]);
    out.assert_code(2).assert_stderr_has("0 to never wait");
    call(&world, &["answer", "work", " "]).assert_code(2);
}
