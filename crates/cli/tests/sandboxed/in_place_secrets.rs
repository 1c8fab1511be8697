//! Secrets that an agent commits in the user's own checkout: found, told with a way to remove them, and no claim counts until then.

use crate::support::*;

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Two turns, each a line for the shell, and a claim.
fn script(first: &str, second: &str) -> String {
    let turn = |line: &str| format!("[[turn]]\nsteps = [{{ run = {line:?} }}, {{ say = \"{PROMISE}\" }}]\n");
    turn(first) + &turn(second)
}

#[test]
// promise: work-10
fn in_place_a_ref_of_the_agents_with_a_secret_is_named_and_blocks_the_claim_until_it_is_gone() {
    for name in ["refs/tags/v1", "refs/heads/windlass/side", "refs/windlass/mine/x", "refs/stash"] {
        let Some(world) = crate::sandboxed() else { return };
        let keep = match name {
            "refs/stash" => "git reset -q --soft HEAD~1; git stash -q".to_owned(),
            name => format!("git update-ref {name} HEAD; git rm -q key; git commit -qm clean"),
        };
        let first = format!("echo {KEY} > key; git add key; git commit -qm mine; {keep}; echo 1 > ok");
        let agent = world.script(&script(&first, &format!("git update-ref -d {name}; echo 2 > ok")));
        let held = format!("held back: {name} (key: github-token; `git update-ref -d {name}` removes it)");
        let out = run(&world, &agent, &["--in-place"]);
        out.assert_code(0).assert_stdout_has(&held).assert_stdout_has("claim refused: some files are held back");
        let seen = status(&world, "work");
        assert_eq!((&seen["iterations"], &seen["claims"]["refused"]), (&2.into(), &1.into()), "{name}");
        assert!(agent.prompts()[1].contains(&format!("`git update-ref -d {name}`")), "{}", agent.prompts()[1]);
        assert!(!world.repo().git(["log", "--all", "-p"]).contains(KEY), "{name}");
    }
}

#[test]
// promise: work-10
fn in_place_replaced_commits_are_told_with_how_to_remove_them_for_good() {
    let Some(world) = crate::sandboxed() else { return };
    let first = format!("echo {KEY} > key; echo 1 > ok; git add -A; git commit -qm mine");
    let agent = world.script(&script(&first, "rm key; echo 2 > ok"));
    let forget = "git reflog expire --expire-unreachable=now --all && git gc --prune=now";
    run(&world, &agent, &["--in-place"])
        .assert_code(0)
        .assert_stdout_has("held back: key (line 1: github-token)")
        .assert_stdout_has(forget);
    let stored = || world.repo().git(["cat-file", "--batch-all-objects", "--unordered", "--batch"]).contains(KEY);
    assert!(!world.repo().git(["log", "--all", "-p"]).contains(KEY));
    assert!(stored(), "the agent's own git stored it");
    let removed = world.command("sh").args(["-c", forget]).current_dir(world.repo().path()).status();
    assert!(removed.unwrap().success());
    assert!(!stored(), "what was told removes it");
}

#[test]
// promise: work-10
fn in_place_without_commits_of_windlass_those_of_the_agent_are_searched() {
    let Some(world) = crate::sandboxed() else { return };
    let base = world.repo().head();
    let first = format!("echo {KEY} > key; git add key; git commit -qm mine; git rm -q key; git commit -qm clean");
    let second = format!("git reset -q --soft {base}; echo 1 > ok; git add ok; git commit -qm ok");
    let agent = world.script(&script(&first, &second));
    let out = run(&world, &agent, &["--in-place", "--commit", "off"]);
    let told = format!("`git reset --soft {}` and a new commit remove it", &base[..12]);
    out.assert_code(0).assert_stdout_has("held back: key (line 1: github-token), in a commit").assert_stdout_has(&told);
    assert_eq!(status(&world, "work")["claims"]["refused"], 1);
}
