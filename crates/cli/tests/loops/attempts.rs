//! `windlass fork`, `windlass compare` and `windlass report --outcomes`.

use crate::support::*;
use serde_json::Value;
use windlass_testkit::{ScriptedAgent, World};

/// Two iterations that change `a`, and no claim.
const NEVER_DONE: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [{ write = { path = "a", content = "one\n" } }, { say = "more to do" }]
    [[turn]]
    steps = [{ write = { path = "a", content = "two\n" } }, { say = "still more" }]
"#;

/// Writes `b` and claims.
const FINISHES: &str = r#"
    [[turn]]
    steps = [{ write = { path = "b", content = "b\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// Changes nothing and claims.
const ONLY_CLAIMS: &str = r#"
    [[turn]]
    steps = [{ say = "<promise>COMPLETE</promise>" }]
"#;

/// A loop called `work` that ran out of iterations.
fn exhausted(world: &World) -> ScriptedAgent {
    world.repo().write("a", "base\n");
    world.repo().commit("base");
    let agent = world.script(NEVER_DONE);
    run(world, &agent, &["--gate", "test -f a", "--no-baseline", "--max-iterations", "2"]).assert_code(3);
    agent
}

fn fork<'a>(agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fork", "work", "--agent-command", agent], more].concat()
}

#[test]
// promise: gates-1
fn what_gates_built_from_the_parents_work_is_not_there_when_the_forks_is_judged() {
    let world = crate::world();
    world.repo().write(".gitignore", "target/\n").write("test.sh", "exit 1\n");
    world.repo().commit("base");
    // The agent's test passes where it ran before.
    let test = "test -f target/ran && exit 0; mkdir -p target; touch target/ran; exit 1\n";
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"test.sh\", content = {test:?} }} }}, {{ say = \"more to do\" }}]\n"
    ));
    run(&world, &agent, &["--gate", "sh ./test.sh", "--max-iterations", "1"]).assert_code(3);
    let other = world.script(FINISHES);
    let command = other.command_line();
    call(&world, &fork(&command, &[])).assert_code(3);
    assert_eq!(status(&world, "work-fork")["outcome"], Value::Null);
}

#[test]
// promise: fork-1
fn fork_starts_from_the_checkpoint_and_is_verified_against_the_parents_base() {
    let world = crate::world();
    exhausted(&world);
    let before = status(&world, "work");
    let (branch, main) = (world.repo().rev("windlass/work"), world.repo().rev("main"));
    let other = world.script(FINISHES);
    let command = other.command_line();
    call(&world, &fork(&command, &["--at", "1"])).assert_code(0).assert_stdout_has("of work at iteration 1");
    let now = status(&world, "work-fork");
    assert_eq!((&now["outcome"], &now["recipe"]), (&"verified".into(), &"promise".into()));
    assert_eq!((&now["parent"]["name"], &now["parent"]["iteration"]), (&"work".into(), &1.into()));
    assert_eq!(now["parent"]["id"], before["id"]);
    assert_eq!(now["base_commit"], before["base_commit"], "the whole work is judged");
    assert_eq!(now["gates"][0]["command"], "test -f a", "gates are the parent's");
    assert_eq!(now["limits"]["max_iterations"], 2);
    assert_eq!((file_at_branch(&world, "work-fork", "a").as_str(), now["iterations"].as_u64()), ("one\n", Some(1)));
    assert_eq!(file_at_branch(&world, "work-fork", "b"), "b\n");
    let diff = call(&world, &["diff", "work-fork"]).shown();
    assert!(diff.contains("-base\n+one") && diff.contains("+b"), "{diff}");
    let own = call(&world, &["diff", "work-fork", "--iteration", "1"]).shown();
    assert!(!own.contains("+one") && own.contains("+b"), "{own}");
    let prompt = other.prompts().pop().unwrap();
    assert!(prompt.contains("do the work") && prompt.contains("in the loop `work` up to iteration 1"), "{prompt}");
    assert_eq!(status(&world, "work"), before, "the parent is untouched");
    assert_eq!((world.repo().rev("windlass/work"), world.repo().rev("main")), (branch, main));
    let listed = call(&world, &["list", "--json"]).json();
    assert_eq!(listed[0]["parent"]["name"], "work");
    call(&world, &["merge", "work-fork"]).assert_code(0);
    assert_eq!((world.repo().read("a"), world.repo().read("b")), ("one\n".to_owned(), "b\n".to_owned()));
}

#[test]
// promise: fork-1
fn fork_that_adds_nothing_is_verified_for_the_parents_work() {
    let world = crate::world();
    exhausted(&world);
    let other = world.script(ONLY_CLAIMS);
    call(&world, &fork(&other.command_line(), &["another goal", "--name", "second"])).assert_code(0);
    let now = status(&world, "second");
    assert_eq!((&now["outcome"], &now["goal"]), (&"verified".into(), &"another goal".into()));
    assert_eq!((&now["parent"]["iteration"], file_at_branch(&world, "second", "a").as_str()), (&2.into(), "two\n"));
    call(&world, &["rollback", "second", "--to", "0"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "second", "a"), "two\n", "0 is where the fork started");
}

#[test]
// promise: fork-1
fn fork_keeps_what_is_not_changed_and_changes_what_is() {
    let world = crate::world();
    exhausted(&world);
    let other = world.script(FINISHES);
    let command = other.command_line();
    let more = ["--gate", "test -f b", "--max-iterations", "7", "--hidden-gate", "test -f a"];
    call(&world, &fork(&command, &more)).assert_code(0);
    let now = status(&world, "work-fork");
    let gates: Vec<&Value> = now["gates"].as_array().unwrap().iter().map(|gate| &gate["command"]).collect();
    assert_eq!(gates, ["test -f b", "test -f a"]);
    assert_eq!(now["limits"]["max_iterations"], 7);
    // Without another agent, it is the parent's: here a command that no profile knows.
    call(&world, &["fork", "work", "--at", "1", "--name", "same", "--max-iterations", "1"]).assert_code(3);
    assert_eq!(status(&world, "same")["agent"], status(&world, "work")["agent"]);
    // A fork can be forked.
    call(&world, &["fork", "work-fork", "--agent-command", &command]).assert_code(0);
    assert_eq!(status(&world, "work-fork-2")["parent"]["name"], "work-fork");
}

#[test]
// promise: fork-2
fn fork_is_refused_where_there_is_no_checkpoint() {
    let world = crate::world();
    exhausted(&world);
    let refused = |args: &[&str], words: &str| {
        let branches = world.repo().git(["branch", "--list"]);
        call(&world, args).assert_code(2).assert_stderr_has(words).assert_stderr_has("hint: ");
        assert_eq!(world.repo().git(["branch", "--list"]), branches, "nothing is made");
    };
    refused(&["fork", "work", "--at", "9"], "iteration 9 does not exist");
    refused(&["fork", "work", "--agent", "nobody"], "nobody");
    refused(&["fork", "work", "--name", "work"], "work");
    refused(&["fork", "gone"], "gone");
    call(&world, &["rollback", "work", "--to", "1"]).assert_code(0);
    refused(&["fork", "work", "--at", "2"], "iteration 2 was rolled back");
    let here = world.script(FINISHES);
    let command = here.command_line();
    let in_place = ["run", "do it", "--name", "here", "--agent-command", &command, "--in-place", "--no-baseline"];
    call(&world, &in_place).assert_code(0);
    refused(&["fork", "here"], "has no checkpoints to fork");
    let off = ["run", "do it", "--name", "off", "--agent-command", &command, "--commit", "off", "--no-baseline"];
    call(&world, &off).assert_code(0);
    refused(&["fork", "off", "--at", "1"], "was not committed");
}

#[test]
// promise: fork-2
fn fork_is_refused_when_the_checkpoint_is_gone() {
    let world = crate::world();
    exhausted(&world);
    call(&world, &["clean", "work", "--keep-records"]).assert_code(0);
    world.repo().git(["update-ref", "-d", "refs/heads/windlass/work"]);
    let refs = world.repo().git(["for-each-ref", "--format=delete %(refname)", "refs/windlass"]);
    for line in refs.lines() {
        world.repo().git(["update-ref", "-d", line.trim_start_matches("delete ")]);
    }
    world.repo().git(["reflog", "expire", "--expire=now", "--all"]);
    world.repo().git(["gc", "--quiet", "--prune=now"]);
    call(&world, &["fork", "work", "--at", "1"])
        .assert_code(2)
        .assert_stderr_has("the checkpoint of iteration 1")
        .assert_stderr_has("is no longer in the repository");
}

#[test]
// promise: fork-1
fn running_loop_can_be_forked() {
    let world = crate::world();
    world.repo().write("a", "base\n");
    world.repo().commit("base");
    let agent = world.script(
        r#"
        select = "iteration"
        [[turn]]
        steps = [{ write = { path = "a", content = "one\n" } }, { say = "more" }]
        [[turn]]
        steps = [{ touch = "reached" }, { wait_for = "go" }, { say = "<promise>COMPLETE</promise>" }]
        "#,
    );
    let running = start(&world, &agent, &["--gate", "test -f a", "--no-baseline"]);
    agent.wait_touched("reached");
    let other = world.script(FINISHES);
    call(&world, &fork(&other.command_line(), &[])).assert_code(0);
    assert_eq!(status(&world, "work-fork")["parent"]["iteration"], 1);
    agent.open_gate("go");
    running.wait().assert_code(0);
    assert_eq!(status(&world, "work")["outcome"], "verified");
}

#[test]
// promise: compare-1
fn compare_shows_loops_side_by_side() {
    let world = crate::world();
    exhausted(&world);
    let other = world.script(FINISHES);
    call(&world, &fork(&other.command_line(), &["--at", "1"])).assert_code(0);
    let shown = call(&world, &["compare", "work", "work-fork"]).assert_code(0).stdout.clone();
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let line = |label: &str| {
        let found = shown.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{label}: {shown}"));
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("outcome"), "outcome exhausted ✔ verified");
    assert_eq!(line("gates"), "gates 1 of 1 passed 1 of 1 passed");
    assert_eq!(line("iterations"), "iterations 2 1");
    assert_eq!(line("changes"), "changes 1 file +1 -1 2 files +2 -1");
    assert_eq!(line("fork of"), "fork of work at 1");
    let json = call(&world, &["compare", "work", "work-fork", "--json", "--diff"]).assert_code(0).json();
    assert_eq!(json["loops"][1]["changes"], serde_json::json!({ "files": 2, "added": 2, "removed": 1 }));
    assert_eq!((&json["loops"][0]["verified"], &json["loops"][1]["verified"]), (&false.into(), &true.into()));
    let patch = json["differences"][0]["patch"].as_str().unwrap();
    assert!(patch.contains("-two\n+one") && patch.contains("+b"), "{patch}");
    let shown = call(&world, &["compare", "work", "work-fork", "--diff"]).assert_code(0).stdout.clone();
    assert!(shown.contains("\nfrom work to work-fork\n") && shown.contains("+one"), "{shown}");
    call(&world, &["compare", "work", "work"]).assert_code(2).assert_stderr_has("two different loops");
    call(&world, &["compare", "work"]).assert_code(2);
    call(&world, &["compare", "work", "nobody"]).assert_code(2).assert_stderr_has("nobody");
}

#[test]
// promise: outcomes-1
fn report_of_outcomes_counts_beside_every_share() {
    let world = crate::world();
    exhausted(&world);
    let other = world.script(FINISHES);
    let command = other.command_line();
    call(&world, &fork(&command, &["--at", "1"])).assert_code(0);
    call(
        &world,
        &["fork", "work", "--at", "1", "--agent-command", &command, "--gate", "false", "--max-iterations", "1"],
    )
    .assert_code(3);
    let json = call(&world, &["report", "--outcomes", "--json"]).assert_code(0).json();
    let total = &json["total"];
    let numbers = ["loops", "ended", "verified", "claims", "claims_refused", "iterations", "forked", "first_won"];
    let numbers: Vec<u64> = numbers.iter().map(|key| total[*key].as_u64().unwrap()).collect();
    assert_eq!(numbers, [3, 3, 1, 2, 1, 4, 1, 0], "{json}");
    assert_eq!(total["iterations_per_verified"], 4.0);
    assert_eq!((&total["cost_per_verified_usd"], &total["unpriced"]), (&Value::Null, &3.into()), "unknown is not 0");
    assert_eq!(json["by_recipe"][0]["name"], "promise");
    let text = call(&world, &["report", "--outcomes"]).assert_code(0).stdout.clone();
    for words in ["33% (1 of 3)", "50% (1 of 2)", "4.0 (4 / 1)", "unknown for 3 of 3 loops", "0% (0 of 1)"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    call(&world, &["report", "--outcomes", "--format", "html"]).assert_code(0).assert_stdout_has("33% (1 of 3)");
    call(&world, &["report", "work", "--outcomes"]).assert_code(2);
    // The one that is merged won.
    call(&world, &["merge", "work"]).assert_code(0);
    let json = call(&world, &["report", "--outcomes", "--json"]).assert_code(0).json();
    assert_eq!((&json["total"]["forked"], &json["total"]["first_won"]), (&1.into(), &1.into()), "{json}");
}
