//! Gates on the base, flaky gates, gates for claims only, and protected paths.

use crate::support::*;

const CLAIMS: &str = r#"
    [[turn]]
    steps = [{ append = { path = "work.txt", content = "more\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

#[test]
// promise: gates-3
fn what_fails_on_the_base_is_told_to_the_user_and_to_the_agent() {
    let world = crate::world();
    let agent = world.script(CLAIMS);
    run(&world, &agent, &["--gate", "test -f work.txt", "--gate", "true"])
        .assert_code(0)
        .assert_stdout_has("test -f work.txt already fails on the base commit");
    let prompts = agent.prompts();
    assert!(prompts[0].contains("test -f work.txt") && !prompts[0].contains("`true`"), "{}", prompts[0]);

    let world = crate::world();
    let agent = world.script(CLAIMS);
    run(&world, &agent, &["--gate", "test -f work.txt", "--no-baseline"]).assert_code(0);
    assert!(!agent.prompts()[0].contains("test -f work.txt"), "{}", agent.prompts()[0]);
    assert_eq!(of_type(&feed(&world, "work"), "gate_ended").len(), 1);
}

#[test]
// promise: gates-4
fn a_gate_that_flips_is_run_again_instead_of_believed() {
    let mut world = crate::world();
    let agent = world.script(CLAIMS);
    // Fails on every odd run: on the base once and then not.
    let gate = DecidedGate::new(&mut world, |run| run % 2 == 0);
    run(&world, &agent, &["--gate", &gate.command]).assert_code(0).assert_stdout_has("is flaky");
    assert_eq!(gate.runs(), 4, "twice on the base, twice on the claim");
    assert_eq!(status(&world, "work")["verified"], true);
}

#[test]
// promise: gates-8
fn a_gate_for_claims_does_not_run_without_one() {
    let mut world = crate::world();
    let gate = DecidedGate::new(&mut world, |_| true);
    world.config(&format!(
        "baseline = false\n[[gates]]\ncommand = \"{}\"\nwhen = \"claim\"\n\n[[gates]]\ncommand = \"true\"\n",
        gate.command
    ));
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ append = { path = "w", content = "1" } }, { say = "half" }]
        [[turn]]
        steps = [{ append = { path = "w", content = "2" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    run(&world, &agent, &[]).assert_code(0);
    assert_eq!(gate.runs(), 1);
    let status = status(&world, "work");
    assert_eq!(status["history"][0]["gates"], serde_json::json!(["skipped", "pass"]));
    assert_eq!(status["history"][1]["gates"], serde_json::json!(["pass", "pass"]));
}

#[test]
// promise: gates-7
fn protected_paths_are_put_back_before_the_gates_and_reported() {
    let world = crate::world();
    world.repo().write("tests/a.sh", "grep -q fixed work.txt\n");
    world.repo().write("tests/b.sh", "true\n");
    world.repo().write("ci/build.yml", "run: tests\n");
    world.repo().commit("tests");
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { delete = "tests/a.sh" },
            { write = { path = "tests/b.sh", content = "exit 0 # skip\n" } },
            { write = { path = "tests/c.sh", content = "exit 0\n" } },
            { write = { path = "ci/build.yml", content = "run: nothing\n" } },
            { write = { path = "work.txt", content = "broken\n" } },
            { say = "<promise>COMPLETE</promise>" },
        ]
        [[turn]]
        steps = [{ write = { path = "work.txt", content = "fixed\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    run(&world, &agent, &["--gate", "sh tests/a.sh && sh tests/b.sh", "--protect", "tests/**", "--protect", "ci/*"])
        .assert_code(0)
        .assert_stdout_has("restored protected files: ")
        .assert_stdout_has("claim refused");
    assert_eq!(
        world.repo().tree_files("windlass/work"),
        ["README.md", "ci/build.yml", "tests/a.sh", "tests/b.sh", "work.txt"]
    );
    assert_eq!(file_at_branch(&world, "work", "ci/build.yml"), "run: tests\n");
    let restored = &status(&world, "work")["history"][0]["checkpoint"]["restored"];
    let paths: Vec<&str> = restored.as_array().unwrap().iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["ci/build.yml", "tests/a.sh", "tests/b.sh", "tests/c.sh"]);
    assert!(agent.prompts()[1].contains("tests/a.sh"), "{}", agent.prompts()[1]);
}

#[test]
fn files_that_are_copied_are_there_and_never_committed() {
    let world = crate::world();
    world.repo().write(".env", "SECRET=1\n");
    world.config("copy = [\".env\"]\nsetup = [\"cp .env made-by-setup\"]\n");
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ run = "cat .env >> seen; cat made-by-setup >> seen" }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    run(&world, &agent, &["--gate", "test -f .env"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "seen"), "SECRET=1\nSECRET=1\n");
    assert!(!world.repo().tree_files("windlass/work").contains(&".env".to_owned()));
    call(&world, &["clean", "work"]).assert_code(0);
    for name in world.repo().refs("refs/") {
        assert!(!world.repo().tree_files(&name).contains(&".env".to_owned()), "{name}");
    }
}

#[test]
// promise: gates-10
fn a_setup_that_fails_ends_the_loop_before_the_agent_begins() {
    for (config, says) in [
        ("setup = [\"echo no network; exit 3\"]", "exit code 3: no network"),
        ("copy = [\".env\"]", "cannot copy .env"),
    ] {
        let world = crate::world();
        world.config(config);
        let agent = world.script(CLAIMS);
        run(&world, &agent, &[]).assert_code(7).assert_stdout_has(says);
        assert_eq!(status(&world, "work")["stop_reason"]["type"], "setup_failed");
        assert!(agent.turns().is_empty());
    }
}
