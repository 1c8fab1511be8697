//! Where things are measured: repositories of a known size in a world of their own, and the program under test.

use std::path::Path;
use std::process::{Command, Stdio};

use windlass_testkit::{Repo, World};

/// The program under test, built with the same profile as this one.
pub fn windlass() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_windlass"))
}

/// This program, which is also an agent.
pub fn myself() -> String {
    let path = std::env::current_exe().expect("a running program has a path");
    path.to_str().expect("build directories are UTF-8").to_owned()
}

/// A repository with so many small files in directories of a hundred.
pub fn repository(world: &World, name: &str, files: usize) -> Repo {
    let repo = world.new_repo(name);
    for number in 0..files {
        let path = format!("src/d{:03}/f{number:05}.txt", number / 100);
        let path = repo.path().join(path);
        if number % 100 == 0 {
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("the world is writable");
        }
        std::fs::write(path, format!("file number {number}\n")).expect("the world is writable");
    }
    repo.commit("files");
    repo
}

/// Runs it without output; it must succeed.
pub fn quietly(mut command: Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).status();
    let status = status.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Runs a `windlass run` that ends at its limit of iterations, which is exit code 3.
pub fn to_its_limit(mut command: Command) {
    let status = command.stdout(Stdio::null()).status().expect("it starts");
    assert_eq!(status.code(), Some(3), "{command:?}");
}

/// `windlass run` of a loop whose agent never says that it is done.
pub fn run_to_limit(world: &World, repo: &Path, agent: &str, iterations: usize, more: &[&str]) -> Command {
    let mut command = world.windlass(windlass());
    let limit = iterations.to_string();
    command.current_dir(repo).args(["run", "measure it", "--agent-command", agent, "--max-iterations", &limit]);
    command.args(more);
    command
}
