//! Loops that take too much of the machine, beside one that does not: they are ended or paused with a reason, the other
//! one and the engine go on, and nothing is left. Every agent here is bounded by itself as well.

#![allow(clippy::print_stderr, reason = "says what was skipped")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::*;
use serde_json::{Value, json};
use windlass_testkit::{Output, World};

const WAITS: &str = "[[turn]]\nsteps = [{ touch = \"there\" }, { wait_for = \"go\" }, { write = { path = \"mine\", content = \"1\" } }, { say = \"<promise>COMPLETE</promise>\" }]";

fn has_groups() -> bool {
    windlass_supervise::find_cgroups().map_err(|why| eprintln!("SKIPPED: {why}")).is_ok()
}

/// A loop called `greedy` whose agent is this shell script.
fn greedy(world: &World, script: &str, more: &[&str]) -> Output {
    let path = world.root().join("greedy.sh");
    std::fs::write(&path, script).unwrap();
    let agent = format!("/bin/bash {}", path.display());
    let mut args = vec!["run", "take all", "--name", "greedy", "--agent-command", &agent];
    args.extend(more);
    call(world, &args)
}

/// Runs the greedy loop while another one, called `work`, is in the middle of its turn, which then completes.
#[track_caller]
fn beside_another(world: &World, script: &str, more: &[&str]) -> (Output, Value) {
    let agent = world.script(WAITS);
    let other = start(world, &agent, &["--gate", "true"]);
    agent.wait_touched("there");
    let output = greedy(world, script, more);
    agent.open_gate("go");
    other.wait().assert_code(0);
    assert_eq!(file_at_branch(world, "work", "mine"), "1");
    let seen = status(world, "greedy");
    for name in ["work", "greedy"] {
        let residue = &status(world, name)["residue"];
        assert_eq!(residue["clean"], true, "{name}: {residue}");
    }
    (output, seen)
}

/// The only turn that ended.
fn turn_ended(world: &World) -> Value {
    of_type(&feed(world, "greedy"), "turn_ended")[0]["report"].clone()
}

#[test]
// promise: bounds-15
fn a_loop_that_takes_too_much_memory_fails_and_says_why() {
    let world = World::new();
    // Without a control group it is looked at every second, so it stays for a while.
    let script = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 20; echo '<promise>COMPLETE</promise>'";
    let (output, seen) = beside_another(&world, script, &["--memory-limit", "64MiB"]);
    output.assert_code(7).assert_stdout_has("memory 64 MiB (");
    let said = "the agent's processes were killed at the memory limit of 64 MiB (memory_limit)";
    output.assert_stdout_has(said);
    assert!(seen["stop_reason"]["message"].as_str().unwrap().contains(said), "{seen}");
    assert_eq!(seen["resources"]["memory_bytes"], 64 << 20);
    let report = turn_ended(&world);
    assert_eq!(report["outcome"]["kind"], "resource_limit");
    assert_eq!(report["limits_hit"], json!([{ "type": "memory", "limit_bytes": 64 << 20 }]));
}

#[test]
fn what_the_agent_survives_is_told_and_counts() {
    if !has_groups() {
        return;
    }
    let world = World::new();
    let script = "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c; echo '<promise>COMPLETE</promise>'";
    let output = greedy(&world, script, &["--memory-limit", "64MiB"]);
    output.assert_code(0).assert_stdout_has("killed at the memory limit of 64 MiB");
    assert_eq!(turn_ended(&world)["outcome"]["type"], "finished");
}

#[test]
// promise: bounds-15
fn a_loop_that_forks_without_end_fails_and_says_why() {
    if !has_groups() {
        return;
    }
    let world = World::new();
    // 150 at most, whatever becomes of the limit; this shell gives up when it cannot fork.
    let script = "exec /bin/sh -c 'i=0; while [ $i -lt 150 ]; do sleep 1000 & i=$((i+1)); done; echo all of them'";
    let (output, seen) = beside_another(&world, script, &["--process-limit", "64"]);
    output.assert_code(7).assert_stdout_has("the process limit of 64 (process_limit)");
    assert_eq!(seen["resources"]["processes"], 64);
    assert_eq!(turn_ended(&world)["limits_hit"], json!([{ "type": "processes", "limit": 64 }]));
    world.wait_no_processes();
}

#[test]
fn a_gate_that_takes_too_much_says_so_to_the_agent() {
    if !has_groups() {
        return;
    }
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    let gate = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo $?";
    run(
        &world,
        &agent,
        &["--gate", &format!("bash -c \"{gate}\""), "--memory-limit", "64MiB", "--max-iterations", "1"],
    )
    .assert_code(3);
    let ended = feed(&world, "work");
    let tail = of_type(&ended, "gate_ended").last().unwrap()["report"]["output_tail"].as_str().unwrap().to_owned();
    assert!(
        tail.contains("the command's processes were killed at the memory limit of 64 MiB (memory_limit)"),
        "{tail}"
    );
}

/// Takes so much of the disk the first time, and stays; is content the second time.
fn fills(world: &World, bytes: u64) -> String {
    let been = world.root().join("been");
    format!(
        "if [ -e '{0}' ]; then echo '<promise>COMPLETE</promise>'; exit 0; fi\ntouch '{0}'\n\
         head -c {bytes} /dev/zero > big; sleep 1000",
        been.display()
    )
}

fn make_room(seen: &Value) {
    std::fs::remove_file(Path::new(seen["worktree"].as_str().unwrap()).join("big")).unwrap();
}

#[test]
// promise: bounds-15
fn a_loop_that_takes_too_much_disk_pauses_and_goes_on_when_there_is_room() {
    let world = World::new();
    let (output, seen) = beside_another(&world, &fills(&world, 20_000_000), &["--disk-limit", "5MiB"]);
    output.assert_stdout_has("more than 5 MiB (disk_limit)");
    assert_eq!(seen["status"], "paused", "{seen}");
    assert!(seen["waiting_for"].as_str().unwrap().contains("disk_limit"), "{seen}");
    call(&world, &["resume", "greedy", "--disk-limit", "+100MiB"]).assert_code(0);
    let seen = status(&world, "greedy");
    assert_eq!((&seen["status"], &seen["resources"]["disk_bytes"]), (&json!("completed"), &json!(105 << 20)), "{seen}");
}

#[test]
fn without_room_nothing_is_started() {
    let world = World::new();
    world.config("disk_free = \"100000TiB\"\n");
    let agent = world.script(WAITS);
    let output = run(&world, &agent, &[]);
    output.assert_code(2).assert_stderr_has("less than the 100000 TiB that must stay free (disk_free)");
    output.assert_stderr_has("windlass clean");
    assert_eq!(world.repo().branches(), ["main"], "nothing is made");
    assert_eq!(starts(&agent), []);
}

/// A small disk of its own for Windlass's data, gone afterwards.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn below(world: &World, size: &str) -> Option<Self> {
        let place = world.data_dir();
        std::fs::create_dir_all(&place).unwrap();
        let options = format!("size={size},mode=700");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "windlass-test"]).arg(&place).output();
        match done {
            Ok(output) if output.status.success() => Some(Self(place)),
            Ok(output) => {
                eprintln!("SKIPPED: no mount here: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("SKIPPED: no mount here: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_fills_pauses_the_loop_that_fills_it() {
    let world = World::new();
    let Some(_disk) = SmallDisk::below(&world, "96m") else { return };
    world.config("disk_free = \"48MiB\"\n");
    let (output, seen) = beside_another(&world, &fills(&world, 60_000_000), &[]);
    output.assert_stdout_has("less than 48 MiB (disk_free)");
    assert_eq!(seen["status"], "paused", "{seen}");
    make_room(&seen);
    call(&world, &["resume", "greedy"]).assert_code(0);
}

/// The engine itself cannot write any more: it says so, and goes on when it can.
#[test]
fn a_full_disk_of_the_engines_own_loses_nothing() {
    let world = World::new();
    let Some(_disk) = SmallDisk::below(&world, "24m") else { return };
    world.config("disk_free = 0\n");
    let been = world.root().join("been");
    let script = format!(
        "if [ -e '{0}' ]; then echo '<promise>COMPLETE</promise>'; exit 0; fi\ntouch '{0}'\necho first words\n\
         head -c 40000000 /dev/zero > big; seq 1 200000; echo last words",
        been.display()
    );
    let output = greedy(&world, &script, &[]);
    output.assert_code(1);
    assert!(output.stderr.contains("full") || output.stderr.contains("No space left"), "{}", output.shown());
    assert!(output.stderr.contains("hint: "), "{}", output.shown());
    let seen = status(&world, "greedy");
    assert_eq!(seen["status"], "interrupted", "{seen}");
    make_room(&seen);
    call(&world, &["resume", "greedy"]).assert_code(0);
    assert_eq!(status(&world, "greedy")["status"], "completed");
    world.wait_no_processes();
}

#[test]
fn doctor_says_what_is_in_force_and_by_what() {
    let world = World::new();
    world.config("memory_limit = \"2GiB\"\nprocess_limit = 512\ndisk_limit = \"10GiB\"\n");
    let findings = call(&world, &["doctor", "--json"]).json();
    let limits = findings["findings"].as_array().unwrap().iter().find(|one| one["what"] == "limits").unwrap().clone();
    let detail = limits["detail"].as_str().unwrap();
    for part in ["memory 2 GiB (", "processes 512 (", "disk 10 GiB", "1 GiB of disk space kept free"] {
        assert!(detail.contains(part), "{detail}");
    }
}

/// A driver that is killed leaves its group; `doctor` lists it and `clean` removes it.
#[test]
fn the_group_of_a_driver_that_was_killed_is_found_and_removed() {
    if !has_groups() {
        return;
    }
    let world = World::new();
    let agent = world.script(WAITS);
    let running = start(&world, &agent, &["--memory-limit", "4GiB"]);
    agent.wait_touched("there");
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let group = windlass_supervise::find_cgroups().unwrap().group(&id);
    assert!(!group.left().is_empty());
    running.kill();
    running.wait();
    world.wait_no_processes();
    call(&world, &["doctor"]).assert_stdout_has("control group");
    call(&world, &["clean"]).assert_stdout_has("control group");
    assert_eq!(group.left(), Vec::<PathBuf>::new());
}
