//! Best of N after its end: whom it notifies, and when its record goes.

use crate::support::*;
use crate::tries::{IS_RIGHT, IS_SLOW, LIES, agents, run_tries};
use serde_json::Value;
use windlass_testkit::{ScriptedAgent, World};

/// Agents of these scripts, and a command that keeps every message, each in one write.
fn told_world(scripts: &[&str]) -> (World, Vec<ScriptedAgent>) {
    let world = World::new();
    let agents = agents(&world, scripts);
    let profiles = std::fs::read_to_string(world.config_file()).unwrap();
    let command = format!("printf '%s\\n' \"$(cat)\" >> {}", world.root().join("told").display());
    world.config(&format!("notify_command = {command:?}\n{profiles}"));
    (world, agents)
}

/// What was told of groups.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.root().join("told")).unwrap_or_default();
    let bodies = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    bodies.filter(|body| !body["group"].is_null()).collect()
}

#[test]
// promise: tries-6
fn the_end_of_a_group_is_told_once_with_its_winner() {
    let (world, _agents) = told_world(&[LIES, IS_RIGHT]);
    call(&world, &run_tries("a1,a2", &[])).assert_code(0);
    let [body] = &told(&world)[..] else { panic!("told once: {:?}", told(&world)) };
    let group = status(&world, "work");
    assert_eq!((&body["event"], &body["loop"]["status"]), (&"completed".into(), &"completed".into()), "{body}");
    for field in ["id", "name", "project", "goal"] {
        assert_eq!(body["loop"][field], group[field], "{field}");
    }
    assert_eq!(body["group"], serde_json::json!({ "kind": "tries", "winner": "work-2", "verified": true }));
}

#[test]
fn a_group_without_a_verified_try_says_so() {
    let (world, _agents) = told_world(&[LIES, LIES]);
    let run = ["run", "do the work", "--name", "work", "--agents", "a1,a2"];
    call(&world, &run).assert_code(0);
    let [body] = &told(&world)[..] else { panic!("told once") };
    assert_eq!((&body["event"], &body["group"]["verified"]), (&"completed".into(), &false.into()), "{body}");
}

#[test]
fn a_group_without_a_winner_is_told_as_stopped() {
    let (world, agents) = told_world(&[IS_SLOW, IS_SLOW]);
    let running = world.start(windlass(&world, &run_tries("a1,a2", &[])));
    for agent in &agents {
        agent.wait_turns(1);
    }
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
    let [body] = &told(&world)[..] else { panic!("told once: {:?}", told(&world)) };
    assert_eq!((&body["event"], &body["loop"]["status"]), (&"stopped".into(), &"cancelled".into()), "{body}");
    assert_eq!(body["group"]["winner"], Value::Null);
    world.wait_no_processes();
}

fn groups(world: &World) -> usize {
    usize::from(call(world, &["status", "work", "--json"]).code == Some(0))
}

#[test]
// promise: tries-7
fn the_record_of_a_group_goes_with_its_last_loop_and_not_before() {
    let world = World::new();
    let _agents = agents(&world, &[LIES, IS_RIGHT]);
    call(&world, &run_tries("a1,a2", &[])).assert_code(0);
    world.wait_no_processes();
    let cleaned = |args: &[&str]| {
        let report = call(&world, &[&["clean", "--json"], args].concat()).json();
        report["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect::<Vec<_>>()
    };
    assert!(cleaned(&["work-1"]).is_empty());
    assert!(cleaned(&[]).is_empty());
    assert_eq!(groups(&world), 1, "a loop of it is left");
    let dry = call(&world, &["clean", "work-2", "--dry-run"]);
    dry.assert_code(0).assert_stdout_has("would remove  work    ").assert_stdout_has("best of N without loops");
    assert_eq!(groups(&world), 1);
    assert!(cleaned(&["work-2", "--keep-records"]).is_empty());
    assert_eq!(groups(&world), 1, "the record of the loop is left");
    assert_eq!(cleaned(&["work-2"]), ["work"]);
    assert_eq!(groups(&world), 0);
}
