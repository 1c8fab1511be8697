//! The feed over HTTP: nothing twice, nothing missing, whoever comes when.

use std::sync::Arc;

use rustix::process::Signal;
use windlass_testkit::World;

use crate::client::{Event, Server, numbers, said};
use crate::support::{PROMISE, call, peak_memory_mb, start};

/// An agent whose lines come several in one piece, with a pause that a test ends.
const TALKER: &str = r#"#!/bin/sh
cat > /dev/null
say() { printf '{"type":"text","text":"%s "}\n' "$1"; }
for i in 1 2 3 4 5 6 7 8; do say "a$i"; done | cat
printf 'to stderr\n' >&2
for i in 1 2 3 4 5 6 7 8; do say "b$i"; done | cat
echo x >> work.txt
say '<promise>COMPLETE</promise>'
"#;

fn talker(world: &World) -> String {
    let program = world.install_script("talker", TALKER);
    world.config(&format!("[agents.talker]\ncommand = [{program:?}]\noutput = \"jsonl\"\n"));
    call(world, &["run", "talk", "--name", "talk", "--agent", "talker", "--gate", "test $(wc -l < work.txt) -ge 3"])
        .assert_code(0);
    "talk".to_owned()
}

fn items(events: &[Event]) -> Vec<&serde_json::Value> {
    events.iter().map(|event| &event.data).collect()
}

#[test]
// promise: api-2
fn who_comes_back_at_any_item_gets_just_the_rest() {
    let world = World::new();
    let name = talker(&world);
    let server = Server::start(&world);
    let path = format!("/api/loops/{}/events", server.id(&name));
    let all = server.events(&path, None).until("loop_stopped");
    assert_eq!(said(&all).matches("b8 ").count(), 3, "three iterations");
    assert_eq!(said(&all).matches(PROMISE).count(), 3);
    let ids: Vec<&str> = all.iter().map(|event| event.id.as_deref().expect("each has an id")).collect();
    for (index, id) in ids.iter().enumerate().take(ids.len() - 1) {
        let rest = server.events(&path, Some(id)).until("loop_stopped");
        assert_eq!(items(&rest), items(&all[index + 1..]), "after {id}");
    }
    let asked = server.events(&format!("{path}?after={}", ids[3]), None).until("loop_stopped");
    assert_eq!(items(&asked), items(&all[4..]), "as a parameter");
    for wrong in ["x", "1.2", "9.9.9.9.0.0.0.0.0.0"] {
        assert_eq!(server.get(&format!("{path}?after={wrong}")).status, 400, "{wrong}");
    }
    let logs = call(&world, &["logs", &name, "--json"]).assert_code(0).json_lines();
    assert_eq!(
        numbers(&all).len(),
        logs.iter().filter(|item| item["turn"].is_null() || item["type"] != "text").count()
    );
}

#[test]
fn the_past_is_read_backwards_page_by_page_without_gap_or_overlap() {
    let world = World::new();
    let many =
        "#!/bin/sh\ncat > /dev/null\ni=0\nwhile [ $i -lt 30000 ]; do i=$((i+1)); echo \"line $i of many\"; done\n";
    let agent = world.install_script("many", many).display().to_string();
    call(&world, &["run", "m", "--name", "many", "--agent-command", &agent, "--max-iterations", "2"]);
    let server = Server::start(&world);
    let path = format!("/api/loops/{}", server.id("many"));
    let all = server.events(&format!("{path}/events"), None).until("loop_stopped");
    let mut tail = server.events(&format!("{path}/events?tail=16"), None);
    let opening = tail.next().unwrap();
    assert_eq!(opening.kind.as_deref(), Some("start"));
    let end = tail.until("loop_stopped");
    assert!(said(&end).len() < 40_000 && said(&end).starts_with("line "), "{}", said(&end).len());
    let mut text = said(&end);
    let mut journal = numbers(&end);
    let mut before = opening.data["before"].as_str().map(str::to_owned);
    let mut pages = 0;
    while let Some(at) = before {
        let page = server.get(&format!("{path}/feed?limit=64&before={at}")).ok();
        let page_items: Vec<Event> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| Event { id: None, kind: None, data: item.clone() })
            .collect();
        text = said(&page_items) + &text;
        journal = [numbers(&page_items), journal].concat();
        before = page["before"].as_str().map(str::to_owned);
        pages += 1;
    }
    assert!(pages > 10, "{pages}");
    assert_eq!(text, said(&all));
    assert_eq!(journal, numbers(&all));
}

#[test]
fn who_comes_in_the_middle_sees_all_and_hundreds_do_so_at_once() {
    const SUBSCRIBERS: usize = 200;
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ say = "before" }, { touch = "half" }, { wait_for = "go" }, { say = "after" }, { say = "<promise>COMPLETE</promise>" }]
        "#,
    );
    let server = Arc::new(Server::start(&world));
    let running = start(&world, &agent, &[]);
    agent.wait_touched("half");
    let path = format!("/api/loops/{}/events", server.id("work"));
    let mut streams: Vec<_> = (0..SUBSCRIBERS).map(|_| server.events(&path, None)).collect();
    // The first has seen what was said before it came; then it continues for all.
    while !streams[0].next().unwrap().data["text"].as_str().is_some_and(|text| text.contains("before")) {}
    agent.open_gate("go");
    running.wait().assert_code(0);
    let threads: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(index, mut stream)| std::thread::spawn(move || (index, stream.until("loop_stopped"))))
        .collect();
    for thread in threads {
        let (index, events) = thread.join().unwrap();
        let before = if index == 0 { "" } else { "before\n" };
        assert_eq!(said(&events), format!("{before}after\n{PROMISE}\n"), "subscriber {index}");
        let numbers = numbers(&events);
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    }
}

#[test]
fn what_many_subscribers_see_is_read_once_for_all_of_them() {
    const SUBSCRIBERS: usize = 40;
    const BYTES: usize = 2_000_000;
    let world = World::new();
    let agent = world.script(&format!(
        r#"
        [[turn]]
        steps = [{{ say = "before" }}, {{ touch = "half" }}, {{ wait_for = "go" }}, {{ flood = {{ bytes = {BYTES}, line = 100 }} }}, {{ say = "<promise>COMPLETE</promise>" }}]
        "#
    ));
    let server = Server::start(&world);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("half");
    let path = format!("/api/loops/{}/events", server.id("work"));
    let mut streams: Vec<_> = (0..SUBSCRIBERS).map(|_| server.events(&path, None)).collect();
    for stream in &mut streams {
        while !stream.next().unwrap().data["text"].as_str().is_some_and(|text| text.contains("before")) {}
    }
    let before = read_bytes(server.running.pid());
    agent.open_gate("go");
    running.wait().assert_code(0);
    let threads: Vec<_> =
        streams.into_iter().map(|mut stream| std::thread::spawn(move || stream.until("loop_stopped"))).collect();
    for thread in threads {
        let text = said(&thread.join().unwrap());
        assert!(text.len() >= BYTES && text.ends_with(&format!("{PROMISE}\n")), "{}", text.len());
    }
    // The database is read too, and by the board.
    let read = read_bytes(server.running.pid()) - before;
    assert!(read < 10 * BYTES as u64, "{read} bytes read for {SUBSCRIBERS} subscribers of {BYTES}");
}

/// What a process has read so far, of files and pipes.
fn read_bytes(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("it still runs");
    let line = io.lines().find_map(|line| line.strip_prefix("rchar:")).expect("Linux tells");
    line.trim().parse().expect("a number")
}

#[test]
fn who_does_not_read_holds_no_memory() {
    const MANY: usize = 50;
    let world = World::new();
    let flood = "#!/bin/sh\ncat > /dev/null\nyes 'a line that nobody reads, eighty characters long, again and again and again' | head -c 20000000\n";
    let agent = world.install_script("flood", flood).display().to_string();
    call(&world, &["run", "f", "--name", "flood", "--agent-command", &agent, "--max-iterations", "1"]);
    let server = Server::start(&world);
    let path = format!("/api/loops/{}/events", server.id("flood"));
    // One reader to the end: by then those who do not read have long been given what they hold.
    let stalled: Vec<_> = (0..MANY).map(|_| server.stalled(&path)).collect();
    let read = server.events(&path, None).until("loop_stopped");
    assert_eq!(said(&read).len(), 20_000_000);
    let peak = peak_memory_mb(server.running.pid());
    assert!(peak < 150, "{peak} MB for {MANY} who do not read");
    // The one that has read may not have been missed yet.
    let subscribers = server.get("/api/server").ok()["subscribers"].as_u64().unwrap();
    assert!(subscribers >= MANY as u64, "{subscribers}");
    drop(stalled);
}

#[test]
// promise: api-2
fn a_restarted_server_goes_on_where_the_killed_one_was() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ say = "one" }, { say = "two" }, { touch = "half" }, { wait_for = "go" }, { say = "three" }, { say = "<promise>COMPLETE</promise>" }]
        "#,
    );
    let server = Server::start(&world);
    let running = start(&world, &agent, &[]);
    agent.wait_touched("half");
    let path = format!("/api/loops/{}/events", server.id("work"));
    let mut stream = server.events(&path, None);
    let mut seen = Vec::new();
    while !said(&seen).contains("two") {
        seen.extend(stream.next().filter(|event| event.kind.is_none()));
    }
    server.running.kill();
    server.running.wait_ended();
    drop(server);
    let server = Server::start(&world);
    let last = seen.last().unwrap().id.clone().unwrap();
    let mut stream = server.events(&path, Some(&last));
    agent.open_gate("go");
    running.wait().assert_code(0);
    seen.extend(stream.until("loop_stopped"));
    assert_eq!(said(&seen), format!("one\ntwo\nthree\n{PROMISE}\n"));
    let numbers = numbers(&seen);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "every event of the journal, once");
}

#[test]
fn the_board_tells_of_loops_of_other_processes_by_itself() {
    let world = World::new();
    let server = Server::start(&world);
    let mut board = server.events("/api/events?after=now", None);
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    let running = start(&world, &agent, &[]);
    let mut last = None;
    let completed = loop {
        let event = board.next().expect("it goes on");
        assert_eq!(event.data["name"], "work");
        if event.data["status"] == "completed" {
            break event;
        }
        last = event.id;
    };
    running.wait().assert_code(0);
    assert_eq!(completed.data["driven"].as_bool().map(|_| ()), Some(()));
    let again = server.events("/api/events", last.as_deref()).next().unwrap();
    assert_eq!((&again.data["name"], &again.data["status"]), (&completed.data["name"], &completed.data["status"]));
    let all = server.events("/api/events", Some("0-999")).next().unwrap();
    assert_eq!(all.data["name"], "work", "an id of an earlier server: all loops again");
}

#[test]
fn a_server_that_is_told_to_leave_ends_its_streams_and_leaves_loops_resumable() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ touch = \"reached\" }, { wait_for = \"never\" }]\n[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n",
    );
    let server = Server::start(&world);
    let body = serde_json::json!({
        "project": world.repo().path(), "goal": "g", "name": "work", "agent_command": agent.command_line(),
    });
    let id = server.post("/api/loops", &body).ok()["id"].as_str().unwrap().to_owned();
    agent.wait_touched("reached");
    let mut stream = server.events(&format!("/api/loops/{id}/events"), None);
    let mut board = server.events("/api/events", None);
    server.running.signal(Signal::TERM);
    while stream.next().is_some() {}
    while board.next().is_some() {}
    let Server { running, .. } = server;
    assert_eq!(running.wait().code, Some(143));
    assert!(!world.data_dir().join("server.json").exists(), "nobody is sent to a server that is gone");
    assert_eq!(crate::support::status(&world, "work")["status"], "interrupted");
    let server = Server::start(&world);
    server.post(&format!("/api/loops/{id}/resume"), &serde_json::json!({})).ok();
    server.events(&format!("/api/loops/{id}/events"), None).until("loop_stopped");
    assert_eq!(server.get(&format!("/api/loops/{id}")).ok()["status"], "completed");
}
