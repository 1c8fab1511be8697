//! A loop whose network is a list of hosts, with real traffic from inside its sandbox.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::*;
use serde_json::json;
use windlass_testkit::{World, sandbox_works};

/// A server on this machine that says `reached` to everybody.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = client.read(&mut head);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached");
        }
    });
    port
}

/// Runs a loop whose agent runs this script; what it left in `out`.
#[track_caller]
fn inside(world: &World, script: &str, more: &[&str]) -> (String, windlass_testkit::Output) {
    let file = world.install_script("probe", script);
    let agent = world
        .script(&format!("[[turn]]\nsteps = [{{ run = {:?} }}, {{ say = {PROMISE:?} }}]", file.display().to_string()));
    let out = run(world, &agent, more);
    out.assert_code(0);
    (file_at_branch(world, "work", "out"), out)
}

#[test]
// promise: safety-8
fn a_listed_host_is_reached_by_every_client_and_nothing_else_is() {
    let Some(world) = crate::sandboxed() else { return };
    let (listed, other) = (server(), server());
    let script = format!(
        r#"
        try() {{ name=$1; shift; if said=$("$@" 2>/dev/null) && [ "$said" = reached ]; then echo "$name yes"; else echo "$name no"; fi >> out; }}
        try direct curl -sf --max-time 20 http://127.0.0.1:{listed}/
        try proxied curl -sf --max-time 20 --noproxy '' http://127.0.0.1:{listed}/
        try tunnelled curl -sf --max-time 20 --noproxy '' --proxytunnel http://127.0.0.1:{listed}/
        if command -v node >/dev/null; then try node node -e 'fetch("http://127.0.0.1:{listed}/").then(a => a.text()).then(t => process.stdout.write(t))'; else echo "node yes" >> out; fi
        try unlisted curl -sf --max-time 20 http://127.0.0.1:{other}/
        try unlisted-proxied curl -sf --max-time 20 --noproxy '' http://127.0.0.1:{other}/
        try unlisted-again curl -sf --max-time 20 --noproxy '' http://127.0.0.1:{other}/
        try name curl -sf --max-time 20 http://denied.example/
        if (exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null; then echo "raw yes"; else echo "raw no"; fi >> out
        if (echo x > /dev/udp/192.0.2.1/53) 2>/dev/null; then echo "udp yes"; else echo "udp no"; fi >> out
        echo "$HTTPS_PROXY $NODE_USE_ENV_PROXY" >> out
        "#
    );
    let host = format!("127.0.0.1:{listed}");
    let (said, out) = inside(&world, &script, &["--network", "list", "--network-host", &host]);
    let expected = "direct yes\nproxied yes\ntunnelled yes\nnode yes\nunlisted no\nunlisted-proxied no\n\
                    unlisted-again no\nname no\nraw no\nudp no\nhttp://127.0.0.1:43128 1\n";
    assert_eq!(said, expected, "{}", out.shown());
    let items = feed(&world, "work");
    let denied: Vec<_> = of_type(&items, "network_denied").iter().map(|item| item["host"].clone()).collect();
    assert_eq!(denied, [json!(format!("127.0.0.1:{other}")), json!("denied.example:80")], "each once");
    out.assert_stdout_has("network access to denied.example:80 denied: not on the list");
    let status = status(&world, "work");
    assert_eq!(status["denied_hosts"].as_array().map(Vec::len), Some(2), "{status}");
    assert_eq!(status["sandbox"]["network"], "list");
    assert_eq!(status["sandbox"]["network_hosts"], json!([host]));
    assert_eq!(status["residue"]["clean"], true, "{}", status["residue"]);
    world.wait_no_processes();
}

/// The bridge must not be what a turn waits for.
#[test]
fn a_turn_ends_with_its_agent_and_a_daemon_is_still_waited_for_and_ended() {
    let Some(world) = crate::sandboxed() else { return };
    let (said, _) = inside(&world, "sleep 1000 & echo started > out", &["--network", "list"]);
    assert_eq!(said, "started\n");
    world.wait_no_processes();
}

#[test]
fn a_driver_that_is_killed_takes_proxy_and_bridge_along() {
    let Some(world) = crate::sandboxed() else { return };
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"there\" }, { wait_for = \"go\" }, { say = \"x\" }]");
    let running = start(&world, &agent, &["--network", "list"]);
    agent.wait_touched("there");
    running.kill();
    running.wait();
    world.wait_no_processes();
}

#[test]
fn a_list_without_a_sandbox_and_what_is_no_host_are_refused() {
    let Some(world) = crate::sandboxed() else { return };
    let agent = world.script("[[turn]]\nsteps = []");
    run(&world, &agent, &["--sandbox", "off", "--network", "list"]).assert_code(2).assert_stderr_has("sandbox");
    let wrong = run(&world, &agent, &["--network", "list", "--network-host", "http://a.org"]);
    wrong.assert_code(2).assert_stderr_has("is not a valid host");
    assert!(agent.turns().is_empty());
}

/// The loop's driver is gone when its work is merged.
#[test]
fn gates_of_a_merge_reach_the_hosts_of_the_list_and_no_others() {
    let Some(world) = crate::sandboxed() else { return };
    let (listed, other) = (server(), server());
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = {PROMISE:?} }}]"
    ));
    let ask = |port: u16| format!("curl -sf --max-time 20 --noproxy '' http://127.0.0.1:{port}/");
    let gate = format!("{} && ! {}", ask(listed), ask(other));
    let host = format!("127.0.0.1:{listed}");
    run(&world, &agent, &["--network", "list", "--network-host", &host, "--gate", &gate]).assert_code(0);
    world.repo().write("c", "1\n");
    world.repo().commit("moved on");
    call(&world, &["merge", "work"]).assert_code(0);
    let message = world.repo().git(["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("Windlass-Gates: passed"), "{message}");
}

#[test]
// promise: safety-10
fn a_host_that_is_refused_is_named_to_the_agent_and_in_the_failure() {
    if !sandbox_works() {
        return;
    }
    for (network, allow) in
        [("deny", "--network list --network-host api.example:443"), ("list", "--network-host api.example:443")]
    {
        let world = crate::world();
        let file = world.install_script(
            "probe",
            "curl -s --max-time 20 http://api.example:443/ > out; curl -sv --max-time 20 https://api.example/ 2>> out; true",
        );
        // Named by the agent, so that nobody waits for the host in either case.
        let script = format!(
            "[[turn]]\nsteps = [{{ run = {:?} }}, {{ event = {{ type = \"error\", kind = \"other\", message = \"api.example: no\" }} }}, {{ exit = 1 }}]",
            file.display().to_string()
        );
        let agent = world.script(&script);
        let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        world.config(&format!(
            "agent = \"scripted\"\n[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n",
            words.join(", ")
        ));
        let output = call(&world, &["run", "x", "--name", "work", "--network", network]);
        output
            .assert_code(7)
            .assert_stdout_has("Windlass's network rule denied api.example:443")
            .assert_stdout_has(allow);
        let said = file_at_branch(&world, "work", "out");
        assert!(said.contains("Windlass's network rule denied api.example:443: "), "{said}");
        assert!(said.contains("403 Windlass refused api.example:443"), "{said}");
        let seen = status(&world, "work");
        assert_eq!(seen["denied_hosts"][0]["host"], "api.example:443", "{seen}");
        assert!(seen["stop_reason"]["message"].as_str().unwrap().contains(allow), "{seen}");
    }
}
