//! Whole loops in containers, with a real Docker daemon of the tests' own.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::support::*;
use serde_json::{Value, json};
use windlass_testkit::docker::{Dockerd, IMAGE};
use windlass_testkit::{Stream, World};

const WAITS: &str = "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\\n\" } }, { touch = \"there\" }, \
                     { wait_for = \"go\" }, { say = \"<promise>COMPLETE</promise>\" }]";

/// Runs a loop whose agent is this shell script, which ends with the claim.
fn run_script(world: &World, script: &str, more: &[&str]) -> windlass_testkit::Output {
    world.install_script("agent", &format!("{script}\necho '{PROMISE}'"));
    let mut args = vec!["run", "do it", "--name", "work", "--agent-command", "agent", "--max-iterations", "1"];
    args.extend(more);
    call(world, &args)
}

fn turn_file(world: &World, id: &str, name: &str) -> PathBuf {
    world.data_dir().join("transcripts").join(id).join("1.coder.1").join(name)
}

fn said(world: &World) -> String {
    let id = id(world);
    let read = |name| String::from_utf8_lossy(&std::fs::read(turn_file(world, &id, name)).unwrap()).into_owned();
    read("stdout") + &read("stderr")
}

fn id(world: &World) -> String {
    status(world, "work")["id"].as_str().unwrap().to_owned()
}

#[test]
// promise: safety-3
fn a_loop_in_containers_is_completed_and_leaves_none() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let key = world.home().join(".ssh/id_rsa");
    std::fs::create_dir(key.parent().unwrap()).unwrap();
    std::fs::write(&key, "TOP-SECRET\n").unwrap();
    std::fs::write(world.repo().path().join("untracked"), "TOP-SECRET\n").unwrap();
    let repo = world.repo().path().display().to_string();
    let script = format!(
        "cat ~/.ssh/* {repo}/untracked '{}'/windlass.db; ls {repo} {}; touch /etc/x /usr/x; echo x > ~/x
         git commit -q --allow-empty -m 'of its own' && echo in > file; git push -q {repo} HEAD:pushed",
        world.data_dir().display(),
        docker.socket().display()
    );
    let ran = run_script(&world, &script, &["--gate", "test \"$(cat file)\" = in"]);
    ran.assert_code(0).assert_stdout_has(&format!("sandbox docker ({IMAGE}), network allowed"));
    assert_eq!(file_at_branch(&world, "work", "file"), "in\n");
    let seen = status(&world, "work");
    assert_eq!(seen["sandbox"]["level"], "docker");
    assert_eq!(seen["sandbox"]["docker_image"], IMAGE);
    assert_eq!(seen["residue"]["left"], json!([]));
    let said = said(&world);
    assert!(!said.contains("TOP-SECRET"), "{said}");
    assert!(said.matches("Read-only file system").count() >= 2, "{said}");
    assert!(!world.home().join("x").exists());
    assert_eq!(world.repo().branches(), ["main", "windlass/work"]);
    assert_eq!(docker.containers(&id(&world)), Vec::<Value>::new());
}

#[test]
fn without_a_network_nothing_is_reached() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("ls /sys/class/net; bash -c 'echo > /dev/tcp/127.0.0.1/{port}'");
    run_script(&world, &script, &["--network", "deny"]).assert_code(0).assert_stdout_has("no network");
    let said = said(&world);
    assert!(said.starts_with("lo\n") && said.contains("Connection refused"), "{said}");
}

#[test]
fn listed_hosts_are_reached_through_the_bridge_inside() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(b"hello from outside\n").unwrap();
    });
    let script = format!("bash -c 'cat < /dev/tcp/127.0.0.1/{port}'");
    let host = format!("127.0.0.1:{port}");
    run_script(&world, &script, &["--network", "list", "--network-host", &host]).assert_code(0);
    assert!(said(&world).contains("hello from outside"), "{}", said(&world));
    server.join().unwrap();
}

#[test]
fn a_container_that_came_to_its_limit_of_memory_is_told_of() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let script = "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c";
    let ran = run_script(&world, script, &["--memory-limit", "64MiB"]);
    ran.assert_code(0)
        .assert_stdout_has("the agent's processes were killed at the memory limit of 64 MiB (memory_limit)");
}

#[test]
fn all_bytes_get_through_as_they_are_and_so_does_the_exit_code() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let odd = b"\xff\xfe\x00\x01 not text\n".as_slice();
    world.repo().write("odd", odd);
    world.repo().commit("odd bytes");
    // More than all pipes and buffers on the way hold.
    world.install_script("agent", "cat odd; seq 1 300000; cat odd >&2; exit 7");
    let args = ["run", "do it", "--name", "work", "--agent-command", "agent", "--max-iterations", "1"];
    call(&world, &args);
    let id = id(&world);
    let lines: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    let stdout = std::fs::read(turn_file(&world, &id, "stdout")).unwrap();
    assert!(stdout == [odd, lines.as_bytes()].concat(), "{} bytes", stdout.len());
    assert_eq!(std::fs::read(turn_file(&world, &id, "stderr")).unwrap(), odd);
    let record: Value = serde_json::from_slice(&std::fs::read(turn_file(&world, &id, "exit.json")).unwrap()).unwrap();
    assert_eq!(record["ended"], json!({ "type": "exited", "code": 7 }));
}

#[test]
fn an_agent_that_is_not_in_the_image_is_said_to_be_missing_there() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let ran = call(&world, &["run", "do it", "--name", "work", "--agent-command", "no-such-agent"]);
    assert!(!ran.success());
    ran.assert_stdout_has(&format!("program `no-such-agent` is not in the image {IMAGE}"));
    assert_eq!(docker.containers(&id(&world)), Vec::<Value>::new());
}

#[test]
fn a_driver_that_is_killed_leaves_no_container_and_the_loop_goes_on() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let agent = world.script(WAITS);
    let running = start(&world, &agent, &["--gate", "true"]);
    agent.wait_touched("there");
    let id = id(&world);
    assert_eq!(docker.containers(&id).len(), 1);
    // With all that would end the container in its place: the shim and the client too. Not the agent, whose end would count.
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let outside = |pid: u32| namespace(&pid.to_string()) == namespace("self");
    for process in world.processes().into_iter().filter(|process| outside(process.pid)) {
        let pid = rustix::process::Pid::from_raw(process.pid.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    running.wait_ended();
    world.wait_no_processes();
    docker.leave_container(&id);
    agent.open_gate("go");
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(docker.containers(&id), Vec::<Value>::new());
    assert_eq!(status(&world, "work")["residue"]["left"], json!([]));
}

#[test]
fn a_loop_that_is_interrupted_leaves_no_container() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let agent = world.script(WAITS);
    let mut running = start(&world, &agent, &[]);
    running.wait_line(Stream::Stdout, "iteration 1");
    agent.wait_touched("there");
    running.signal(rustix::process::Signal::INT);
    running.wait();
    assert_eq!(status(&world, "work")["status"], "interrupted");
    assert_eq!(docker.containers(&id(&world)), Vec::<Value>::new());
}

#[test]
fn two_loops_at_once_do_not_see_each_other() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let agents = [world.script(WAITS), world.script(WAITS)];
    let running: Vec<_> = ["one", "two"]
        .iter()
        .zip(&agents)
        .map(|(name, agent)| {
            let line = agent.command_line();
            world.start(windlass(&world, &["run", "do it", "--name", name, "--agent-command", &line]))
        })
        .collect();
    for agent in &agents {
        agent.wait_touched("there");
    }
    let of = |name: &str| docker.containers(status(&world, name)["id"].as_str().unwrap());
    assert_eq!((of("one").len(), of("two").len()), (1, 1));
    agents[0].open_gate("go");
    agents[1].open_gate("go");
    for one in running {
        one.wait().assert_code(0);
    }
    assert_eq!((of("one").len(), of("two").len()), (0, 0));
}

#[test]
fn what_is_left_is_listed_and_cleaned_away() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    run_script(&world, "true", &[]).assert_code(0);
    let id = id(&world);
    docker.leave_container(&id);
    call(&world, &["doctor"]).assert_stdout_has("work: container ");
    call(&world, &["clean"]).assert_stdout_has("removed   work: container ");
    assert_eq!(docker.containers(&id), Vec::<Value>::new());
}

#[test]
fn nothing_gets_out_of_a_container() {
    let Some(docker) = Dockerd::get() else { return };
    let world = docker.world();
    let tried = call(&world, &["doctor", "--sandbox=docker", "--network", "deny", "--json"]);
    let report = tried.json();
    let wrong: Vec<&Value> = report["attempts"].as_array().unwrap().iter().filter(|one| one["ok"] != true).collect();
    assert_eq!(wrong, Vec::<&Value>::new());
    tried.assert_code(0);
}

/// The error of `run` with these variables.
#[track_caller]
fn refused(world: &World, more: &[&str], reason: &str, hint: &str) {
    let mut args = vec!["run", "do it", "--agent-command", "true", "--sandbox", "docker"];
    args.extend(more);
    call(world, &args).assert_code(2).assert_stderr_has(reason).assert_stderr_has(hint);
}

#[test]
fn a_container_that_cannot_be_had_is_an_error_with_a_way_out() {
    let Some(docker) = Dockerd::get() else { return };
    let mut world = docker.world();
    refused(&world, &["--docker-image", "none:1"], "the image 'none:1' is not on this machine", "docker pull none:1");
    docker.import("windlass-test:empty", &["empty"]);
    world.set_env("WINDLASS_SANDBOX_READABLE", world.bin_dir());
    let reason = format!("{} does not run in the image 'windlass-test:empty'", binary().display());
    refused(&world, &["--docker-image", "windlass-test:empty"], &reason, "such as debian:12");
    refused(&World::new(), &[], "no Docker image selected", "--docker-image IMAGE");
    world.set_env("DOCKER_HOST", "tcp://127.0.0.1:2375");
    refused(&world, &["--docker-image", IMAGE], "cannot use Docker at 'tcp://127.0.0.1:2375'", "docker_host");
}

/// A daemon that answers each call with this status and body.
fn pretend(socket: &Path, status: u16, body: &'static str) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
}

#[test]
fn a_daemon_that_is_no_use_is_told_apart() {
    let mut world = World::new();
    let image = ["--docker-image", "debian:12"];
    let old = world.root().join("old");
    pretend(&old, 200, r#"{"Version":"18.09","ApiVersion":"1.39","Os":"linux"}"#);
    world.set_env("WINDLASS_DOCKER_HOST", format!("unix://{}", old.display()));
    refused(&world, &image, "Docker 18.09 is too old: it supports API version 1.39", "update Docker");
    let ill = world.root().join("ill");
    pretend(&ill, 500, r#"{"message":"the disk is full"}"#);
    world.set_env("WINDLASS_DOCKER_HOST", &ill);
    refused(&world, &image, "Docker cannot report its version: the disk is full", "log");
    world.set_env("WINDLASS_DOCKER_HOST", world.root().join("nobody"));
    refused(&world, &image, "cannot reach Docker", "install and start Docker");
}
