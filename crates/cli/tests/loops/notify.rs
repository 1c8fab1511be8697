//! Notifications: a command, a signed webhook, the desktop; and that a loop never depends on them.

use crate::receiver::{Posted, Receiver, Reply};
use crate::support::*;
use serde_json::Value;
use windlass_testkit::{ScriptedAgent, World};

const CLEAN: &str = "```windlass-review\n{ \"verdict\": \"clean\" }\n```";

fn completing(world: &World) -> ScriptedAgent {
    world.script(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"a\", content = \"a\" }} }}, {{ say = \"{PROMISE}\" }}]"
    ))
}

fn saying(world: &World, words: &str) -> ScriptedAgent {
    world.script(&format!("[[turn]]\nsteps = [{{ say = {words:?} }}]"))
}

/// A command that keeps what it is told in a file for each event, a line each.
fn keep_in_files(world: &World, more: &str) {
    let told = world.root().join("told");
    std::fs::create_dir_all(&told).unwrap();
    let command = format!("{{ cat; echo; echo \"$WINDLASS_LOOP\"; }} >> {}/$WINDLASS_EVENT", told.display());
    world.config(&format!("notify_command = {command:?}\n{more}"));
}

/// What was told of an event: the bodies, with the name that the environment had.
fn told(world: &World, event: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.root().join("told").join(event)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let bodies = lines.chunks(2).map(|pair| {
        assert_eq!(pair[1], "work", "WINDLASS_LOOP");
        serde_json::from_str(pair[0]).unwrap_or_else(|error| panic!("{error}: {}", pair[0]))
    });
    bodies.collect()
}

fn log(world: &World) -> String {
    let files = std::fs::read_dir(world.data_dir().join("logs")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn a_command_gets_the_documented_body() {
    let world = World::new();
    keep_in_files(&world, "");
    run(&world, &completing(&world), &[]).assert_code(0);
    let [body] = &told(&world, "completed")[..] else { panic!("told once") };
    let status = status(&world, "work");
    assert_eq!(body["event"], "completed");
    for field in ["id", "name", "project", "goal", "status", "stop_reason", "waiting_for"] {
        assert_eq!(body["loop"][field], status[field], "{field}");
    }
    assert_eq!(body["loop"]["status"], "completed");
    assert_eq!(body["loop"]["stop_reason"]["type"], "completed");
    assert!(body["at"].as_str().unwrap().ends_with('Z'), "{body}");
    assert_eq!(std::fs::read_dir(world.root().join("told")).unwrap().count(), 1);
}

#[test]
fn a_limit_is_a_stop_and_the_own_pause_is_nothing() {
    let world = World::new();
    keep_in_files(&world, "");
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"here\" }, { wait_for = \"go\" }, { say = \"more\" }]");
    let running = start(&world, &agent, &["--max-iterations", "1"]);
    agent.wait_touched("here");
    call(&world, &["pause", "work", "--now"]).assert_code(0);
    running.wait().assert_code(6);
    assert!(told(&world, "needs_person").is_empty(), "who asked for the pause is not told of it");
    agent.open_gate("go");
    call(&world, &["resume", "work"]).assert_code(3);
    assert_eq!(told(&world, "stopped")[0]["loop"]["stop_reason"]["type"], "max_iterations");
}

#[test]
fn a_loop_that_awaits_review_needs_a_person_and_is_completed_by_one() {
    let world = World::new();
    keep_in_files(&world, "");
    let (coder, auditor) = (crate::tools::working_agent(&world), saying(&world, CLEAN));
    crate::tools::start(&world, "audited", &coder, &auditor, &["--human-review"]).wait().assert_code(6);
    let asked = told(&world, "needs_person");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["loop"]["status"], "awaiting_review");
    assert!(asked[0]["loop"]["waiting_for"].as_str().unwrap().contains("approve or reject"), "{}", asked[0]);
    assert!(told(&world, "completed").is_empty());
    call(&world, &["approve", "work"]).assert_code(0);
    assert_eq!(told(&world, "completed").len(), 1);
}

#[test]
// promise: notify-1
fn a_loop_that_was_rejected_too_often_needs_a_person() {
    let world = World::new();
    keep_in_files(&world, "");
    let (coder, acceptor) =
        (crate::tools::working_agent(&world), saying(&world, "REJECTED: it is not what was asked for"));
    crate::tools::start(&world, "milestone", &coder, &acceptor, &[]).wait().assert_code(6);
    let asked = told(&world, "needs_person");
    assert_eq!(asked.len(), 1);
    assert!(asked[0]["loop"]["waiting_for"].as_str().unwrap().contains("rejections"), "{}", asked[0]);
}

#[track_caller]
fn assert_signed(posted: &Posted, secret: &str) {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    let signature = posted.headers["x-windlass-signature"].strip_prefix("sha256=").expect("the algorithm is named");
    let bytes: Vec<u8> =
        (0..signature.len()).step_by(2).map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap()).collect();
    ring::hmac::verify(&key, &posted.body, &bytes).expect("the signature is that of the body");
}

#[test]
// promise: notify-1
fn a_webhook_is_signed_and_tried_again() {
    let mut world = World::new();
    world.set_env("HOOK_SECRET", "a quiet word");
    let receiver = Receiver::replying(&[Reply::Status(503), Reply::Status(204)]);
    world.config(&format!("notify_webhook = {:?}\nnotify_webhook_secret_env = \"HOOK_SECRET\"\n", receiver.url));
    run(&world, &completing(&world), &[]).assert_code(0);
    let (first, second) = (receiver.next(), receiver.next());
    for posted in [&first, &second] {
        assert_eq!(posted.line, "POST /hook?key=hidden HTTP/1.1");
        assert_eq!(posted.headers["content-type"], "application/json");
        assert_eq!(posted.headers["x-windlass-event"], "completed");
        assert_signed(posted, "a quiet word");
    }
    assert_eq!(first.body, second.body);
    let body: Value = serde_json::from_slice(&second.body).unwrap();
    assert_eq!(body["loop"]["name"], "work");
    assert!(receiver.is_quiet());
    assert!(!log(&world).contains("Notification failed"), "{}", log(&world));
}

#[test]
fn a_webhook_is_not_led_elsewhere_and_not_sent_without_its_secret() {
    let world = World::new();
    let receiver = Receiver::replying(&[Reply::Redirect]);
    world.config(&format!("notify_webhook = {:?}\n", receiver.url));
    run(&world, &completing(&world), &[]).assert_code(0);
    assert!(!receiver.next().headers.contains_key("x-windlass-signature"));
    assert!(receiver.is_quiet(), "a redirect is not followed, and a refusal not tried again");
    let said = log(&world);
    assert!(said.contains("Notification failed (completed, notify_webhook): the server responded with 302"), "{said}");
    assert!(!said.contains("hidden"), "the address may be a secret: {said}");

    let world = World::new();
    world.config(&format!("notify_webhook = {:?}\nnotify_webhook_secret_env = \"NOT_SET\"\n", receiver.url));
    run(&world, &completing(&world), &[]).assert_code(0);
    assert!(receiver.is_quiet());
    assert!(log(&world).contains("NOT_SET"), "{}", log(&world));

    let world = World::new();
    world.config("notify_webhook = \"ftp://127.0.0.1/x\"\n");
    run(&world, &completing(&world), &[]).assert_code(0);
    assert!(log(&world).contains("not an HTTP or HTTPS URL"), "{}", log(&world));
}

#[test]
// promise: notify-1
fn who_never_answers_and_who_fails_costs_the_loop_nothing() {
    let world = World::new();
    let receiver = Receiver::replying(&[Reply::Silence]);
    world.config(&format!(
        "notify_webhook = {:?}\nnotify_command = \"echo no such channel >&2; exit 3\"\n",
        receiver.url
    ));
    let output = run(&world, &completing(&world), &[]);
    output.assert_code(0);
    receiver.next();
    assert_eq!(status(&world, "work")["status"], "completed");
    let said = log(&world);
    assert!(
        said.contains("Notification failed (completed, notify_command): exit status: 3: no such channel"),
        "{said}"
    );
    assert!(said.contains("Notifications timed out after 5 s: 1"), "{said}");
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let world = World::new();
    world.config("notify_command = \"sleep 600 & sleep 600\"\n");
    run(&world, &completing(&world), &[]).assert_code(0);
    world.wait_no_processes();
}

#[test]
fn only_what_was_asked_for_is_told() {
    let world = World::new();
    keep_in_files(&world, "notify_on = [\"waiting\", \"needs_person\"]\n");
    run(&world, &completing(&world), &[]).assert_code(0);
    assert!(told(&world, "completed").is_empty());
    world.config("notify_on = [\"finished\"]\n");
    let refused = call(&world, &["config", "show"]);
    refused.assert_code(2);
    assert!(refused.shown().contains("'finished' is not a notification event"), "{}", refused.shown());
}

#[test]
fn the_desktop_is_told_where_that_is_wanted() {
    let world = World::new();
    let shown = world.root().join("shown");
    world.install_script("notify-send", &format!("printf '%s\\n' \"$@\" > {}", shown.display()));
    run(&world, &completing(&world), &[]).assert_code(0);
    assert!(!shown.exists(), "it is off by default");
    world.config("notify_desktop = true\n");
    let agent = completing(&world).command_line();
    call(&world, &["run", "again", "--agent-command", &agent]).assert_code(0);
    let words = std::fs::read_to_string(&shown).unwrap();
    assert_eq!(words, "--app-name=Windlass\n--\nWindlass: again\ncompleted\n");
}

/// Settings are read when the loop is driven: they are the user's, not the loop's.
#[test]
fn the_settings_of_today_count_for_a_loop_of_yesterday() {
    let world = World::new();
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ say = \"more\" }}]\n[[turn]]\nsteps = [{{ write = {{ path = \"a\", content = \"a\" }} }}, {{ say = \"{PROMISE}\" }}]"
    ));
    run(&world, &agent, &["--max-iterations", "1"]).assert_code(3);
    keep_in_files(&world, "");
    let resumed = call(&world, &["resume", "work", "--max-iterations", "+1", "--detach"]);
    resumed.assert_code(0);
    call(&world, &["logs", "work", "-f"]).assert_code(0);
    world.wait_no_processes();
    assert_eq!(told(&world, "completed").len(), 1);
}
