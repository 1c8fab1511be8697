//! What the tests of the whole program share: starting it in a world, reading what it says, killing it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use windlass_testkit::{Commit, Output, Running, ScriptedAgent, World};

pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// The program under test.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_windlass"))
}

pub fn windlass(world: &World, args: &[&str]) -> Command {
    let mut command = world.windlass(binary());
    command.args(args);
    command
}

/// Runs it to its end.
#[track_caller]
pub fn call(world: &World, args: &[&str]) -> Output {
    world.run(windlass(world, args))
}

/// `windlass run` of a loop called `work` with this agent.
pub fn run_command(world: &World, agent: &ScriptedAgent, more: &[&str]) -> Command {
    let agent = agent.command_line();
    let mut args = vec!["run", "do the work", "--name", "work", "--agent-command", &agent];
    args.extend(more);
    windlass(world, &args)
}

#[track_caller]
pub fn run(world: &World, agent: &ScriptedAgent, more: &[&str]) -> Output {
    world.run(run_command(world, agent, more))
}

pub fn start(world: &World, agent: &ScriptedAgent, more: &[&str]) -> Running {
    world.start(run_command(world, agent, more))
}

/// Agrees to what the repository's own files run.
#[track_caller]
pub fn trust(world: &World) {
    call(world, &["trust", "--yes"]).assert_code(0);
}

#[track_caller]
pub fn status(world: &World, name: &str) -> Value {
    call(world, &["status", name, "--json"]).assert_code(0).json()
}

/// The feed as it is stored.
#[track_caller]
pub fn feed(world: &World, name: &str) -> Vec<Value> {
    let items = call(world, &["logs", name, "--json"]).assert_code(0).json_lines();
    check_feed(&items);
    items
}

/// What holds for every feed: each item has a number, a time and a type, and numbers never go back.
#[track_caller]
pub fn check_feed(items: &[Value]) {
    let mut last = 0;
    for item in items {
        let seq = item["seq"].as_u64().unwrap_or_else(|| panic!("no seq: {item}"));
        assert!(item["type"].is_string(), "no type: {item}");
        let at = item["at"].as_str().unwrap_or_else(|| panic!("no time: {item}"));
        assert!(at.ends_with('Z') && at.contains('T'), "not RFC 3339 in UTC: {at}");
        assert!(seq >= last, "numbers go back at {item}");
        last = seq;
    }
}

pub fn types(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["type"].as_str()).collect()
}

pub fn of_type<'a>(items: &'a [Value], name: &str) -> Vec<&'a Value> {
    items.iter().filter(|item| item["type"] == name).collect()
}

/// The commits of a loop's branch, oldest first, without what was there before.
pub fn commits(world: &World, name: &str) -> Vec<Commit> {
    let mut commits = world.repo().commits(&format!("main..windlass/{name}"));
    commits.reverse();
    commits
}

/// The iteration that each commit's trailer names, oldest first.
pub fn committed_iterations(world: &World, name: &str) -> Vec<String> {
    commits(world, name).iter().map(|one| one.trailer("Windlass-Iteration").unwrap_or("none").to_owned()).collect()
}

pub fn file_at_branch(world: &World, name: &str, path: &str) -> String {
    world.repo().file_at(&format!("windlass/{name}"), path)
}

/// The iteration and attempt of every start of the agent.
pub fn starts(agent: &ScriptedAgent) -> Vec<(usize, usize)> {
    agent.turns().iter().filter_map(|turn| turn.id()).map(|id| (id.iteration, id.attempt)).collect()
}

/// The most memory a process has had, in MB.
pub fn peak_memory_mb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it still runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1024
}

/// Lock files that git left in a directory.
pub fn locks_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push(path);
            } else if path.extension().is_some_and(|ending| ending == "lock") {
                found.push(path);
            }
        }
    }
    found
}

/// A gate whose verdict the test decides at each run. In a sandbox gates share no file with each other that they can write, so it
/// reads the verdict from a pipe that it may read.
pub struct DecidedGate {
    pub command: String,
    runs: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl DecidedGate {
    pub fn new(world: &mut World, passes: impl Fn(usize) -> bool + Send + 'static) -> Self {
        use std::io::Write as _;
        use std::sync::atomic::Ordering;
        let dir = world.new_dir("decided");
        let pipe = dir.join("verdict");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        world.set_env("WINDLASS_SANDBOX_READABLE", &dir);
        let runs = std::sync::Arc::<std::sync::atomic::AtomicUsize>::default();
        let command = format!("read verdict < '{}'; $verdict", pipe.display());
        let counted = std::sync::Arc::clone(&runs);
        // It waits for the next run until the program ends.
        std::thread::spawn(move || {
            while let Ok(mut reader) = std::fs::OpenOptions::new().write(true).open(&pipe) {
                let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
                let said = writeln!(reader, "{}", passes(run));
                // The next one to open it is another run only once this one has closed it.
                while said.is_ok() && reader.write_all(b"\n").is_ok() {
                    std::thread::yield_now();
                }
            }
        });
        Self { command, runs }
    }

    pub fn runs(&self) -> usize {
        self.runs.load(std::sync::atomic::Ordering::SeqCst)
    }
}
