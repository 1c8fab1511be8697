//! The log lines that people grep for, by the real program with `RUST_LOG=info`.

use crate::support::*;
use windlass_testkit::{Output, ScriptedAgent, World};

/// The shipped profile of Copilot, with another program in its place whose output is text.
fn copilot(world: &World, agent: &ScriptedAgent, more: &str) {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.copilot]\nadapter = \"command\"\ncommand = [{}]\n{more}\n", words.join(", ")));
}

fn run_copilot(world: &World, more: &[&str]) -> Output {
    let mut args = vec!["run", "Build the feature", "--name", "work", "--agent", "copilot"];
    args.extend(more);
    let mut command = windlass(world, &args);
    command.env("RUST_LOG", "info");
    world.run(command)
}

/// What was logged about the loop: level and words.
fn logged(out: &Output) -> Vec<String> {
    let level = |line: &str| {
        ["INFO", "ERROR"].into_iter().find(|level| line.contains(&format!(" {level} "))).map(str::to_owned)
    };
    out.stderr
        .lines()
        .filter_map(|line| {
            let level = level(line)?;
            let words = line.split_once("log_lines: ").map(|(_, words)| words)?;
            Some(format!("{level} {words}"))
        })
        .collect()
}

#[test]
// promise: log-1
fn a_promise_in_the_second_run_ends_the_loop() {
    let world = World::new();
    let agent = world
        .script("[[turn]]\nsteps = [{ say = \"working\" }]\n[[turn]]\nsteps = [{ say = \"<promise>DONE</promise>\" }]");
    copilot(&world, &agent, "");
    let out = run_copilot(&world, &["--max-iterations", "5", "--completion-promise", "<promise>DONE</promise>"]);
    out.assert_code(0);
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let expected = [
        format!(
            "INFO Registering Copilot loop for workspace {id}: max_iterations=5, completion_promise=Some(\"<promise>DONE</promise>\")"
        ),
        format!("INFO Registered Copilot loop state for workspace {id}: max_iterations=5"),
        format!("INFO Copilot loop iteration 1 of 5 for workspace {id} (can_continue=true)"),
        format!("INFO Starting Copilot loop follow-up for workspace {id} (iteration 1)"),
        "INFO Completion promise '<promise>DONE</promise>' detected in output".to_owned(),
        format!("INFO Copilot loop complete: completion promise detected for workspace {id}"),
        format!("INFO Removed Copilot loop state for workspace {id}"),
    ];
    let logged = logged(&out);
    let mut rest = logged.iter();
    for line in &expected {
        assert!(rest.any(|one| one == line), "{line} is missing or out of order in\n{}", logged.join("\n"));
    }
    assert_eq!(agent.turns().len(), 2);
    assert_eq!(status(&world, "work")["iterations"], 2);
}

#[test]
// promise: log-2
fn without_a_promise_the_limit_ends_the_loop() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"working\" }]");
    copilot(&world, &agent, "");
    let out = run_copilot(&world, &["--max-iterations", "3"]);
    out.assert_code(3);
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let iterations: Vec<String> = logged(&out).into_iter().filter(|line| line.contains("loop iteration")).collect();
    assert_eq!(
        iterations,
        [
            format!("INFO Copilot loop iteration 1 of 3 for workspace {id} (can_continue=true)"),
            format!("INFO Copilot loop iteration 2 of 3 for workspace {id} (can_continue=true)"),
            format!("INFO Copilot loop iteration 3 of 3 for workspace {id} (can_continue=false)"),
        ]
    );
    let end: Vec<String> = logged(&out).into_iter().rev().take(2).collect();
    assert_eq!(
        end,
        [
            format!("INFO Removed Copilot loop state for workspace {id}"),
            format!("INFO Copilot loop complete: max iterations reached for workspace {id}"),
        ]
    );
    assert_eq!(agent.turns().len(), 3);
}

#[test]
// promise: log-3
fn without_a_loop_there_is_one_run_and_no_word_of_a_loop() {
    for disabled in ["profile", "flag"] {
        let world = World::new();
        let agent = world.script("[[turn]]\nsteps = [{ say = \"done\" }]");
        copilot(&world, &agent, if disabled == "profile" { "loop_enabled = false" } else { "" });
        let out = run_copilot(&world, if disabled == "flag" { &["--no-loop"] } else { &[] });
        out.assert_code(0);
        let logged = logged(&out).join("\n");
        assert!(!logged.contains("Registered") && !logged.contains("follow-up"), "{disabled}: {logged}");
        assert_eq!(agent.turns().len(), 1, "{disabled}");
        assert_eq!(status(&world, "work")["status"], "completed", "{disabled}");
    }
}

#[test]
// promise: log-4
fn a_failed_run_is_logged_and_the_state_removed() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ exit = 1 }]");
    copilot(&world, &agent, "");
    let out = run_copilot(&world, &[]);
    out.assert_code(7);
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let logged = logged(&out).join("\n");
    assert!(logged.contains(&format!("Copilot loop cancelled: execution was Failed for workspace {id}")), "{logged}");
    assert!(logged.ends_with(&format!("INFO Removed Copilot loop state for workspace {id}")), "{logged}");
}

#[test]
// promise: log-4
fn a_stop_is_logged() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"here\" }, \"hang\"]");
    copilot(&world, &agent, "");
    let mut command = windlass(&world, &["run", "x", "--name", "work", "--agent", "copilot"]);
    command.env("RUST_LOG", "info");
    let running = world.start(command);
    agent.wait_touched("here");
    call(&world, &["stop", "work"]).assert_code(0);
    let out = running.wait();
    out.assert_code(4);
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let logged = logged(&out).join("\n");
    assert_eq!(
        logged.matches(&format!("Clearing Copilot loop state for workspace {id} due to stop_execution")).count(),
        1,
        "{logged}"
    );
    assert!(logged.contains(&format!("Copilot loop cancelled: execution was Killed for workspace {id}")), "{logged}");
}

#[test]
// promise: log-4
fn an_agent_that_cannot_be_started_is_logged_as_an_error() {
    let world = World::new();
    std::fs::write(world.root().join("not-executable"), "#!/bin/sh\n").unwrap();
    for program in ["no-such-agent".to_owned(), world.root().join("not-executable").display().to_string()] {
        world.config(&format!("[agents.copilot]\nadapter = \"command\"\ncommand = [{program:?}]\n"));
        let mut command = windlass(&world, &["run", "Build the feature", "--agent", "copilot"]);
        command.env("RUST_LOG", "info");
        let out = world.run(command);
        out.assert_code(7);
        let logged = logged(&out).join("\n");
        assert!(logged.contains("ERROR Failed to start Copilot loop follow-up: "), "{program}: {logged}");
        assert!(!logged.contains("execution was"), "{program}: {logged}");
    }
}

#[test]
// promise: log-4
fn a_workspace_that_is_gone_is_logged_as_an_error() {
    let world = World::new();
    let gone = "#!/bin/sh\nobjects=$(cat .git/objects/info/alternates)\n\
                git --git-dir=\"${objects%/objects}\" branch -qD windlass/work\nrm -rf \"$PWD\"\n";
    let program = world.install_script("vandal", gone);
    world.config(&format!("[agents.copilot]\nadapter = \"command\"\ncommand = [{program:?}]\n"));
    let out = run_copilot(&world, &[]);
    out.assert_code(7);
    let logged = logged(&out).join("\n");
    assert!(logged.contains("ERROR Failed to get repos for Copilot loop follow-up: "), "{logged}");
}

#[test]
// promise: log-6
fn a_missing_session_is_an_error_only_for_an_agent_that_has_sessions() {
    let resumes = "resume_args = [\"--resume\", \"{session}\"]\nsession_pattern = \"session: (.*)\"";
    for (more, errors) in [("", 0), (resumes, 1)] {
        let world = World::new();
        let agent = world.script("[[turn]]\nsteps = [{ say = \"working\" }]");
        copilot(&world, &agent, more);
        let out = run_copilot(&world, &["--max-iterations", "2"]);
        out.assert_code(3);
        let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
        let line = format!("ERROR Failed to get session ID from MsgStore for Copilot loop follow-up (workspace {id})");
        assert_eq!(logged(&out).iter().filter(|one| **one == line).count(), errors, "{}", out.stderr);
    }
}

#[test]
// promise: log-6
fn a_refine_loop_says_nothing_of_a_promise() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"working\" }]");
    copilot(&world, &agent, "");
    let out = run_copilot(&world, &["--iter", "1"]);
    out.assert_code(0);
    let logged = logged(&out).join("\n");
    assert!(
        logged.contains("INFO Copilot loop complete for workspace ") && !logged.contains("promise detected"),
        "{logged}"
    );
}

#[test]
// promise: log-7
fn refused_claims_and_pauses_are_logged() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n[[turn]]\nsteps = [{ touch = \"here\" }, \"hang\"]",
    );
    copilot(&world, &agent, "");
    let mut command = windlass(&world, &["run", "x", "--name", "work", "--agent", "copilot", "--gate", "false"]);
    command.env("RUST_LOG", "info");
    let running = world.start(command);
    agent.wait_touched("here");
    call(&world, &["pause", "work", "--now"]).assert_code(0);
    let out = running.wait();
    out.assert_code(6);
    let words = logged(&out).join("\n");
    assert!(words.contains("INFO Copilot loop claim refused for workspace "), "{words}");
    assert!(words.contains("INFO Copilot loop paused for workspace ") && words.contains(": person"), "{words}");
}

#[test]
// promise: log-5
fn the_grep_of_the_document_finds_the_lines() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    copilot(&world, &agent, "");
    let out = run_copilot(&world, &[]);
    let found = |text: &str| out.stderr.lines().any(|line| line.contains(text));
    assert!(found("Copilot loop") && found("completion promise") && found("Registered Copilot"), "{}", out.stderr);
}
