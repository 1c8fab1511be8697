//! Loops over the Agent Client Protocol, with a scripted agent that speaks it.

use crate::support::*;
use serde_json::Value;
use windlass_testkit::{ScriptedAgent, World};

fn world_with(script: &str, profile: &str) -> (World, ScriptedAgent) {
    let world = World::new();
    let agent = world.script(&format!("protocol = \"acp\"\n{script}"));
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    let command = words.join(", ");
    world.config(&format!("[agents.talker]\nadapter = \"acp\"\ncommand = [{command}]\n{profile}"));
    (world, agent)
}

const RUN: [&str; 6] = ["run", "do it", "--name", "work", "--agent", "talker"];

/// Every message that the agent got, of this method.
fn told(agent: &ScriptedAgent, method: &str) -> Vec<Value> {
    let mut path = agent.path.clone().into_os_string();
    path.push(".input");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["method"] == method).collect()
}

#[test]
fn a_loop_that_resumes_starts_a_process_for_each_turn_and_loads_the_session() {
    let script = r#"
        acp = { load = true }
        [[turn]]
        steps = [{ say = "one" }]
        [[turn]]
        steps = [{ say = "two" }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    let (world, agent) = world_with(script, "");
    call(&world, &RUN).assert_code(0);
    let turns = agent.turns();
    assert_eq!(turns.len(), 3, "what a loaded session says again is no claim");
    assert!(turns[0].process != turns[1].process && turns[1].process != turns[2].process);
    assert_eq!((told(&agent, "session/new").len(), told(&agent, "session/load").len()), (1, 2));
    world.wait_no_processes();
}

#[test]
fn an_agent_that_cannot_load_gets_the_whole_task_again() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    let (world, agent) = world_with(script, "");
    call(&world, &RUN).assert_code(0);
    let feed = feed(&world, "work");
    assert!(types(&feed).contains(&"session_lost"), "{:?}", types(&feed));
    assert_eq!(agent.turns().len(), 2);
    assert!(agent.prompts()[1].contains("do it"), "{}", agent.prompts()[1]);
    assert_eq!(told(&agent, "session/new").len(), 2);
}

#[test]
fn what_the_agent_asks_for_is_allowed_and_what_nobody_offers_is_refused() {
    let script = r#"
        [[turn]]
        steps = [{ ask = "Bash" }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    let (world, _agent) = world_with(script, "");
    let output = call(&world, &RUN);
    output.assert_code(0);
    // Once, not always; and the agent itself waits until its other request was refused.
    assert!(output.stdout.contains("permission for Bash: yes"), "{}", output.shown());
}

#[test]
fn nobody_logged_in_pauses_the_loop() {
    let script = "acp = { logged_out = true }\n[[turn]]\nsteps = []";
    let (world, agent) = world_with(script, "");
    let output = call(&world, &RUN);
    assert_eq!(status(&world, "work")["status"], "paused", "{}", output.shown());
    assert!(output.shown().contains("Authentication required"), "{}", output.shown());
    assert!(agent.turns().is_empty(), "no prompt was sent");
    world.wait_no_processes();
}

#[test]
fn mcp_servers_of_the_profile_reach_the_agent() {
    let script = "[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]";
    let profile = "[agents.talker.mcp_servers.tools]\ncommand = \"serve\"\nargs = [\"x\"]\n";
    let (world, agent) = world_with(script, profile);
    call(&world, &RUN).assert_code(0);
    let servers = &told(&agent, "session/new")[0]["params"]["mcpServers"];
    assert_eq!(*servers, serde_json::json!([{ "name": "tools", "command": "serve", "args": ["x"], "env": [] }]));
}

#[test]
fn a_turn_that_stops_for_another_reason_than_its_end_has_failed() {
    for reason in ["refusal", "max_tokens"] {
        let script = format!(
            "[[turn]]\nsteps = [{{ say = \"<promise>COMPLETE</promise>\" }}, {{ end_turn = {{ stop_reason = {reason:?} }} }}]"
        );
        let (world, _agent) = world_with(&script, "");
        call(&world, &RUN).assert_code(7);
        assert_eq!(status(&world, "work")["status"], "errored");
    }
}

#[test]
fn a_summary_is_asked_for_over_the_protocol_too() {
    let script = r#"
        acp = { load = true }
        [[turn]]
        steps = [{ write = { path = "a", content = "1\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ say = "I did something." }]
    "#;
    let (world, agent) = world_with(script, "");
    let args: Vec<&str> = RUN.into_iter().chain(["--summariser", "agent"]).collect();
    call(&world, &args).assert_code(0);
    assert_eq!(agent.turns().len(), 2, "the turn and its summary");
    world.wait_no_processes();
}

#[test]
fn a_program_that_speaks_no_acp_fails_its_turn_with_its_own_words() {
    let world = World::new();
    world.config("[agents.talker]\nadapter = \"acp\"\ncommand = [\"sh\", \"-c\", \"echo usage: none >&2; exit 2\"]\n");
    let output = call(&world, &RUN);
    output.assert_code(7);
    assert!(output.shown().contains("usage: none"), "{}", output.shown());
}
