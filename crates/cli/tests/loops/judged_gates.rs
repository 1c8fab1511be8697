//! Gates run in the judge's checkout: what an agent hides, builds or leaves behind decides nothing.

use crate::support::*;

/// One turn that runs a shell command and claims to be done.
fn claims_after(command: &str) -> String {
    format!(
        "[[turn]]\nsteps = [{{ run = {command:?} }}, {{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \
         \"{PROMISE}\" }}]\n"
    )
}

#[test]
// promise: gates-1
fn files_hidden_by_ignore_rules_are_not_judged() {
    for hide in [
        "echo fixed >> .gitignore",
        "f=$(git rev-parse --git-path info/exclude); mkdir -p \"$(dirname \"$f\")\"; echo fixed >> \"$f\"",
        "echo fixed > rules && git config core.excludesFile \"$PWD/rules\"",
        "mkdir -p sub && echo '*' > sub/.gitignore && touch sub/fixed; git update-index --assume-unchanged README.md",
    ] {
        let world = crate::world();
        let agent = world.script(&claims_after(&format!("{hide}; touch fixed")));
        let gate = ["--gate", "test -f fixed || test -f sub/fixed", "--max-iterations", "1"];
        let code = world.run(run_command(&world, &agent, &gate)).code;
        let files = world.repo().tree_files("windlass/work");
        let committed = files.iter().any(|file| file == "fixed" || file == "sub/fixed");
        assert_eq!(status(&world, "work")["verified"], committed, "{hide}");
        assert_eq!(code == Some(0), committed, "{hide}");
    }
}

#[test]
fn file_ignored_by_the_base_is_not_judged() {
    let world = crate::world();
    world.repo().write(".gitignore", "cache\n");
    world.repo().commit("ignore");
    let agent = world.script(&claims_after("echo green > cache"));
    run(&world, &agent, &["--gate", "test -f cache", "--max-iterations", "1"]).assert_code(3);
}

#[test]
// promise: gates-4
fn gate_that_runs_again_does_not_find_what_it_left() {
    let world = crate::world();
    world.repo().write(".gitignore", "state\n");
    world.repo().commit("ignore");
    let agent = world.script(&claims_after("true"));
    let gate = "test -f state && exit 0; touch state; exit 1";
    run(&world, &agent, &["--gate", gate, "--max-iterations", "1"]).assert_code(3);
    assert_eq!(status(&world, "work")["outcome"], serde_json::Value::Null);
}

#[test]
// promise: gates-4
fn later_gate_that_runs_again_finds_what_those_before_it_built_and_not_what_it_left() {
    let ends_with = |every_other_time: bool, code| {
        let mut world = crate::world();
        world.repo().write(".gitignore", "built\nstate\n");
        world.repo().commit("ignore");
        let agent = world.script(&claims_after("true"));
        let decided = DecidedGate::new(&mut world, |run| run % 2 == 0);
        let own = "test -f state && exit 0; touch state; exit 1".to_owned();
        // The first fails wherever it finds nothing of its own, the second every other time, wherever it runs.
        let gate = format!("test -f built || exit 1; {}", if every_other_time { decided.command } else { own });
        run(&world, &agent, &["--gate", "touch built", "--gate", &gate, "--max-iterations", "1"]).assert_code(code);
    };
    ends_with(false, 3);
    ends_with(true, 0);
}

#[test]
// promise: gates-1
fn file_committed_and_then_deleted_is_not_judged() {
    let world = crate::world();
    let agent =
        world.script(&claims_after("touch fixed; git add -A; git commit -qm x; git rm -q --cached fixed; rm fixed"));
    run(&world, &agent, &["--gate", "test -f fixed", "--max-iterations", "1"]).assert_code(3);
}

#[test]
// promise: gates-1
fn output_of_an_earlier_gate_does_not_reach_the_next_judgement() {
    let world = crate::world();
    world.repo().write(".gitignore", "target\nnode_modules\n*.log\n");
    world.repo().commit("ignore");
    // The first judgement plants, the second would find it.
    let plants = "touch target/ok; touch node_modules/ok; touch left.log; touch \"${TMPDIR:-/tmp}/windlass-test-ok\"";
    let judged = "test -f target/ok || test -f node_modules/ok || test -f left.log";
    let gate = format!("mkdir -p target node_modules; if {judged}; then exit 0; fi; sh ./plant.sh; exit 1");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"plant.sh\", content = {plants:?} }} }}, {{ say = \"{PROMISE}\" }}]\n\
         [[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n\
         [[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"3\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    run(&world, &agent, &["--gate", &gate, "--max-iterations", "3"]).assert_code(3);
    assert_eq!(agent.turns().len(), 3);
    assert!(!world.data_dir().join("judge").join(status(&world, "work")["id"].as_str().unwrap()).exists());
}

#[test]
fn warm_keeps_build_directories_that_the_base_ignores_and_nothing_else() {
    let world = crate::world();
    world.repo().write(".gitignore", "target/\n*.log\n");
    world.repo().commit("ignore");
    let counts = "mkdir -p target build; echo x >> target/runs; echo x >> build/runs; echo x >> left.log; \
                  cat target/runs | wc -l; cat build/runs | wc -l; cat left.log | wc -l; exit 1";
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \".gitignore\", content = \"target/\\nbuild/\\n*.log\\n\" }} }}, {{ say = \"a\" \
         }}]\n[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    let more = ["--gate", counts, "--no-baseline", "--verify", "warm", "--max-iterations", "2"];
    run(&world, &agent, &more).assert_code(3);
    let status = status(&world, "work");
    assert_eq!(status["verify"], "warm");
    let tail = feed(&world, "work").iter().rev().find(|item| item["type"] == "gate_ended").unwrap().to_string();
    let last = tail.split("output_tail\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(last.split_ascii_whitespace().collect::<String>().replace("\\n", " ").trim(), "2 1 1", "{tail}");
}

#[test]
// promise: gates-16
fn build_of_the_base_is_there_for_each_judgement_but_accepts_no_claim() {
    let world = crate::world();
    world.repo().write(".gitignore", "target/\n");
    world.repo().commit("ignore");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"a\" }}]\n\
         [[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    let gate = "mkdir -p target; echo x >> target/runs; echo run $(cat target/runs | wc -l)";
    run(&world, &agent, &["--gate", gate, "--max-iterations", "2"]).assert_code(0);
    let items = feed(&world, "work");
    let printed: Vec<_> = of_type(&items, "gate_ended")
        .iter()
        .map(|event| event["report"]["output_tail"].as_str().unwrap().trim())
        .collect();
    assert_eq!(printed, ["run 1", "run 2", "run 1"], "base, first turn, and the claim as in a new clone");
}

#[test]
// promise: gates-16
fn what_the_base_built_from_files_that_are_gone_makes_no_claim_pass() {
    for (verify, code) in [("clean", 3), ("warm", 0)] {
        let world = crate::world();
        world.repo().write(".gitignore", "target/\n").write("app.sh", "exit 0\n");
        world.repo().commit("an app");
        let agent = world.script(&claims_after("rm app.sh"));
        let build = "mkdir -p target; test ! -f app.sh || cp app.sh target/app";
        let gates = ["--gate", build, "--gate", "sh target/app", "--verify", verify, "--max-iterations", "1"];
        let ran = run(&world, &agent, &gates);
        ran.assert_code(code);
        if verify == "clean" {
            ran.assert_stdout_has("as in a new clone, this gate fails: sh target/app");
        }
    }
}

#[test]
// promise: gates-10
fn set_up_runs_once_on_the_base_and_gates_and_agent_get_copies() {
    let world = crate::world();
    world.repo().write(".gitignore", "deps/\n");
    world.repo().write("package.json", "{}");
    world.repo().commit("ignore");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = \"cp deps/lib seen; echo evil > deps/lib\" }}, {{ say = \"a\" }}]\n\
         [[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    let setup = "mkdir -p deps; echo good > deps/lib; ln -s lib deps/link; echo ran; echo x > not-ignored";
    let gate = "test \"$(cat deps/lib)\" = good && test -L deps/link && test -f not-ignored && echo bad > deps/lib";
    run(&world, &agent, &["--setup", setup, "--gate", gate, "--max-iterations", "2"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "seen"), "good\n");
    assert!(!world.repo().tree_files("windlass/work").contains(&"not-ignored".to_owned()));
    let runs =
        std::fs::read_dir(world.data_dir().join("transcripts").join(status(&world, "work")["id"].as_str().unwrap()));
    let runs =
        runs.unwrap().filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("setup-"));
    assert_eq!(runs.count(), 1);
}

#[test]
fn set_up_runs_again_when_a_manifest_changes_and_for_a_cold_claim() {
    for (verify, manifest, runs) in
        [("clean", "package.json", 2), ("clean", "other.json", 1), ("cold", "other.json", 2)]
    {
        let world = crate::world();
        world.repo().write(".gitignore", "deps/\n");
        world.repo().commit("ignore");
        let agent = world.script(&claims_after(&format!("echo '{{}}' > {manifest}")));
        let (setup, gate) = ("mkdir -p deps; echo x > deps/lib", "test -f deps/lib");
        run(&world, &agent, &["--setup", setup, "--gate", gate, "--verify", verify]).assert_code(0);
        let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
        let made = std::fs::read_dir(world.data_dir().join("transcripts").join(id)).unwrap();
        let made = made.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("setup-"));
        assert_eq!(made.count(), runs, "{verify} {manifest}");
    }
}

#[test]
fn set_up_that_the_commit_breaks_refuses_the_claim() {
    let world = crate::world();
    let agent = world.script(&claims_after("echo broken > package.json"));
    let setup = "if test -f package.json; then cat package.json; exit 4; fi";
    run(&world, &agent, &["--setup", setup, "--gate", "true", "--max-iterations", "1"])
        .assert_code(3)
        .assert_stdout_has("the set-up failed on this commit");
}

#[test]
fn loop_started_in_a_subdirectory_runs_there() {
    let world = crate::world();
    world.repo().write("packages/my api/test.sh", "test -f fixed\n");
    world.repo().commit("a package");
    let agent = world.script(&claims_after("touch fixed; pwd > where"));
    let mut command = run_command(&world, &agent, &["--gate", "sh ./test.sh", "--setup", "touch set-up-here"]);
    command.current_dir(world.repo().path().join("packages/my api"));
    world.run(command).assert_code(0);
    let files = world.repo().tree_files("windlass/work");
    assert!(files.contains(&"packages/my api/fixed".to_owned()), "{files:?}");
    assert!(file_at_branch(&world, "work", "packages/my api/where").trim().ends_with("packages/my api"));
}

#[test]
fn git_works_in_a_gate_and_what_it_writes_there_decides_nothing() {
    let world = crate::world();
    world.repo().git(["tag", "v1"]);
    let agent = world.script(&claims_after("true"));
    let gate = "test -z \"$(git status --porcelain)\" && git describe --tags && git log -1 --format=%s && \
                git config alias.x y && rm .git/HEAD .git/index && echo '*' > .git/info/exclude && touch planted";
    run(&world, &agent, &["--gate", gate, "--gate", "! test -f planted"]).assert_code(0);
}

#[test]
// promise: gates-1
fn objects_refs_and_settings_that_a_clone_does_not_have_are_not_judged() {
    let away = "echo 42 > a; git add a; git commit -qm a; git rev-parse HEAD:a > .git/id; git reset -q --hard HEAD~1";
    let world = crate::world();
    for (number, (script, gate, code)) in [
        ("echo 42 | git hash-object -w --stdin > id", "git cat-file -e $(cat id)", 3),
        (&format!("{away}; cp .git/id id"), "git cat-file -e $(cat id)", 3),
        (&format!("{away}; git tag t HEAD@{{1}}"), "git cat-file -e t:a", 3),
        (&format!("{away}; git branch b HEAD@{{1}}"), "git cat-file -e b:a", 3),
        (away, "git cat-file -e HEAD@{1}:a", 3),
        ("git notes add -m 42 HEAD", "git notes show HEAD~1", 3),
        ("git config my.answer 42", "git config my.answer", 3),
        ("touch -d @42 README.md", "test $(stat -c %Y README.md) = 42", 3),
        ("mkdir empty", "test -d empty", 3),
        // What was committed and taken back is in the history of a clone.
        ("echo 42 > a; git add a; git commit -qm a; git rev-parse HEAD:a > id; rm a", "git cat-file -e $(cat id)", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let agent = world.script(&claims_after(script)).command_line();
        let name = format!("w{number}");
        let args = ["run", "x", "--name", &name, "--agent-command", &agent, "--gate", gate, "--no-baseline"];
        let out = call(&world, &[&args[..], &["--max-iterations", "1"]].concat());
        assert_eq!(out.code, Some(code), "{script}: {}", out.shown());
    }
}

#[test]
// promise: gates-18
fn objects_that_an_agent_took_back_or_another_loop_made_are_not_judged() {
    let world = crate::world();
    let take_back = "git reset -q --hard HEAD~1; id=$(echo answer | git hash-object --stdin); \
                     echo \"git cat-file blob $id\" > check.sh";
    let gates = ["--gate", "sh check.sh", "--max-iterations", "2"];
    for packed in [false, true] {
        let agent = world.script(&format!(
            "[[turn]]\nsteps = [{{ run = \"echo answer > answer; git add -A; git commit -qm answer\" }}, {{ say = \"a\" }}]\n{}",
            claims_after(take_back)
        ));
        let command = agent.command_line();
        let name = format!("own-{packed}");
        let args = ["run", "x", "--name", &name, "--agent-command", &command];
        call(&world, &[&args[..], &gates].concat()).assert_code(3);
        let other = world.script(&claims_after(take_back.split_once(';').unwrap().1));
        let command = other.command_line();
        let name = format!("other-{packed}");
        let args = ["run", "x", "--name", &name, "--agent-command", &command];
        call(&world, &[&args[..], &gates].concat()).assert_code(3);
        // As the user's git does now and then: what is kept for loops is in the same pack as the rest.
        world.repo().git(["gc", "-q", "--prune=now"]);
    }
    let honest = world.script(&claims_after("git log --format=%H -1 > before"));
    let gate = "git show $(cat before):README.md && git fsck --no-dangling && test $(git rev-list HEAD | wc -l) -gt 1";
    let command = honest.command_line();
    let args = ["run", "x", "--name", "honest", "--agent-command", &command, "--gate", gate, "--max-iterations", "1"];
    call(&world, &args).assert_code(0);
}

#[test]
fn installed_packages_are_found_and_copied() {
    let world = crate::world();
    world.repo().write(".gitignore", "node_modules\n.venv\nvendor\n");
    world.repo().commit("ignore");
    for dir in ["node_modules/lib", "packages/a b/node_modules/lib", ".venv/lib"] {
        world.repo().write(format!("{dir}/index.js"), "1");
    }
    let agent = world.script(&claims_after("test -f node_modules/lib/index.js && touch fixed"));
    let gate = "test -f fixed && test -f '.venv/lib/index.js' && test -f 'packages/a b/node_modules/lib/index.js'";
    run(&world, &agent, &["--gate", gate]).assert_code(0).assert_stdout_has("node_modules");
    // A set-up installs them itself.
    let again = world.script(&claims_after("true"));
    let command = again.command_line();
    let args = ["run", "more", "--agent-command", &command, "--setup", "true", "--gate", "! test -e node_modules"];
    call(&world, &args).assert_code(0);
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn node_project_is_judged_with_its_packages() {
    if std::process::Command::new("npm").arg("--version").output().is_err() {
        return eprintln!("skipped: npm is not installed");
    }
    let world = crate::world();
    world.repo().write(".gitignore", "node_modules\n");
    world.repo().write("package.json", "{\"scripts\": {\"test\": \"node test.js\"}}");
    world.repo().write("test.js", "if (require('lib') + require('./value') !== 3) process.exit(1)\n");
    world.repo().write("value.js", "module.exports = 1\n");
    world.repo().commit("a node project");
    world.repo().write("node_modules/lib/index.js", "module.exports = 1\n");
    // The agent also changes its own copy of the package, which would make a wrong fix pass.
    let cheat = "echo 'module.exports = 2' > node_modules/lib/index.js";
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = {cheat:?} }}, {{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" \
         }}]\n[[turn]]\nsteps = [{{ write = {{ path = \"value.js\", content = \"module.exports = 2\" }} }}, {{ say = \"{PROMISE}\" \
         }}]\n"
    ));
    run(&world, &agent, &["--gate", "npm test"]).assert_code(0);
    assert_eq!(agent.turns().len(), 2, "the first claim is refused");
    assert_eq!(world.repo().read("node_modules/lib/index.js"), "module.exports = 1\n");
}

#[test]
// promise: gates-9
fn merge_that_breaks_a_gate_changes_nothing() {
    let world = crate::world();
    world.repo().write("a", "1\n");
    world.repo().commit("a");
    let agent = world.script(&claims_after("echo 2 > b"));
    run(&world, &agent, &["--gate", "! { test -f b && grep -q 9 a; }"]).assert_code(0);
    world.repo().write("a", "9\n");
    let moved = world.repo().commit("moved on");
    call(&world, &["merge", "work"])
        .assert_code(1)
        .assert_stderr_has("failed on the merge into main; merge aborted")
        .assert_stderr_has("hint: let the agent fix it: windlass continue work");
    assert_eq!(world.repo().rev("main"), moved);
    assert!(!world.repo().path().join("b").exists());
    call(&world, &["merge", "work", "--no-gates"]).assert_code(0);
    let message = world.repo().git(["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("do the work") && message.contains("Windlass-Gates: skipped"), "{message}");
    assert!(message.contains("Windlass-Loop: work"), "{message}");
}

#[test]
// promise: gates-9
fn merge_runs_gates_on_the_merged_result() {
    let world = crate::world();
    let agent = world.script(&claims_after("echo 2 > b"));
    run(&world, &agent, &["--gate", "test -f b && { ! test -f c || echo both; }"]).assert_code(0);
    world.repo().write("c", "1\n");
    world.repo().commit("moved on");
    call(&world, &["merge", "work"]).assert_code(0);
    let message = world.repo().git(["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("Windlass-Gates: passed"), "{message}");
    assert!(message.starts_with("Merge the work of work\n\ndo the work\n\n"), "{message}");
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let output = world.data_dir().join("transcripts").join(&id).join("merge.gate-1.1/stdout");
    assert_eq!(std::fs::read_to_string(output).unwrap(), "both\n");
    assert!(!world.data_dir().join("judge").join(format!("{id}-merge")).exists());
}

#[test]
// promise: gates-3
fn failing_baseline_shows_its_last_lines() {
    let world = crate::world();
    let agent = world.script(&claims_after("touch fixed"));
    run(&world, &agent, &["--gate", "test -f fixed || { echo Cannot find module lib; exit 1; }"])
        .assert_code(0)
        .assert_stdout_has("      Cannot find module lib");
}

#[test]
// promise: gates-5
fn gate_whose_program_is_not_installed_is_no_verdict() {
    let world = crate::world();
    let agent = world.script(&claims_after("touch fixed"));
    let mut running = start(&world, &agent, &["--gate", "no-such-tool --all && test -f fixed"]);
    // Before the first turn; after more tries the loop pauses.
    running.wait_line(
        windlass_testkit::Stream::Stdout,
        "no-such-tool is not on PATH; install it, or start a loop with another",
    );
    assert!(agent.turns().is_empty());
    world.install_script("no-such-tool", "exit 0");
    running.wait_ended();
    let status = status(&world, "work");
    assert_eq!((&status["verified"], &status["claims"]["refused"]), (&true.into(), &0.into()));
}

#[test]
// promise: gates-5
fn gate_that_the_agent_can_make_runnable_fails_with_a_hint() {
    let world = crate::world();
    world.repo().write("check.sh", "#!/bin/sh\ntest -f fixed\n");
    world.repo().commit("not executable");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = \"touch fixed\" }}, {{ say = \"{PROMISE}\" }}]\n[[turn]]\nsteps = [{{ run = \"chmod +x \
         check.sh\" }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    run(&world, &agent, &["--gate", "./check.sh", "--max-iterations", "1"])
        .assert_code(3)
        .assert_stdout_has("failing   ./check.sh: exit code 126")
        .assert_stdout_has("exit code 126: a file cannot be executed");
    call(&world, &["resume", "work", "--max-iterations", "+1"]).assert_code(0);
    assert!(agent.prompts()[1].contains("a file cannot be executed"), "the agent reads it too");
    // What a script of the commit does not find is the agent's to mend.
    let gate = "sh -c no-such-tool || { echo 'sh: 1: no-such-tool: not found'; exit 127; }";
    let agent = world.script(&claims_after("true"));
    let command = agent.command_line();
    let args = ["run", "x", "--name", "later", "--max-iterations", "1", "--agent-command", &command, "--gate", gate];
    call(&world, &args).assert_code(3).assert_stdout_has("the command no-such-tool was not found");
}

#[test]
fn copied_directory_keeps_its_links() {
    let world = crate::world();
    world.repo().write(".gitignore", "node_modules/\n");
    world.repo().commit("ignore");
    world.repo().write("node_modules/tool/run.sh", "exit 0\n");
    let bin = world.repo().path().join("node_modules/.bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink("../tool/run.sh", bin.join("tool")).unwrap();
    let agent = world.script(&claims_after("sh node_modules/.bin/tool && echo exit 1 > node_modules/tool/run.sh"));
    run(
        &world,
        &agent,
        &["--copy", "node_modules", "--gate", "test -L node_modules/.bin/tool && sh node_modules/.bin/tool"],
    )
    .assert_code(0);
    assert_eq!(world.repo().read("node_modules/tool/run.sh"), "exit 0\n");
}

#[test]
// promise: work-19
fn new_files_that_are_ignored_are_told_and_protected_ones_are_undone() {
    let world = crate::world();
    world.repo().write(".gitignore", "target/\n*.log\ndeps/\n");
    world.repo().commit("ignore");
    let hides = "mkdir -p target hidden tests build; touch target/x build/y; echo 1 > a.log; touch hidden/b; echo 1 > tests/extra; \
                 touch deps/new; printf 'hidden/\\ntests/extra\\nbuild/\\n' >> .gitignore; echo excluded >> .git/info/exclude; touch excluded";
    let agent = world.script(&format!(
        "{}[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n",
        claims_after(hides).replace(PROMISE, "More is to come.")
    ));
    let more = ["--setup", "mkdir deps; touch deps/lib", "--gate", "true", "--protect", "tests/"];
    let out = run(&world, &agent, &more);
    let said = "4 new files are ignored and not in any commit: a.log, build/y, deps/new, hidden/b";
    out.assert_code(0).assert_stdout_has(said);
    assert_eq!(out.stdout.matches(said).count(), 1, "told once: {}", out.stdout);
    let status = status(&world, "work");
    let notes = status["history"][0]["checkpoint"]["notes"].to_string();
    assert!(notes.contains(said), "{notes}");
    let ignored = serde_json::json!(["a.log", "build/y", "deps/new", "hidden/b"]);
    assert_eq!((&status["ignored_new"], &status["ignored_new_count"]), (&ignored, &4.into()));
    assert_eq!(status["history"][0]["checkpoint"]["ignored_new"], ignored);
    assert!(world.repo().tree_files("windlass/work").contains(&"excluded".to_owned()), "rules in .git do not count");
    // What was protected is undone, reported, and kept.
    assert_eq!(status["history"][0]["checkpoint"]["restored"][0]["path"], "tests/extra");
    let workspace = std::path::Path::new(status["worktree"].as_str().unwrap());
    assert!(!workspace.join("tests/extra").exists() && workspace.join("hidden/b").exists());
    let kept = world.repo().git(["for-each-ref", "--format=%(refname)", "refs/windlass/*/protected/*"]);
    assert_eq!(world.repo().file_at(kept.trim(), "tests/extra"), "1\n");
}
