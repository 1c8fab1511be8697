//! What an iteration did, told by the loop's own agent or by a model behind an endpoint; and what stands in for them.

use crate::support::*;
use windlass_testkit::World;
use windlass_testkit::model::ModelServer;

/// Works in its own turns; asked for a summary, it answers in the form that the question shows.
const SUMS_UP: &str = r#"
    [[turn]]
    steps = [{ write = { path = "parser.txt", content = "works" } }, { say = "I wrote the parser." }]
"#;

fn message(world: &World) -> String {
    world.repo().git(["log", "-1", "--format=%B", "windlass/work"])
}

#[test]
// promise: summaries-8
fn an_endpoint_writes_the_summary_and_the_commit_message() {
    let world = World::new();
    // Both questions list no tools and get the same answer.
    let server = ModelServer::with_toml(
        r#"
        apart = "Parser added, and it reads every line."
        [[turn]]
        steps = [{ say = "nobody asks for this" }]
    "#,
    );
    world.config(&format!(
        "summariser = \"endpoint\"\nsummariser_url = \"{}/v1\"\nsummariser_model = \"scripted\"\n",
        server.url()
    ));
    let agent = world.script(SUMS_UP);
    let out = run(&world, &agent, &["--iter", "1"]);
    out.assert_code(0);
    let shown = format!("{}\n{}", out.shown(), server.summary());
    let summary = status(&world, "work")["history"][0]["summary"].as_str().unwrap_or_default().to_owned();
    assert_eq!(summary, "Parser added, and it reads every line.", "{shown}");
    let message = message(&world);
    assert!(message.starts_with("[iter-1] Parser added"), "{message}\n{shown}");
    assert!(message.lines().next().unwrap().chars().count() <= 50, "{message}");
    assert!(message.contains("Windlass-Iteration: 1"), "{message}");
}

#[test]
// promise: summaries-6
fn an_endpoint_that_is_not_there_costs_no_commit() {
    let world = World::new();
    world
        .config("summariser = \"endpoint\"\nsummariser_url = \"http://127.0.0.1:9/v1\"\nsummariser_model = \"none\"\n");
    let agent = world.script(SUMS_UP);
    let out = run(&world, &agent, &["--iter", "1"]);
    out.assert_code(0).assert_stdout_has("Failed to generate summary");
    assert_eq!(world.repo().file_at("windlass/work", "parser.txt"), "works");
    assert!(message(&world).starts_with("[iter-1] I wrote the parser."), "{}", message(&world));
    assert_eq!(status(&world, "work")["history"][0]["summary"], "Summary generation failed");
}

#[test]
// promise: summaries-8
fn the_agent_itself_sums_up_in_an_extra_turn_that_does_not_count() {
    let world = World::new();
    // A script cannot know the form that it is asked for, so this agent is a shell script that copies it from the question.
    let agent = world.install_script(
        "sums-up",
        "#!/bin/sh\nprompt=$(cat)\ncase \"$WINDLASS_TURN\" in\n*.summariser.*) printf '%s' \"$prompt\" > \"$HOME/asked\"; echo 'no form at all' ;;\n*) echo works > parser.txt; echo 'I wrote the parser.' ;;\nesac\n",
    );
    let out = call(
        &world,
        &[
            "run",
            "do the work",
            "--name",
            "work",
            "--agent-command",
            agent.to_str().unwrap(),
            "--iter",
            "1",
            "--summariser",
            "agent",
        ],
    );
    out.assert_code(0);
    let asked = std::fs::read_to_string(world.home().join("asked")).expect("the agent was asked");
    assert!(asked.contains("I wrote the parser."), "{asked}");
    // An answer without the form is not a summary, is said, and costs nothing.
    assert_eq!(world.repo().file_at("windlass/work", "parser.txt"), "works\n");
    assert_eq!(status(&world, "work")["iterations"], 1);
    out.assert_stdout_has("Failed to generate summary");
}
