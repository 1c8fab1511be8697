//! What is left of a loop when it rests: nothing, or a list.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::support::*;
use serde_json::{Value, json};
use windlass_engine::data::DataDir;
use windlass_testkit::{Running, World};

const CLAIMS: &str = "[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]";
const WAITS: &str =
    "[[turn]]\nsteps = [{ touch = \"there\" }, { wait_for = \"go\" }, { say = \"<promise>COMPLETE</promise>\" }]";

fn kinds(residue: &Value) -> Vec<&str> {
    residue["left"].as_array().unwrap().iter().map(|left| left["kind"].as_str().unwrap()).collect()
}

#[test]
// promise: recovery-2
fn a_loop_that_ends_leaves_nothing_and_says_so() {
    let world = World::new();
    let agent = world.script(CLAIMS);
    let out = run(&world, &agent, &["--gate", "true"]);
    out.assert_code(0).assert_stdout_has("clean-up  nothing left behind");
    let seen = status(&world, "work");
    assert_eq!(seen["residue"]["clean"], true, "{}", seen["residue"]);
    assert_eq!(seen["residue"]["left"], json!([]));
    assert!(seen["residue"]["checked_at"].as_str().unwrap() >= seen["stopped_at"].as_str().unwrap());
    call(&world, &["status", "work"]).assert_code(0).assert_stdout_has("clean-up  nothing left behind");
    // The end of the loop stays the end of its feed.
    assert_eq!(feed(&world, "work").last().unwrap()["type"], "loop_stopped");
    call(&world, &["doctor"]).assert_stdout_has("nothing left behind");
}

#[test]
fn every_rest_has_its_own_certificate_and_a_loop_under_way_has_none() {
    let world = World::new();
    let agent = world.script(WAITS);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("there");
    assert_eq!(status(&world, "work")["residue"], Value::Null);
    call(&world, &["pause", "work", "--now"]).assert_code(0);
    running.wait();
    let paused = status(&world, "work");
    assert_eq!((&paused["status"], &paused["residue"]["clean"]), (&json!("paused"), &json!(true)), "{paused}");
    call(&world, &["stop", "work"]).assert_code(0);
    let stopped = status(&world, "work");
    assert_eq!((&stopped["status"], &stopped["residue"]["clean"]), (&json!("cancelled"), &json!(true)), "{stopped}");
    assert!(stopped["residue"]["checked_at"].as_str() > paused["residue"]["checked_at"].as_str());
}

/// A process that looks like the loop's own, outside of everything that would end it: it has a port too.
struct Daemon(std::process::Child);

impl Daemon {
    fn tagged(world: &World, id: &str) -> (Daemon, String) {
        let listens = "import socket,sys\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\n\
                       print(s.getsockname()[1],flush=True)\nsys.stdin.read()";
        let mut command = Command::new("python3");
        command.args(["-c", listens]).current_dir(world.root()).env("WINDLASS_LOOP_ID", id);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
        let mut port = String::new();
        let mut stdout = child.stdout.take().unwrap();
        let mut byte = [0];
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            port.push(char::from(byte[0]));
        }
        (Daemon(child), port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn waiting(world: &World) -> (windlass_testkit::ScriptedAgent, Running, String) {
    let agent = world.script(WAITS);
    let running = start(world, &agent, &[]);
    agent.wait_touched("there");
    let id = status(world, "work")["id"].as_str().unwrap().to_owned();
    (agent, running, id)
}

#[test]
fn what_is_left_is_listed_found_by_doctor_and_removed_by_clean() {
    let world = World::new();
    let (agent, running, id) = waiting(&world);
    let (mut daemon, port) = Daemon::tagged(&world, &id);
    // As a removal that was cut off leaves it.
    let worktrees = DataDir::at(world.data_dir()).worktrees();
    std::fs::create_dir(worktrees.join(format!("{id}.removing"))).unwrap();
    agent.open_gate("go");
    let out = running.wait();
    out.assert_code(0).assert_stdout_has("left over process");
    let residue = &status(&world, "work")["residue"];
    assert_eq!(residue["clean"], false);
    assert_eq!(kinds(residue), ["process", "port", "worktree"], "{residue}");
    assert!(residue["left"][0]["what"].as_str().unwrap().starts_with(&daemon.0.id().to_string()), "{residue}");
    assert!(residue["left"][1]["what"].as_str().unwrap().starts_with(&port), "{residue}");

    let doctor = call(&world, &["doctor", "--json"]).json();
    let told: Vec<&Value> =
        doctor["findings"].as_array().unwrap().iter().filter(|one| one["what"] == "clean-up").collect();
    assert_eq!(told.len(), 3, "{doctor}");
    call(&world, &["clean", "--dry-run"]).assert_code(0).assert_stdout_has("would remove  work: process");
    assert!(daemon.0.try_wait().unwrap().is_none(), "a look ends nothing");
    let cleaned = call(&world, &["clean", "--json"]).assert_code(0).json();
    assert_eq!(cleaned["residue"][0]["found"].as_array().map(Vec::len), Some(3), "{cleaned}");
    assert_eq!(cleaned["residue"][0]["left"], json!([]));
    daemon.0.wait().unwrap();
    assert_eq!(status(&world, "work")["residue"]["clean"], true);
    call(&world, &["clean", "--json"]).assert_code(0);
    assert!(std::path::Path::new(status(&world, "work")["worktree"].as_str().unwrap()).exists(), "the work stays");
}

#[test]
fn a_driver_that_is_killed_leaves_no_process_and_doctor_knows_the_rest() {
    let world = World::new();
    let (_agent, running, id) = waiting(&world);
    running.kill();
    running.wait();
    world.wait_no_processes();
    let temp = DataDir::at(world.data_dir()).sockets(&windlass_core::ids::LoopId(id));
    std::fs::create_dir_all(temp.join("coder")).unwrap();
    call(&world, &["doctor"]).assert_stdout_has("work: socket ");
    call(&world, &["clean"]).assert_code(0).assert_stdout_has("removed   work: socket");
    assert!(!temp.exists());
}

#[test]
fn every_loop_has_ports_of_its_own_in_turns_and_gates() {
    let world = World::new();
    let ports =
        |file: &str| format!("echo $WINDLASS_PORT_BASE $WINDLASS_PORT_COUNT $PORT > {}/{file}", world.root().display());
    let line = |name: &str, file: &str, gate: &str| {
        let agent = world.script(&format!(
            "[[turn]]\nsteps = [{{ run = {:?} }}, {{ touch = \"there\" }}, {{ wait_for = \"go\" }}, {{ say = {PROMISE:?} }}]",
            ports(file)
        ));
        let command = agent.command_line();
        let args = ["run", "x", "--name", name, "--agent-command", &command, "--no-baseline", "--gate", gate];
        (world.start(windlass(&world, &args)), agent)
    };
    let gate = ports("gate");
    let (first, one) = line("one", "one", &gate);
    let (second, two) = line("two", "two", "true");
    one.wait_touched("there");
    two.wait_touched("there");
    let read = |file: &str| -> Vec<u16> {
        let text = std::fs::read_to_string(world.root().join(file)).unwrap();
        text.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (a, b) = (read("one"), read("two"));
    assert_eq!((a[1], a[2]), (10, a[0]), "{a:?}");
    assert!(a[0].abs_diff(b[0]) >= 10, "{a:?} {b:?}");
    one.open_gate("go");
    two.open_gate("go");
    first.wait().assert_code(0);
    second.wait().assert_code(0);
    assert_eq!(read("gate"), a, "a gate has the ports of its loop");
}

#[test]
fn clean_removes_builds_that_no_loop_renewed_and_nothing_else() {
    let world = World::new();
    let builds = world.data_dir().join("builds");
    let place = |dir: std::path::PathBuf| {
        std::fs::create_dir_all(dir.join("target")).unwrap();
        std::fs::write(dir.join("target/app"), [7; 4096]).unwrap();
        dir
    };
    let [old, new, notes] = ["00000000000000aa", "00000000000000bb", "notes"].map(|name| place(builds.join(name)));
    let outside = place(world.root().join("outside"));
    std::os::unix::fs::symlink(&outside, builds.join("00000000000000cc")).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(15 * 86_400);
    for dir in [&old, &notes, &outside] {
        std::fs::File::open(dir).unwrap().set_modified(long_ago).unwrap();
    }
    let would = call(&world, &["clean", "--all", "--dry-run", "--json"]).assert_code(0).json();
    assert!(would["freed_bytes"].as_u64().unwrap() >= 4096, "{would}");
    assert!(old.exists());
    call(&world, &["clean", "--all"]).assert_code(0);
    assert!(!old.exists());
    for stays in [new, notes, outside] {
        assert!(stays.join("target/app").exists(), "{}", stays.display());
    }
}

#[test]
fn doctor_names_submodules_that_a_workspace_would_have_empty() {
    let world = World::new();
    let repo = world.repo();
    repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = libs/sub\n\turl = ../sub\n");
    let pointer = format!("160000,{},libs/sub", repo.head());
    repo.git(["update-index", "--add", "--cacheinfo", &pointer]);
    repo.git(["add", ".gitmodules"]);
    repo.git(["commit", "-qm", "submodule"]);
    let doctor = call(&world, &["doctor", "--json"]).json();
    let finding = doctor["findings"].as_array().unwrap().iter().find(|one| one["what"] == "submodules");
    assert!(finding.is_some_and(|one| one["detail"].as_str().unwrap().contains("libs/sub")), "{doctor}");
}
