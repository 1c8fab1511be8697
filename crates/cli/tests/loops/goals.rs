//! The queue of goals by the real program: added, ordered, worked off within limits.

use crate::support::*;
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::{Output, ScriptedAgent, Stream, World};

/// Writes which goal it works on to a list, and does it.
fn does(world: &World, list: &str) -> String {
    let list = world.root().join(list);
    format!(
        "#!/bin/sh\ngoal=$(grep -o 'goal-[0-9]*' | head -1)\necho \"$goal\" >> {}\necho fixed > state\n\
         echo '<promise>COMPLETE</promise>'\n",
        list.display()
    )
}

const LIES: &str = "#!/bin/sh\ncat > /dev/null\necho '<promise>COMPLETE</promise>'\n";
const GATE: [&str; 2] = ["--gate", "grep -q fixed state"];

/// The settings of these agents, each a shell script, after other settings.
fn agents(world: &World, settings: &str, scripts: &[(&str, &str)]) {
    let profile = |(name, script): &(&str, &str)| {
        let program = world.install_script(name, script);
        format!("[agents.{name}]\ncommand = [{program:?}]\n")
    };
    world.config(&format!("{settings}{}", scripts.iter().map(profile).collect::<String>()));
}

/// An agent with a script, as a profile that reads events.
fn scripted(name: &str, agent: &ScriptedAgent) -> String {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    format!("[agents.{name}]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", "))
}

#[track_caller]
fn add(world: &World, goal: &str, agent: &str, more: &[&str]) -> u64 {
    let args = ["queue", "add", goal, "--agent", agent, "--max-iterations", "2", "--json"];
    let added = call(world, &[&args[..], &GATE, more].concat()).assert_code(0).json();
    added["goals"][0]["number"].as_u64().unwrap()
}

#[track_caller]
fn goals(world: &World) -> Vec<Value> {
    call(world, &["queue", "list", "--json"]).assert_code(0).json()["goals"].as_array().unwrap().clone()
}

fn numbers(goals: &[Value]) -> Vec<u64> {
    goals.iter().map(|goal| goal["number"].as_u64().unwrap()).collect()
}

fn statuses(goals: &[Value]) -> Vec<(u64, &str, bool)> {
    let one = |goal: &'_ Value| (goal["number"].as_u64().unwrap(), goal["verified"].as_bool().unwrap());
    goals.iter().map(|goal| (one(goal).0, goal["status"].as_str().unwrap(), one(goal).1)).collect()
}

fn lines(world: &World, list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.root().join(list)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
// promise: queue-3
fn goals_are_worked_off_in_their_order_and_after_those_they_depend_on() {
    let world = World::new();
    agents(&world, "max_running = 1\n", &[("a1", &does(&world, "order"))]);
    assert_eq!(add(&world, "do goal-1", "a1", &[]), 1);
    assert_eq!(add(&world, "do goal-2", "a1", &["--after", "1", "--name", "second"]), 2);
    assert_eq!(add(&world, "do goal-3", "a1", &["--after", "second"]), 3);
    assert_eq!(add(&world, "do goal-4", "a1", &[]), 4);
    call(&world, &["queue", "move", "4", "--first"]).assert_code(0).assert_stdout_has("waits for 1");
    call(&world, &["queue", "move", "3", "--before", "1"]).assert_code(0);
    assert_eq!(numbers(&goals(&world)), [4, 3, 1, 2]);
    assert!(call(&world, &["list", "--json"]).json().as_array().unwrap().is_empty(), "nothing starts by itself");
    let out = call(&world, &["queue", "start"]);
    out.assert_code(0).assert_stdout_has("4 of 4 goals verified");
    assert_eq!(lines(&world, "order"), ["goal-4", "goal-1", "goal-2", "goal-3"]);
    let all: Vec<(u64, &str, bool)> = [4, 3, 1, 2].map(|number| (number, "completed", true)).to_vec();
    assert_eq!(statuses(&goals(&world)), all);
    assert_eq!(status(&world, "second")["verified"], true);
    assert_eq!(status(&world, "do-goal-1")["verified"], true);
    call(&world, &["queue", "start"]).assert_code(0);
    assert_eq!(lines(&world, "order").len(), 4, "nothing is done twice");
    world.wait_no_processes();
}

#[test]
// promise: queue-4
fn a_goal_is_blocked_by_one_that_ended_unverified_and_both_are_removed_in_turn() {
    let world = World::new();
    agents(&world, "", &[("liar", LIES), ("a1", &does(&world, "order"))]);
    add(&world, "do goal-1", "liar", &[]);
    add(&world, "do goal-2", "a1", &["--after", "1"]);
    add(&world, "do goal-3", "a1", &["--after", "2"]);
    add(&world, "do goal-4", "a1", &[]);
    let refused = call(&world, &["queue", "remove", "1"]);
    refused.assert_code(2).assert_stderr_has("goal 2 depends on goal 1").assert_stderr_has("hint: remove goal 2 first");
    let out = call(&world, &["queue", "start"]);
    out.assert_code(7).assert_stdout_has("blocked: goal 1 ended without being verified");
    assert_eq!(lines(&world, "order"), ["goal-4"]);
    let listed = goals(&world);
    assert_eq!(listed[1]["why"], json!({ "type": "blocked", "number": 1 }));
    assert_eq!(listed[2]["why"], json!({ "type": "blocked", "number": 1 }));
    for number in ["3", "2", "1"] {
        call(&world, &["queue", "remove", number]).assert_code(0);
    }
    assert_eq!(numbers(&goals(&world)), [4]);
    assert_eq!(status(&world, "do-goal-1")["status"], "exhausted", "its loop stays");
    world.wait_no_processes();
}

#[test]
// promise: queue-5
fn wrong_goals_are_refused_with_a_hint_and_none_is_added() {
    let world = World::new();
    agents(&world, "", &[("a1", LIES)]);
    let file = |name: &str, text: &str| {
        let path = world.root().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let (empty, done) = (file("empty.txt", "# nothing\n"), file("done.md", "- [x] all done\n"));
    let wrong: [(&[&str], &str); 12] = [
        (&["a goal", "--agent", "nobody"], "nobody"),
        (&["a goal", "--agent", "a1", "--recipe", "nothing"], "nothing"),
        (&["a goal", "--agent", "a1", "--budget-usd", "-1"], "-1"),
        (&["a goal", "--agent", "a1", "--gate", ""], "--gate"),
        (&["a goal", "--agent", "a1", "--name", "Not A Name"], "Not A Name"),
        (&["a goal", "--agent", "a1", "--after", "7"], "goal '7' is not in the queue"),
        (&["a goal", "another", "--agent", "a1", "--name", "one"], "--name is for one goal, and there are 2"),
        (&["a goal", "  ", "--agent", "a1"], "GOAL"),
        (&["--file", &empty, "--agent", "a1"], "no open goals in"),
        (&["--file", &done, "--agent", "a1"], "no open goals in"),
        (&["--file", "no-such-file", "--agent", "a1"], "no-such-file"),
        (&["--issue", "soon", "--agent", "a1"], "'soon' is not an issue"),
    ];
    for (more, said) in wrong {
        let out = call(&world, &[&["queue", "add"], more].concat());
        out.assert_code(2).assert_stderr_has(said).assert_stderr_has("hint: ");
    }
    call(&world, &["queue", "add"]).assert_code(2);
    for args in [&["remove", "1"][..], &["move", "1", "--first"], &["move", "1", "--before", "2"]] {
        let out = call(&world, &[&["queue"], args].concat());
        out.assert_code(2).assert_stderr_has("goal '1' is not in the queue").assert_stderr_has("hint: ");
    }
    call(&world, &["queue", "move", "1"]).assert_code(2);
    assert!(goals(&world).is_empty());
    let none = call(&world, &["queue", "start"]);
    none.assert_code(0).assert_stdout_has("the queue is empty");
    add(&world, "a goal", "a1", &["--name", "taken"]);
    let twice = call(&world, &["queue", "add", "another", "--agent", "a1", "--name", "taken"]);
    twice.assert_code(2).assert_stderr_has("taken");
    assert_eq!(goals(&world).len(), 1);
}

#[test]
fn goals_come_from_lines_a_markdown_list_standard_input_and_several_values() {
    let world = World::new();
    agents(&world, "", &[("a1", LIES)]);
    std::fs::write(world.repo().path().join("goals.txt"), "# later\nfix the login\n\nadd a search box\n").unwrap();
    let list = "# Plan\n\n- [ ] first\n  with more\n- [x] old\n- [ ] second\n";
    fn queue_add<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["queue", "add", "--agent", "a1", "--json"], more].concat()
    }
    let texts = |out: Output| -> Vec<String> {
        let added = out.assert_code(0).json();
        added["goals"].as_array().unwrap().iter().map(|goal| goal["goal"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(call(&world, &queue_add(&["--file", "goals.txt"]))), ["fix the login", "add a search box"]);
    let command = windlass(&world, &queue_add(&["--file", "-", "--in-order"]));
    assert_eq!(texts(world.run_with_input(command, list)), ["first\nwith more", "second"]);
    assert_eq!(texts(call(&world, &queue_add(&["one", "two"]))), ["one", "two"]);
    let listed = goals(&world);
    assert_eq!(numbers(&listed), [1, 2, 3, 4, 5, 6]);
    assert_eq!((&listed[2]["after"], &listed[3]["after"]), (&json!([]), &json!([3])), "in order");
    assert_eq!(listed[0]["project"], world.repo().path().to_string_lossy().as_ref());
}

#[test]
// promise: queue-6
fn a_rate_limit_holds_only_the_goals_of_its_account_back() {
    const LIMITED: &str = r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 3600000 } },
            { exit = 1 },
        ]
    "#;
    let world = World::new();
    let (limited, free) = (world.script(LIMITED), does(&world, "order"));
    let program = world.install_script("free", &free);
    world.config(&format!(
        "queue_per_project = 1\n{}[agents.free]\ncommand = [{program:?}]\n",
        scripted("limited", &limited)
    ));
    add(&world, "do goal-1", "limited", &[]);
    add(&world, "do goal-2", "limited", &[]);
    add(&world, "do goal-3", "free", &[]);
    add(&world, "do goal-4", "free", &[]);
    let mut running = world.start(windlass(&world, &["queue", "start"]));
    running.wait_line(Stream::Stdout, "do-goal-4 · verified");
    let listed = call(&world, &["queue", "list"]);
    listed.assert_code(0).assert_stdout_has("account limited is at its limit until ");
    let listed = goals(&world);
    let expected = [(1, "rate_limited", false), (2, "waiting", false), (3, "completed", true), (4, "completed", true)];
    assert_eq!(statuses(&listed), expected);
    assert_eq!((limited.turns().len(), lines(&world, "order").len()), (1, 2));
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert_eq!(statuses(&goals(&world)), expected, "the limit is remembered");
    world.wait_no_processes();
}

#[test]
fn a_goal_goes_on_by_itself_when_the_limit_of_its_account_is_over() {
    const ONCE: &str = r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 1 } },
            { exit = 1 },
        ]
        [[turn]]
        steps = [
            { write = { path = "state", content = "fixed\n" } },
            { event = { type = "text", text = "<promise>COMPLETE</promise>" } },
        ]
    "#;
    let world = World::new();
    let agent = world.script(ONCE);
    world.config(&scripted("limited", &agent));
    add(&world, "do goal-1", "limited", &[]);
    call(&world, &["queue", "start"]).assert_code(0);
    assert_eq!(agent.turns().len(), 2);
    world.wait_no_processes();
}

/// Stays until it may go on.
const STAYS: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [
        { touch = "here" }, { wait_for = "go" }, { write = { path = "state", content = "fixed\n" } },
        { event = { type = "text", text = "<promise>COMPLETE</promise>" } },
    ]
"#;

#[test]
// promise: queue-7
fn an_interrupted_queue_is_resumed_and_one_process_at_a_time_works_it_off() {
    let world = World::new();
    let agent = world.script(STAYS);
    world.config(&format!("queue_per_account = 1\n{}", scripted("slow", &agent)));
    add(&world, "do goal-1", "slow", &[]);
    add(&world, "do goal-2", "slow", &[]);
    for (signal, turns) in [(Signal::INT, 1), (Signal::KILL, 2)] {
        let running = world.start(windlass(&world, &["queue", "start"]));
        agent.wait_turns(turns);
        let second = call(&world, &["queue", "start"]);
        second.assert_code(2).assert_stderr_has("another process is already working on the queue");
        call(&world, &["queue", "remove", "1"]).assert_code(2).assert_stderr_has("goal 1 has already started");
        call(&world, &["queue", "move", "1", "--last"]).assert_code(2).assert_stderr_has("goal 1 has already started");
        let listed = call(&world, &["queue", "list"]);
        listed.assert_stdout_has("account slow has 1 of 1 goals running");
        // A goal that is added meanwhile is there at once.
        add(&world, "do goal-9", "slow", &[]);
        running.signal(signal);
        let out = running.wait();
        assert!(out.code == Some(130) || out.signal == Some(9), "{}", out.shown());
        world.wait_no_processes();
        assert_eq!(goals(&world)[0]["status"], "interrupted");
    }
    agent.open_gate("go");
    call(&world, &["queue", "start"]).assert_code(0).assert_stdout_has("4 of 4 goals verified");
    assert_eq!(agent.turns().len(), 6, "each goal once, and the first one twice more");
    assert_eq!(call(&world, &["list", "--json"]).json().as_array().unwrap().len(), 4);
    world.wait_no_processes();
}

#[test]
fn a_goal_that_cannot_start_says_why_and_is_tried_again() {
    let world = World::new();
    agents(&world, "", &[("a1", &does(&world, "order"))]);
    add(&world, "do goal-1", "a1", &["--name", "one"]);
    // Meanwhile somebody else takes the name.
    let args = ["run", "other", "--name", "one", "--agent", "a1", "--max-iterations", "1"];
    call(&world, &args).assert_code(0);
    let out = call(&world, &["queue", "start"]);
    out.assert_code(7).assert_stdout_has("one");
    let listed = goals(&world);
    assert_eq!(listed[0]["status"], "failed");
    call(&world, &["queue", "remove", "1"]).assert_code(0);
    add(&world, "do goal-2", "a1", &[]);
    call(&world, &["queue", "start"]).assert_code(0);
}

#[test]
// promise: queue-8
fn serve_works_the_queue_off_over_restarts() {
    let world = World::new();
    let agent = world.script(STAYS);
    world.config(&scripted("slow", &agent));
    let serve = || windlass(&world, &["serve", "--port", "0"]);
    let running = world.start(serve());
    add(&world, "do goal-1", "slow", &[]);
    agent.wait_turns(1);
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    let running = world.start(serve());
    agent.wait_turns(2);
    add(&world, "do goal-2", "slow", &["--after", "1"]);
    assert!(call(&world, &["queue", "list", "--json"]).json()["driven"].as_bool().unwrap());
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    agent.open_gate("go");
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(statuses(&goals(&world)), [(1, "completed", true), (2, "completed", true)]);
    assert_eq!(agent.turns().len(), 4);
    world.wait_no_processes();
}

#[test]
// promise: queue-10
fn part_of_the_window_that_an_agent_reports_is_kept_for_the_person() {
    let world = World::new();
    let window = r#"{"name":"five_hour","used_percent":80,"resets_at":"2999-01-01T00:00:00Z"}"#;
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\necho x > made\necho '{{\"type\":\"account\",\"windows\":[{window}]}}'\n\
         echo '{{\"type\":\"text\",\"text\":\"<promise>COMPLETE</promise>\"}}'\n"
    );
    let program = world.install_script("a1", &script);
    let profiles: String =
        ["a1", "a2"].map(|name| format!("[agents.{name}]\ncommand = [{program:?}]\noutput = \"jsonl\"\n")).concat();
    world.config(&format!("queue_per_account = 1\n{profiles}"));
    for (goal, agent) in [("one", "a1"), ("two", "a1"), ("three", "a2")] {
        call(&world, &["queue", "add", goal, "--agent", agent, "--gate", "true"]).assert_code(0);
    }
    let mut running = world.start(windlass(&world, &["queue", "start"]));
    running.wait_line(Stream::Stdout, "the rest of account a1 is kept for you until");
    call(&world, &["logs", "three", "-f"]);
    running.signal(Signal::INT);
    running.wait_ended();
    let queue = call(&world, &["queue", "list", "--json"]).json();
    let goal = |at: usize| queue["goals"][at].clone();
    assert_eq!((&goal(0)["verified"], &goal(1)["why"]["type"]), (&true.into(), &"account_used_up".into()), "{queue}");
    assert_eq!(status(&world, "one")["account"][0]["used_percent"], 80);
    world.config(&format!("queue_keep = \"10%\"\n{profiles}"));
    call(&world, &["queue", "start"]).assert_code(0);
}
