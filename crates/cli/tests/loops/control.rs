//! Loops commanded from another process: stop, pause, resume, restart, steer, follow; and many of them at once.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::*;
use windlass_testkit::{Stream, World};

/// Hangs at its first turn, deaf to signals, with children that try to get away; ends at once the second time.
const DEAF: &str = r#"
    [[turn]]
    steps = [
        { leave = { kind = "double_fork", ignore_signals = true } },
        { leave = { kind = "setsid", ignore_signals = true } },
        { say = "here" },
        { touch = "reached" },
        { hang = { ignore_signals = true } },
    ]
    [[turn]]
    steps = [{ say = "<promise>COMPLETE</promise>" }]
"#;

/// Waits for the test in each of its turns, and claims in the third.
const IN_STEP: &str = r#"
    [[turn]]
    steps = [{ append = { path = "log", content = "1\n" } }, { touch = "at1" }, { wait_for = "go1" }, { say = "one" }]
    [[turn]]
    steps = [{ append = { path = "log", content = "2\n" } }, { touch = "at2" }, { wait_for = "go2" }, { say = "two" }]
    [[turn]]
    steps = [{ append = { path = "log", content = "3\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

#[test]
// promise: control-1
fn stop_returns_when_the_tree_is_gone_within_three_seconds() {
    let world = World::new();
    let agent = world.script(DEAF);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("reached");
    call(&world, &["status", "work", "--exit-code"]).assert_code(10);
    let from = Instant::now();
    call(&world, &["stop", "work"]).assert_code(0).assert_stdout_has("stopped");
    let took = from.elapsed();
    assert_eq!(agent.still_alive(), [], "gone when stop returns");
    assert!(took <= Duration::from_secs(3), "{took:?}");
    running.wait().assert_code(4).assert_stdout_has("cancelled");
    let status = status(&world, "work");
    assert_eq!(status["status"], "cancelled");
    assert_eq!(status["stop_reason"]["type"], "cancelled");
    call(&world, &["status", "work", "--exit-code"]).assert_code(4);
    assert_eq!(of_type(&feed(&world, "work"), "loop_stopped").len(), 1);
    // A stop is neither a success nor a limit, and what was stopped can continue.
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
}

/// A filter of the user's that waits as long as `held` exists, and says so with `reached`.
fn hanging_filter(world: &World, side: &str, reached: &Path) -> PathBuf {
    let held = world.root().join("held");
    let script = format!(
        "cat\nif test -e '{0}'; then touch '{1}'; while test -e '{0}'; do sleep 0.05; done; fi",
        held.display(),
        reached.display()
    );
    let filter = world.install_script("filter", &script);
    let repo = world.repo();
    repo.git(["config", &format!("filter.slow.{side}"), &filter.to_string_lossy()]);
    repo.write(".gitattributes", "*.slow filter=slow\n").commit("attributes");
    std::fs::write(&held, "").unwrap();
    held
}

#[test]
// promise: control-1
fn stop_interrupts_a_checkpoint_and_the_checkout_of_a_gate_while_git_hangs() {
    for side in ["clean", "smudge"] {
        let world = World::new();
        let reached = world.root().join("reached");
        let held = hanging_filter(&world, side, &reached);
        let agent = world.script(
            "[[turn]]\nsteps = [{ write = { path = \"a.slow\", content = \"x\\n\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
        );
        let running = start(&world, &agent, &["--gate", "true", "--no-baseline"]);
        assert!(windlass_testkit::watch::wait_exists(&reached, Some(Duration::from_secs(60))).unwrap(), "{side}");
        call(&world, &["stop", "work"]).assert_code(0).assert_stdout_has("stopped");
        assert!(held.exists(), "git would still hang");
        running.wait().assert_code(4).assert_stdout_has("cancelled");
        assert_eq!(locks_below(&world.data_dir()), Vec::<PathBuf>::new(), "{side}");
        std::fs::remove_file(held).unwrap();
    }
}

#[test]
// promise: control-3
fn a_pause_comes_after_the_turn_and_resume_goes_on() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let running = start(&world, &agent, &["--gate", "true"]);
    agent.wait_touched("at1");
    call(&world, &["pause", "work"]).assert_code(0).assert_stdout_has("after the current turn");
    call(&world, &["pause", "work"]).assert_code(2).assert_stderr_has("already");
    agent.open_gate("go1");
    running.wait().assert_code(6).assert_stdout_has("paused");
    let paused = status(&world, "work");
    assert_eq!(paused["status"], "paused");
    assert!(paused["stop_reason"].is_null());
    assert_eq!(committed_iterations(&world, "work"), ["1"]);
    call(&world, &["status", "work", "--exit-code"]).assert_code(6);
    call(&world, &["pause", "work"]).assert_code(2);
    agent.open_gate("go2");
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "log"), "1\n2\n3\n");
    assert_eq!(starts(&agent), [(1, 1), (2, 1), (3, 1)]);
}

#[test]
// promise: control-3
fn a_pause_at_once_interrupts_the_turn_which_is_tried_again() {
    let world = World::new();
    let agent = world.script(DEAF);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("reached");
    call(&world, &["pause", "work", "--now"]).assert_code(0);
    assert_eq!(agent.still_alive(), [], "gone when pause returns");
    running.wait().assert_code(6);
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
    assert_eq!(status(&world, "work")["iterations"], 1);
}

#[test]
// promise: context-11
fn a_message_is_delivered_once_and_a_claim_that_did_not_see_it_is_refused() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ touch = "at1" }, { wait_for = "go1" }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ say = "I see." }]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at1");
    call(&world, &["steer", "work", "leave the `schema` $(as it is)"]).assert_code(0);
    assert_eq!(status(&world, "work")["steering"][0]["delivered"], false);
    agent.open_gate("go1");
    running.wait().assert_code(0);
    let told: Vec<bool> =
        agent.prompts().iter().map(|prompt| prompt.contains("leave the `schema` $(as it is)")).collect();
    assert_eq!(told, [false, true, false]);
    let status = status(&world, "work");
    assert_eq!(status["claims"], serde_json::json!({"made": 2, "refused": 1}));
    assert_eq!(status["steering"][0]["delivered"], true);
    assert_eq!(of_type(&feed(&world, "work"), "claim_refused")[0]["because"]["type"], "steering_pending");
}

#[test]
fn a_message_that_a_cut_off_turn_was_given_is_given_again() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ touch = "at1" }, { wait_for = "go1" }, { say = "one" }]
        [[turn]]
        steps = [{ touch = "at2" }, "hang"]
        [[turn]]
        steps = [{ say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at1");
    call(&world, &["steer", "work", "mind the gap"]).assert_code(0);
    agent.open_gate("go1");
    agent.wait_touched("at2");
    running.kill();
    running.wait_ended();
    call(&world, &["resume", "work"]).assert_code(0);
    let told: Vec<bool> = agent.prompts().iter().map(|prompt| prompt.contains("mind the gap")).collect();
    assert_eq!(told, [false, true, true]);
}

/// A loop whose driver was killed in the middle of a turn.
fn interrupted(script: &str) -> (World, windlass_testkit::ScriptedAgent) {
    let world = World::new();
    let agent = world.script(script);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("reached");
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    assert_eq!(status(&world, "work")["status"], "interrupted");
    (world, agent)
}

#[test]
// promise: control-1
fn stop_of_an_interrupted_loop_cancels_it_without_a_driver() {
    let (world, agent) = interrupted(DEAF);
    call(&world, &["stop", "work"]).assert_code(0);
    assert_eq!(status(&world, "work")["status"], "cancelled");
    assert_eq!(agent.turns().len(), 1, "nothing is started");
    call(&world, &["stop", "work"]).assert_code(2).assert_stderr_has("cancelled");
}

#[test]
fn pause_of_an_interrupted_loop_pauses_it_until_it_is_resumed() {
    for now in [&["pause", "work"][..], &["pause", "work", "--now"]] {
        let (world, agent) = interrupted(DEAF);
        call(&world, now).assert_code(0);
        assert_eq!(status(&world, "work")["status"], "paused");
        assert_eq!(agent.turns().len(), 1, "nothing is started");
        call(&world, &["resume", "work"]).assert_code(0);
        assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
    }
}

#[test]
fn a_message_for_an_interrupted_loop_waits_for_its_resumption() {
    let (world, agent) = interrupted(DEAF);
    call(&world, &["steer", "work", "mind the gap"]).assert_code(0);
    assert_eq!(status(&world, "work")["status"], "interrupted");
    // Time without a driver is not the loop's.
    let feed = feed(&world, "work");
    assert_eq!(types(&feed)[feed.len() - 2..], ["driver_attached", "steering_queued"]);
    call(&world, &["resume", "work"]).assert_code(0);
    assert!(agent.prompts()[1].contains("mind the gap"));
}

#[test]
// promise: control-1
fn a_stop_whose_driver_is_killed_meanwhile_is_still_carried_out_and_answered() {
    let world = World::new();
    let agent = world.script(DEAF);
    let mut command = run_command(&world, &agent, &[]);
    // The fourth write is the stop's: it is taken from the inbox and journalled, and then nobody is there to answer.
    command.env("WINDLASS_TEST_FAULT", "append.after:1");
    let running = world.start(command);
    agent.wait_touched("reached");
    call(&world, &["stop", "work"]).assert_code(0);
    assert_eq!(running.wait_ended().code(), None, "it was killed");
    assert_eq!(status(&world, "work")["status"], "cancelled");
    world.wait_no_processes();
}

#[test]
fn a_resume_after_a_pause_that_was_asked_for_but_did_not_come_goes_on() {
    let world = World::new();
    let agent = world.script(DEAF);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("reached");
    call(&world, &["pause", "work"]).assert_code(0);
    running.kill();
    running.wait_ended();
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(status(&world, "work")["status"], "completed");
}

#[test]
// promise: control-9
fn what_makes_no_sense_for_an_ended_loop_is_refused_in_words() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    run(&world, &agent, &[]).assert_code(0);
    for words in [
        &["stop", "work"][..],
        &["pause", "work"],
        &["steer", "work", "hello"],
        &["resume", "work"],
        &["restart", "work"],
    ] {
        let out = call(&world, words);
        out.assert_code(2);
        assert!(out.stderr.starts_with("error: ") && out.stderr.contains("completed"), "{words:?}\n{}", out.shown());
        assert!(out.stderr.contains("\nhint: "), "{words:?}\n{}", out.shown());
    }
    for words in [&["stop", "wrok"][..], &["logs", "wrok"], &["status", "wrok"], &["resume", "wrok"]] {
        call(&world, words).assert_code(2).assert_stderr_has("did you mean 'work'");
    }
    assert_eq!(agent.turns().len(), 1);
}

#[test]
// promise: bounds-9
fn an_exhausted_loop_goes_on_with_a_raised_limit_only() {
    let world = World::new();
    let agent = world.script(
        r#"
        select = "iteration"
        [[turn]]
        steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "more" }]
        [[turn]]
        steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "more" }]
        [[turn]]
        steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    run(&world, &agent, &["--max-iterations", "2"]).assert_code(3);
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("--max-iterations +");
    assert_eq!(agent.turns().len(), 2);
    call(&world, &["resume", "work", "--max-iterations", "+2"]).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["iterations"], 3);
    assert_eq!(status["limits"]["max_iterations"], 4);
    assert_eq!(committed_iterations(&world, "work"), ["1", "2", "3"]);
    let feed = feed(&world, "work");
    assert_eq!(of_type(&feed, "loop_stopped").len(), 2, "one stop reason for each stretch");
}

#[test]
// promise: control-4
fn a_restart_keeps_work_and_count_and_begins_a_fresh_session() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ say = "session: abc-1" }, { write = { path = "a", content = "1" } }, { exit = 1 }]
        [[turn]]
        steps = [{ say = "session: abc-2" }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!(
        "[agents.scripted]\ncommand = [{}]\nsession_pattern = \"session: (\\\\S+)\"\nresume_args = [\"--resume\", \"{{session}}\"]\n",
        words.join(", ")
    ));
    call(&world, &["run", "x", "--name", "work", "--agent", "scripted"]).assert_code(7);
    call(&world, &["restart", "work"]).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["iterations"], 2, "iterations keep counting");
    assert!(!agent.turns()[1].args.contains(&"--resume".to_owned()), "{:?}", agent.turns()[1].args);
    assert_eq!(file_at_branch(&world, "work", "a"), "1");
}

#[test]
// promise: control-7
fn a_detached_loop_is_followed_to_its_end_with_its_exit_code() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let out = run(&world, &agent, &["--detach"]);
    out.assert_code(0).assert_stdout_has("windlass logs work -f");
    let following = world.start(windlass(&world, &["logs", "work", "-f", "--json"]));
    let mut reading = world.start(windlass(&world, &["logs", "work", "-f"]));
    reading.wait_line(Stream::Stdout, "iteration 1 of");
    agent.open_gate("go1");
    reading.wait_line(Stream::Stdout, "one");
    agent.open_gate("go2");
    let items = following.wait();
    items.assert_code(0);
    let items = items.json_lines();
    check_feed(&items);
    assert_eq!(items.last().unwrap()["type"], "loop_stopped");
    assert_eq!(items, feed(&world, "work"));
    reading.wait().assert_code(0);
    world.wait_no_processes();
    assert_eq!(status(&world, "work")["status"], "completed");
}

#[test]
// promise: control-7
fn a_detached_loop_survives_its_starter_and_is_stopped_from_elsewhere() {
    let world = World::new();
    let agent = world.script(DEAF);
    run(&world, &agent, &["--detach", "--json"]).assert_code(0);
    agent.wait_touched("reached");
    assert_eq!(status(&world, "work")["status"], "running");
    let following = world.start(windlass(&world, &["logs", "work", "-f", "--json"]));
    call(&world, &["stop", "work"]).assert_code(0);
    let out = following.wait();
    out.assert_code(4);
    assert_eq!(out.json_lines().last().unwrap()["type"], "loop_stopped");
    world.wait_no_processes();
}

#[test]
fn a_detached_loop_that_fails_says_so_to_its_followers() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"at\" }, { wait_for = \"go\" }, { exit = 3 }]");
    run(&world, &agent, &["--detach"]).assert_code(0);
    agent.wait_touched("at");
    let following = world.start(windlass(&world, &["logs", "work", "-f"]));
    agent.open_gate("go");
    following.wait().assert_code(7);
}

#[test]
// promise: control-6
fn a_second_start_under_a_taken_name_is_refused() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at1");
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("work");
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("windlass logs");
    call(&world, &["restart", "work"]).assert_code(2);
    agent.open_gate("go1");
    agent.open_gate("go2");
    running.wait().assert_code(0);
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("work");
    assert_eq!(agent.turns().len(), 3);
    assert_eq!(world.repo().branches(), ["main", "windlass/work"]);
}

#[test]
// promise: control-5
fn two_loops_at_once_do_not_touch_each_other() {
    let world = World::new();
    let script = r#"
        [[turn]]
        steps = [{ write = { path = "{{loop}}", content = "1\n" } }, { touch = "at1" }, { wait_for = "go" }, { say = "one" }]
        [[turn]]
        steps = [{ append = { path = "{{loop}}", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    let (one, two) = (world.script(script), world.script(script));
    let begin = |name: &str, agent: &windlass_testkit::ScriptedAgent| {
        let agent = agent.command_line();
        world.start(windlass(&world, &["run", "x", "--name", name, "--agent-command", &agent, "--gate", "true"]))
    };
    let (first, second) = (begin("one", &one), begin("two", &two));
    one.wait_touched("at1");
    two.wait_touched("at1");
    let rows = call(&world, &["list", "--json"]).json();
    assert!(rows.as_array().unwrap().iter().all(|row| row["status"] == "running"), "{rows}");
    call(&world, &["stop", "two"]).assert_code(0);
    second.wait().assert_code(4);
    one.open_gate("go");
    first.wait().assert_code(0);
    assert_eq!(world.repo().tree_files("windlass/one"), ["README.md", "one"]);
    assert_eq!(world.repo().file_at("windlass/one", "one"), "1\n2\n");
    assert_eq!(status(&world, "two")["status"], "cancelled");
    assert_eq!(status(&world, "one")["iterations"], 2);
}

#[test]
// promise: control-6
fn many_loops_started_at_once_get_names_of_their_own() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]").command_line();
    let begin = || world.start(windlass(&world, &["run", "Fix the login!", "--agent-command", &agent]));
    let all: Vec<_> = (0..4).map(|_| begin()).collect();
    for one in all {
        one.wait().assert_code(0);
    }
    let rows = call(&world, &["list", "--json"]).json();
    let mut names: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["fix-the-login", "fix-the-login-2", "fix-the-login-3", "fix-the-login-4"]);
}

#[test]
fn a_branch_of_the_same_name_without_a_loop_is_passed_over_or_named() {
    let world = World::new();
    world.repo().git(["branch", "windlass/fix-it"]);
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]").command_line();
    call(&world, &["run", "fix it", "--agent-command", &agent]).assert_code(0);
    assert_eq!(status(&world, "fix-it-2")["branch"], "windlass/fix-it-2");
    let out = call(&world, &["run", "x", "--name", "fix-it", "--agent-command", &agent]);
    out.assert_code(2).assert_stderr_has("windlass/fix-it");
    assert_eq!(call(&world, &["list", "--json"]).json().as_array().unwrap().len(), 1, "nothing is created");
}

#[test]
fn a_loop_is_found_from_outside_its_project() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    run(&world, &agent, &[]).assert_code(0);
    let elsewhere = world.new_dir("elsewhere");
    let mut command = windlass(&world, &["status", "work", "--json"]);
    command.current_dir(&elsewhere);
    assert_eq!(world.run(command).assert_code(0).json()["status"], "completed");
    let mut command = windlass(&world, &["list"]);
    command.current_dir(&elsewhere);
    world.run(command).assert_code(2).assert_stderr_has("--all");
    let repo = world.repo().path().to_str().unwrap().to_owned();
    let mut command = windlass(&world, &["-C", &repo, "list"]);
    command.current_dir(&elsewhere);
    world.run(command).assert_code(0).assert_stdout_has("work");
}

#[test]
fn a_script_gets_json_from_pause_takeover_steer_and_stop() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at1");
    let paused = call(&world, &["pause", "work", "--now", "--json"]);
    assert_eq!((paused.json()["name"].clone(), paused.json()["status"].clone()), ("work".into(), "paused".into()));
    running.wait().assert_code(6);
    let entered = call(&world, &["takeover", "work", "--json"]).json();
    assert!(Path::new(entered["dir"].as_str().unwrap()).is_dir(), "{entered}");
    let told = call(&world, &["steer", "work", "mind the gap", "--json"]);
    assert_eq!(told.assert_code(0).json()["name"], "work");
    let stopped = call(&world, &["stop", "work", "--json"]).json();
    assert_eq!(stopped["status"], "cancelled");
    // An error is words on standard error, so that nothing on standard output is taken for an answer.
    let refused = call(&world, &["pause", "work", "--json"]);
    assert_eq!(refused.assert_code(2).stdout, "");
}
