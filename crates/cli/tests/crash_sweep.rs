//! The crash sweep: the whole program is killed with -9 at every fault point, every time it is passed, and resumed;
//! what comes out is compared with a run that nothing disturbed.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::*;
use windlass_testkit::World;

/// Where the program can be made to die. `append.*` is passed around every write to the journal.
const POINTS: [&str; 11] = [
    "create.before",
    "create.after",
    "append.before",
    "append.after",
    "turn.before_start",
    "turn.started",
    "turn.closed",
    "checkpoint.before",
    "checkpoint.after",
    "gate.before_start",
    "gate.closed",
];

/// Where a resumption can be made to die that finds a turn cut off.
const RECOVERY_POINTS: [&str; 4] = ["append.before", "append.after", "workspace.before_open", "turn.before_start"];

/// Around every git command; git itself goes on when the program is killed.
const GIT_POINTS: [&str; 2] = ["git.running", "git.ended"];

/// More often than this no point is passed; a sweep that comes here does not end.
const MOST: usize = 100;

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
    /// Iterations of the turns that came to an end of their own, as the journal has them.
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

/// A prompt without what differs from run to run by nature: commit ids.
fn bare(prompt: String) -> String {
    let is_id = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
    prompt
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| if is_id(word) { "ID" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// A run that is killed when it passes the point for the n-th time; the second one, if any, kills its resumption.
#[derive(Debug, Clone, PartialEq)]
struct Case {
    first: String,
    second: Option<String>,
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
        assert_eq!(world.repo().worktrees().len(), 2, "what was made before is removed");
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

/// The cases of one point, with growing count, until it is not passed so often.
struct Series {
    point: &'static str,
    /// Where the run is killed that is resumed and killed again.
    before: Option<&'static str>,
    next: usize,
    over: bool,
}

impl Series {
    fn case(&self, count: usize) -> Case {
        let at = format!("{}:{count}", self.point);
        match self.before {
            None => Case { first: at, second: None },
            Some(before) => Case { first: before.to_owned(), second: Some(at) },
        }
    }
}

/// Plays all cases, some at once; returns how many there were and what went wrong.
fn sweep(series: Vec<Series>, undisturbed: &EndState) -> (usize, Vec<String>) {
    const AT_ONCE: usize = 5;
    let series = Mutex::new(series);
    let failures = Mutex::new(Vec::new());
    let cases = AtomicUsize::new(0);
    let next = || {
        let mut series = series.lock().unwrap();
        let index = (0..series.len()).filter(|i| !series[*i].over).min_by_key(|i| series[*i].next)?;
        series[index].next += 1;
        Some((index, series[index].next - 1, series[index].case(series[index].next - 1)))
    };
    let work = || {
        while let Some((index, count, case)) = next() {
            let failure = match std::panic::catch_unwind(|| killed_at(&case)) {
                Ok(None) => {
                    series.lock().unwrap()[index].over = true;
                    (count == 1).then(|| "never passed".to_owned())
                }
                Ok(Some(end)) if end == *undisturbed => None,
                Ok(Some(end)) => Some(difference(&end, undisturbed)),
                Err(panic) => Some(panic.downcast_ref::<String>().cloned().unwrap_or_default()),
            };
            cases.fetch_add(1, Ordering::Relaxed);
            if count >= MOST {
                series.lock().unwrap()[index].over = true;
            }
            if let Some(failure) = failure {
                failures.lock().unwrap().push(format!("{case:?}\n{failure}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    (cases.into_inner(), failures.into_inner().unwrap())
}

/// The lines in which two ends differ.
fn difference(end: &EndState, undisturbed: &EndState) -> String {
    let (end, undisturbed) = (format!("{end:#?}"), format!("{undisturbed:#?}"));
    let only = |these: &str, those: &str, mark: &str| -> String {
        let those: Vec<&str> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("{}{}{end}", only(&undisturbed, &end, "-"), only(&end, &undisturbed, "+"))
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
fn wherever_it_is_killed_the_end_is_the_same() {
    let undisturbed = undisturbed();
    let series = POINTS.iter().map(|point| Series { point, before: None, next: 1, over: false });
    let (cases, failures) = sweep(series.collect(), &undisturbed);
    assert!(failures.is_empty(), "{} of {cases} cases\n{}", failures.len(), failures.join("\n\n"));
    assert!(cases > POINTS.len() * 2, "only {cases} cases");
}

#[test]
fn wherever_the_resumption_is_killed_the_end_is_the_same() {
    let undisturbed = undisturbed();
    let series =
        RECOVERY_POINTS.iter().map(|point| Series { point, before: Some("turn.before_start:3"), next: 1, over: false });
    let (cases, failures) = sweep(series.collect(), &undisturbed);
    assert!(failures.is_empty(), "{} of {cases} cases\n{}", failures.len(), failures.join("\n\n"));
    assert!(cases > RECOVERY_POINTS.len(), "only {cases} cases");
}

#[test]
fn whatever_git_was_doing_the_end_is_the_same() {
    let undisturbed = undisturbed();
    let series = GIT_POINTS.iter().map(|point| Series { point, before: None, next: 1, over: false });
    let (cases, failures) = sweep(series.collect(), &undisturbed);
    assert!(failures.is_empty(), "{} of {cases} cases\n{}", failures.len(), failures.join("\n\n"));
    assert!(cases > 20, "only {cases} cases");
}
