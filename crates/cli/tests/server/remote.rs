//! Commands that ask a server on another machine: here, one with another home and no loops of its own.

use serde_json::Value;
use windlass_testkit::{Output, Stream, World};

use crate::client::Server;
use crate::commands::TWO_COMMITS;
use crate::pty::Pty;
use crate::support::{PROMISE, call, run, windlass};

const IN_STEP: &str = r#"
[[turn]]
steps = [{ say = "one" }, { touch = "at1" }, { wait_for = "go1" }, { say = "more" }]
[[turn]]
steps = [{ say = "two" }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// The link that the server printed: its code is used at the first call, and the session at all others.
pub fn link(server: &Server) -> String {
    let said = server.running.so_far();
    let link = said.lines().find_map(|line| line.trim().strip_prefix("open ")).expect("a link");
    link.trim().to_owned()
}

fn ask(elsewhere: &World, server: &Server, args: &[&str]) -> Output {
    call(elsewhere, &[&["--server", &link(server)], args].concat())
}

#[test]
fn link_is_exchanged_once_for_a_session_file_of_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (world, elsewhere) = (World::new(), World::new());
    let server = Server::start(&world);
    let bare = format!("http://{}", server.host());
    let list = |url: &str| call(&elsewhere, &["--server", url, "list", "--json"]);
    list(&link(&server)).assert_code(0);
    list(&link(&server)).assert_code(0);
    list(&bare).assert_code(0);
    list(&bare.replace("127.0.0.1", "localhost")).assert_code(0);
    let sessions = call(&world, &["serve", "sessions", "--json"]).assert_code(0).json();
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert!(sessions[0]["name"].as_str().unwrap().starts_with("windlass on "), "{sessions}");
    let dir = elsewhere.data_dir().join("servers");
    let file = std::fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&server.token));
    let another = World::new();
    call(&another, &["--server", &link(&server), "list"]).assert_code(2).assert_stderr_has("windlass serve link");
    call(&elsewhere, &["--server", &bare, "serve", "logout"]).assert_code(0);
    assert!(!file.exists());
    list(&bare).assert_code(2).assert_stderr_has("windlass serve link");
    call(&elsewhere, &["--server", &bare, "serve", "logout"]).assert_code(2);
    call(&elsewhere, &["--server", &bare, "serve", "link"])
        .assert_code(2)
        .assert_stderr_has("does not work with --server");
    assert_eq!(call(&world, &["serve", "sessions", "--json"]).assert_code(0).json(), serde_json::json!([]));
}

#[test]
fn loops_of_another_machine_are_shown_as_they_are_there() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(IN_STEP);
    agent.open_gate("go1");
    run(&world, &agent, &[]).assert_code(0);
    let server = Server::start(&world);
    let shown = |args: &[&str]| {
        let (there, here) = (ask(&elsewhere, &server, args), call(&world, args));
        assert_eq!((there.code, &there.stderr), (here.code, &here.stderr), "{args:?}");
        (there, here)
    };
    for args in [&["status", "work"][..], &["status"], &["logs", "work"], &["logs", "work", "--iteration", "2"]] {
        let (there, here) = shown(args);
        assert_eq!(there.stdout, here.stdout, "{args:?}");
    }
    let listed = ask(&elsewhere, &server, &["list"]);
    assert!(listed.assert_code(0).stdout.contains("\nwork  "), "{}", listed.stdout);
    let (there, here) = shown(&["status", "wor", "--json"]);
    assert_eq!(there.json(), here.json(), "by the start of its name");
    let (there, here) = shown(&["status", "work", "--json"]);
    assert_eq!(there.json(), here.json());
    let (there, here) = shown(&["logs", "work", "--json", "-f"]);
    assert_eq!(there.json_lines(), here.json_lines(), "and it ends, since nobody drives the loop");
}

#[test]
fn a_loop_of_another_machine_is_paused_steered_resumed_and_followed() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(IN_STEP);
    let server = Server::start(&world);
    run(&world, &agent, &["--detach"]).assert_code(0);
    agent.wait_touched("at1");
    ask(&elsewhere, &server, &["steer", "work", "mind the gap"]).assert_code(0);
    ask(&elsewhere, &server, &["pause", "work", "--now"]).assert_code(0);
    let again = ask(&elsewhere, &server, &["pause", "work"]);
    assert_eq!(again.stderr, call(&world, &["pause", "work"]).stderr, "the words of the command");
    agent.open_gate("go1");
    let went_on = ask(&elsewhere, &server, &["resume", "work"]);
    went_on.assert_code(0);
    assert!(went_on.stdout.contains(PROMISE) && went_on.stdout.contains("completed"), "{}", went_on.stdout);
    assert!(agent.prompts().iter().any(|prompt| prompt.contains("mind the gap")));
    let over = ask(&elsewhere, &server, &["stop", "work"]);
    over.assert_code(2);
}

#[test]
fn the_work_of_loops_of_another_machine_is_shown_taken_back_merged_and_cleared_away() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(TWO_COMMITS);
    run(&world, &agent, &[]).assert_code(0);
    let server = Server::start(&world);
    let both = |args: &[&str]| {
        let (there, here) = (ask(&elsewhere, &server, args), call(&world, args));
        assert_eq!((there.code, &there.stdout, &there.stderr), (here.code, &here.stdout, &here.stderr), "{args:?}");
        there
    };
    assert!(both(&["diff", "work"]).stdout.contains("+++ b/two.txt"));
    both(&["diff", "work", "--iteration", "1", "--json"]);
    both(&["diff", "work", "--worktree"]);
    both(&["diff", "work", "--since", "1"]);
    both(&["diff", "work", "--target"]);
    both(&["findings", "work"]);
    both(&["findings", "work", "--all", "--json"]);
    both(&["proof", "work"]).assert_code(0);
    both(&["proof", "work", "--format", "markdown"]).assert_code(0);
    both(&["report", "work"]).assert_code(0);
    both(&["report", "--all", "--json"]).assert_code(0);
    both(&["merge", "work", "--dry-run"]).assert_code(0);
    both(&["merge", "work", "--dry-run", "--json"]).assert_code(0);
    both(&["pr", "work", "--print", "--json"]).assert_code(0);
    both(&["config", "get", "retention_days", "--json"]).assert_code(0);
    both(&["list", "--all", "--status", "completed", "--since", "1d", "--json"]).assert_code(0);
    both(&["takeover", "work"]).assert_code(0);
    both(&["agents", "--json"]).assert_code(0);
    both(&["clean", "work", "--dry-run"]).assert_code(0);
    let back = ask(&elsewhere, &server, &["rollback", "work", "--to", "1"]);
    assert!(back.assert_code(0).stdout.starts_with("work: rolled back to iteration 1 ("), "{}", back.stdout);
    assert!(!both(&["diff", "work", "--worktree"]).stdout.contains("two.txt"), "it is gone there");
    let merged = ask(&elsewhere, &server, &["merge", "work", "--squash", "-m", "all of it"]);
    assert!(merged.assert_code(0).stdout.contains("work: merged into "), "{}", merged.stdout);
    ask(&elsewhere, &server, &["clean"]).assert_code(2).assert_stderr_has("--all");
    let on = ask(&elsewhere, &server, &["continue", "work", "once more"]);
    assert!(on.assert_code(0).stdout.contains("continued"), "{}", on.stdout);
    assert_eq!(ask(&elsewhere, &server, &["status", "work", "--json"]).json()["goal"], "once more");
    let cleaned = ask(&elsewhere, &server, &["clean", "work"]);
    assert!(cleaned.assert_code(0).stdout.starts_with("removed "), "{}", cleaned.stdout);
    assert_eq!(
        ask(&elsewhere, &server, &["clean", "--all", "--json"]).assert_code(0).json()["removed"],
        serde_json::json!([])
    );
    assert_eq!(
        ask(&elsewhere, &server, &["doctor", "--json"]).json()["findings"][0]["what"],
        call(&world, &["doctor", "--json"]).json()["findings"][0]["what"]
    );
    ask(&elsewhere, &server, &["doctor", "--sandbox"]).assert_code(2).assert_stderr_has("does not work with --server");
}

#[test]
// promise: recipes-4
fn run_trust_milestone_config_and_recipe_work_on_a_project_of_the_server() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(IN_STEP);
    agent.open_gate("go1");
    let server = Server::start(&world);
    let there = world.repo().path().to_string_lossy().into_owned();
    let on = |args: &[&str]| ask(&elsewhere, &server, &[&["-C", there.as_str()], args].concat());
    let command = agent.command_line();
    let ran = on(&["run", "do the work", "--name", "work", "--agent-command", &command, "--gate", "true"]);
    assert!(ran.assert_code(0).stdout.contains("completed"), "{}", ran.stdout);
    assert_eq!(call(&world, &["status", "work", "--json"]).json()["outcome"], "unchanged");
    assert_eq!(on(&["trust", "--show", "--json"]).assert_code(0).json()["trusted"], true);
    let new = ["add", "m1", "--title", "T", "--goal", "G", "--feature", "F1: a box", "--criterion", "it works"];
    on(&[&["milestone"], &new[..]].concat()).assert_code(0);
    assert_eq!(call(&world, &["milestone", "list", "--json"]).json()[0]["id"], "m1");
    let (shown, here) = (on(&["config", "show", "--json"]), call(&world, &["config", "show", "--json"]));
    assert_eq!(shown.assert_code(0).json(), here.json());
    let folder = world.repo().path().join(".windlass/recipes");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ours.toml"), "extends = \"promise\"\nmax_iterations = 3\n").unwrap();
    for args in [&["list"][..], &["show", "ours"], &["check"], &["check", "ours"]] {
        let args = [&["recipe"], args, &["--json"]].concat();
        assert_eq!(on(&args).assert_code(0).json(), call(&world, &args).assert_code(0).json(), "{args:?}");
    }
}

#[test]
fn work_of_another_machine_is_minimised_there_and_its_proof_is_signed_here() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(TWO_COMMITS);
    run(&world, &agent, &["--gate", "test -e two.txt"]).assert_code(0);
    let server = Server::start(&world);
    let mut lines = ask(&elsewhere, &server, &["minimise", "work", "--json"]).assert_code(0).json_lines();
    let report = lines.pop().unwrap();
    assert!(lines.iter().any(|line| line["type"] == "judged"), "its steps are shown here: {lines:?}");
    assert_eq!((&report["complete"], &report["branch"]), (&true.into(), &"windlass/work-minimised".into()), "{report}");
    assert_eq!(report["commit"], *world.repo().rev("windlass/work-minimised"));
    let key = elsewhere.root().join("key");
    let mut keygen = elsewhere.command("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    elsewhere.run(keygen).assert_code(0);
    let (proof, allowed) = (elsewhere.root().join("proof.json"), elsewhere.root().join("allowed"));
    let public = std::fs::read_to_string(elsewhere.root().join("key.pub")).unwrap();
    std::fs::write(&allowed, format!("bob@example.com {public}")).unwrap();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    ask(&elsewhere, &server, &["proof", "work", "-o", &text(&proof), "--sign", "--key", &text(&key)]).assert_code(0);
    let there = text(world.repo().path());
    let verify = ["-C", &there, "verify", &text(&proof), "--allowed-signers", &text(&allowed), "--no-gates"];
    ask(&elsewhere, &server, &verify).assert_code(0).assert_stdout_has("signed by bob@example.com");
    let honest = world.install_script("saint", "cat > /dev/null; echo 'IMPOSSIBLE: no number is even and odd'");
    world.config(&format!("[agents.saint]\ncommand = [{honest:?}]\n"));
    let report = ask(&elsewhere, &server, &["doctor", "--honesty", "saint", "--json"]).assert_code(0).json();
    assert_eq!(report["verdict"], "honest", "{report}");
}

#[test]
fn a_follower_goes_on_when_its_server_comes_again() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(IN_STEP);
    let driver = crate::support::start(&world, &agent, &[]);
    agent.wait_touched("at1");
    let server = Server::start(&world);
    let (port, link) = (server.port.to_string(), link(&server));
    let mut logs = elsewhere.start(windlass(&elsewhere, &["--server", &link, "logs", "work", "-f", "--json"]));
    logs.wait_line(Stream::Stdout, "\"one\\n\"");
    server.running.kill();
    server.running.wait_ended();
    drop(server);
    let mut again = world.start(windlass(&world, &["serve", "--port", &port]));
    again.wait_line(Stream::Stdout, "listening on");
    agent.open_gate("go1");
    let followed = logs.wait();
    followed.assert_code(0);
    driver.wait().assert_code(0);
    let here: Vec<Value> = call(&world, &["logs", "work", "--json"]).json_lines();
    assert_eq!(journal(&followed.json_lines()), journal(&here), "nothing twice, nothing left out");
}

fn journal(items: &[Value]) -> Vec<u64> {
    let journal = items.iter().filter(|item| item["type"] != "text");
    journal.filter_map(|item| item["seq"].as_u64()).collect()
}

#[test]
fn what_does_not_work_is_said_with_what_to_do() {
    let (world, elsewhere) = (World::new(), World::new());
    let server = Server::start(&world);
    let bare = format!("http://{}", server.host());
    let asked = |server: &str, args: &[&str]| call(&elsewhere, &[&["--server", server], args].concat());
    asked(&bare, &["list"]).assert_code(2).assert_stderr_has("WINDLASS_TOKEN");
    asked("nowhere", &["list"]).assert_code(2).assert_stderr_has("not a valid server address");
    asked("http://127.0.0.1:1", &["list"]).assert_code(1).assert_stderr_has("cannot reach the server");
    asked(&link(&server), &["status", "none"]).assert_code(2).assert_stderr_has("loop 'none' not found on http://");
    asked(&link(&server), &["demo"]).assert_code(2).assert_stderr_has("does not work with --server");
    asked(&link(&server), &["trust"]).assert_code(2).assert_stderr_has("-C");
    let mut with_token = windlass(&elsewhere, &["--server", &bare, "list", "--json"]);
    with_token.env("WINDLASS_TOKEN", &server.token);
    assert_eq!(elsewhere.run(with_token).assert_code(0).json(), serde_json::json!([]));
}

#[test]
fn a_server_with_tls_is_asked_if_its_certificate_is_trusted() {
    let (world, elsewhere) = (World::new(), World::new());
    let (cert, key) = crate::security::certificate(&world);
    let server = Server::start_with(&world, &["--tls-cert", &cert, "--tls-key", &key]);
    let link = link(&server);
    let refused = call(&elsewhere, &["--server", &link, "list"]);
    refused.assert_code(1).assert_stderr_has("certificate");
    let mut trusted = windlass(&elsewhere, &["--server", &link, "list", "--json"]);
    trusted.env("SSL_CERT_FILE", &cert);
    assert_eq!(elsewhere.run(trusted).assert_code(0).json(), serde_json::json!([]));
}

#[test]
// promise: top-1, top-3
fn top_shows_the_loops_of_another_machine_live() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(IN_STEP);
    let command = agent.command_line();
    call(&world, &["run", "x", "--name", "work", "--agent-command", &command, "--detach"]).assert_code(0);
    agent.wait_touched("at1");
    let server = Server::start(&world);
    let mut top = Pty::start(&windlass(&elsewhere, &["--server", &link(&server), "top"]), 100, 30);
    top.wait_screen(|shown| shown.contains("work") && shown.contains("running"));
    top.types("\r");
    top.wait_screen(|shown| shown.contains("one") && shown.contains("following"));
    agent.open_gate("go1");
    top.wait_screen(|shown| shown.contains("two"));
    top.types("\x1b");
    top.wait_screen(|shown| shown.contains("No loops match"));
    top.types("q");
    assert_eq!(top.wait_left().code(), Some(0));
}
