//! The refine recipe: a number of iterations or a time, each building on the ones before.

use crate::support::*;
use windlass_testkit::World;

const GROWS: &str = r#"
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "more\n" } }, { say = "I made the parser quite a lot faster than it ever was before today." }]
"#;

fn log_of(world: &World) -> String {
    let dir = std::fs::read_dir(world.data_dir().join("logs")).expect("there are logs");
    let files: Vec<_> = dir.flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].file_name().unwrap().to_str().unwrap().starts_with("work-"), "{files:?}");
    std::fs::read_to_string(&files[0]).unwrap()
}

#[test]
// promise: done-10, summaries-1
fn so_many_iterations_so_many_commits() {
    let world = crate::world();
    let agent = world.script(GROWS);
    run(&world, &agent, &["--iter", "3"])
        .assert_code(0)
        .assert_stdout_has("Loop execution complete: 3/3 attempted, 3 succeeded, 0 failed");
    let commits = commits(&world, "work");
    assert_eq!(committed_iterations(&world, "work"), ["1", "2", "3"]);
    for (index, commit) in commits.iter().enumerate() {
        assert!(commit.subject.starts_with(&format!("[iter-{}] I made", index + 1)), "{}", commit.subject);
        assert!(commit.subject.chars().count() <= 50, "{}", commit.subject);
        assert_eq!(commit.trailer("Windlass-Loop"), Some("work"));
        assert!(commit.trailer("Windlass-Turn").is_some());
    }
    let prompts = agent.prompts();
    assert!(!prompts[0].contains("<task_context>"), "{}", prompts[0]);
    assert!(prompts[1].contains("Iteration: 2 of 3") && prompts[1].contains("### Iteration 1 "), "{}", prompts[1]);

    let status = status(&world, "work");
    assert_eq!((status["recipe"].as_str(), status["status"].as_str()), (Some("refine"), Some("completed")));
    assert_eq!(status["limits"]["max_iterations"], 3);
    let history = status["history"].as_array().unwrap();
    assert_eq!(history.len(), 3);
    for (record, commit) in history.iter().zip(&commits) {
        assert_eq!(record["checkpoint"]["commit"], commit.id);
        assert_eq!(record["checkpoint"]["files"][0]["path"], "work.txt");
        assert_eq!(record["success"], true);
        assert!(record["summary"].as_str().unwrap().starts_with("I made the parser"), "{record}");
    }

    let log = log_of(&world);
    for line in [
        "] Iteration 1: Starting...",
        "] Iteration 1 summary: I made the parser",
        &format!("] Committed: {}", &commits[0].id[..7]),
        "] === Iteration 3 complete: 3 succeeded, 0 failed ===",
        "] Loop execution complete: 3/3 attempted, 3 succeeded, 0 failed",
    ] {
        assert!(log.contains(line), "no '{line}' in:\n{log}");
    }
    let clock: Vec<char> = log.chars().take(10).collect();
    assert!(clock[0] == '[' && clock[3] == ':' && clock[6] == ':' && clock[9] == ']', "{log}");
}

#[test]
// promise: cli-2
fn targets_that_are_none_start_nothing() {
    let world = crate::world();
    let agent = world.script(GROWS);
    run(&world, &agent, &["--iter", "3", "--time", "5m"])
        .assert_code(2)
        .assert_stderr_has("error: Cannot specify both --iter and --time\n");
    for (flag, text) in [("--iter", "x"), ("--iter", "5m"), ("--iter", "５"), ("--time", "5"), ("--time", "-5m")] {
        run(&world, &agent, &[flag, text]).assert_code(2).assert_stderr_has(&format!(
            "error: Invalid loop condition: '{text}'. Expected iterations (e.g., '5') or duration (e.g., '1h', '30m', '5s')\nhint: "
        ));
    }
    for text in ["0", "-1", "101", "99999999999999999999"] {
        run(&world, &agent, &["--iter", text]).assert_code(2).assert_stderr_has("out of range: 1–100");
    }
    run(&world, &agent, &["--time", "0s"]).assert_code(2).assert_stderr_has("more than zero");
    run(&world, &agent, &["--time", "99999999999999999d"]).assert_code(2).assert_stderr_has("is too long");
    run(&world, &agent, &["--iter", "3", "--recipe", "promise"]).assert_code(2).assert_stderr_has("do not apply");
    assert!(agent.turns().is_empty());
    assert_eq!(world.repo().branches(), ["main"]);
}

#[test]
// promise: done-10
fn at_the_deadline_the_turn_is_interrupted_committed_and_the_loop_completed() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ write = { path = "one", content = "1" } }, { say = "one" }]
        [[turn]]
        steps = [{ write = { path = "two", content = "2" } }, { say = "two" }, "hang"]
    "#,
    );
    // The first turn has to fit in, also on a busy machine; the second one hangs until the time is over.
    run(&world, &agent, &["--time", "10s"])
        .assert_code(0)
        .assert_stdout_has("2 attempted, 1 succeeded, 0 failed, 1 ended by the time limit");
    let status = status(&world, "work");
    assert_eq!(status["stop_reason"]["type"], "completed");
    assert_eq!(status["limits"]["duration_ms"], 10_000);
    assert_eq!(file_at_branch(&world, "work", "two"), "2");
    assert!(agent.prompts()[1].contains("Iteration: 2 of ongoing"), "{}", agent.prompts()[1]);
    world.wait_no_processes();
}

#[test]
// promise: work-3
fn an_iteration_without_changes_makes_no_commit() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ say = "nothing to do" }]
        [[turn]]
        steps = [{ write = { path = "two", content = "2" } }, { say = "two" }]
    "#,
    );
    run(&world, &agent, &["--iter", "2"]).assert_code(0).assert_stdout_has("no files changed");
    assert_eq!(committed_iterations(&world, "work"), ["2"]);
    assert!(agent.prompts()[1].contains("### Iteration 1 → no changes"), "{}", agent.prompts()[1]);
}

#[test]
// promise: done-10
fn a_target_reached_with_a_failing_gate_is_no_success() {
    let world = crate::world();
    let agent = world.script(GROWS);
    run(&world, &agent, &["--iter", "2", "--gate", "false", "--no-baseline"]).assert_code(3);
    let status = status(&world, "work");
    assert_eq!(status["status"], "exhausted");
    assert_eq!(status["stop_reason"], serde_json::json!({ "type": "gates_failed", "gates": ["false"] }));
    assert!(agent.prompts()[1].contains("exit code 1"), "{}", agent.prompts()[1]);
}

#[test]
// promise: context-9
fn the_newest_plan_is_frozen_and_said_aloud() {
    let world = crate::world();
    let plans = world.repo().path().join(".claude/plans");
    world.repo().write(".claude/plans/old.md", "the old plan\n");
    world.repo().write(".claude/plans/new.md", "1. measure {plan}\n2. cut\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(plans.join("old.md")).unwrap().set_modified(long_ago).unwrap();
    let agent = world.script(GROWS);
    run(&world, &agent, &["--iter", "2"])
        .assert_code(0)
        .assert_stdout_has("using the newest plan, .claude/plans/new.md");
    for prompt in agent.prompts() {
        assert!(prompt.contains("1. measure {plan}\n2. cut"), "{prompt}");
    }

    std::fs::write(world.root().join("bad.md"), b"\xff\xfe").unwrap();
    let bad = world.root().join("bad.md");
    let bad = bad.to_str().unwrap();
    let args = ["run", "x", "--agent", "demo", "--iter", "1", "--plan"];
    call(&world, &[&args[..], &[bad]].concat()).assert_code(2).assert_stderr_has("not valid UTF-8");
    call(&world, &[&args[..], &["missing.md"]].concat())
        .assert_code(2)
        .assert_stderr_has("cannot use the plan missing.md");
    call(&world, &["run", "x", "--agent", "demo", "--plan", bad])
        .assert_code(2)
        .assert_stderr_has("does not use a plan");
}
