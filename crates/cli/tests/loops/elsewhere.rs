//! Loops whose driver, or whose files, are on another machine or in another container.

use crate::support::*;
use windlass_store::{Access, Holder, ProcessIdentity, Seat, SqliteStore, Store};
use windlass_testkit::{Running, ScriptedAgent, World};

const WAITS: &str =
    "[[turn]]\nsteps = [{ touch = \"at\" }, { wait_for = \"go\" }, { say = \"<promise>COMPLETE</promise>\" }]";

/// The first iteration does the work; later ones only claim it.
const WORKS_ONCE: &str = r#"
    select = "iteration"
    [[turn]]
    steps = [{ write = { path = "work", content = "{{iteration}}\n" } }, { say = "<promise>COMPLETE</promise>" }]
    [[turn]]
    steps = [{ say = "<promise>COMPLETE</promise>" }]
"#;

/// Starts a loop in a mount namespace in which the kernel reports another boot ID, as a container with its own `/proc`
/// does; nothing where namespaces are not available.
fn start_with_another_boot(world: &World, agent: &ScriptedAgent) -> Option<Running> {
    let boot = world.root().join("boot_id");
    std::fs::write(&boot, "00000000-0000-4000-8000-000000000000\n").unwrap();
    let bind = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
    let isolated = |more: &[&std::ffi::OsStr]| {
        let mut command = world.command("unshare");
        command.args(["--mount", "sh", "-c", bind]).arg(&boot).args(more);
        command
    };
    let works = isolated(&["true".as_ref()]).output().is_ok_and(|output| output.status.success());
    if !works {
        let skipped = b"SKIPPED: this user cannot create a mount namespace\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), skipped);
        return None;
    }
    let run = run_command(world, agent, &[]);
    let mut command = isolated(&[run.get_program()]);
    command.args(run.get_args()).current_dir(world.repo().path());
    let running = world.start(command);
    agent.wait_touched("at");
    Some(running)
}

/// Changes what the lease says about the process that holds it.
fn rewrite_lease(world: &World, change: impl FnOnce(&mut ProcessIdentity)) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(world.data_dir().join("windlass.db"), Access::ReadWrite).unwrap();
        let id = status(world, "work")["id"].as_str().unwrap().to_owned();
        let Holder { mut seat, token } = store.holder(&id).await.unwrap().expect("a lease").holder;
        match &mut seat {
            Seat::Process { process, .. } => change(process),
            Seat::Worker { .. } => panic!("a worker on one machine"),
        }
        store.acquire(&id, Holder { seat, token }, None).await.unwrap();
    });
}

fn killed_in_its_turn(world: &World) -> ScriptedAgent {
    let agent = world.script(WAITS);
    let running = start(world, &agent, &[]);
    agent.wait_touched("at");
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    agent
}

#[test]
// promise: recovery-13
fn living_driver_with_another_boot_id_is_not_taken_for_dead() {
    let world = World::new();
    let agent = world.script(WAITS);
    let Some(running) = start_with_another_boot(&world, &agent) else { return };
    assert_eq!(status(&world, "work")["status"], "running");
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("is running this loop");
    assert_eq!(starts(&agent), [(1, 1)], "nobody went on beside the driver");
    agent.open_gate("go");
    running.wait().assert_code(0);
    assert_eq!(status(&world, "work")["status"], "completed");
}

#[test]
// promise: recovery-13
fn killed_driver_with_another_boot_id_needs_an_explicit_takeover() {
    let world = World::new();
    let agent = killed_in_its_turn(&world);
    rewrite_lease(&world, |process| {
        process.boot_id = "another".to_owned();
        process.machine = "another machine".to_owned();
    });
    assert_eq!(status(&world, "work")["status"], "running", "nobody knows better");
    let refused = call(&world, &["resume", "work"]);
    refused.assert_code(2).assert_stderr_has("another machine or container");
    refused.assert_stderr_has("hint: ").assert_stderr_has("--take-over");
    assert_eq!(starts(&agent).len(), 1);
    agent.open_gate("go");
    call(&world, &["resume", "work", "--take-over"]).assert_code(0);
    assert_eq!(status(&world, "work")["status"], "completed");
}

#[test]
// promise: recovery-13
fn driver_from_before_a_reboot_is_known_to_be_dead() {
    let world = World::new();
    let agent = killed_in_its_turn(&world);
    rewrite_lease(&world, |process| process.boot_id = "before the reboot".to_owned());
    assert_eq!(status(&world, "work")["status"], "interrupted");
    agent.open_gate("go");
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(status(&world, "work")["status"], "completed");
}

#[test]
fn takeover_of_a_living_driver_on_this_machine_is_refused() {
    let world = World::new();
    let agent = world.script(WAITS);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("at");
    call(&world, &["resume", "work", "--take-over"]).assert_code(2).assert_stderr_has("is running this loop");
    agent.open_gate("go");
    running.wait().assert_code(0);
}

/// Kills the program at a fault point of the first iteration and removes the workspace.
fn killed_and_files_lost(world: &World, point: &str, more: &[&str]) -> ScriptedAgent {
    let agent = world.script(WORKS_ONCE);
    let mut command = run_command(world, &agent, more);
    command.env("WINDLASS_TEST_FAULT", point);
    let out = world.run(command);
    assert_eq!(out.signal, Some(9), "{}", out.shown());
    world.wait_no_processes();
    let workspace = status(world, "work")["worktree"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(workspace).unwrap();
    agent
}

#[test]
// promise: recovery-14
fn turn_is_due_again_when_its_files_are_lost_before_the_commit() {
    for point in ["turn.closed:1", "checkpoint.before:1"] {
        let world = World::new();
        let agent = killed_and_files_lost(&world, point, &["--max-iterations", "3"]);
        call(&world, &["resume", "work"]).assert_code(0);
        assert_eq!(starts(&agent), [(1, 1), (1, 2)], "{point}: the turn is tried again");
        assert_eq!(file_at_branch(&world, "work", "work"), "1\n", "{point}: the work is there");
        let moved = feed(&world, "work");
        assert_eq!(of_type(&moved, "loop_moved").len(), 1, "{point}");
        let prompt = agent.prompts().pop().unwrap();
        assert!(!prompt.contains("An earlier attempt"), "{point}: no tree to recover, no note of it: {prompt}");
    }
}

#[test]
// promise: recovery-14
fn commit_that_was_made_is_found_after_the_files_are_lost() {
    let world = World::new();
    let agent = killed_and_files_lost(&world, "checkpoint.after:1", &[]);
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(starts(&agent), [(1, 1)], "the work was committed, so it is not done again");
    assert_eq!(file_at_branch(&world, "work", "work"), "1\n");
    assert_eq!(commits(&world, "work").len(), 1);
}

#[test]
// promise: recovery-14
fn move_that_is_cut_off_itself_ends_the_same() {
    let world = World::new();
    let agent = killed_and_files_lost(&world, "checkpoint.before:1", &["--max-iterations", "3"]);
    let mut command = windlass(&world, &["resume", "work"]);
    command.env("WINDLASS_TEST_FAULT", "moved.after:1");
    assert_eq!(world.run(command).signal, Some(9));
    world.wait_no_processes();
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
    assert_eq!(file_at_branch(&world, "work", "work"), "1\n");
}
