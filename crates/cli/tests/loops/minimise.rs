//! `windlass minimise`: what gates do not need is dropped, in a commit of its own.

use std::path::PathBuf;

use crate::support::*;
use serde_json::Value;
use windlass_testkit::watch::wait_exists;
use windlass_testkit::{Output, World};

/// An agent that does its work by a shell script, and claims to be done.
fn works(world: &World, script: &str) -> String {
    let agent = world.install_script("worker", &format!("set -e\n{script}\necho '{PROMISE}'\n"));
    agent.to_str().unwrap().to_owned()
}

fn run_with(world: &World, script: &str, more: &[&str]) -> Output {
    let agent = works(world, script);
    let args = ["run", "do the work", "--name", "work", "--agent-command", &agent];
    call(world, &[&args[..], more].concat())
}

fn minimise(world: &World, more: &[&str]) -> Output {
    call(world, &[&["minimise", "work"], more].concat())
}

/// The report: the last line of JSON, after the steps.
fn minimised(world: &World, more: &[&str]) -> Value {
    minimise(world, &[&["--json"], more].concat()).assert_code(0).json_lines().pop().unwrap()
}

fn dropped(report: &Value) -> Vec<String> {
    let name = |hunk: &Value| match hunk["line"].as_u64() {
        Some(line) => format!("{}:{line}", hunk["path"].as_str().unwrap()),
        None => format!("{} {}", hunk["path"].as_str().unwrap(), hunk["kind"].as_str().unwrap()),
    };
    report["dropped"].as_array().unwrap().iter().map(name).collect()
}

const SMALLER: &str = "windlass/work-minimised";

/// A text of so many numbered lines.
fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
// promise: proof-2
fn needless_hunks_and_files_are_dropped_and_the_loop_keeps_its_branch() {
    let world = World::new();
    world.repo().write("text", lines(30)).write("tests/check", "sh\n");
    world.repo().commit("a text");
    let script = "sed -i 's/^line 5$/needed/; s/^line 15$/chatter/; s/^line 25$/also needed/' text\n\
                  echo more > needless; mkdir -p docs; echo words > docs/page; echo x > kept";
    let gate = "grep -qx needed text && grep -qx 'also needed' text && test -e kept";
    run_with(&world, script, &["--gate", gate]).assert_code(0);
    let before = world.repo().rev("windlass/work");
    let report = minimised(&world, &[]);
    assert_eq!(dropped(&report), ["docs/page added", "needless added", "text:15"]);
    assert_eq!((&report["complete"], &report["hunks"], &report["kept"]), (&true.into(), &6.into(), &3.into()));
    assert_eq!((report["branch"].as_str(), &report["commit"]), (Some(SMALLER), &world.repo().rev(SMALLER).into()));
    assert_eq!(world.repo().rev("windlass/work"), before, "the loop's branch stays");
    assert_eq!(world.repo().rev(&format!("{SMALLER}~1")), world.repo().rev("main"));
    let text = lines(30).replace("line 5\n", "needed\n").replace("line 25\n", "also needed\n");
    assert_eq!(world.repo().file_at(SMALLER, "text"), text);
    assert_eq!(world.repo().tree_files(SMALLER), ["README.md", "kept", "tests/check", "text"]);
    // Asked again, it runs nothing, and verify knows the commit.
    let shown = minimise(&world, &[]);
    shown.assert_code(0).assert_stdout_has("3 of 6 hunks (0 runs)").assert_stdout_has("text:15  +1 -1");
    call(&world, &["verify", SMALLER]).assert_code(0).assert_stdout_has("it is what gates need of the work of work");
    let left: Vec<PathBuf> = std::fs::read_dir(world.data_dir().join("judge"))
        .map(|dir| dir.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    assert_eq!(left, Vec::<PathBuf>::new(), "no checkout is left behind");
}

#[test]
fn hunks_that_need_each_other_stay_together() {
    let world = World::new();
    world.repo().write("lib.sh", lines(20).replace("line", "# line")).write("main.sh", ". ./lib.sh\nexit 1\n");
    world.repo().commit("a program");
    let script = "sed -i 's/^# line 3$/one() { two; }/; s/^# line 12$/two() { true; }/; s/^# line 18$/# chatter/' lib.sh\n\
                  printf '. ./lib.sh\\none\\n' > main.sh";
    run_with(&world, script, &["--gate", "sh -e ./main.sh"]).assert_code(0);
    let report = minimised(&world, &[]);
    assert_eq!(dropped(&report), ["lib.sh:18"]);
    assert_eq!(report["kept"], 3);
}

#[test]
fn binary_files_modes_links_and_renames_are_dropped_whole() {
    let world = World::new();
    world.repo().write("picture", b"\0\x01\x02".repeat(50)).write("needed picture", b"\0\x03".repeat(50));
    world.repo().write("old name", lines(20)).write("other name", lines(25)).write("run", "true\n");
    world.repo().commit("files of all kinds");
    let script = "printf '\\0changed' > picture; printf '\\0better' > 'needed picture'; chmod +x run; ln -s run link\n\
                  git mv 'old name' 'new name'; sed -i 's/^line 9$/edited/' 'new name'\n\
                  git mv 'other name' 'wanted name'; sed -i 's/^line 3$/chatter/; s/^line 20$/needed/' 'wanted name'";
    let gate = "grep -q better 'needed picture' && grep -qx needed 'wanted name' && ! test -e 'other name'";
    run_with(&world, script, &["--gate", gate]).assert_code(0);
    let report = minimised(&world, &[]);
    let mut gone = dropped(&report);
    gone.sort();
    let expected = ["link added", "new name renamed", "new name:9", "picture content", "run mode", "wanted name:3"];
    assert_eq!(gone, expected);
    let repo = world.repo();
    let files = ["README.md", "needed picture", "old name", "picture", "run", "wanted name"];
    assert_eq!(repo.tree_files(SMALLER), files);
    assert_eq!(repo.file_at(SMALLER, "wanted name"), lines(25).replace("line 20\n", "needed\n"));
    assert_eq!(repo.git(["diff", "main", SMALLER, "--", "old name", "picture", "run"]), "");
}

#[test]
// promise: proof-2
fn what_a_hidden_gate_or_a_protected_path_needs_stays() {
    let world = World::new();
    world.repo().write("tests/own", "a\n");
    world.repo().commit("tests");
    let script = "echo 1 > a; echo 2 > b; echo 3 > c";
    run_with(&world, script, &["--gate", "test -e a", "--hidden-gate", "test -e b", "--protect", "tests/**"])
        .assert_code(0);
    let report = minimised(&world, &[]);
    assert_eq!(dropped(&report), ["c added"]);
}

#[test]
fn gates_that_pass_on_the_base_say_nothing_and_need_all_says_so() {
    let world = World::new();
    run_with(&world, "echo 1 > a; echo 2 > b", &["--gate", "true"]).assert_code(0);
    minimise(&world, &[]).assert_code(0).assert_stdout_has("the gates pass without any of its 2 hunks");
    assert_eq!(world.repo().branches(), ["main", "windlass/work"]);
    let all = World::new();
    run_with(&all, "echo 1 > a; echo 2 > b", &["--gate", "test -e a && test -e b"]).assert_code(0);
    minimise(&all, &[]).assert_code(0).assert_stdout_has("the gates need all of its 2 hunks");
    let none = World::new();
    run_with(&none, "echo 1 > a", &[]).assert_code(0);
    minimise(&none, &[]).assert_code(2).assert_stderr_has("has no gates");
}

#[test]
fn flaky_gate_is_not_believed() {
    let world = World::new();
    let count = world.root().join("count");
    let counting = format!("echo x >> '{0}'; n=$(wc -l < '{0}')", count.display());
    // On the base twice, on the work once, for the loop; on the work twice, for minimise.
    let gate = format!("{counting}; test -e a && test $n -ne 4");
    run_with(&world, "echo 1 > a; echo 2 > b", &["--gate", &gate]).assert_code(0);
    let runs = std::fs::read_to_string(&count).unwrap().lines().count();
    assert_eq!(runs, 3, "of the loop itself");
    minimise(&world, &[]).assert_code(2).assert_stderr_has("passes and fails on the same commit");
    // A candidate that passes once by luck is judged again, and then not believed.
    let lucky = World::new();
    let count = lucky.root().join("count");
    let counting = format!("echo x >> '{0}'; n=$(wc -l < '{0}')", count.display());
    // The second try to drop something, without a, passes once.
    let gate = format!("{counting}; test -e a || test $n -eq 7");
    run_with(&lucky, "echo 1 > a; echo 2 > b; echo 3 > c; echo 4 > d", &["--gate", &gate]).assert_code(0);
    let report = minimised(&lucky, &[]);
    assert_eq!(dropped(&report), ["b added", "c added", "d added"]);
    assert_eq!(lucky.repo().tree_files(SMALLER), ["README.md", "a"]);
}

/// Work of twelve files of which two are needed, and a gate that counts its runs and holds the one of this number.
fn held_at(world: &World, number: usize) -> (String, PathBuf, PathBuf) {
    let (count, reached) = (world.root().join("count"), world.root().join("reached"));
    let go = world.root().join("go");
    world.run({
        let mut make = world.command("mkfifo");
        make.arg(&go);
        make
    });
    let gate = format!(
        "echo x >> '{count}'; if test $(wc -l < '{count}') -eq {number}; then touch '{reached}'; cat '{go}'; fi; test -e f3 && test -e f9",
        count = count.display(),
        reached = reached.display(),
        go = go.display()
    );
    (gate, count, reached)
}

const TWELVE: &str = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n > f$n; done";

fn runs(count: &PathBuf) -> usize {
    std::fs::read_to_string(count).unwrap().lines().count()
}

#[test]
// promise: proof-3
fn killed_search_resumes_and_judges_no_candidate_twice() {
    let whole = World::new();
    let (gate, count, _) = held_at(&whole, 100_000);
    run_with(&whole, TWELVE, &["--gate", &gate]).assert_code(0);
    let report = minimised(&whole, &[]);
    let in_all = runs(&count);
    let world = World::new();
    let (gate, count, reached) = held_at(&world, 10);
    run_with(&world, TWELVE, &["--gate", &gate]).assert_code(0);
    let searching = world.start(windlass(&world, &["minimise", "work"]));
    assert!(wait_exists(&reached, None).unwrap());
    searching.kill();
    searching.wait_ended();
    world.wait_no_processes();
    let resumed = minimised(&world, &[]);
    assert_eq!(dropped(&resumed), dropped(&report));
    assert_eq!(
        world.repo().git(["diff", SMALLER, "main", "--stat"]),
        whole.repo().git(["diff", SMALLER, "main", "--stat"])
    );
    assert_eq!(runs(&count), in_all + 1, "only the run that was cut off runs again");
    assert!(resumed["known"].as_u64().unwrap() > 0, "{resumed}");
}

#[test]
fn checkout_of_a_killed_search_is_removed_by_clean() {
    let world = World::new();
    let (gate, _, reached) = held_at(&world, 6);
    run_with(&world, TWELVE, &["--gate", &gate]).assert_code(0);
    let searching = world.start(windlass(&world, &["minimise", "work"]));
    assert!(wait_exists(&reached, None).unwrap());
    searching.kill();
    searching.wait_ended();
    world.wait_no_processes();
    let left = || std::fs::read_dir(world.data_dir().join("judge")).map_or(0, Iterator::count);
    assert_eq!(left(), 1, "the next call goes on in it");
    call(&world, &["clean", "work"]).assert_code(0);
    assert_eq!(left(), 0);
}

#[test]
// promise: proof-3
fn limits_of_runs_and_time_hold_and_the_next_call_goes_on() {
    let world = World::new();
    let (gate, count, _) = held_at(&world, 100_000);
    run_with(&world, TWELVE, &["--gate", &gate]).assert_code(0);
    let before = runs(&count);
    let first = minimised(&world, &["--max-runs", "8"]);
    assert_eq!((&first["complete"], &first["runs"]), (&false.into(), &8.into()));
    assert_eq!(runs(&count), before + 8);
    let kept = first["kept"].as_u64().unwrap();
    assert!(kept < 12, "the smaller commit so far is offered: {first}");
    let mut calls = 0;
    let last = loop {
        let report = minimised(&world, &["--max-runs", "4"]);
        calls += 1;
        if report["complete"] == true {
            break report;
        }
        assert!(calls < 30, "{report}");
    };
    assert_eq!(last["kept"], 2);
    // Time: a gate that never ends is cut off, and its run is no verdict.
    let slow = World::new();
    let (gate, _, _) = held_at(&slow, 4);
    run_with(&slow, TWELVE, &["--gate", &gate]).assert_code(0);
    let report = minimised(&slow, &["--duration", "1s"]);
    assert_eq!((&report["complete"], &report["runs"], &report["commit"]), (&false.into(), &0.into(), &Value::Null));
    slow.wait_no_processes();
}

#[test]
// promise: proof-5
fn every_step_is_shown_and_is_a_line_of_json() {
    let world = World::new();
    let gate = "test -e f3 && test -e f9";
    run_with(&world, TWELVE, &["--gate", gate]).assert_code(0);
    let mut lines = minimise(&world, &["--max-runs", "5", "--json"]).assert_code(0).json_lines();
    let report = lines.pop().unwrap();
    assert_eq!((&report["type"], &report["runs"]), (&"report".into(), &4.into()), "one run is left to confirm");
    assert_eq!(lines[0], serde_json::json!({ "type": "started", "hunks": 12, "known": 0 }));
    let kinds: Vec<&str> = lines[1..].iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["judging", "judged"].repeat(4));
    let judged: Vec<&Value> = lines.iter().filter(|line| line["type"] == "judged").collect();
    assert_eq!(
        (&judged[0]["why"], &judged[0]["hunks"], &judged[0]["passed"]),
        (&"whole".into(), &12.into(), &true.into())
    );
    assert_eq!(
        (&judged[2]["why"], &judged[2]["run"], &judged[2]["smallest"]),
        (&"smaller".into(), &3.into(), &12.into())
    );
    // The next call shows its own steps, and how many verdicts it starts with.
    let shown = minimise(&world, &[]);
    shown.assert_code(0).assert_stderr_has("the work has 12 hunks; 3 candidates are judged already");
    shown.assert_stderr_has("  run 1: a smaller part, ").assert_stderr_has("the smallest part again, 2 of 12 hunks");
    shown.assert_stderr_has("✓ passed in ").assert_stderr_has("; smallest so far: 2 of 12\n");
    assert!(!shown.stderr.contains("the whole work"), "{}", shown.stderr);
}

#[test]
fn loop_that_runs_and_foreign_branch_are_left_alone() {
    let world = World::new();
    run_with(&world, "echo 1 > a; echo 2 > b", &["--gate", "test -e a"]).assert_code(0);
    world.repo().git(["branch", SMALLER, "main"]);
    minimise(&world, &[]).assert_code(2).assert_stderr_has("the branch windlass/work-minimised already exists");
    assert_eq!(world.repo().rev(SMALLER), world.repo().rev("main"));
    world.repo().git(["branch", "-D", SMALLER]);
    minimise(&world, &[]).assert_code(0);
    world.repo().git(["checkout", "-q", SMALLER]);
    minimise(&world, &[]).assert_code(2).assert_stderr_has("is checked out at");
}

#[test]
fn taken_commit_is_on_the_loops_branch_and_merges_and_continues() {
    let world = World::new();
    run_with(&world, "echo 1 > a; echo 2 > b", &["--gate", "test -e a"]).assert_code(0);
    let before = world.repo().rev("windlass/work");
    let report = minimised(&world, &["--take"]);
    assert_eq!(report["taken"], *world.repo().rev("windlass/work"));
    assert_eq!(world.repo().rev("windlass/work~1"), before, "nothing of its history is lost");
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "a"]);
    call(&world, &["verify", "windlass/work"]).assert_code(0).assert_stdout_has("it is what gates need");
    call(&world, &["merge", "work"]).assert_code(0);
    assert_eq!(world.repo().tree_files("main"), ["README.md", "a"]);
    works(&world, "echo 3 > c");
    call(&world, &["continue", "work", "and c"]).assert_code(0);
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "a", "c"]);
}
