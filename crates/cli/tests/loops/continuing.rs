//! `windlass continue`: a completed loop goes on, with the merge target on its branch.

use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use windlass_testkit::{ScriptedAgent, World};

/// The first iteration changes `a`; the second one resolves the conflict; later ones only claim.
const RESOLVES: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [{ write = { path = "a", content = "work\n" } }, { say = "<promise>COMPLETE</promise>" }]
    [[turn]]
    steps = [{ write = { path = "a", content = "both\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// A completed loop whose branch is in conflict with main.
fn in_conflict(world: &World, script: &str) -> ScriptedAgent {
    world.repo().write("a", "base\n");
    world.repo().commit("base");
    let agent = world.script(script);
    run(world, &agent, &["--gate", "test -f a", "--no-baseline"]).assert_code(0);
    world.repo().write("a", "main\n");
    world.repo().commit("main moves");
    agent
}

#[test]
// promise: done-13
fn conflict_names_continue_and_the_agent_resolves_it() {
    let world = crate::world();
    let agent = in_conflict(&world, RESOLVES);
    let main = world.repo().rev("main");
    call(&world, &["merge", "work"]).assert_code(1).assert_stderr_has(": windlass continue work\n");
    assert_eq!(status(&world, "work")["merge_refused"]["why"]["files"], serde_json::json!(["a"]));
    let continued = call(&world, &["continue", "work"]);
    continued.assert_code(0).assert_stdout_has("conflict in a; the agent will resolve it");
    assert_eq!(world.repo().rev("main"), main, "only the loop's branch moves");
    let prompt = agent.prompts().pop().unwrap();
    assert!(prompt.contains("do the work") && prompt.contains("Windlass merged the branch main"), "{prompt}");
    assert!(prompt.contains("\n- a\n"), "{prompt}");
    let now = status(&world, "work");
    assert_eq!(
        (&now["status"], &now["outcome"], &now["verified"]),
        (&"completed".into(), &"verified".into(), &true.into())
    );
    assert!(now["merge_refused"].is_null(), "{now}");
    assert_eq!(now["base_commit"].as_str(), Some(main.as_str()), "the work is compared with what it goes to");
    assert_eq!(now["iterations"], 2);
    assert!(call(&world, &["diff", "work"]).shown().contains("-main\n+both"));
    assert!(
        call(&world, &["diff", "work", "--iteration", "2"]).shown().contains("-<<<<<<< "),
        "it starts at the merge"
    );
    call(&world, &["merge", "work"]).assert_code(0);
    assert_eq!(world.repo().read("a"), "both\n");
    assert_eq!(status(&world, "work")["merged"]["target"], "main");
}

#[test]
// promise: done-13
fn claim_is_refused_while_conflict_markers_are_left() {
    let world = crate::world();
    let script = r#"
        select = "iteration"
        [[turn]]
        steps = [{ write = { path = "a", content = "work\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ write = { path = "b", content = "b\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ write = { path = "a", content = "both\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    let agent = in_conflict(&world, script);
    call(&world, &["continue", "work", "--max-iterations", "+2"])
        .assert_code(0)
        .assert_stdout_has("held back: a (has conflict markers)");
    assert!(agent.prompts().pop().unwrap().contains("- a (has conflict markers)"));
    assert_eq!(file_at_branch(&world, "work", "a"), "both\n");
}

#[test]
// promise: done-13
fn conflict_markers_are_found_whatever_their_length_and_the_users_settings() {
    let world = crate::world();
    world.repo().write(".git/info/attributes", "a conflict-marker-size=12\n");
    world.repo().git(["config", "--global", "grep.patternType", "fixed"]);
    let script = r#"
        select = "iteration"
        [[turn]]
        steps = [{ write = { path = "a", content = "work\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ append = { path = "b", content = "b\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    in_conflict(&world, script);
    call(&world, &["continue", "work", "--max-iterations", "+1"])
        .assert_code(3)
        .assert_stdout_has("held back: a (has conflict markers)");
    assert!(file_at_branch(&world, "work", "a").starts_with("<<<<<<<<<<<< "));
    assert_ne!(status(&world, "work")["outcome"], "verified");
}

#[test]
// promise: api-11, done-14
fn red_merge_names_continue_and_the_new_stretch_is_judged_on_the_merge() {
    let world = crate::world();
    world.repo().write("a", "1\n");
    world.repo().commit("a");
    let script = r#"
        select = "iteration"
        [[turn]]
        steps = [{ write = { path = "b", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ write = { path = "b", content = "9\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#;
    let agent = world.script(script);
    run(
        &world,
        &agent,
        &["--gate", "! test -f b || { grep -q 1 a && grep -q 2 b; } || { grep -q 9 a && grep -q 9 b; }"],
    )
    .assert_code(0);
    world.repo().write("a", "9\n");
    world.repo().commit("moved on");
    call(&world, &["merge", "work"]).assert_code(1).assert_stderr_has(": windlass continue work\n");
    let refused = &status(&world, "work")["merge_refused"];
    assert_eq!((&refused["target"], &refused["why"]["type"]), (&"main".into(), &"gate".into()), "{refused}");
    call(&world, &["status", "work"]).assert_stdout_has("not merged into main: ! test -f b");
    let continued = call(&world, &["continue", "work"]);
    continued.assert_code(0).assert_stdout_has("fails on the merge; retrying to detect flakiness");
    let prompt = agent.prompts().pop().unwrap();
    assert!(prompt.contains("These gates fail on the merged files:\n\n$ ! test -f b"), "{prompt}");
    assert_eq!(status(&world, "work")["outcome"], "verified");
    call(&world, &["merge", "work"]).assert_code(0);
    assert_eq!((world.repo().read("a"), world.repo().read("b")), ("9\n".into(), "9\n".into()));
}

#[test]
fn merged_loop_with_a_new_goal_that_changes_nothing_is_unchanged() {
    let world = crate::world();
    let agent = world.script(RESOLVES.replace("both", "work").as_str());
    run(&world, &agent, &["--gate", "test -f a"]).assert_code(0);
    call(&world, &["merge", "work", "--squash"]).assert_code(0);
    call(&world, &["continue", "work", "add the docs"]).assert_code(0);
    assert!(agent.prompts().pop().unwrap().contains("add the docs"));
    let now = status(&world, "work");
    assert_eq!(
        (&now["goal"], &now["outcome"], &now["verified"]),
        (&"add the docs".into(), &"unchanged".into(), &false.into())
    );
    assert!(now["merged"].is_null(), "what is merged is the work before: {now}");
}

#[test]
fn merge_names_every_goal_whose_work_it_brings() {
    let world = crate::world();
    let agent = world.script(RESOLVES);
    run(&world, &agent, &["--gate", "test -f a"]).assert_code(0);
    call(&world, &["continue", "work", "add the docs"]).assert_code(0);
    call(&world, &["merge", "work"]).assert_code(0);
    let message = || world.repo().git(["log", "-1", "--format=%B", "main"]);
    assert!(message().starts_with("Merge the work of work\n\ndo the work\n\nadd the docs\n\n"), "{}", message());
    world.repo().write("a", "main\n");
    world.repo().commit("main moves");
    call(&world, &["continue", "work", "once more"]).assert_code(0);
    call(&world, &["merge", "work"]).assert_code(0);
    assert!(message().starts_with("Merge the work of work\n\nonce more\n\n"), "{}", message());
}

#[test]
fn cleaned_loop_is_continued_from_its_last_commit() {
    let world = crate::world();
    let agent = world.script(RESOLVES);
    run(&world, &agent, &["--gate", "test -f a"]).assert_code(0);
    call(&world, &["merge", "work"]).assert_code(0);
    call(&world, &["clean", "work", "--keep-records"]).assert_code(0);
    assert!(!world.repo().branches().contains(&"windlass/work".to_owned()));
    call(&world, &["continue", "work", "more of it"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "a"), "both\n");
    assert_eq!(status(&world, "work")["outcome"], "verified");
}

#[test]
fn rollback_before_a_stretch_compares_with_the_base_of_before() {
    let world = crate::world();
    in_conflict(&world, RESOLVES);
    let first = status(&world, "work")["base_commit"].clone();
    call(&world, &["continue", "work"]).assert_code(0);
    call(&world, &["rollback", "work", "--to", "1"]).assert_code(0);
    assert_eq!(status(&world, "work")["base_commit"], first);
    assert!(call(&world, &["diff", "work"]).shown().contains("-base\n+work"));
    call(&world, &["rollback", "work", "--to", "2"]).assert_code(0);
    assert_eq!(status(&world, "work")["base_commit"].as_str(), Some(world.repo().rev("main").as_str()));
    call(&world, &["rollback", "work", "--to", "0"]).assert_code(0);
    assert_eq!(status(&world, "work")["head_commit"], first);
}

#[test]
fn files_in_no_commit_are_saved_before_the_target_is_merged_in() {
    let world = crate::world();
    in_conflict(&world, RESOLVES);
    let worktree = status(&world, "work")["worktree"].as_str().unwrap().to_owned();
    std::fs::write(std::path::Path::new(&worktree).join("mine"), "x\n").unwrap();
    call(&world, &["continue", "work"]).assert_code(0);
    let saved = world.repo().refs("refs/windlass/").into_iter().find(|name| name.contains("/continue/")).unwrap();
    assert_eq!(world.repo().file_at(&saved, "mine"), "x\n");
}

#[test]
fn continue_is_refused_with_the_command_that_works() {
    let world = crate::world();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"not yet\" }]");
    run(&world, &agent, &["--max-iterations", "1"]).assert_code(3);
    let before = feed(&world, "work").len();
    call(&world, &["continue", "work"]).assert_code(2).assert_stderr_has("windlass resume NAME");
    call(&world, &["continue", "work", " "]).assert_code(2);
    assert_eq!(feed(&world, "work").len(), before);
    let agent = world.script(RESOLVES);
    let other = agent.command_line();
    call(&world, &["run", "x", "--name", "done", "--agent-command", &other]).assert_code(0);
    call(&world, &["resume", "done"]).assert_code(2).assert_stderr_has("windlass continue NAME");
    call(&world, &["approve", "done"]).assert_code(2).assert_stderr_has("windlass continue NAME");
    call(&world, &["takeover", "done"]).assert_code(0).assert_stdout_has("windlass continue done");
    call(&world, &["continue", "done", "--into", "no-such"]).assert_code(2).assert_stderr_has("no-such");
    assert_eq!(status(&world, "done")["status"], "completed", "a refused opening changes nothing");
}

/// What is compared after a kill.
#[derive(Debug, PartialEq)]
struct EndState {
    status: String,
    outcome: String,
    a: String,
    /// Subjects, oldest first.
    commits: Vec<String>,
    merges: String,
    turns: Vec<u64>,
}

fn killed_at(case: Option<&Case>) -> Option<EndState> {
    let world = World::new();
    in_conflict(&world, RESOLVES);
    let mut command = windlass(&world, &["continue", "work"]);
    if let Some(case) = case {
        command.env("WINDLASS_TEST_FAULT", &case.first);
    }
    let out = world.run(command);
    let died = out.signal == Some(9);
    assert!(died || out.code == Some(0), "{}", out.shown());
    if case.is_some() && !died {
        return None;
    }
    world.wait_no_processes();
    if status(&world, "work")["status"] == "interrupted" {
        call(&world, &["resume", "work"]).assert_code(0);
    } else if status(&world, "work")["iterations"] == 1 {
        call(&world, &["continue", "work"]).assert_code(0);
    }
    let now = status(&world, "work");
    let finished = feed(&world, "work");
    let finished = of_type(&finished, "turn_ended");
    let finished = finished.iter().filter(|item| item["report"]["outcome"]["type"] == "finished");
    Some(EndState {
        status: now["status"].to_string(),
        outcome: now["outcome"].to_string(),
        a: file_at_branch(&world, "work", "a"),
        commits: commits(&world, "work").into_iter().map(|one| one.subject).collect(),
        merges: world.repo().git(["rev-list", "--merges", "--count", "windlass/work"]),
        turns: finished.filter_map(|item| item["turn"]["iteration"].as_u64()).collect(),
    })
}

#[test]
// promise: done-13
fn wherever_continue_is_killed_the_end_is_the_same() {
    let points = ["append.before", "append.after", "merge_in.before", "merge_in.after", "workspace.before_open"];
    let undisturbed = killed_at(None).unwrap();
    assert_eq!((undisturbed.a.as_str(), &undisturbed.turns), ("both\n", &vec![1, 2]));
    let cases = sweep(Series::of(&points, None), &undisturbed, |case| killed_at(Some(case)));
    assert!(cases > points.len(), "only {cases} cases");
}
