//! Best of N by the real program: the same goal several times, and the best is picked.

use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use rustix::process::Signal;
use serde_json::Value;
use windlass_testkit::{ScriptedAgent, World};

/// Claims to be done and is not.
pub const LIES: &str = "select = \"iteration\"\n[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]";
/// Never ends by itself.
pub const IS_SLOW: &str = "select = \"iteration\"\n[[turn]]\nsteps = [{ touch = \"began\" }, { wait_for = \"go\" }]";
pub const IS_RIGHT: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [{ write = { path = "state", content = "fixed\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;
/// Right as well, with more lines.
pub const IS_LONG: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [
        { write = { path = "state", content = "fixed\n" } },
        { write = { path = "notes", content = "1\n2\n3\n" } },
        { say = "<promise>COMPLETE</promise>" },
    ]
"#;
const GATE: [&str; 2] = ["--gate", "grep -q fixed state"];

/// Agents `a1`, `a2`, … that play these scripts.
pub fn agents(world: &World, scripts: &[&str]) -> Vec<ScriptedAgent> {
    let agents: Vec<ScriptedAgent> = scripts.iter().map(|script| world.script(script)).collect();
    let profiles = (1..).zip(&agents).map(|(number, agent)| {
        let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        format!("[agents.a{number}]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", "))
    });
    let text = profiles.map(|profile| profile.replace("output = \"jsonl\"\n", "")).collect::<String>();
    world.config(&text);
    agents
}

pub fn run_tries<'a>(which: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["run", "do the work", "--name", "work", "--agents", which, "--max-iterations", "2"];
    [&args[..], &GATE, more].concat()
}

fn try_of(group: &Value, number: u64) -> &Value {
    let tries = group["tries"].as_array().unwrap();
    tries.iter().find(|each| each["number"] == number).unwrap_or_else(|| panic!("{group}"))
}

#[test]
// promise: tries-1
fn of_a_liar_a_slow_and_a_right_agent_the_right_one_is_picked_and_the_slow_one_stopped() {
    let world = World::new();
    let agents = agents(&world, &[LIES, IS_SLOW, IS_RIGHT]);
    let out = call(&world, &run_tries("a1,a2,a3", &["--first"]));
    out.assert_code(0).assert_stdout_has("picked").assert_stdout_has("work-3").assert_stdout_has("by verified, then");
    let group = status(&world, "work");
    assert_eq!((&group["status"], &group["winner"]), (&"completed".into(), &3.into()), "{group}");
    assert_eq!(group["stopped"]["type"], "first");
    assert_eq!(try_of(&group, 3)["verified"], true);
    assert_eq!(try_of(&group, 2)["status"], "cancelled");
    assert_ne!(try_of(&group, 1)["status"], "completed");
    let base = status(&world, "work-1")["base_commit"].clone();
    for name in ["work-1", "work-2", "work-3"] {
        let each = status(&world, name);
        assert_eq!(each["base_commit"], base, "the same base for all");
        assert_eq!(each["group"]["name"], "work");
    }
    assert!(agents.iter().all(|agent| agent.still_alive().is_empty()));
    world.wait_no_processes();
    let listed = call(&world, &["list"]);
    listed.assert_code(0).assert_stdout_has("work · tries").assert_stdout_has("  work-3");
}

#[test]
// promise: tries-2
fn the_smaller_diff_of_two_verified_tries_wins_and_the_losers_branch_stays_when_it_is_dropped() {
    let world = World::new();
    agents(&world, &[IS_LONG, IS_RIGHT]);
    let out = call(&world, &run_tries("a1,a2", &["--losers", "drop", "--json"]));
    out.assert_code(0);
    let last = out.json_lines().pop().unwrap();
    assert_eq!((&last["type"], &last["group"]["winner"]), (&"comparison".into(), &2.into()), "{last}");
    assert_eq!(last["group"]["because"], "diff");
    let group = status(&world, "work");
    assert_eq!((&try_of(&group, 1)["dropped"], &try_of(&group, 2)["dropped"]), (&true.into(), &false.into()));
    let dropped = status(&world, "work-1");
    assert!(!std::path::Path::new(dropped["worktree"].as_str().unwrap()).exists());
    assert_eq!(world.repo().file_at("windlass/work-1", "notes"), "1\n2\n3\n", "nothing unmerged is lost");
    call(&world, &["merge", "work-2"]).assert_code(0);
}

#[test]
// promise: tries-3
fn the_token_limit_is_one_for_all_tries() {
    const SPENDS: &str = r#"
        [[turn]]
        steps = [
            { event = { type = "usage", model = "m", input_tokens = 600, output_tokens = 0 } },
            { touch = "began" }, { wait_for = "go" },
        ]
    "#;
    let world = World::new();
    let agents: Vec<ScriptedAgent> = [SPENDS, SPENDS].iter().map(|script| world.script(script)).collect();
    let profiles = (1..).zip(&agents).map(|(number, agent)| {
        let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        format!("[agents.a{number}]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", "))
    });
    world.config(&profiles.collect::<String>());
    let out = call(&world, &run_tries("a1,a2", &["--max-tokens", "1000"]));
    out.assert_code(3).assert_stdout_has("the tokens of all tries reached the limit");
    let group = status(&world, "work");
    assert_eq!((&group["status"], &group["tokens"]), (&"exhausted".into(), &1200.into()), "{group}");
    world.wait_no_processes();
}

#[test]
// promise: tries-4
fn a_group_that_was_interrupted_or_killed_is_resumed_with_its_tries() {
    let world = World::new();
    let agents = agents(&world, &[IS_SLOW, IS_SLOW]);
    for signal in [Signal::INT, Signal::KILL] {
        let command = match signal {
            Signal::INT => windlass(&world, &run_tries("a1,a2", &[])),
            _ => windlass(&world, &["resume", "work"]),
        };
        let turns: Vec<usize> = agents.iter().map(|agent| agent.turns().len() + 1).collect();
        let running = world.start(command);
        for (agent, turns) in agents.iter().zip(turns) {
            agent.wait_turns(turns);
        }
        running.signal(signal);
        let out = running.wait();
        if signal == Signal::INT {
            out.assert_code(130);
        }
        world.wait_no_processes();
        assert_eq!(status(&world, "work")["status"], "interrupted");
    }
    call(&world, &["stop", "work"]).assert_code(0);
    let group = status(&world, "work");
    assert_eq!((&group["status"], &group["winner"]), (&"cancelled".into(), &Value::Null), "{group}");
    call(&world, &["status", "work", "--exit-code"]).assert_code(4);
    call(&world, &["resume", "work"]).assert_code(2);
    let diff = call(&world, &["diff", "work"]);
    diff.assert_code(2).assert_stderr_has("is a group of tries").assert_stderr_has("work-1");
    world.wait_no_processes();
}

#[test]
fn wrong_use_of_tries_is_refused_and_creates_nothing() {
    let world = World::new();
    agents(&world, &[IS_RIGHT, IS_RIGHT]);
    let wrong: [(&[&str], &str); 5] = [
        (&["--first"], "--first needs several tries"),
        (&["--tries", "1"], "1 tries: there must be 2 to 16"),
        (&["--agents", "a1,a2", "--tries", "1"], "1 tries"),
        (&["--agents", "a1,a2,a1", "--tries", "2"], "3 agents for 2 tries"),
        (&["--agents", "a1,:m"], "is not an agent"),
    ];
    for (more, said) in wrong {
        let out = call(&world, &[&["run", "do the work"], more].concat());
        out.assert_code(2).assert_stderr_has(said).assert_stderr_has("hint: ");
    }
    assert_eq!(call(&world, &["list", "--json"]).json(), serde_json::json!([]));
}

/// All that is compared after a crash.
#[derive(Debug, PartialEq)]
struct EndState {
    winner: Value,
    because: Value,
    tries: Vec<(Value, Value, Value)>,
    clones: usize,
    branches: Vec<String>,
}

fn end_state(world: &World) -> EndState {
    let group = status(world, "work");
    assert_eq!(group["status"], "completed", "{group}");
    let tries = group["tries"].as_array().unwrap().iter();
    let clones = std::fs::read_dir(world.data_dir().join("worktrees")).unwrap().flatten();
    EndState {
        winner: group["winner"].clone(),
        because: group["because"].clone(),
        tries: tries.map(|each| (each["name"].clone(), each["outcome"].clone(), each["dropped"].clone())).collect(),
        clones: clones.filter(|entry| entry.path().join(".git").exists()).count(),
        branches: world.repo().refs("refs/heads/windlass/"),
    }
}

#[test]
fn a_group_that_is_killed_at_any_step_ends_as_if_nothing_had_happened() {
    let args = run_tries("a1,a2", &["--losers", "drop"]);
    let play = |fault: Option<&str>| {
        let world = World::new();
        agents(&world, &[IS_LONG, IS_RIGHT]);
        let mut command = windlass(&world, &args);
        command.envs(fault.map(|fault| ("WINDLASS_TEST_FAULT", fault)));
        let out = world.run(command);
        let died = out.signal == Some(9);
        assert!(died || out.code == Some(0), "{}", out.shown());
        world.wait_no_processes();
        if died && status(&world, "work")["status"] != "completed" {
            call(&world, &["resume", "work"]).assert_code(0);
            world.wait_no_processes();
        }
        (died || fault.is_none()).then(|| end_state(&world))
    };
    let undisturbed = play(None).unwrap();
    assert_eq!((undisturbed.clones, &undisturbed.because), (1, &"diff".into()));
    let points = ["group.created", "group.append.before", "group.append.after", "tries.start", "tries.drop"];
    let cases = sweep(Series::of(&points, None), &undisturbed, |case: &Case| play(Some(&case.first)));
    assert!(cases > 15, "{cases}");
}
