//! Unusual and bad places: what is not a repository, odd environments, data directories that cannot be used.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::support::*;
use windlass_testkit::{Output, World};

const CLAIMS: &str = r#"
    [[turn]]
    steps = [{ write = { path = "made", content = "1\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// Wrong use is told in words with a way out, and nothing is made.
#[track_caller]
fn assert_wrong_use(world: &World, out: &Output, says: &str) {
    out.assert_code(2).assert_stderr_has(says);
    assert!(out.stderr.starts_with("error: ") && out.stderr.contains("\nhint: "), "{}", out.shown());
    let rows = call(world, &["list", "--all", "--json"]).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(0), "nothing is created");
}

fn run_in(world: &World, dir: &Path, more: &[&str]) -> Output {
    let agent = world.script(CLAIMS);
    let mut command = run_command(world, &agent, more);
    command.current_dir(dir);
    world.run(command)
}

#[test]
// promise: work-8
fn a_directory_that_is_no_repository() {
    let world = World::new();
    let dir = world.new_dir("plain");
    let out = run_in(&world, &dir, &[]);
    assert_wrong_use(&world, &out, "not inside a git repository");
}

#[test]
// promise: work-8
fn a_bare_repository() {
    let world = World::new();
    let dir = world.new_dir("bare.git");
    world.repo().git(["init", "--quiet", "--bare", dir.to_str().unwrap()]);
    let out = run_in(&world, &dir, &[]);
    assert_wrong_use(&world, &out, "bare");
}

#[test]
// promise: work-8
fn a_repository_without_commits() {
    let world = World::new();
    let repo = world.new_repo_without_commit("empty");
    let out = run_in(&world, repo.path(), &[]);
    assert_wrong_use(&world, &out, "commit");
}

#[test]
// promise: work-1
fn a_dirty_tree_is_left_alone_and_counted_aloud() {
    let world = World::new();
    world.repo().write("README.md", "changed\n").write("new", "untracked\n");
    let out = run_in(&world, world.repo().path(), &[]);
    out.assert_code(0).assert_stdout_has("2 uncommitted files are not included");
    assert_eq!(world.repo().read("README.md"), "changed\n");
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "made"]);
}

#[test]
// promise: work-2
fn in_place_refuses_a_dirty_tree_unless_told_otherwise() {
    let world = World::new();
    world.repo().write("new", "untracked\n");
    let out = run_in(&world, world.repo().path(), &["--in-place"]);
    assert_wrong_use(&world, &out, "uncommitted");
    run_in(&world, world.repo().path(), &["--in-place", "--allow-dirty"]).assert_code(0);
    assert_eq!(world.repo().git(["branch", "--show-current"]), "main");
    assert_eq!(world.repo().tree_files("main"), ["README.md", "made", "new"]);
}

#[test]
fn in_place_works_in_the_checkout_and_on_its_branch() {
    let world = World::new();
    run_in(&world, world.repo().path(), &["--in-place", "--gate", "test -f made"]).assert_code(0);
    let commits = world.repo().commits("main");
    assert_eq!(commits[0].trailer("Windlass-Iteration"), Some("1"));
    assert_eq!(world.repo().status(), "");
    assert_eq!(world.repo().branches(), ["main"]);
}

#[test]
fn a_detached_head_is_a_base_like_any_other() {
    let world = World::new();
    world.repo().git(["checkout", "--quiet", "--detach"]);
    run_in(&world, world.repo().path(), &[]).assert_code(0);
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "made"]);
}

#[test]
fn a_subdirectory_is_in_the_project() {
    let world = World::new();
    world.repo().write("deep/er/file", "1\n").commit("Deep");
    let agent = world.script(CLAIMS);
    let agent = agent.command_line();
    let dir = world.repo().path().join("deep/er");
    let dir = dir.to_str().unwrap();
    let mut command = windlass(&world, &["-C", dir, "run", "x", "--name", "work", "--agent-command", &agent]);
    command.current_dir(world.root());
    world.run(command).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["project"].as_str(), world.repo().path().to_str());
    assert!(world.repo().tree_files("windlass/work").contains(&"deep/er/made".to_owned()), "the agent works there");
}

#[test]
fn a_linked_worktree_of_the_users_own_works_too() {
    let world = World::new();
    let side = world.root().join("side");
    world.repo().git(["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    run_in(&world, &side, &[]).assert_code(0);
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "made"]);
}

#[test]
fn spaces_and_other_letters_in_paths() {
    let world = World::new();
    let repo = world.new_repo("ein Ärger mit 文字 'n so");
    let mut command = run_command(&world, &world.script(CLAIMS), &["--gate", "test -f made"]);
    command.current_dir(repo.path()).env("WINDLASS_HOME", world.root().join("da ta ü"));
    world.run(command).assert_code(0);
    assert_eq!(repo.tree_files("windlass/work"), ["README.md", "made"]);
}

#[test]
// promise: context-8
fn a_goal_with_anything_in_it_reaches_the_agent_as_it_is() {
    let world = World::new();
    let goal = "He said \"it's\" `date` $(touch gone) {prompt} {{x}} \\n %s\nline two\t\u{1F980} --gate";
    let agent = world.script(CLAIMS);
    let line = agent.command_line_with("--prompt {prompt}");
    call(&world, &["run", goal, "--name", "work", "--agent-command", &line]).assert_code(0);
    assert!(agent.prompts()[0].contains(goal), "{}", agent.prompts()[0]);
    assert!(!world.repo().path().join("gone").exists());
    assert_eq!(status(&world, "work")["goal"], goal);
}

#[test]
fn a_goal_from_stdin_and_from_a_file() {
    let world = World::new();
    let agent = world.script(CLAIMS);
    let line = agent.command_line();
    let out = world
        .run_with_input(windlass(&world, &["run", "-", "--name", "one", "--agent-command", &line]), "from stdin\n");
    out.assert_code(0);
    world.repo().write("../goal.md", "from a file\nof two lines\n");
    let file = world.root().join("goal.md");
    call(&world, &["run", "--prompt-file", file.to_str().unwrap(), "--name", "two", "--agent-command", &line])
        .assert_code(0);
    assert!(agent.prompts()[0].contains("from stdin"));
    assert!(agent.prompts()[1].contains("from a file\nof two lines"));
    let out = world.run_with_input(windlass(&world, &["run", "-", "--agent-command", &line]), " \n");
    out.assert_code(2).assert_stderr_has("hint: ");
}

#[test]
fn variables_that_are_not_utf_8_reach_the_agent_or_are_said_to_be_left_out() {
    let mut world = World::new();
    world.set_env("ODD", OsStr::from_bytes(b"\xff\xfe"));
    world.set_env(OsStr::from_bytes(b"N\xffME"), "x");
    run_in(&world, world.repo().path(), &["--gate", "true"]).assert_code(0);
}

#[test]
fn what_is_kept_is_closed_to_other_users() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |path: std::path::PathBuf| std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(world.data_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    call(&world, &["doctor"]).assert_stdout_has("was accessible to other users; now private");
    run_in(&world, world.repo().path(), &["--gate", "true"]).assert_code(0);
    assert_eq!((mode(world.data_dir()), mode(world.data_dir().join("windlass.db"))), (0o700, 0o600));
    let mut open = vec![world.data_dir().join("transcripts")];
    let mut files = 0;
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                files += 1;
                assert_eq!(mode(entry.path()) & 0o077, 0, "{}", entry.path().display());
            }
        }
    }
    assert!(files > 3);
}

#[test]
fn gates_run_whatever_the_users_shell_is() {
    for shell in
        [None, Some(""), Some("relative/sh"), Some("/no/such/shell"), Some("/bin/false"), Some("/usr/bin/fish")]
    {
        let world = World::new();
        let agent = world.script(CLAIMS);
        let mut command =
            run_command(&world, &agent, &["--gate", "test -f made && echo ok | grep -q ok", "--max-iterations", "1"]);
        command.env_remove("SHELL");
        if let Some(shell) = shell {
            command.env("SHELL", shell);
        }
        let out = world.run(command);
        // A shell that is there and does not work is the user's own; the others are not used.
        let expected = if shell == Some("/bin/false") { 3 } else { 0 };
        assert_eq!(out.code, Some(expected), "{shell:?}\n{}", out.shown());
    }
}

#[test]
fn a_home_that_cannot_be_written_is_no_obstacle() {
    let mut world = World::new();
    world.set_env("HOME", "/proc/no-home");
    run_in(&world, world.repo().path(), &[]).assert_code(0);
}

#[test]
fn without_a_home_the_data_directory_is_asked_for() {
    let world = World::new();
    let mut command = windlass(&world, &["list", "--all"]);
    command.env_remove("HOME").env_remove("WINDLASS_HOME").env_remove("XDG_DATA_HOME");
    let out = world.run(command);
    // Where the system knows the user's home it may be used; a failure must say what to set.
    assert!(out.code == Some(0) || out.stderr.contains("WINDLASS_HOME"), "{}", out.shown());
}

#[test]
fn a_very_long_data_path_still_has_a_socket() {
    let mut world = World::new();
    let long: PathBuf = world.root().join("d".repeat(80)).join("e".repeat(80));
    world.set_env("WINDLASS_HOME", &long);
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"at\" }, \"hang\"]");
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at");
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
}

#[test]
fn the_data_directory_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::new();
    let home = world.root().join("fresh");
    world.set_env("WINDLASS_HOME", &home);
    run_in(&world, world.repo().path(), &[]).assert_code(0);
    let mut todo = vec![home.clone()];
    while let Some(path) = todo.pop() {
        let mode = path.metadata().unwrap().permissions().mode();
        // Worktrees have the modes that git gives them; nobody else gets to them.
        let inside_worktree = path.strip_prefix(&home).unwrap().components().count() > 1;
        assert!(inside_worktree || !path.is_dir() || mode & 0o077 == 0, "{} is {mode:o}", path.display());
        if path.is_dir() && !inside_worktree {
            todo.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn a_corrupt_database_is_named_and_not_touched() {
    let world = World::new();
    let file = world.data_dir().join("windlass.db");
    let rubbish = "this is no database. ".repeat(1000);
    std::fs::write(&file, &rubbish).unwrap();
    let out = run_in(&world, world.repo().path(), &[]);
    out.assert_code(1).assert_stderr_has("windlass.db");
    assert!(out.stderr.contains("\nhint: "), "{}", out.shown());
    for words in [&["list", "--all"][..], &["status"], &["logs", "work"], &["stop", "work"], &["resume", "work"]] {
        let out = call(&world, words);
        assert_eq!(out.code, Some(1), "{words:?}\n{}", out.shown());
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), rubbish);
    assert_eq!(world.repo().branches(), ["main"]);
    call(&world, &["doctor"]).assert_code(1).assert_stdout_has("windlass.db");
}

/// A directory of its own file system, gone with the guard.
struct Mount(PathBuf);

impl Mount {
    /// `None` where mounting is not allowed; reports it.
    fn tmpfs(dir: PathBuf, options: &str) -> Option<Mount> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&dir)
            .output()
            .is_ok_and(|out| out.status.success());
        if !mounted {
            // The harness shows it with --no-capture; there is no way to make these places without the right to mount.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: tmpfs cannot be mounted here\n");
        }
        mounted.then_some(Mount(dir))
    }

    fn remount(&self, options: &str) {
        let out = std::process::Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).output();
        assert!(out.unwrap().status.success(), "remount {options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_read_only_data_directory_is_an_error_to_write_and_none_to_read() {
    let mut world = World::new();
    let dir = world.new_dir("ro");
    let Some(mount) = Mount::tmpfs(dir.clone(), "size=64m") else { return };
    world.set_env("WINDLASS_HOME", &dir);
    run_in(&world, world.repo().path(), &[]).assert_code(0);
    mount.remount("ro");
    let agent = world.script(CLAIMS);
    let line = agent.command_line();
    let out = call(&world, &["run", "x", "--name", "other", "--agent-command", &line]);
    out.assert_code(1).assert_stderr_has("WINDLASS_HOME");
    assert!(agent.turns().is_empty());
    assert_eq!(world.repo().branches(), ["main", "windlass/work"]);
    assert_eq!(status(&world, "work")["status"], "completed");
    call(&world, &["list"]).assert_code(0).assert_stdout_has("work");
    assert_eq!(feed(&world, "work").last().unwrap()["type"], "loop_stopped");
    call(&world, &["doctor"]).assert_code(1);
    drop(mount);
}

#[test]
fn a_fresh_data_directory_that_is_read_only() {
    let mut world = World::new();
    let dir = world.new_dir("ro");
    let Some(_mount) = Mount::tmpfs(dir.clone(), "size=1m,ro") else { return };
    world.set_env("WINDLASS_HOME", &dir);
    let out = run_in(&world, world.repo().path(), &[]);
    out.assert_code(1).assert_stderr_has("WINDLASS_HOME");
    call(&world, &["list", "--all"]).assert_code(0);
    assert_eq!(world.repo().branches(), ["main"]);
}

#[test]
fn a_full_disk_stops_the_loop_with_a_clear_error_and_it_goes_on_when_there_is_space() {
    let mut world = World::new();
    let dir = world.new_dir("small");
    let Some(mount) = Mount::tmpfs(dir.clone(), "size=6m") else { return };
    // Who checks the disk would pause the loop, if it came first.
    world.config("disk_free = 0\n");
    world.set_env("WINDLASS_HOME", &dir);
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ write = { path = "one", content = "1\n" } }, { say = "started" }]
        [[turn]]
        steps = [{ flood = { bytes = 50_000_000, line = 100 } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ write = { path = "two", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let out = run(&world, &agent, &["--gate", "test -f one"]);
    out.assert_code(1);
    let said = out.stderr.to_lowercase();
    assert!(said.contains("full") || said.contains("space"), "{}", out.shown());
    assert!(out.stderr.contains("hint: "), "{}", out.shown());
    world.wait_no_processes();
    mount.remount("size=200m");
    assert_eq!(status(&world, "work")["status"], "interrupted");
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(world.repo().tree_files("windlass/work"), ["README.md", "one", "two"]);
    assert_eq!(committed_iterations(&world, "work"), ["1", "2"]);
}

#[test]
fn a_disk_that_is_full_from_the_start_leaves_nothing_behind() {
    let mut world = World::new();
    let dir = world.new_dir("small");
    let Some(mount) = Mount::tmpfs(dir.clone(), "size=48k") else { return };
    world.set_env("WINDLASS_HOME", &dir);
    let out = run_in(&world, world.repo().path(), &[]);
    out.assert_code(1);
    let said = out.stderr.to_lowercase();
    assert!(said.contains("full") || said.contains("space"), "{}", out.shown());
    mount.remount("size=64m");
    run_in(&world, world.repo().path(), &[]).assert_code(0);
}
