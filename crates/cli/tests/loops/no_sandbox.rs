//! A machine without a sandbox: nothing runs there with the user's rights unless somebody said so.

use crate::support::*;
use windlass_testkit::{World, type_in_terminal};

/// A world whose bubblewrap does not work, and that asks for no sandbox by name.
fn bare() -> World {
    let mut world = World::new();
    world.install_script("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
    world.set_env("WINDLASS_SANDBOX", "auto");
    world
}

fn run_args(world: &World) -> Vec<String> {
    let agent = world.install_script("agent", &format!("echo x > file\necho '{PROMISE}'"));
    ["run", "do it", "--agent-command", &agent.to_string_lossy(), "--gate", "test -f file"].map(str::to_owned).to_vec()
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

#[test]
// promise: safety-2
fn a_loop_without_a_sandbox_needs_a_word_and_without_a_terminal_nothing_is_made() {
    let world = bare();
    let args = run_args(&world);
    let refused = call(&world, &words(&args));
    refused
        .assert_code(2)
        .assert_stderr_has("no sandbox is available on this machine")
        .assert_stderr_has("--sandbox off");
    refused.assert_stderr_has("user namespaces");
    let left: Vec<_> = std::fs::read_dir(world.data_dir()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    let off = [&words(&args)[..], &["--sandbox", "off", "--name", "flag"]].concat();
    call(&world, &off).assert_code(0);
    let mut variable = windlass(&world, &[&words(&args)[..], &["--name", "variable"]].concat());
    variable.env("WINDLASS_SANDBOX", "off");
    world.run(variable).assert_code(0);
    world.config("sandbox = \"off\"\n");
    let mut setting = windlass(&world, &[&words(&args)[..], &["--name", "setting"]].concat());
    setting.env_remove("WINDLASS_SANDBOX");
    world.run(setting).assert_code(0);
    // A word for one loop is none for the next.
    world.config("");
    call(&world, &words(&args)).assert_code(2);
}

#[test]
// promise: safety-2
fn a_person_is_asked_once_for_each_repository_until_consent_is_taken_back() {
    let world = bare();
    let args = run_args(&world);
    let start = |name: &str, typed: &str| {
        type_in_terminal(windlass(&world, &[&words(&args)[..], &["--name", name]].concat()), typed)
    };
    let question = "Run loops of this repository without a sandbox? [y/N]";
    let (text, status) = start("refused", "\n");
    assert!(text.contains(question) && status.code() == Some(2), "{text}");
    let (text, status) = start("agreed", "y\n");
    assert!(text.contains(question) && status.success(), "{text}");
    let (text, status) = start("again", "");
    assert!(!text.contains(question) && status.success(), "{text}");
    assert!(text.contains("sandbox: off"), "it is still said: {text}");
    // Remembered for those who cannot be asked, too.
    call(&world, &[&words(&args)[..], &["--name", "script"]].concat()).assert_code(0);
    let other = world.new_repo("other");
    let mut elsewhere = windlass(&world, &words(&args));
    elsewhere.current_dir(other.path());
    world.run(elsewhere).assert_code(2);
    call(&world, &["trust", "--revoke"]).assert_code(0);
    call(&world, &words(&args)).assert_code(2);
}

#[test]
fn agent_programs_do_not_run_without_a_sandbox_until_somebody_agreed() {
    let world = bare();
    let mark = world.root().join("started");
    world.install_script("claude", &format!("touch '{}'; echo '2.1.325 (Claude Code)'", mark.display()));
    call(&world, &["agents", "--json"]).assert_code(0);
    call(&world, &["doctor"]);
    let refused = call(&world, &["agents", "--call"]);
    refused
        .assert_code(2)
        .assert_stderr_has("no sandbox is available on this machine")
        .assert_stderr_has("WINDLASS_SANDBOX=off");
    assert!(!mark.exists());
    let mut off = windlass(&world, &["agents", "--json"]);
    off.env("WINDLASS_SANDBOX", "off");
    world.run(off).assert_code(0);
    assert!(mark.exists());
}

#[test]
fn the_demo_works_without_a_sandbox_and_says_so() {
    let world = bare();
    let output = call(&world, &["demo"]);
    output.assert_code(0);
    assert!(
        output.stdout.contains("No sandbox is available on this machine (bubblewrap does not work on this machine"),
        "{}",
        output.shown()
    );
}

#[test]
// promise: work-19
fn refs_that_moved_in_the_users_repository_are_reported_with_where_they_were() {
    let world = World::new();
    let old = world.repo().head();
    world.repo().git(["branch", "side"]);
    let repo = world.repo().path().display().to_string();
    let moves = format!(
        "echo 1 > a; git add a; git commit -qm mine; n=$(git rev-parse HEAD); git push -q '{repo}' HEAD:refs/heads/new; \
         git -C '{repo}' update-ref refs/heads/main $n; git -C '{repo}' update-ref -d refs/heads/side"
    );
    let agent = world.script(&format!("[[turn]]\nsteps = [{{ run = {moves:?} }}, {{ say = \"{PROMISE}\" }}]\n"));
    run(&world, &agent, &["--gate", "test -f a"])
        .assert_code(0)
        .assert_stdout_has("everything that the command prints, JSON lines included")
        .assert_stdout_has(
            "refs of your repository changed during the turn and were left as they are: refs/heads/main was ",
        );
    let now = world.repo().rev("main");
    assert_ne!(now, old, "Windlass moves nothing back");
    let moved = serde_json::json!([
        { "name": "refs/heads/main", "from": old, "to": now },
        { "name": "refs/heads/new", "from": null, "to": now },
        { "name": "refs/heads/side", "from": old, "to": null },
    ]);
    let status = status(&world, "work");
    assert_eq!(status["moved_refs"], moved);
    assert_eq!(status["history"][0]["checkpoint"]["moved_refs"], moved);
}

/// Of a loop without a sandbox whose agent does this and claims: whether it is verified.
fn is_verified(world: &World, name: &str, does: &str, gate: &str) -> bool {
    let agent = world.script(&format!("[[turn]]\nsteps = [{{ run = {does:?} }}, {{ say = \"{PROMISE}\" }}]\n"));
    let command = agent.command_line();
    let args = ["run", "do it", "--name", name, "--agent-command", &command, "--gate", gate, "--no-baseline"];
    call(world, &[&args[..], &["--max-iterations", "1"]].concat());
    status(world, name)["verified"] == true
}

#[test]
// promise: gates-13
fn links_that_lead_out_block_a_claim_unless_the_base_has_them() {
    let world = World::new();
    let outside = world.root().join("outside");
    std::fs::write(&outside, "42\n").unwrap();
    std::os::unix::fs::symlink(&outside, world.repo().path().join("mine")).unwrap();
    world.repo().commit("A link of the user's own");
    let outside = outside.display();
    assert!(is_verified(&world, "own", "echo 1 > work", "test -f work"));
    assert!(!is_verified(&world, "new", &format!("ln -s '{outside}' theirs"), "test -e theirs"));
    let held = &status(&world, "new")["history"][0]["checkpoint"]["held_back"];
    assert_eq!(*held, serde_json::json!([format!("theirs (a link to {outside}, outside the repository)")]));
    assert!(!is_verified(&world, "moved", &format!("mv mine theirs; ln -s '{outside}' mine"), "test -e theirs"));
}

#[test]
// promise: gates-13
fn without_a_sandbox_committed_files_that_name_the_workspace_are_reported() {
    let world = World::new();
    world.repo().write(".gitignore", "*.log\n").commit("base");
    let reads = "echo 42 > kept.log; echo \"cat '$PWD/kept.log'\" > check.sh";
    let agent = world.script(&format!("[[turn]]\nsteps = [{{ run = {reads:?} }}, {{ say = \"{PROMISE}\" }}]\n"));
    let output = run(&world, &agent, &["--gate", "test \"$(sh check.sh)\" = 42", "--no-baseline"]);
    output.assert_stdout_has("without a sandbox gates may read it: check.sh").assert_stdout_has("sandbox off");
}

#[test]
// promise: gates-13
fn outcome_report_and_proof_name_a_sandbox_that_was_off() {
    let world = World::new();
    assert!(is_verified(&world, "work", "echo 1 > work", "test -f work"));
    call(&world, &["status", "work"]).assert_stdout_has("sandbox off, so the result may depend on other files");
    call(&world, &["report", "work"]).assert_stdout_has("verified, sandbox off");
    call(&world, &["proof", "work", "--format", "markdown"])
        .assert_stdout_has("off: the result may depend on other files");
}

#[test]
// promise: safety-13
fn without_a_sandbox_git_pushes_to_no_remote_by_address_and_to_local_paths_as_ever() {
    let world = World::new();
    let at = |name: &str| world.root().join(name).display().to_string();
    for name in ["remote.git", "other.git"] {
        world.repo().git(["init", "-q", "--bare", &at(name)]);
    }
    let (remote, other) = (at("remote.git"), at("other.git"));
    world.repo().git(["remote", "add", "origin", &remote]);
    let pushes = format!(
        "echo 1 > work; git add -A; git commit -qm mine; git push -q origin HEAD:a; git push -q '{remote}' HEAD:b; \
         git push -q 'file://{remote}' HEAD:c; git push -q --no-verify '{remote}' HEAD:d; git push -q '{other}' HEAD:e; \
         git remote add mine '{remote}'; git push -q mine HEAD:f; git push -q ssh://127.0.0.1:1/x HEAD:g 2> said; \
         grep -q this-clone-pushes-nowhere said && rm said"
    );
    assert!(is_verified(&world, "work", &pushes, "test -f work && ! test -e said"));
    let branches = |repo: &str| world.repo().git(["--git-dir", repo, "for-each-ref", "--format=%(refname:short)"]);
    assert_eq!(branches(&remote).trim(), "");
    assert_eq!(branches(&other).trim(), "e");
}
