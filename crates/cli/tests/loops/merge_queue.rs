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
// promise: merges-1, merges-2, merges-4
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
    let refused = &status(&world, "l9")["merge_refused"];
    assert_eq!((&refused["target"], &refused["why"]["command"]), (&"main".into(), &never_both.into()), "{refused}");
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
// promise: merges-3
fn red_target_pauses_the_queue_and_blames_no_loop() {
    let world = begun();
    finished(&world, "one", &[("f1", "1")], "! test -f broken", &["--no-baseline"]);
    world.repo().write("broken", "x\n");
    world.repo().commit("break it");
    finished(&world, "out", &[("f2", "2")], "true", &["--no-baseline", "--base", "HEAD~1"]);
    call(&world, &["merge", "one", "out", "--queue"]).assert_code(0);
    call(&world, &["merge", "out", "--queue", "--remove"]).assert_code(0).assert_stdout_has("removed from the queue");
    let again = call(&world, &["merge", "out", "--queue", "--remove"]);
    again.assert_code(2).assert_stderr_has("the loop is not waiting in the queue");
    call(&world, &["merge", "--queue"]).assert_code(6).assert_stdout_has("already fails on the target");
    world.repo().git(["rm", "-q", "broken"]);
    world.repo().git(["commit", "-qm", "repair it"]);
    call(&world, &["merge", "--queue"]).assert_code(0).assert_stdout_has("✔ merged");
    assert_eq!((world.repo().read("f1").as_str(), world.repo().path().join("f2").exists()), ("1\n", false));
}

#[test]
// promise: merges-5
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
// promise: merges-4
fn conflict_that_is_never_resolved_is_refused() {
    let world = begun();
    finished(&world, "one", &[("a", "1")], "true", &["--no-baseline"]);
    finished(&world, "three", &[("a", "3")], "true", &["--no-baseline"]);
    // It leaves the markers where they are.
    let script = format!(
        "select = \"iteration\"\n[[turn]]\nsteps = [{{ write = {{ path = \"a\", content = \"2\\n\" }} }}, {{ say = \"{PROMISE}\" }}]\n\
         [[turn]]\nsteps = [{{ say = \"{PROMISE}\" }}]\n"
    );
    let command = world.script(&script).command_line();
    let args = ["run", "do it", "--name", "two", "--agent-command", &command, "--gate", "true", "--no-baseline"];
    call(&world, &[&args[..], &["--max-iterations", "1"]].concat()).assert_code(0);
    call(&world, &["merge", "one", "two", "--queue"]).assert_code(0);
    call(&world, &["merge", "--queue"]).assert_code(1).assert_stdout_has("the conflict is not resolved");
    assert_eq!(world.repo().read("a"), "1\n");
    world.config("merge_returns = 0\n");
    call(&world, &["merge", "three", "--queue"]).assert_code(0);
    call(&world, &["merge", "--queue"]).assert_code(1).assert_stdout_has("refused: still in conflict (a)");
    let three = status(&world, "three");
    assert_eq!((world.repo().read("a").as_str(), &three["iterations"]), ("1\n", &1.into()));
    assert_eq!(three["merge_refused"]["why"]["files"], serde_json::json!(["a"]), "{three}");
}

#[test]
// promise: merges-1
fn only_verified_loops_are_queued() {
    let world = begun();
    let command = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n").command_line();
    call(&world, &["run", "do it", "--name", "none", "--agent-command", &command, "--no-baseline"]).assert_code(0);
    call(&world, &["merge", "none", "--queue"]).assert_code(2).assert_stderr_has("takes only verified loops");
    call(&world, &["merge", "a", "b"]).assert_code(2).assert_stderr_has("--queue");
    call(&world, &["merge", "--queue", "--remove"]).assert_code(2);
    finished(&world, "one", &[("f1", "1")], "true", &["--no-baseline"]);
    let nowhere = call(&world, &["merge", "one", "--queue", "--into", "nowhere"]);
    nowhere.assert_code(2).assert_stderr_has("branch 'nowhere' does not exist").assert_stderr_has("hint: ");
    call(&world, &["merge", "--queue"]).assert_code(0).assert_stdout_has("the merge queue is empty");
}

#[test]
// promise: merges-5
fn target_that_somebody_moves_while_the_gates_run_is_built_upon() {
    let world = begun();
    let (flag, repo) = (world.root().join("moved"), world.repo().path().to_owned());
    std::fs::write(&flag, "").unwrap();
    let commit = "git -c user.name=U -c user.email=u@example.org commit -q --allow-empty -m theirs";
    let gate = format!("test -f {0} || {{ touch {0}; cd {1} && {commit}; }}", flag.display(), repo.display());
    finished(&world, "one", &[("f1", "1")], &gate, &["--no-baseline"]);
    std::fs::remove_file(&flag).unwrap();
    call(&world, &["merge", "one", "--queue"]).assert_code(0);
    call(&world, &["merge", "--queue"]).assert_code(0);
    let log = world.repo().git(["log", "--first-parent", "--format=%s"]);
    assert_eq!(log.lines().take(2).collect::<Vec<_>>(), ["Merge the work of one", "theirs"]);
    assert_eq!(queue(&world)["batches"], 2);
}

#[test]
// promise: merges-7
fn queue_is_known_by_its_name() {
    let world = begun();
    for name in ["one", "two"] {
        finished(&world, name, &[(name, "1")], "true", &["--no-baseline"]);
    }
    call(&world, &["merge", "one", "--queue"]).assert_code(0).assert_stdout_has("start it with");
    let shown = call(&world, &["status", "merge-main"]);
    shown.assert_code(0).assert_stdout_has("merge-main · into main · queued").assert_stdout_has("one");
    call(&world, &["status", "merge-main", "--exit-code"]).assert_code(10);
    let diff = call(&world, &["diff", "merge-main"]);
    diff.assert_code(2).assert_stderr_has("'merge-main' is a merge queue, not a loop");
    call(&world, &["resume", "merge-main"]).assert_code(0).assert_stdout_has("one: ✔ merged");
    call(&world, &["resume", "merge-main"]).assert_code(2).assert_stderr_has("already completed");
    call(&world, &["merge", "two", "--queue"]).assert_code(0).assert_stdout_has("merge-main-2");
    call(&world, &["stop", "merge-main-2"]).assert_code(0).assert_stdout_has("stopped");
    let stopped = status(&world, "merge-main-2");
    assert_eq!(
        (&stopped["status"], &stopped["entries"][0]["refused"]["type"]),
        (&"cancelled".into(), &"stopped".into())
    );
    call(&world, &["stop", "merge-main-2"]).assert_code(2);
    call(&world, &["merge", "two", "--queue"]).assert_code(0).assert_stdout_has("merge-main-3");
    call(&world, &["merge", "--queue"]).assert_code(0);
    assert_eq!(world.repo().read("two"), "1\n");
}

/// A gate that passes while the loop runs, and later only after somebody wrote to `go`. It says in `began` that it waits.
fn held_gate(world: &World) -> String {
    let at = |name: &str| world.root().join(name).display().to_string();
    let (held, began, go) = (at("held"), at("began"), at("go"));
    for fifo in [&began, &go] {
        let made = std::process::Command::new("mkfifo").arg(fifo).status().unwrap();
        assert!(made.success());
    }
    format!("! test -f {held} || {{ echo x > {began}; read x < {go}; }}")
}

#[test]
// promise: merges-7
fn queue_that_is_interrupted_or_stopped_ends_its_gates_and_moves_nothing() {
    use rustix::process::Signal;
    let world = begun();
    let gate = held_gate(&world);
    finished(&world, "one", &[("f1", "1")], &gate, &["--no-baseline"]);
    std::fs::write(world.root().join("held"), "").unwrap();
    let main = world.repo().rev("main");
    call(&world, &["merge", "one", "--queue"]).assert_code(0);
    let begins = |running: &windlass_testkit::Running| {
        assert_eq!(std::fs::read_to_string(world.root().join("began")).unwrap(), "x\n", "{running:?}");
    };
    let running = world.start(windlass(&world, &["merge", "--queue"]));
    begins(&running);
    let removed = call(&world, &["merge", "one", "--queue", "--remove"]);
    removed.assert_code(2).assert_stderr_has("the loop is not waiting in the queue");
    running.signal(Signal::INT);
    running.wait().assert_code(130).assert_stdout_has("interrupted");
    world.wait_no_processes();
    call(&world, &["status", "merge-main", "--exit-code"]).assert_code(11);
    let running = world.start(windlass(&world, &["resume", "merge-main"]));
    begins(&running);
    call(&world, &["stop", "merge-main"]).assert_code(0);
    running.wait().assert_code(4);
    world.wait_no_processes();
    assert_eq!((world.repo().rev("main"), &status(&world, "one")["merged"]), (main, &Value::Null));
    let judges = std::fs::read_dir(world.data_dir().join("judge")).map_or(0, |dir| dir.count());
    assert_eq!(judges, 0, "no checkout is left");
}

#[test]
// promise: merges-6
fn server_goes_on_with_a_queue_that_was_killed_but_starts_none() {
    let world = begun();
    world.config("recover = true\n");
    finished(&world, "one", &[("f1", "1")], "test -f f1", &["--no-baseline"]);
    call(&world, &["merge", "one", "--queue"]).assert_code(0);
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "merge-main")["status"], "queued");
    let mut command = windlass(&world, &["merge", "--queue"]);
    command.env("WINDLASS_TEST_FAULT", "merge_queue.judge:1");
    assert_eq!(world.run(command).signal, Some(9));
    world.wait_no_processes();
    assert_eq!(status(&world, "merge-main")["status"], "interrupted");
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "merge-main")["status"], "completed");
    assert_eq!(world.repo().read("f1"), "1\n");
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
// promise: merges-6
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
