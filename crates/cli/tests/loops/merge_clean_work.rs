//! A loop's work in a person's hands: diff, rollback, merge, clean.

use crate::support::*;
use windlass_testkit::{ScriptedAgent, World};

const GROWS: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "one\n" } }, { say = "did one" }]
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "two\n" } }, { say = "did two" }]
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "three\n" } }, { say = "did three" }]
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "four\n" } }, { say = "did four" }]
"#;

/// A loop of three iterations that is done.
fn grown(world: &World) -> ScriptedAgent {
    let agent = world.script(GROWS);
    run(world, &agent, &["--iter", "3"]).assert_code(0);
    agent
}

fn worktree(world: &World) -> std::path::PathBuf {
    status(world, "work")["worktree"].as_str().unwrap().into()
}

#[test]
fn diff_shows_the_whole_work_or_one_iteration() {
    let world = World::new();
    grown(&world);
    let whole = call(&world, &["diff", "work"]);
    whole.assert_code(0).assert_stdout_has("+++ b/work.txt").assert_stdout_has("+one\n+two\n+three\n");
    assert!(!whole.shown().contains('\x1b'));
    let second = call(&world, &["diff", "work", "--iteration", "2"]);
    second.assert_code(0).assert_stdout_has(" one\n+two\n");
    assert!(!second.shown().contains("three"));
    std::fs::write(worktree(&world).join("loose"), "x\n").unwrap();
    assert!(!call(&world, &["diff", "work"]).shown().contains("loose"));
    call(&world, &["diff", "work", "--worktree"]).assert_code(0).assert_stdout_has("+++ b/loose");
    let json = call(&world, &["diff", "work", "--iteration", "1", "--json"]).assert_code(0).json();
    assert!(json["patch"].as_str().unwrap().contains("+one\n"));
    call(&world, &["diff", "work", "--iteration", "9"]).assert_code(2).assert_stderr_has("use 1 to 3");
}

#[test]
// promise: work-14
fn rollback_keeps_what_it_undoes_and_the_loop_goes_on_from_there() {
    let world = World::new();
    let agent = grown(&world);
    std::fs::write(worktree(&world).join("loose"), "x\n").unwrap();
    let done = call(&world, &["rollback", "work", "--to", "1", "--json"]).assert_code(0).json();
    let saved = done["saved"].as_str().unwrap();
    assert_eq!(world.repo().file_at(saved, "work.txt"), "one\ntwo\nthree\n");
    assert_eq!(world.repo().file_at(saved, "loose"), "x\n");
    assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\n");
    assert!(!worktree(&world).join("loose").exists());
    let status_now = status(&world, "work");
    assert_eq!(status_now["head_commit"], world.repo().rev("windlass/work"));
    assert_eq!(status_now["history"][2]["undone"], true);
    assert_eq!(of_type(&feed(&world, "work"), "rolled_back").len(), 1);

    call(&world, &["rollback", "work", "--to", "0"]).assert_code(0).assert_stdout_has("the base commit");
    assert_eq!(world.repo().rev("windlass/work"), world.repo().rev("main"));
    call(&world, &["rollback", "work", "--to", "3"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\ntwo\nthree\n", "undone work can be restored");
    call(&world, &["rollback", "work", "--to", "7"]).assert_code(2).assert_stderr_has("iteration 7 does not exist");
    assert_eq!(agent.turns().len(), 3);
}

#[test]
fn a_loop_that_went_back_goes_on_with_the_next_iteration() {
    let world = World::new();
    let agent = world.script(GROWS);
    run(&world, &agent, &["--iter", "3", "--gate", "grep -q four work.txt", "--no-baseline"]).assert_code(3);
    call(&world, &["rollback", "work", "--to", "1"]).assert_code(0);
    call(&world, &["resume", "work", "--max-iterations", "+1"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\nfour\n");
    let prompt = agent.prompts().pop().unwrap();
    assert!(prompt.contains("did one") && !prompt.contains("did two"), "{prompt}");
}

#[test]
fn a_loop_that_is_driven_cannot_be_moved() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"x\" }, \"hang\"]");
    let running = start(&world, &agent, &[]);
    agent.wait_turns(1);
    for command in [&["rollback", "work", "--to", "0"][..], &["merge", "work"], &["clean", "work"]] {
        call(&world, command).assert_code(2);
    }
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
}

#[test]
fn merge_brings_the_branch_home_plain() {
    let world = World::new();
    grown(&world);
    world.repo().write("other.txt", "x\n");
    world.repo().commit("meanwhile");
    let (head, looked) = (world.repo().head(), call(&world, &["merge", "work", "--dry-run"]));
    looked.assert_code(0).assert_stdout_has("3 commits, 1 file, +3 -0").assert_stdout_has("conflicts  none");
    looked.assert_stdout_has("has 1 new commit").assert_stderr_has("not verified");
    assert_eq!(world.repo().head(), head);
    let merged = call(&world, &["merge", "work"]);
    merged.assert_code(0).assert_stdout_has("merged into main").assert_stderr_has("not verified");
    assert_eq!(world.repo().read("work.txt"), "one\ntwo\nthree\n");
    assert_eq!(world.repo().status(), "");
    assert_eq!(world.repo().commits("main^1..main").len(), 4, "three commits and the merge");
    call(&world, &["merge", "work"]).assert_code(0).assert_stdout_has("already merged into");
    let status = call(&world, &["status", "work"]);
    status.assert_code(0).assert_stdout_has(&format!("merged    into main at {}", &world.repo().head()[..10]));
    assert!(!status.stdout.contains("windlass merge"), "{}", status.stdout);
}

#[test]
fn merge_can_make_one_commit_of_it() {
    let world = World::new();
    let before = world.repo().head();
    grown(&world);
    call(&world, &["merge", "work", "--squash", "-m", "Grow it"]).assert_code(0);
    let commits = world.repo().commits(&format!("{before}..main"));
    assert_eq!(commits.len(), 1);
    assert_eq!((commits[0].subject.as_str(), commits[0].trailer("Windlass-Loop")), ("Grow it", Some("work")));
    // Its commits are in no other branch, and yet it is known as merged.
    world.config("retention_days = 0\n");
    let cleaned = call(&world, &["clean", "--json"]).assert_code(0).json();
    assert_eq!(cleaned["removed"][0]["merged_into"], "main");
    assert!(world.repo().branches().contains(&"windlass/work".to_owned()));
}

#[test]
// promise: work-12
fn conflicts_are_named_and_change_nothing() {
    let world = World::new();
    grown(&world);
    world.repo().write("work.txt", "mine\n");
    let mine = world.repo().commit("mine");
    let looked = call(&world, &["merge", "work", "--dry-run"]);
    looked.assert_code(1).assert_stdout_has("conflicts  work.txt").assert_stdout_has("windlass continue work");
    assert_eq!(call(&world, &["status", "work", "--json"]).json()["merge_refused"], serde_json::Value::Null);
    call(&world, &["merge", "work"])
        .assert_code(1)
        .assert_stderr_has("both sides changed work.txt")
        .assert_stderr_has("hint: let the agent resolve them: windlass continue work");
    assert_eq!(world.repo().head(), mine);
    assert_eq!(world.repo().status(), "");
    assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\ntwo\nthree\n");
    let json = call(&world, &["merge", "work", "--json"]).assert_code(1).json();
    assert_eq!((json["type"].as_str(), json["files"][0].as_str()), (Some("conflicts"), Some("work.txt")));
}

#[test]
// promise: work-13
fn clean_removes_what_is_merged_long_enough_and_nothing_else() {
    let world = World::new();
    grown(&world);
    let dir = worktree(&world);
    let looked = call(&world, &["clean", "--json"]).assert_code(0).json();
    assert_eq!(looked["kept"][0]["why"], "not merged; keeping the branch");
    assert!(looked["kept_bytes"].as_u64().unwrap() > 0);
    call(&world, &["merge", "work"]).assert_code(0);
    call(&world, &["clean"]).assert_code(0).assert_stdout_has("kept").assert_stdout_has("merged into main 0 days ago");
    assert!(dir.exists());
    world.config("retention_days = 0\n");
    call(&world, &["clean", "--dry-run"]).assert_code(0).assert_stdout_has("would remove");
    assert!(dir.exists());
    call(&world, &["clean", "--keep-records", "--keep-branches"]).assert_code(0).assert_stdout_has("removed");
    assert!(!dir.exists());
    assert_eq!(world.repo().worktrees().len(), 1);
    assert_eq!(status(&world, "work")["status"], "completed", "the record stays");
    call(&world, &["clean"]).assert_code(0).assert_stdout_has("deleted branch windlass/work");
    assert_eq!(world.repo().branches(), ["main"]);
    call(&world, &["status", "work"]).assert_code(2);
    let left = std::fs::read_dir(world.data_dir().join("transcripts")).unwrap().count();
    assert_eq!(left, 0, "transcripts go with the record");
}

#[test]
// promise: work-13
fn clean_by_age_keeps_every_branch_that_is_not_merged() {
    let world = World::new();
    grown(&world);
    let long = call(&world, &["clean", "--older-than", "1d", "--json"]).assert_code(0).json();
    assert_eq!((&long["removed"], long["kept"].as_array().unwrap().len()), (&serde_json::json!([]), 1));
    let tip = world.repo().rev("windlass/work");
    call(&world, &["clean", "--older-than", "1ms", "--dry-run"]).assert_code(0).assert_stdout_has("would remove");
    let out = call(&world, &["clean", "--older-than", "1ms"]);
    out.assert_code(0).assert_stdout_has("kept branch windlass/work");
    assert_eq!(world.repo().rev("windlass/work"), tip);
    assert_eq!(call(&world, &["list", "--json"]).json(), serde_json::json!([]));
    // The branch is there, so that a loop of the same name gets a number.
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]").command_line();
    call(&world, &["run", "work", "--agent-command", &agent]).assert_code(0);
    assert_eq!(status(&world, "work-2")["status"], "completed");
}

#[test]
fn clean_demo_removes_every_demo_and_its_repository() {
    let world = World::new();
    grown(&world);
    for _ in 0..2 {
        call(&world, &["demo"]).assert_code(0).assert_stdout_has("windlass clean demo");
    }
    call(&world, &["clean", "demo"]).assert_code(0).assert_stdout_has("a demo, ended 0 days ago");
    let left = call(&world, &["list", "--all", "--json"]).json();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["name"]), (1, &"work".into()));
    assert_eq!(std::fs::read_dir(world.data_dir().join("demo")).unwrap().count(), 0);
    call(&world, &["clean", "demo"]).assert_code(2).assert_stderr_has("no demo to clean");
}

#[test]
// promise: work-13
fn clean_by_name_saves_what_is_not_merged() {
    let world = World::new();
    grown(&world);
    let dir = worktree(&world);
    std::fs::write(dir.join("loose"), "x\n").unwrap();
    let cleaned = call(&world, &["clean", "work", "--keep-records", "--json"]).assert_code(0).json();
    assert!(!dir.exists());
    let saved = cleaned["removed"][0]["saved"][0].as_str().unwrap();
    assert_eq!(world.repo().file_at(saved, "loose"), "x\n");
    assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\ntwo\nthree\n");
    call(&world, &["merge", "work"]).assert_code(0);
}

#[test]
// promise: work-11
fn a_missing_workspace_is_made_again_from_its_branch() {
    for opener in ["resume", "restart"] {
        let world = World::new();
        let agent = world.script(GROWS);
        run(&world, &agent, &["--iter", "2", "--gate", "grep -q three work.txt", "--no-baseline"]).assert_code(3);
        std::fs::remove_dir_all(worktree(&world)).unwrap();
        call(&world, &[opener, "work", "--max-iterations", "+1"]).assert_code(0);
        assert_eq!(file_at_branch(&world, "work", "work.txt"), "one\ntwo\nthree\n");
    }
}

#[test]
fn clean_removes_6000_nested_directories_with_few_descriptors() {
    let world = World::new();
    grown(&world);
    let dir = worktree(&world);
    // From the inside out, so that no path on the way is too long.
    let scratch = world.new_dir("scratch");
    std::fs::create_dir(scratch.join("0")).unwrap();
    for depth in 0..6_000 {
        let outer = scratch.join((depth + 1).to_string());
        std::fs::create_dir(&outer).unwrap();
        std::fs::rename(scratch.join(depth.to_string()), outer.join("d")).unwrap();
    }
    std::fs::rename(scratch.join("6000"), dir.join("deep")).unwrap();
    let mut command = world.command("sh");
    command.args(["-c", "ulimit -n 128 && exec \"$0\" clean work", env!("CARGO_BIN_EXE_windlass")]);
    world.run(command).assert_code(0);
    assert!(!dir.exists());
    let left = std::fs::read_dir(dir.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> =
        left.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("removing")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
// promise: work-18
fn merge_is_a_commit_with_the_goal_what_was_done_and_trailers() {
    let world = World::new();
    grown(&world);
    let tip = world.repo().rev("windlass/work");
    call(&world, &["merge", "work"]).assert_code(0);
    let message = world.repo().git(["log", "-1", "--format=%B", "main"]);
    let expected = "Merge the work of work\n\ndo the work\n\n- did one. Changed 1 file.\n- did two. Changed 1 file.\n- did three. Changed 1 file.\n\n3 iterations by ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.trim_end().ends_with(".\n\nWindlass-Loop: work\nWindlass-Gates: none"), "{message}");
    assert_eq!(world.repo().rev("main^2"), tip);
    assert_eq!(world.repo().status(), "");
}
