//! The crash sweep: the whole program is killed with -9 at every fault point, every time it is passed, and resumed;
//! what comes out is compared with a run that nothing disturbed.

use crate::support::*;
use crate::sweep::{Case, Series, sweep};
use windlass_testkit::World;

/// Where the program can be made to die. `append.*` is passed around every write to the journal.
const POINTS: [&str; 13] = [
    "create.before",
    "create.after",
    "append.before",
    "append.after",
    "turn.before_start",
    "turn.started",
    "turn.closed",
    "checkpoint.before",
    "checkpoint.after",
    "commit.written",
    "commit.moved",
    "gate.before_start",
    "gate.closed",
];

/// Where a resumption can be made to die that finds a turn cut off.
const RECOVERY_POINTS: [&str; 4] = ["append.before", "append.after", "workspace.before_open", "turn.before_start"];

/// Around every git command; git itself continues when the program is killed.
const GIT_POINTS: [&str; 2] = ["git.running", "git.ended"];

/// Three iterations: works, claims too early, is right. What a turn does depends on its iteration alone, so that one
/// that was cut off is played again as it was.
const SCRIPT: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [
        { write = { path = "one", content = "1\n" } },
        { append = { path = "log", content = "{{iteration}}\n" } },
        { say = "A start." },
    ]
    [[turn]]
    steps = [
        { write = { path = "two", content = "2\n" } },
        { append = { path = "log", content = "{{iteration}}\n" } },
        { say = "<promise>COMPLETE</promise>" },
    ]
    [[turn]]
    steps = [
        { write = { path = "three", content = "3\n" } },
        { append = { path = "log", content = "{{iteration}}\n" } },
        { say = "<promise>COMPLETE</promise>" },
    ]
"#;

const GATES: [&str; 4] = ["--gate", "test -f one", "--gate", "test -f three"];

/// All that is compared.
#[derive(Debug, PartialEq)]
struct EndState {
    status: String,
    verified: bool,
    stop_reason: String,
    iterations: u64,
    claims: String,
    /// Of each checkpoint commit: iteration and subject.
    commits: Vec<(String, String)>,
    files: Vec<(String, String)>,
    /// Iterations of the turns that reached an end of their own, as the journal has them.
    finished: Vec<u64>,
    /// Verdicts that stand, by iteration.
    verdicts: Vec<(u64, u64, String)>,
    clean: bool,
    locks: Vec<std::path::PathBuf>,
    prompts: Vec<String>,
}

fn end_state(world: &World, agent: &windlass_testkit::ScriptedAgent) -> EndState {
    let status = status(world, "work");
    let feed = feed(world, "work");
    let branch = "windlass/work";
    let files = world.repo().tree_files(branch);
    let worktree = world.repo().at(status["worktree"].as_str().unwrap().as_ref());
    let finished: Vec<u64> = of_type(&feed, "turn_ended")
        .iter()
        .filter(|item| item["report"]["outcome"]["type"] == "finished")
        .filter_map(|item| item["turn"]["iteration"].as_u64())
        .collect();
    let last_prompt = |iteration: usize| {
        let turn = agent.turns().into_iter().rfind(|turn| turn.id().is_some_and(|id| id.iteration == iteration));
        let prompt = turn.and_then(|turn| agent.prompt_bytes(turn.number)).unwrap_or_default();
        String::from_utf8_lossy(&prompt).replace(world.root().to_str().unwrap(), "WORLD")
    };
    EndState {
        status: status["status"].as_str().unwrap().to_owned(),
        verified: status["verified"].as_bool().unwrap(),
        stop_reason: status["stop_reason"].to_string(),
        iterations: status["iterations"].as_u64().unwrap(),
        claims: status["claims"].to_string(),
        commits: commits(world, "work")
            .into_iter()
            .map(|one| (one.trailer("Windlass-Iteration").unwrap_or("none").to_owned(), one.subject))
            .collect(),
        files: files.iter().map(|file| (file.clone(), world.repo().file_at(branch, file))).collect(),
        prompts: finished.iter().map(|iteration| last_prompt(usize::try_from(*iteration).unwrap())).map(bare).collect(),
        finished,
        verdicts: of_type(&feed, "gate_ended")
            .iter()
            .map(|item| {
                let number = |key: &str| item["gate"][key].as_u64().unwrap();
                (number("iteration"), number("index"), item["report"]["verdict"].to_string())
            })
            .collect(),
        clean: worktree.status().is_empty(),
        locks: [world.repo().path(), &world.data_dir()].into_iter().flat_map(locks_below).collect(),
    }
}

/// A prompt without what differs from run to run by nature: commit ids, and that an attempt was cut off before.
fn bare(prompt: String) -> String {
    let is_id = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
    prompt
        .lines()
        .filter(|line| !line.starts_with("An earlier attempt at this turn was interrupted"))
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(|word| if is_id(word) { "ID" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Plays a case to its end; `None` if the last point was not passed so often.
fn killed_at(case: &Case) -> Option<EndState> {
    let world = World::new();
    let agent = world.script(SCRIPT);
    let mut command = run_command(&world, &agent, &GATES);
    command.env("WINDLASS_TEST_FAULT", &case.first);
    let out = world.run(command);
    let mut died = out.signal == Some(9);
    assert!(died || out.code == Some(0), "{}", out.shown());
    world.wait_no_processes();
    if let Some(second) = &case.second {
        assert!(died, "{}", out.shown());
        let mut command = windlass(&world, &["resume", "work"]);
        command.env("WINDLASS_TEST_FAULT", second);
        let out = world.run(command);
        died = out.signal == Some(9);
        assert!(died || out.code == Some(0), "{}", out.shown());
        world.wait_no_processes();
    }
    if !died {
        return None;
    }
    let created = call(&world, &["list", "--json"]).json().as_array().is_some_and(|rows| !rows.is_empty());
    if !created {
        // Killed before the loop was known: nobody was told of it, and the same command works.
        assert!(["create.before", "git."].iter().any(|early| case.first.starts_with(early)), "the loop is lost");
        run(&world, &agent, &GATES).assert_code(0);
        let clones = std::fs::read_dir(world.data_dir().join("worktrees")).unwrap().flatten();
        let clones = clones.filter(|entry| entry.path().join(".git").exists()).count();
        assert_eq!(clones, 1, "what was made before is removed");
        assert_eq!(world.repo().refs("refs/windlass/").len(), 1);
        return Some(end_state(&world, &agent));
    }
    let status = status(&world, "work");
    if status["status"] != "completed" {
        assert_eq!(status["status"], "interrupted", "{status}");
        call(&world, &["resume", "work"]).assert_code(0);
    }
    world.wait_no_processes();
    Some(end_state(&world, &agent))
}

fn undisturbed() -> EndState {
    let world = World::new();
    let agent = world.script(SCRIPT);
    run(&world, &agent, &GATES).assert_code(0);
    let undisturbed = end_state(&world, &agent);
    assert_eq!(undisturbed.finished, [1, 2, 3]);
    assert_eq!(undisturbed.claims, r#"{"made":2,"refused":1}"#);
    let iterations: Vec<&str> = undisturbed.commits.iter().map(|(iteration, _)| iteration.as_str()).collect();
    assert_eq!(iterations, ["1", "2", "3"]);
    assert!(undisturbed.clean && undisturbed.locks.is_empty());
    undisturbed
}

#[test]
// promise: recovery-1
fn wherever_it_is_killed_the_end_is_the_same() {
    let cases = sweep(Series::of(&POINTS, None), &undisturbed(), killed_at);
    assert!(cases > POINTS.len() * 2, "only {cases} cases");
}

#[test]
// promise: recovery-1
fn wherever_the_resumption_is_killed_the_end_is_the_same() {
    let cases = sweep(Series::of(&RECOVERY_POINTS, Some("turn.before_start:3")), &undisturbed(), killed_at);
    assert!(cases > RECOVERY_POINTS.len(), "only {cases} cases");
}

#[test]
fn whatever_git_was_doing_the_end_is_the_same() {
    let cases = sweep(Series::of(&GIT_POINTS, None), &undisturbed(), killed_at);
    assert!(cases > 20, "only {cases} cases");
}
