//! Many goals of several projects and accounts, and a queue that is killed.

use std::path::Path;

use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use serde_json::Value;
use windlass_testkit::{Stream, World};

const GATE: [&str; 2] = ["--gate", "grep -q fixed state"];

/// An account of which so many may work at once. Its agent takes one of so many locks, which the kernel frees when it dies,
/// and complains if none is free; then it says which goal it has done.
fn account(dir: &Path, name: &str, most: u32) -> String {
    let slots: Vec<String> = (1..=most).map(|slot| dir.join(format!("{name}.{slot}")).display().to_string()).collect();
    format!(
        "#!/bin/sh\ngoal=$(grep -o 'goal-[0-9]*' | head -1)\n\
         for slot in {}; do exec 9> \"$slot\"; if flock -n 9; then got=1; break; fi; done\n\
         [ -n \"$got\" ] || echo \"$goal\" >> {}\n\
         echo fixed > state\necho '<promise>COMPLETE</promise>'\n",
        slots.join(" "),
        dir.join("over").display()
    )
}

#[test]
// promise: queue-1, queue-9
fn thirty_goals_of_two_projects_and_three_accounts_survive_twenty_kills() {
    const KILLS: usize = 20;
    let world = World::new();
    let second = world.new_repo("second");
    let dir = world.new_dir("accounts");
    let profile = |name: &str| {
        let program = world.install_script(name, &account(&dir, name, 2));
        format!("[agents.{name}]\ncommand = [{program:?}]\n")
    };
    let profiles: String = ["a1", "a2", "a3"].into_iter().map(profile).collect();
    world.config(&format!("queue_per_project = 3\nqueue_per_account = 2\nmax_running = 5\n{profiles}"));
    for number in 1..=30_u32 {
        let account = ["a1", "a2", "a3"][number as usize % 3];
        let project = if number % 2 == 0 { second.path() } else { world.repo().path() };
        let (goal, project) = (format!("do goal-{number}"), project.to_string_lossy().into_owned());
        // Every third goal depends on the one three before it, every fifth on two.
        let after: Vec<String> = match number {
            number if number > 5 && number % 5 == 0 => vec![(number - 5).to_string(), (number - 1).to_string()],
            number if number > 3 && number % 3 == 0 => vec![(number - 3).to_string()],
            _ => Vec::new(),
        };
        let mut args = vec!["-C", &project, "queue", "add", &goal, "--agent", account, "--max-iterations", "3"];
        after.iter().for_each(|number| args.extend(["--after", number]));
        call(&world, &[&args[..], &GATE].concat()).assert_code(0);
    }
    for kill in 0..KILLS {
        let mut running = world.start(windlass(&world, &["queue", "start", "--json"]));
        // At another moment each time: after a start, a change, or a rest.
        let moment = ["goal_started", "goal_changed", "goal_rested"][kill % 3];
        running.wait_line(Stream::Stdout, moment);
        running.kill();
        running.wait_ended();
    }
    world.wait_no_processes();
    let told = call(&world, &["queue", "start"]);
    let loops = call(&world, &["list", "--all", "--json"]).assert_code(0).json();
    let left = |each: &&Value| each["verified"] != true;
    assert_eq!(loops.as_array().unwrap().iter().find(left), None, "{}", told.stdout);
    told.assert_code(0).assert_stdout_has("30 of 30 goals verified");
    assert_eq!(loops.as_array().unwrap().len(), 30, "no goal is lost or doubled");
    let over = std::fs::read_to_string(dir.join("over")).unwrap_or_default();
    assert_eq!(over, "", "no account is over its limit");
    world.wait_no_processes();
}

#[test]
// promise: queue-2
fn a_project_with_many_goals_leaves_room_for_another_one() {
    let world = World::new();
    let second = world.new_repo("second");
    let order = world.root().join("order");
    let script = format!(
        "#!/bin/sh\ngrep -o 'goal-[0-9]*' | head -1 >> {}\necho fixed > state\necho '<promise>COMPLETE</promise>'\n",
        order.display()
    );
    let program = world.install_script("a1", &script);
    world.config(&format!("max_running = 1\n[agents.a1]\ncommand = [{program:?}]\n"));
    let here = world.repo().path().to_string_lossy().into_owned();
    let there = second.path().to_string_lossy().into_owned();
    for (project, goals) in [(&here, ["do goal-1", "do goal-2", "do goal-3"]), (&there, ["goal-4", "goal-5", "goal-6"])]
    {
        let args = ["-C", project, "queue", "add", "--agent", "a1"];
        call(&world, &[&args[..], &goals, &GATE].concat()).assert_code(0);
    }
    call(&world, &["queue", "start"]).assert_code(0);
    let order = std::fs::read_to_string(order).unwrap();
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(order, ["goal-1", "goal-4", "goal-2", "goal-5", "goal-3", "goal-6"]);
}

#[test]
// promise: queue-11
fn verified_goals_are_merged_and_those_that_depend_on_them_build_on_that() {
    let world = World::new();
    // Only what builds on the work before it passes.
    let script = "#!/bin/sh\ngoal=$(grep -o 'goal-[0-9]*' | head -1)\n\
        [ \"$goal\" = goal-1 ] || [ -f goal-1 ] || exit 1\ntouch \"$goal\"\necho fixed > state\n\
        echo '<promise>COMPLETE</promise>'\n";
    let program = world.install_script("a1", script);
    world.config(&format!("[agents.a1]\ncommand = [{program:?}]\n"));
    let args = ["queue", "add", "do goal-1", "do goal-2", "--in-order", "--agent", "a1"];
    call(&world, &[&args[..], &GATE].concat()).assert_code(0);
    let told = call(&world, &["queue", "start", "--merge"]);
    told.assert_code(0).assert_stdout_has("2 of 2 goals verified");
    // Neither a loop that was just made nor one that just ended is told as something that it is not.
    assert!(!told.stdout.contains("interrupted") && !told.stdout.contains("not verified"), "{}", told.stdout);
    let queue = call(&world, &["queue", "list", "--json"]).json();
    assert!(queue["goals"].as_array().unwrap().iter().all(|goal| goal["merged"] == true), "{queue}");
    assert!(world.repo().path().join("goal-1").exists() && world.repo().path().join("goal-2").exists());
    world.wait_no_processes();
}

/// All that is compared after a crash.
#[derive(Debug, PartialEq)]
struct EndState {
    goals: Vec<(Value, Value, Value)>,
    merges: usize,
    loops: Vec<String>,
    branches: Vec<String>,
}

fn end_state(world: &World) -> EndState {
    let queue = call(world, &["queue", "list", "--json"]).assert_code(0).json();
    let goals = queue["goals"].as_array().unwrap().iter();
    let listed = call(world, &["list", "--all", "--json"]).assert_code(0).json();
    let mut loops: Vec<String> =
        listed.as_array().unwrap().iter().map(|each| each["name"].as_str().unwrap().to_owned()).collect();
    loops.sort();
    EndState {
        goals: goals.map(|goal| (goal["number"].clone(), goal["verified"].clone(), goal["after"].clone())).collect(),
        loops,
        merges: world.repo().git(["log", "--first-parent", "--merges", "--format=%H", "main"]).lines().count(),
        branches: world.repo().refs("refs/heads/windlass/"),
    }
}

/// A world whose agent changes a file each time, also after the work of the goal before was merged.
fn prepared() -> World {
    let world = World::new();
    let program = world
        .install_script("a1", "#!/bin/sh\ncat > /dev/null\necho fixed >> state\necho '<promise>COMPLETE</promise>'\n");
    world.config(&format!("[agents.a1]\ncommand = [{program:?}]\n"));
    world
}

const ADD: [&str; 8] = ["queue", "add", "one", "two", "--in-order", "--agent", "a1", "--gate"];

#[test]
fn a_queue_that_is_killed_at_any_step_is_worked_off_as_if_nothing_had_happened() {
    let start = ["queue", "start", "--merge"];
    let play = |fault: Option<&str>| {
        let world = prepared();
        call(&world, &[&ADD[..], &GATE[1..]].concat()).assert_code(0);
        let mut command = windlass(&world, &start);
        command.envs(fault.map(|fault| ("WINDLASS_TEST_FAULT", fault)));
        let out = world.run(command);
        let died = out.signal == Some(9);
        assert!(died || out.code == Some(0), "{}", out.shown());
        world.wait_no_processes();
        if died {
            call(&world, &start).assert_code(0);
            world.wait_no_processes();
        }
        (died || fault.is_none()).then(|| end_state(&world))
    };
    let undisturbed = play(None).unwrap();
    assert_eq!((undisturbed.merges, &undisturbed.loops[..]), (2, &["one".to_owned(), "two".to_owned()][..]));
    let points = ["group.append.before", "group.append.after", "queue.start", "queue.made", "queue.merge"];
    let cases = sweep(Series::of(&points, None), &undisturbed, |case: &Case| play(Some(&case.first)));
    assert!(cases > 12, "{cases}");
}

#[test]
fn goals_are_added_whole_or_not_when_the_command_is_killed() {
    for (point, known) in [("group.created:1", 0), ("group.append.before:1", 0), ("group.append.after:1", 2)] {
        let world = prepared();
        let mut command = windlass(&world, &[&ADD[..], &GATE[1..]].concat());
        command.env("WINDLASS_TEST_FAULT", point);
        assert_eq!(world.run(command).signal, Some(9), "{point}");
        let there = || call(&world, &["queue", "list", "--json"]).json()["goals"].as_array().unwrap().len();
        assert_eq!(there(), known, "{point}");
        call(&world, &["queue", "add", "three", "--agent", "a1"]).assert_code(0);
        // What was left in the inbox is taken before.
        assert!([known + 1, 3].contains(&there()), "{point}");
    }
}
