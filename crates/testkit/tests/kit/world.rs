//! The temp world is hermetic, its helpers see what is there, and its waits are on events.

use std::path::Path;

use rustix::process::Signal;
use windlass_testkit::{Stream, World, alive, wait_dead};

#[test]
fn programs_see_only_the_worlds_environment() {
    let world = World::new();
    let output = world.run(world.command("env"));
    let names: Vec<&str> = output.stdout.lines().filter_map(|l| Some(l.split_once('=')?.0)).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let expected = [
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "HOME",
        "LANG",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "WINDLASS_CONFIG",
        // The tag of the world, by which what was left behind is found.
        "WINDLASS_ENV_PASS",
        "WINDLASS_HOME",
        "WINDLASS_SANDBOX",
        "WINDLASS_TEST_WORLD",
    ];
    assert_eq!(sorted, expected);
    output.assert_stdout_has(&format!("HOME={}", world.home().display()));
}

#[test]
fn the_repository_starts_with_one_commit_on_main() {
    let world = World::new();
    let repo = world.repo();
    assert_eq!(repo.branches(), ["main"]);
    assert_eq!(repo.commits("main").len(), 1);
    assert_eq!(repo.tree_files("HEAD"), ["README.md"]);
    assert_eq!(repo.file_at("HEAD", "README.md"), "# A project\n");
    assert_eq!(repo.worktrees(), [repo.path()]);
}

#[test]
fn commits_are_read_with_their_trailers() {
    let world = World::new();
    let repo = world.repo();
    repo.write("dir/ü.txt", "x");
    let id = repo.commit("Second\n\nWhy.\n\nWindlass-Loop: fix\nWindlass-Iteration: 2");
    let commits = repo.commits("main");
    assert_eq!(commits[0].id, id);
    assert_eq!((commits[0].subject.as_str(), commits[0].author.as_str()), ("Second", "Test"));
    assert_eq!(commits[0].trailer("Windlass-Iteration"), Some("2"));
    assert_eq!(commits[0].trailer("Windlass-Turn"), None);
    assert_eq!(commits[1].trailers, []);
    assert_eq!(repo.tree_files("main"), ["README.md", "dir/ü.txt"]);
    assert_eq!(repo.refs("refs/"), ["refs/heads/main"]);
}

#[test]
fn odd_repositories_can_be_made() {
    let world = World::new();
    let empty = world.new_repo_without_commit("empty");
    assert!(!empty.try_git(["rev-parse", "--verify", "HEAD"]).success());
    let other = world.new_repo("other");
    other.git(["checkout", "--quiet", "--detach"]);
    assert_eq!(other.git(["branch", "--show-current"]), "");
    let plain = world.new_dir("plain");
    assert!(!other.at(&plain).try_git(["status"]).success());
}

#[test]
fn installed_programs_come_first_on_the_path() {
    let world = World::new();
    world.install_script("greet", "echo \"hello $1\"");
    world.install_link("say", Path::new("/bin/echo"));
    let mut command = world.command("sh");
    command.args(["-c", "greet you; say there"]);
    assert_eq!(world.run(command).stdout, "hello you\nthere\n");
}

#[test]
fn two_worlds_and_two_scripts_do_not_meet() {
    let (one, two) = (World::new(), World::new());
    assert_ne!(one.root(), two.root());
    let script = "[[turn]]\nsteps = [{ say = \"x\" }]";
    let (a, b) = (one.script(script), one.script(script));
    one.run(one.agent(&a)).assert_code(0);
    assert_eq!((a.turns().len(), b.turns().len()), (1, 0));
}

#[test]
fn the_command_line_starts_the_agent_when_split_into_words() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [\"echo_prompt\"]");
    let mut command = world.command("sh");
    command.args(["-c", &agent.command_line_with("--prompt 'a b'")]);
    assert_eq!(world.run(command).stdout, "a b\n");
}

#[test]
fn a_running_program_is_followed_line_by_line_and_signalled() {
    let world = World::new();
    let mut command = world.command("sh");
    command.args(["-c", "trap 'echo got it; exit 4' TERM; echo ready >&2; while :; do read x; done"]);
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    command.stdin(reader);
    let mut running = world.start(command);
    assert_eq!(running.wait_line(Stream::Stderr, "read"), "ready");
    assert!(alive(running.pid()) && !running.ended());
    assert_eq!(world.processes().len(), 1);
    running.signal(Signal::TERM);
    assert_eq!(running.wait_line(Stream::Stdout, ""), "got it");
    let pid = running.pid();
    running.wait().assert_code(4);
    wait_dead(pid);
    assert!(!alive(pid));
}

#[test]
#[should_panic(expected = "the stream ended")]
fn waiting_for_a_line_that_never_comes_ends_with_the_stream() {
    let world = World::new();
    let mut command = world.command("echo");
    command.arg("something");
    world.start(command).wait_line(Stream::Stdout, "something else");
}

#[test]
#[should_panic(expected = "expected exit code 0")]
fn a_failed_assertion_shows_the_output() {
    let world = World::new();
    world.run(world.command("false")).assert_code(0);
}

#[test]
fn processes_are_found_by_their_environment() {
    let mut world = World::new();
    world.set_env("MARK", "here");
    let mut command = world.command("sleep");
    command.arg("1000");
    let running = world.start(command);
    // The command that starts has the environment only after exec; `start` returns after that.
    let found = windlass_testkit::processes_with_env("MARK", "here");
    assert_eq!(found.iter().map(|p| p.pid).collect::<Vec<_>>(), [running.pid()]);
    assert_eq!(found[0].command, "sleep 1000");
    running.kill();
    running.wait();
    world.wait_no_processes();
}
