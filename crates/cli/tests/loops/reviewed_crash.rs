//! The crash sweep of a reviewed loop: two sections, a dirty audit, the audit of the whole, a post-action that is
//! taken back. The program is killed with -9 at every fault point, every time it is passed, and resumed; and stopped while git
//! hangs.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::reviewed::{CLEAN, WORKS, audited_command, audits, plan};
use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use windlass_testkit::{ScriptedAgent, World};

/// `append.after` is left out: what follows a write that is durable starts with one of the others.
const POINTS: [&str; 12] = [
    "create.after",
    "append.before",
    "turn.before_start",
    "turn.started",
    "turn.closed",
    "checkpoint.before",
    "checkpoint.after",
    "gate.before_start",
    "gate.closed",
    "seal.before",
    "seal.after",
    "undo.before",
];

const BUG: &str = r#"{"verdict": "dirty", "findings": [
    {"file": "coder.txt", "line": 1, "severity": "bug", "description": "too short"}]}"#;
const MENDED: &str = r#"{"verdict": "clean", "resolved": ["f1"], "section_summary": {"done": ["it"]}}"#;

/// The finisher's file is what the gate forbids.
const MORE: [&str; 6] =
    ["--plan", "plan.md", "--post-action", "tidy up", "--gate", "test -e coder.txt -a ! -e finisher.txt"];

/// All that is compared.
#[derive(Debug, PartialEq)]
struct EndState {
    status: String,
    verified: bool,
    stop_reason: String,
    iterations: u64,
    claims: String,
    /// Of each commit: iteration, section and subject.
    commits: Vec<(String, String, String)>,
    files: Vec<(String, String)>,
    findings: String,
    sections: Vec<(u64, String, String)>,
    /// Turns that reached an end of their own, as the journal has them, without their attempt.
    finished: Vec<(u64, String)>,
    rulings: Vec<String>,
    undone: usize,
    head_is_the_branch: bool,
    clean: bool,
    locks: Vec<PathBuf>,
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn end_state(world: &World) -> EndState {
    let status = status(world, "work");
    let feed = feed(world, "work");
    let branch = "windlass/work";
    let worktree = world.repo().at(status["worktree"].as_str().unwrap().as_ref());
    let mut findings = call(world, &["findings", "work", "--all", "--json"]).assert_code(0).json();
    for finding in findings.as_array_mut().unwrap() {
        // Which attempt wrote it tells of the kill.
        finding["written_in"]["attempt"] = 0.into();
        finding["status"]["resolved_in"]["attempt"] = 0.into();
    }
    EndState {
        status: text(&status["status"]),
        verified: status["verified"].as_bool().unwrap(),
        stop_reason: status["stop_reason"].to_string(),
        iterations: status["iterations"].as_u64().unwrap(),
        claims: status["claims"].to_string(),
        commits: commits(world, "work")
            .into_iter()
            .map(|one| {
                let trailer = |name: &str| one.trailer(name).unwrap_or("none").to_owned();
                (trailer("Windlass-Iteration"), trailer("Windlass-Section"), one.subject.clone())
            })
            .collect(),
        files: world
            .repo()
            .tree_files(branch)
            .into_iter()
            .map(|file| (file.clone(), world.repo().file_at(branch, &file)))
            .collect(),
        findings: findings.to_string(),
        sections: status["review"]["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["number"].as_u64().unwrap(), text(&one["title"]), text(&one["status"])))
            .collect(),
        finished: of_type(&feed, "turn_ended")
            .iter()
            .filter(|item| item["report"]["outcome"]["type"] == "finished")
            .map(|item| (item["turn"]["iteration"].as_u64().unwrap(), text(&item["turn"]["role"])))
            .collect(),
        rulings: of_type(&feed, "reviewed").iter().map(|item| text(&item["ruling"]["type"])).collect(),
        undone: of_type(&feed, "post_action_undone").len(),
        head_is_the_branch: status["head_commit"] == world.repo().rev(branch).as_str(),
        clean: worktree.status().is_empty(),
        locks: [world.repo().path(), &world.data_dir()].into_iter().flat_map(locks_below).collect(),
    }
}

/// What a turn does depends on its iteration alone, so that one that was cut off is played again as it was.
fn actors(world: &World) -> (ScriptedAgent, ScriptedAgent) {
    plan(world, 2);
    let by_iteration = |script: &str| world.script(&format!("select = \"iteration\"\n{script}"));
    (by_iteration(WORKS), by_iteration(&audits(&[BUG, MENDED, CLEAN])))
}

fn command(world: &World) -> Command {
    let (coder, auditor) = actors(world);
    audited_command(world, &coder, &auditor, &MORE)
}

fn killed_at(case: &Case) -> Option<EndState> {
    let world = crate::world();
    let mut command = command(&world);
    command.env("WINDLASS_TEST_FAULT", &case.first);
    let out = world.run(command);
    world.wait_no_processes();
    if out.signal != Some(9) {
        out.assert_code(0);
        return None;
    }
    let status = status(&world, "work");
    if status["status"] != "completed" {
        assert_eq!(status["status"], "interrupted", "{status}");
        call(&world, &["resume", "work"]).assert_code(0);
    }
    world.wait_no_processes();
    Some(end_state(&world))
}

#[test]
// promise: recovery-1
fn wherever_a_reviewed_loop_is_killed_the_end_is_the_same() {
    let world = crate::world();
    world.run(command(&world)).assert_code(0);
    let undisturbed = end_state(&world);
    assert_eq!(undisturbed.rulings, ["dirty", "clean", "clean", "clean"]);
    assert_eq!(undisturbed.finished.last(), Some(&(3, "finisher".to_owned())));
    assert_eq!(undisturbed.undone, 1);
    assert!(undisturbed.head_is_the_branch && undisturbed.clean && undisturbed.locks.is_empty());
    let cases = sweep(Series::of(&POINTS, None), &undisturbed, killed_at);
    assert!(cases > POINTS.len() * 3, "only {cases} cases");
}

/// A git that hangs where `condition` holds, until `held` is removed; it writes its process id to `reached` first.
fn hanging_git(world: &World, condition: &str) -> (PathBuf, PathBuf) {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let git = std::env::split_paths(&dirs).map(|dir| dir.join("git")).find(|path| path.is_file()).unwrap();
    let (held, reached) = (world.root().join("held"), world.root().join("reached"));
    std::fs::write(&held, "").unwrap();
    let script = format!(
        "if test -e '{0}' && {condition}; then\n  echo $$ > '{1}.new'; mv '{1}.new' '{1}'\n  \
         while test -e '{0}'; do sleep 0.05; done\nfi\nexec '{2}' \"$@\"",
        held.display(),
        reached.display(),
        git.display()
    );
    world.install_script("git", &script);
    (held, reached)
}

/// Whether a process runs; one that nobody asked for its end yet does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
// promise: control-1
fn stop_interrupts_a_commit_that_hangs_and_resume_makes_it() {
    let world = crate::world();
    world.run(command(&world)).assert_code(0);
    let undisturbed = end_state(&world);
    // With packed branches, every commit is git's.
    let pack = "test \"$1\" = add && command -p git --git-dir=\"$GIT_COMMON_DIR\" pack-refs --all";
    let in_workspace = "case \"$GIT_WORK_TREE\" in */worktrees/*) true;; *) false;; esac";
    let steps = [
        ("checkpoint", "test \"$1\" = add".to_owned()),
        ("seal", format!("{{ {pack}; case \" $* \" in *' --allow-empty '*) true;; *) false;; esac; }}")),
        ("undo", format!("test \"$1\" = read-tree && {in_workspace} && test -e \"$GIT_WORK_TREE/finisher.txt\"")),
    ];
    for (phase, condition) in steps {
        let world = crate::world();
        let command = command(&world);
        let (held, reached) = hanging_git(&world, &condition);
        let running = world.start(command);
        assert!(windlass_testkit::watch::wait_exists(&reached, Some(Duration::from_secs(60))).unwrap(), "{phase}");
        assert_eq!(status(&world, "work")["phase"], phase);
        call(&world, &["stop", "work"]).assert_code(0).assert_stdout_has("stopped");
        assert!(held.exists(), "{phase}: git would still hang");
        assert!(!runs(&std::fs::read_to_string(&reached).unwrap()), "{phase}: git still runs");
        running.wait().assert_code(4).assert_stdout_has("cancelled");
        std::fs::remove_file(held).unwrap();
        call(&world, &["resume", "work"]).assert_code(0);
        world.wait_no_processes();
        assert_eq!(end_state(&world), undisturbed, "{phase}");
    }
}
