//! `windlass merge --queue`: many finished loops, one branch.

use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use serde_json::Value;
use windlass_testkit::World;

/// A verified loop that writes these files. In a later stretch it makes `a` what all can agree on.
fn finished(world: &World, name: &str, files: &[(&str, &str)], gate: &str, more: &[&str]) {
    let write =
        |path: &str, content: &str| format!("{{ write = {{ path = \"{path}\", content = \"{content}\\n\" }} }}");
    let first: Vec<String> = files.iter().map(|(path, content)| write(path, content)).collect();
    let script = format!(
        "select = \"iteration\"\n[[turn]]\nsteps = [{}, {{ say = \"{PROMISE}\" }}]\n{}",
        first.join(", "),
        format!("[[turn]]\nsteps = [{}, {{ say = \"{PROMISE}\" }}]\n", write("a", "all")).repeat(3),
    );
    let command = world.script(&script).command_line();
    let args = ["run", "do it", "--name", name, "--agent-command", &command, "--gate", gate];
    call(world, &[&args[..], more].concat()).assert_code(0);
    assert_eq!(status(world, name)["outcome"], "verified", "{name}");
}

fn begun() -> World {
    let world = crate::world();
    world.repo().write("a", "base\n");
    world.repo().commit("base");
    world
}

fn queue(world: &World) -> Value {
    let project = world.repo().path().to_str().unwrap().to_owned();
    call(world, &["-C", &project, "merge", "--queue", "--json"]).json()["queue"].clone()
}

fn entry<'a>(queue: &'a Value, name: &str) -> &'a Value {
    queue["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()
}

#[test]
// promise: queue-1
// promise: queue-2
// promise: queue-4
fn twelve_loops_are_merged_but_the_one_that_fails_in_combination() {
    let world = begun();
    let runs = world.root().join("flaky-runs");
    // Fails the first and the fourth time: in the baseline, and when the queue judges it first.
    let flaky =
        format!("echo x >> {0}; case $(wc -l < {0} | tr -d ' ') in 1|4) false;; *) true;; esac", runs.display());
    let never_both = "! { test -f f5 && test -f f9; }";
    for number in 1..=12 {
        let (name, file) = (format!("l{number}"), format!("f{number}"));
        let content = number.to_string();
        let mut files = vec![(file.as_str(), content.as_str())];
        if (2..=4).contains(&number) {
            files.push(("a", content.as_str()));
        }
        match number {
            5 | 9 => finished(&world, &name, &files, never_both, &["--no-baseline"]),
            7 => finished(&world, &name, &files, &flaky, &[]),
            _ => finished(&world, &name, &files, &format!("test -f {file}"), &["--no-baseline"]),
        }
    }
    let names: Vec<String> = (1..=12).map(|number| format!("l{number}")).collect();
    let mut add = vec!["merge", "--queue"];
    add.extend(names.iter().map(String::as_str));
    let main = world.repo().rev("main");
    call(&world, &add).assert_code(0).assert_stdout_has("l12");
    assert_eq!(world.repo().rev("main"), main, "adding merges nothing");
    let worked = call(&world, &["merge", "--queue"]);
    worked.assert_code(1).assert_stdout_has("l9").assert_stdout_has("fails with it");
    let queue = queue(&world);
    for name in &names {
        let wanted = if name == "l9" { "refused" } else { "merged" };
        assert_eq!(entry(&queue, name)["status"], wanted, "{name}: {queue}");
        assert_eq!(status(&world, name)["merged"]["target"] == "main", wanted == "merged", "{name}");
    }
    assert_eq!(entry(&queue, "l9")["refused"]["gate"], never_both);
    assert!(entry(&queue, "l3")["returns"].as_u64() >= Some(1) && entry(&queue, "l4")["returns"].as_u64() >= Some(1));
    for number in 1..=12 {
        assert_eq!(world.repo().path().join(format!("f{number}")).exists(), number != 9, "f{number}");
    }
    assert_eq!(world.repo().read("a"), "all\n");
    assert_eq!(world.repo().git(["status", "--porcelain"]), "", "the checkout followed");
    let merges = world.repo().git(["log", "--first-parent", "--format=%s", &format!("{main}..main")]);
    assert_eq!(merges.lines().count(), 11, "{merges}");
    let goal = status(&world, "l3")["goal"].as_str().unwrap().to_owned();
    assert!(goal.contains("- a\n") && goal.ends_with("do it"), "{goal}");
    let refs = world.repo().git(["for-each-ref", "--format=%(refname)", "refs/windlass"]);
    assert!(!refs.contains("/batch/"), "{refs}");
}

#[test]
// promise: queue-3
fn red_target_pauses_the_queue_and_blames_no_loop() {
    let world = begun();
    finished(&world, "one", &[("f1", "1")], "! test -f broken", &["--no-baseline"]);
    world.repo().write("broken", "x\n");
    world.repo().commit("break it");
    finished(&world, "out", &[("f2", "2")], "true", &["--no-baseline", "--base", "HEAD~1"]);
    call(&world, &["merge", "one", "out", "--queue"]).assert_code(0);
    call(&world, &["merge", "out", "--queue", "--remove"]).assert_code(0).assert_stdout_has("removed from the queue");
    call(&world, &["merge", "out", "--queue", "--remove"]).assert_code(2);
    call(&world, &["merge", "--queue"]).assert_code(6).assert_stdout_has("already fails on the target");
    world.repo().git(["rm", "-q", "broken"]);
    world.repo().git(["commit", "-qm", "repair it"]);
    call(&world, &["merge", "--queue"]).assert_code(1).assert_stdout_has("✔ merged");
    assert_eq!((world.repo().read("f1").as_str(), world.repo().path().join("f2").exists()), ("1\n", false));
}

#[test]
// promise: queue-5
fn checkout_with_changes_pauses_the_queue() {
    let world = begun();
    finished(&world, "one", &[("f1", "1")], "true", &["--no-baseline"]);
    let main = world.repo().rev("main");
    world.repo().write("mine", "not committed\n");
    call(&world, &["merge", "one", "--queue"]).assert_code(0);
    call(&world, &["merge", "--queue"]).assert_code(6).assert_stdout_has("uncommitted changes");
    assert_eq!((world.repo().rev("main"), world.repo().read("mine").as_str()), (main, "not committed\n"));
    std::fs::remove_file(world.repo().path().join("mine")).unwrap();
    call(&world, &["merge", "--queue"]).assert_code(0);
    assert_eq!(world.repo().read("f1"), "1\n");
}

#[test]
// promise: queue-4
fn conflict_that_is_never_resolved_is_refused() {
    let world = begun();
    finished(&world, "one", &[("a", "1")], "true", &["--no-baseline"]);
    let script = format!(
        "select = \"iteration\"\n[[turn]]\nsteps = [{{ write = {{ path = \"a\", content = \"2\\n\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    );
    let command = world.script(&script).command_line();
    let args = ["run", "do it", "--name", "two", "--agent-command", &command, "--gate", "true", "--no-baseline"];
    call(&world, &[&args[..], &["--max-iterations", "1"]].concat()).assert_code(0);
    call(&world, &["merge", "one", "two", "--queue"]).assert_code(0);
    call(&world, &["merge", "--queue"]).assert_code(1).assert_stdout_has("the conflict is not resolved");
    assert_eq!(world.repo().read("a"), "1\n");
}

#[test]
// promise: queue-1
fn only_verified_loops_are_queued() {
    let world = begun();
    let command = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n").command_line();
    call(&world, &["run", "do it", "--name", "none", "--agent-command", &command, "--no-baseline"]).assert_code(0);
    call(&world, &["merge", "none", "--queue"]).assert_code(2).assert_stderr_has("takes only verified loops");
    call(&world, &["merge", "a", "b"]).assert_code(2).assert_stderr_has("--queue");
    call(&world, &["merge", "--queue"]).assert_code(0).assert_stdout_has("the merge queue is empty");
}

/// What a killed queue comes to.
#[derive(Debug, PartialEq)]
struct EndState {
    entries: Vec<(String, String)>,
    a: String,
    files: Vec<String>,
    merges: usize,
    clean: String,
    noted: Vec<bool>,
}

fn killed_at(case: Option<&Case>) -> Option<EndState> {
    let world = begun();
    finished(&world, "one", &[("f1", "1"), ("a", "1")], "test -f f1", &["--no-baseline"]);
    finished(&world, "two", &[("f2", "2"), ("a", "2")], "test -f f2", &["--no-baseline"]);
    finished(&world, "red", &[("f3", "3")], "! test -f f1", &["--no-baseline"]);
    let main = world.repo().rev("main");
    call(&world, &["merge", "--queue", "one", "two", "red"]).assert_code(0);
    let mut command = windlass(&world, &["merge", "--queue"]);
    if let Some(case) = case {
        command.env("WINDLASS_TEST_FAULT", &case.first);
    }
    let out = world.run(command);
    let died = out.signal == Some(9);
    assert!(died || out.code == Some(1), "{}", out.shown());
    if case.is_some() && !died {
        return None;
    }
    world.wait_no_processes();
    if died {
        call(&world, &["merge", "--queue"]).assert_code(1);
    }
    let queue = queue(&world);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = queue["entries"].as_array().unwrap();
    let mut entries: Vec<_> = entries.iter().map(|entry| (text(&entry["name"]), text(&entry["status"]))).collect();
    entries.sort();
    let range = format!("{main}..main");
    Some(EndState {
        noted: ["one", "two", "red"].iter().map(|name| !status(&world, name)["merged"].is_null()).collect(),
        entries,
        a: world.repo().read("a"),
        files: world.repo().tree_files("main").into_iter().map(|file| format!("{file:?}")).collect(),
        merges: world.repo().git(["log", "--first-parent", "--format=%s", &range]).lines().count(),
        clean: world.repo().git(["status", "--porcelain"]),
    })
}

#[test]
// promise: queue-6
fn wherever_the_queue_is_killed_the_end_is_the_same() {
    let points = [
        "merge_queue.built",
        "merge_queue.judge",
        "merge_queue.advance",
        "merge_queue.checkout_moved",
        "merge_queue.target_moved",
        "merge_queue.note",
        "merge_queue.returned",
        "group.append.before",
        "group.append.after",
    ];
    let undisturbed = killed_at(None).unwrap();
    assert_eq!(
        (undisturbed.a.as_str(), undisturbed.merges, &undisturbed.noted[..]),
        ("all\n", 2, &[true, true, false][..])
    );
    let cases = sweep(Series::of(&points, None), &undisturbed, |case| killed_at(Some(case)));
    assert!(cases > points.len(), "only {cases} cases");
}
