//! Agents whose process lives from turn to turn: `--session keep_alive`.

use std::path::Path;

use crate::support::*;
use rustix::process::Signal;
use windlass_testkit::{ScriptedAgent, World};

/// The scripted agent as `adapter`, called `live`.
fn profile(world: &World, agent: &ScriptedAgent, adapter: &str) {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.live]\nadapter = {adapter:?}\ncommand = [{}]\n", words.join(", ")));
}

/// A script in each protocol that can be kept alive.
fn in_each_protocol(script: &str, case: impl Fn(&World, &ScriptedAgent)) {
    for adapter in ADAPTERS {
        let world = World::new();
        let agent = world.script(&format!("protocol = {adapter:?}\nacp = {{ load = true }}\n{script}"));
        profile(&world, &agent, adapter);
        case(&world, &agent);
        world.wait_no_processes();
    }
}

const ADAPTERS: [&str; 2] = ["claude", "acp"];

const KEPT: [&str; 8] = ["run", "do it", "--name", "work", "--agent", "live", "--session", "keep_alive"];

fn kept(more: &[&'static str]) -> Vec<&'static str> {
    KEPT.iter().chain(more).copied().collect()
}

/// How many processes took the turns, in order: 0 for the first, 1 for the next.
fn processes(agent: &ScriptedAgent) -> Vec<usize> {
    let mut seen = Vec::new();
    let index = |process| {
        seen.iter().position(|known| *known == process).unwrap_or_else(|| {
            seen.push(process);
            seen.len() - 1
        })
    };
    agent.turns().into_iter().map(|turn| turn.process).map(index).collect()
}

/// What the agent was told on its standard input, over all its processes.
fn input(agent: &ScriptedAgent) -> String {
    let mut path = agent.path.clone().into_os_string();
    path.push(".input");
    std::fs::read_to_string(path).unwrap_or_default()
}

fn gate_file(agent: &ScriptedAgent, name: &str) -> String {
    agent.path.with_file_name(name).to_str().unwrap().to_owned()
}

fn transcript(world: &World, turn: &str) -> String {
    let loops = std::fs::read_dir(world.data_dir().join("transcripts")).unwrap().flatten();
    let dir = loops.map(|entry| entry.path().join(turn)).find(|dir| dir.is_dir()).expect("the turn has a directory");
    read(&dir.join("stdout"))
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

#[test]
// promise: sessions-3
fn keep_alive_takes_turn_after_turn_in_one_process() {
    let script = r#"
        [[turn]]
        steps = [{ say = "first words" }, { append = { path = "log", content = "1\n" } }]
        [[turn]]
        steps = [
            { event = { type = "tool_use", id = "t1", name = "Bash", input = "ls" } },
            { event = { type = "tool_result", id = "t1", output = "log", is_error = true } },
            { append = { path = "log", content = "2\n" } },
            { say = "second words" },
            { say = "<promise>COMPLETE</promise>" },
        ]
    "#;
    in_each_protocol(script, |world, agent| {
        let output = call(world, &kept(&["--gate", "test $(wc -l < log) = 2"]));
        output.assert_code(0);
        assert_eq!(processes(agent), [0, 0], "{}", output.shown());
        let status = status(world, "work");
        assert_eq!(status["status"], "completed");
        assert_eq!(status["iterations"], 2);
        assert_eq!(status["session_policy"], "keep_alive");
        let feed = feed(world, "work");
        let ended = of_type(&feed, "turn_ended");
        assert_eq!(ended.len(), 2);
        assert_eq!(ended[1]["report"]["failed_calls"], 1, "{}", ended[1]);
        assert_eq!(ended[0]["report"]["session"], ended[1]["report"]["session"]);
        // Each turn has its own transcript, whole and with nothing of the other.
        let (one, two) = (transcript(world, "1.coder.1"), transcript(world, "2.coder.1"));
        assert!(one.contains("first words") && !one.contains("second words"), "{one}");
        assert!(two.contains("second words") && !two.contains("first words"), "{two}");
        assert_eq!(committed_iterations(world, "work"), ["1", "2"]);
        // A resumed turn is told to continue; the task is in the session already.
        assert!(agent.prompts()[1].contains("continue"), "{}", agent.prompts()[1]);
    });
}

#[test]
// promise: sessions-3
fn a_process_that_dies_between_turns_is_started_again_in_its_session() {
    let script = r#"
        [[turn]]
        steps = [{ die_when = "die" }, { say = "alive" }]
        [[turn]]
        steps = [{ say = "again <promise>COMPLETE</promise>" }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        // The gate ends when the process is gone, or the next turn may still find it alive.
        let gate = format!("touch {0} && flock {0}.alive true", gate_file(agent, "die"));
        let args = ["--no-baseline", "--gate", &gate];
        let args: Vec<&str> = KEPT.iter().chain(&args).copied().collect();
        call(world, &args).assert_code(0);
        assert_eq!(processes(agent), [0, 1]);
        let feed = feed(world, "work");
        let started = of_type(&feed, "turn_started");
        assert_eq!(started[1]["session"]["type"], "resume");
        let session = started[1]["session"]["session"].as_str().unwrap();
        let told = format!("{:?}{}", agent.turns()[1].args, input(agent));
        assert!(told.contains(session), "the second process goes on in the session: {told}");
        assert_eq!(of_type(&feed, "turn_ended")[1]["report"]["session"], session);
        assert_eq!(status(world, "work")["iterations"], 2);
    });
}

#[test]
fn a_process_that_dies_in_its_turn_fails_it() {
    let script = r#"
        [[turn]]
        steps = [{ say = "I will" }, { exit = 3 }]
    "#;
    in_each_protocol(script, |world, agent| {
        call(world, &kept(&[])).assert_code(7);
        let status = status(world, "work");
        assert_eq!(status["status"], "errored", "{status}");
        assert_eq!(agent.turns().len(), 1);
    });
}

#[test]
fn lines_that_mean_nothing_break_nothing() {
    let script = r#"
        [[turn]]
        steps = [
            { print = "garbage\n" },
            { json = { type = "of_tomorrow", method = "tomorrow/news" } },
            { split = { chunks = ["{\"half\":", " 1}\n"] } },
            { bytes = { hex = "ff fe 0a" } },
            { flood = { bytes = 10000000, line = 10000000 } },
            { say = "<promise>COMPLETE</promise>" },
        ]
    "#;
    in_each_protocol(script, |world, agent| {
        call(world, &kept(&[])).assert_code(0);
        assert_eq!(agent.turns().len(), 1);
        assert_eq!(status(world, "work")["status"], "completed");
        assert!(transcript(world, "1.coder.1").len() > 10_000_000);
    });
}

#[test]
// promise: context-8
fn a_prompt_larger_than_every_pipe_arrives_whole() {
    let script = "[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]";
    in_each_protocol(script, |world, agent| {
        let goal = format!("do it: {}", "日本語 text ".repeat(30_000));
        let file = world.home().join("goal.md");
        std::fs::write(&file, &goal).unwrap();
        let args = ["run", "--prompt-file", file.to_str().unwrap(), "--name", "work", "--agent", "live", "--session"];
        let args: Vec<&str> = args.into_iter().chain(["keep_alive"]).collect();
        call(world, &args).assert_code(0);
        assert!(agent.prompts()[0].contains(goal.trim()), "{} bytes", agent.prompts()[0].len());
    });
}

#[test]
fn kill_9_in_the_second_turn_leaves_nothing_and_resume_goes_on_in_the_session() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }, { append = { path = "log", content = "1\n" } }]
        [[turn]]
        steps = [{ say = "two" }, { touch = "reached" }, "hang"]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        let running = world.start(windlass(world, &kept(&[])));
        agent.wait_touched("reached");
        running.kill();
        running.wait_ended();
        world.wait_no_processes();
        call(world, &["resume", "work"]).assert_code(0);
        assert_eq!(processes(agent), [0, 0, 1]);
        let feed = feed(world, "work");
        let outcomes: Vec<_> =
            of_type(&feed, "turn_ended").iter().map(|item| item["report"]["outcome"]["type"].clone()).collect();
        assert_eq!(outcomes, ["finished", "cut_off", "finished"], "the first turn is not run again");
        let started = of_type(&feed, "turn_started");
        assert_eq!(started[2]["session"]["type"], "resume");
    });
}

#[test]
fn a_turn_that_was_over_before_kill_9_is_not_run_again() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }, { append = { path = "log", content = "1\n" } }]
        [[turn]]
        steps = [{ append = { path = "log", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    for fault in ["turn.closed:1", "turn.closed:2", "append.before:3", "append.after:3"] {
        in_each_protocol(script, |world, agent| {
            let mut command = windlass(world, &kept(&[]));
            command.env("WINDLASS_TEST_FAULT", fault);
            let output = world.run(command);
            assert_ne!(output.code, Some(0), "{fault}: {}", output.shown());
            world.wait_no_processes();
            call(world, &["resume", "work"]).assert_code(0);
            assert_eq!(file_at_branch(world, "work", "log"), "1\n2\n", "{fault}");
            assert_eq!(agent.turns().len(), 2, "{fault}");
            assert_eq!(status(world, "work")["iterations"], 2, "{fault}");
        });
    }
}

#[test]
fn ctrl_c_asks_the_agent_to_end_its_turn_and_leaves_no_process() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }]
        [[turn]]
        steps = [{ say = "two" }, { touch = "reached" }, "wait_cancel"]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        let running = world.start(windlass(world, &kept(&[])));
        agent.wait_touched("reached");
        running.signal(Signal::INT);
        running.wait().assert_code(130);
        world.wait_no_processes();
        agent.wait_touched("cancelled");
        call(world, &["resume", "work"]).assert_code(0);
        assert_eq!(processes(agent), [0, 0, 1]);
        let feed = feed(world, "work");
        assert_eq!(of_type(&feed, "turn_ended")[1]["report"]["outcome"]["type"], "interrupted");
    });
}

#[test]
fn stop_and_pause_end_an_agent_that_does_not_listen() {
    for command in ["stop", "pause"] {
        let script = r#"
            [[turn]]
            steps = [{ say = "one" }]
            [[turn]]
            steps = [{ say = "two" }, { touch = "reached" }, { hang = { ignore_signals = true } }]
            [[turn]]
            steps = [{ say = "<promise>COMPLETE</promise>" }]
        "#;
        in_each_protocol(script, |world, agent| {
            let running = world.start(windlass(world, &kept(&[])));
            agent.wait_touched("reached");
            let args: &[&str] = if command == "stop" { &["stop", "work"] } else { &["pause", "work", "--now"] };
            call(world, args).assert_code(0);
            let output = running.wait();
            assert_ne!(output.code, Some(0), "{command}");
            world.wait_no_processes();
            call(world, &["resume", "work"]).assert_code(0);
            assert_eq!(processes(agent), [0, 0, 1], "{command}");
        });
    }
}

#[test]
// promise: sessions-3
fn a_loop_that_pauses_between_turns_keeps_no_process() {
    let script = r#"
        [[turn]]
        steps = [{ touch = "reached" }, { wait_for = "go" }, { say = "one" }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        let running = world.start(windlass(world, &kept(&[])));
        agent.wait_touched("reached");
        call(world, &["pause", "work"]).assert_code(0);
        agent.open_gate("go");
        running.wait();
        world.wait_no_processes();
        assert_eq!(status(world, "work")["status"], "paused");
        call(world, &["resume", "work"]).assert_code(0);
        assert_eq!(processes(agent), [0, 1]);
    });
}

#[test]
fn a_failed_turn_gets_a_new_process() {
    let script = r#"
        [[turn]]
        steps = [{ say = "oh" }, { end_turn = { error = "API Error: 500 internal server error" } }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        call(world, &kept(&["--recipe", "refine", "--iter", "2"])).assert_code(0);
        assert_eq!(processes(agent), [0, 1, 1]);
    });
}

#[test]
fn a_silent_agent_is_a_stall_and_its_process_is_ended() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }]
        [[turn]]
        steps = [{ say = "two" }, "hang"]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#;
    in_each_protocol(script, |world, agent| {
        call(world, &kept(&["--stall-timeout", "2s"])).assert_code(0);
        assert_eq!(processes(agent), [0, 0, 1]);
        let feed = feed(world, "work");
        assert_eq!(of_type(&feed, "turn_ended")[1]["report"]["outcome"]["type"], "interrupted");
    });
}

#[test]
fn a_turn_over_its_time_is_ended_with_its_process() {
    let script = r#"
        [[turn]]
        steps = [{ say = "one" }]
        [[turn]]
        steps = [{ say = "two" }, { hang = { ignore_signals = true } }]
    "#;
    in_each_protocol(script, |world, agent| {
        call(world, &kept(&["--turn-timeout", "2s"])).assert_code(7);
        assert_eq!(processes(agent), [0, 0]);
        assert_eq!(status(world, "work")["status"], "errored");
    });
}

#[test]
fn a_budget_ends_a_kept_turn_under_way() {
    let world = World::new();
    let agent = world.script(
        "protocol = \"claude\"\n[[turn]]\nsteps = [{ say = \"one\" }, \"hang\"]\n[[turn]]\nsteps = [{ say = \"no\" }]",
    );
    profile(&world, &agent, "claude");
    call(&world, &kept(&["--budget-usd", "0.000001"])).assert_code(3);
    assert_eq!(agent.turns().len(), 1);
    assert_eq!(status(&world, "work")["status"], "exhausted");
    world.wait_no_processes();
}
