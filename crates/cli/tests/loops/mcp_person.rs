//! `windlass mcp` without a loop: what the agent that a user talks to can do.

use crate::support::*;
use serde_json::{Value, json};
use windlass_testkit::{Mcp, ScriptedAgent, World};

const TOOLS: [&str; 6] = ["continue", "execute-plan", "findings", "loop-cancel", "loop-status", "steer"];

/// Makes the two the agents `mine` and `judge` of the world's settings.
fn configure(world: &World, agent: &ScriptedAgent, judge: &ScriptedAgent) {
    let words = |agent: &ScriptedAgent| {
        let program = windlass_testkit::scripted_agent().display().to_string();
        format!("[{program:?}, \"--script\", {:?}]", agent.path.display().to_string())
    };
    world.config(&format!(
        "agent = \"mine\"\n[agents.mine]\ncommand = {}\n[agents.judge]\ncommand = {}\n",
        words(agent),
        words(judge)
    ));
}

/// Says in its n-th turn that it is there (`here-n`), and stays.
fn hanging(world: &World) -> ScriptedAgent {
    let turn =
        |n| format!("[[turn]]\nsteps = [{{ touch = \"here-{n}\" }}, {{ wait_for = \"go\" }}, {{ say = \"more\" }}]\n");
    world.script(&(1..=4).map(turn).collect::<String>())
}

fn tools(world: &World) -> Mcp {
    Mcp::start(windlass(world, &["mcp"]))
}

fn finish(world: &World, name: &str) -> Value {
    call(world, &["logs", name, "-f"]);
    status(world, name)
}
#[test]
// promise: tools-1
fn a_plan_becomes_a_loop_in_the_background() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ write = { path = \"a\", content = \"a\" } }, { say = \"Done.\" }]");
    let block = json!({
        "findings": [{ "file": "a", "severity": "warning", "description": "It is short." }],
        "verdict": "clean",
        "section_summary": { "done": ["the letter"] },
    });
    let judge =
        world.script(&format!("[[turn]]\nsteps = [{{ say = {:?} }}]", format!("```windlass-review\n{block}\n```")));
    configure(&world, &agent, &judge);
    let mut tools = tools(&world);
    assert_eq!(tools.tools(), TOOLS);
    assert_eq!(tools.call("loop-status", &json!({})).json(), json!([]));
    let plan = "Loop Name: Short Letters\n# The letter a\n<!-- windlass-section -->\n## One\nWrite the file a.\n<!-- windlass-section -->\n## Two\nLook at it.\n";
    let given = json!({ "plan": plan, "reviewer": "judge", "gates": ["test -f a"], "max_iterations": 3 });
    let started = tools.call("execute-plan", &given).json();
    assert_eq!((&started["started"], &started["recipe"]), (&json!("loop"), &json!("audited")));
    assert_eq!(started["name"], "short-letters");
    let done = finish(&world, "short-letters");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["goal"], "Carry out the plan: The letter a");
    assert!(agent.prompts()[0].contains("Write the file a."), "{}", agent.prompts()[0]);
    assert_eq!(std::fs::read_dir(world.data_dir().join("plans")).unwrap().count(), 0, "the plan's file is gone");

    let rows = tools.call("loop-status", &json!({})).json();
    assert_eq!((&rows[0]["name"], &rows[0]["status"]), (&json!("short-letters"), &json!("completed")));
    let one = tools.call("loop-status", &json!({ "name": "short-letters" })).json();
    assert_eq!(one["verified"], true);
    let found = tools.call("findings", &json!({ "name": "short-letters" })).json();
    assert_eq!(found["findings"][0]["description"], "It is short.");
    let wrong = tools.call("loop-status", &json!({ "name": "short-leters" })).err();
    assert!(wrong.contains("did you mean 'short-letters'"), "{wrong}");
    let again = tools.call("execute-plan", &given).err();
    assert!(again.contains("short-letters"), "{again}");
}
#[test]
// promise: tools-1
fn a_new_session_is_one_turn_in_the_checkout_without_commits() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ write = { path = \"a\", content = \"a\" } }, { say = \"Done.\" }]");
    configure(&world, &agent, &agent);
    world.repo().write("unfinished", "mine");
    let before = world.repo().commits("main").len();
    let mut tools = tools(&world);
    let given = json!({ "plan_file": "plan.md", "goal": "-", "mode": "new-session", "name": "once" });
    assert!(tools.call("execute-plan", &given).err().contains("cannot read the plan"));
    world.repo().write("plan.md", "Write the letter.");
    let started = tools.call("execute-plan", &given).json();
    assert_eq!(started["started"], "new-session");
    let done = finish(&world, "once");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(agent.turns().len(), 1);
    assert!(agent.prompts()[0].contains("Write the letter."), "{}", agent.prompts()[0]);
    assert!(world.repo().path().join("a").exists(), "it worked in the checkout itself");
    assert_eq!(world.repo().commits("main").len(), before);
    let refused = tools.call("execute-plan", &json!({ "goal": "x", "mode": "new-session", "recipe": "audited" })).err();
    assert!(refused.contains("a single turn"), "{refused}");
}

#[test]
fn what_cannot_be_carried_out_is_said_and_starts_nothing() {
    let world = World::new();
    let agent = hanging(&world);
    configure(&world, &agent, &agent);
    let mut tools = tools(&world);
    for (given, why) in [
        (json!({}), "nothing to do"),
        (json!({ "plan": "  " }), "the plan is empty"),
        (json!({ "plan": "a", "plan_file": "b" }), "not both"),
        (json!({ "goal": "x", "agent": "nobody" }), "nobody"),
        (json!({ "goal": "x", "name": "No Name" }), "No Name"),
        (json!({ "goal": "x", "colour": "red" }), "colour"),
        (json!({ "goal": "x", "recipe": "cake" }), "cake"),
        (json!({ "plan": "<!-- windlass-plan:start -->\nx" }), "has no end marker"),
    ] {
        let said = tools.call("execute-plan", &given).err();
        assert!(said.contains(why), "{given}: {said}");
    }
    assert_eq!(tools.call("loop-status", &json!({})).json(), json!([]));
    assert!(tools.call("loop-status", &json!({ "restart": true })).err().contains("give the name of the loop"));
    assert!(tools.call("steer", &json!({ "name": "nobody", "message": "hello" })).err().contains("nobody"));
    assert!(tools.call("loop-cancel", &json!({})).err().contains("no active loop in this project"));
}
#[test]
// promise: tools-2
fn loops_are_cancelled_by_part_of_their_name_and_restarted() {
    let world = World::new();
    let agent = hanging(&world);
    configure(&world, &agent, &agent);
    let mut tools = tools(&world);
    for (name, here) in [("fix-login", "here-1"), ("fix-logout", "here-2")] {
        tools.call("execute-plan", &json!({ "goal": "x", "recipe": "promise", "name": name })).ok();
        agent.wait_touched(here);
    }
    for given in [json!({}), json!({ "name": "fix" })] {
        let which: Value = serde_json::from_str(&tools.call("loop-cancel", &given).err()).unwrap();
        assert_eq!(which["nothing_was_done"], true);
        assert_eq!(which["which_one"].as_array().map(Vec::len), Some(2), "{which}");
    }
    assert_eq!(status(&world, "fix-login")["status"], "running");
    tools.call("loop-cancel", &json!({ "name": "out" })).ok();
    assert_eq!(status(&world, "fix-logout")["status"], "cancelled");
    let steered = tools.call("steer", &json!({ "name": "fix-login", "message": "--not a flag" })).ok();
    assert!(steered.contains("next turn"), "{steered}");
    assert_eq!(status(&world, "fix-login")["steering"][0]["text"], "--not a flag");

    let running = tools.call("loop-status", &json!({ "name": "fix-login", "restart": true })).err();
    assert!(running.contains("fix-login is running; use force"), "{running}");
    let restarted = tools.call("loop-status", &json!({ "name": "fix-login", "restart": true, "force": true })).json();
    assert_eq!(restarted["was"], "running");
    tools.call("loop-status", &json!({ "name": "fix-logout", "restart": true })).json();
    assert_eq!(tools.call("loop-status", &json!({ "name": "fix-logout" })).json()["status"], "running");
    tools.call("loop-cancel", &json!({ "name": "fix-logout" })).ok();
    // Now it is the only one.
    tools.call("loop-cancel", &json!({})).ok();
    assert_eq!(status(&world, "fix-login")["status"], "cancelled");
    assert!(tools.close().success());
    world.wait_no_processes();
}
#[test]
// promise: tools-3
fn an_agent_of_a_loop_starts_stops_and_asks_nothing() {
    let mut world = World::new();
    let agent = hanging(&world);
    configure(&world, &agent, &agent);
    tools(&world).call("execute-plan", &json!({ "goal": "x", "recipe": "promise", "name": "mine" })).ok();
    agent.wait_touched("here-1");
    world.set_env("WINDLASS_LOOP", "mine");
    let mut inside = tools(&world);
    for (tool, given) in [
        ("execute-plan", json!({ "goal": "y" })),
        ("ask", json!({ "question": "Why?" })),
        ("loop-cancel", json!({ "name": "mine" })),
        ("steer", json!({ "name": "mine", "message": "faster" })),
        ("loop-status", json!({ "name": "mine", "restart": true, "force": true })),
    ] {
        let said = inside.call(tool, &given).err();
        assert!(said.contains("belongs to the unattended loop mine"), "{tool}: {said}");
    }
    assert_eq!(inside.call("loop-status", &json!({ "name": "mine" })).json()["status"], "running");
    assert_eq!(inside.call("loop-status", &json!({})).json().as_array().map(Vec::len), Some(1));
    call(&world, &["stop", "mine"]).assert_code(0);
}
