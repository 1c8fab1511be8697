//! What can be done over the API, which is what the commands do.

use serde_json::{Value, json};
use windlass_testkit::World;

use crate::client::Server;
use crate::support::{call, status};

const IN_STEP: &str = r#"
[[turn]]
steps = [{ touch = "at1" }, { wait_for = "go1" }, { say = "more" }]
[[turn]]
steps = [{ touch = "at2" }, { wait_for = "go2" }, { say = "<promise>COMPLETE</promise>" }]
"#;

#[test]
fn a_loop_is_previewed_started_steered_paused_resumed_and_stopped() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let server = Server::start(&world);
    let body = json!({
        "project": world.repo().path(), "goal": "do it", "agent_command": agent.command_line(),
        "settings": { "max_iterations": 4, "gates": ["true"] },
    });
    let preview = server.post("/api/loops/preview", &body).ok();
    let line = |label: &str| preview["lines"].as_array().unwrap().iter().find(|row| row["label"] == label).cloned();
    assert_eq!(line("branch").unwrap()["text"], "windlass/do-it");
    assert!(line("limits").unwrap()["text"].as_str().unwrap().contains("4 iterations"));
    let max = preview["settings"].as_array().unwrap().iter().find(|row| row["key"] == "max_iterations").unwrap();
    assert_eq!((&max["value"], &max["layer"]), (&json!(4), &json!("request")));
    assert_eq!(server.get("/api/loops").ok()["loops"], json!([]), "nothing is made");

    let started = server.post("/api/loops", &body);
    assert_eq!(started.status, 201);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/loops/{id}");
    agent.wait_touched("at1");
    assert_eq!(server.get(&path).ok(), status(&world, "do-it"), "the very words of the command");
    let steered = server.post(&format!("{path}/steer"), &json!({ "message": "look <b>here</b>" })).ok();
    assert_eq!(steered["steering"][0]["text"], "look <b>here</b>");
    server.post(&format!("{path}/pause"), &json!({ "now": true })).ok();
    assert_eq!(server.get(&path).ok()["status"], "paused");
    let again = server.post(&format!("{path}/pause"), &json!({}));
    assert_eq!((again.status, again.json()["error"]["code"].clone()), (409, json!("refused")));
    server.post(&format!("{path}/resume"), &json!({ "raise": { "max_iterations": 2 } })).ok();
    agent.wait_turns(2);
    let driven = server.post(&format!("{path}/resume"), &json!({}));
    assert_eq!(driven.status, 409, "{}", driven.text());
    server.post(&format!("{path}/stop"), &json!({})).ok();
    let stopped = server.get(&path).ok();
    assert_eq!((&stopped["status"], &stopped["limits"]["max_iterations"]), (&json!("cancelled"), &json!(6)));
    let turns = server.get(&format!("{path}/turns")).ok();
    assert_eq!(turns[0]["turn"], "1.coder.1");
    assert!(server.get(&format!("{path}/turns/1.coder.2/prompt")).text().contains("look <b>here</b>"));
    let cleaned = server.post(&format!("{path}/clean"), &json!({})).ok();
    assert_eq!(cleaned["removed"][0]["name"], "do-it");
}

#[test]
fn mistakes_name_the_field_and_change_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let project = world.repo().path().display().to_string();
    let cases = [
        (json!({ "project": project, "goal": " " }), "goal"),
        (json!({ "project": "/nowhere", "goal": "g" }), "project"),
        (json!({ "project": "relative", "goal": "g" }), "project"),
        (json!({ "project": project, "goal": "g", "settings": { "max_iteration": 3 } }), "max_iteration"),
        (json!({ "project": project, "goal": "g", "settings": { "max_iterations": "many" } }), "max_iterations"),
    ];
    for (body, field) in cases {
        let refused = server.post("/api/loops", &body);
        assert_eq!((refused.status, refused.json()["error"]["field"].clone()), (400, json!(field)), "{body}");
    }
    assert_eq!(server.post("/api/loops", &json!({ "project": project, "goal": "g", "colour": 1 })).status, 400);
    let plain = server.raw(
        "POST",
        "/api/loops",
        &[&format!("Host: {}", server.host()), &server.bearer(), "Content-Type: text/plain"],
        "{}",
    );
    assert_eq!(plain.status, 400, "a form of another site cannot send JSON");
    assert_eq!(server.get("/api/loops").ok()["loops"], json!([]));
    assert_eq!(server.get("/api/loops/none").json()["error"]["code"], "not_found");
}

#[test]
fn settings_are_changed_in_the_file_with_its_comments() {
    let world = World::new();
    world.config("# mine\nmax_iterations = 3 # three\n");
    let server = Server::start(&world);
    let changed = server.put("/api/settings/user", &json!({ "max_iterations": 7 })).ok();
    let row = changed["settings"].as_array().unwrap().iter().find(|row| row["key"] == "max_iterations").unwrap();
    assert_eq!((&row["value"], &row["layer"]), (&json!(7), &json!("user")));
    let text = std::fs::read_to_string(world.config_file()).unwrap();
    assert_eq!(text, "# mine\nmax_iterations = 7 # three\n");
    let wrong = server.put("/api/settings/user", &json!({ "max_iterations": "x" }));
    assert_eq!((wrong.status, wrong.json()["error"]["field"].clone()), (400, json!("max_iterations")));
    let project = world.repo().path().display().to_string();
    server.put(&format!("/api/settings/project?project={project}"), &json!({ "commit": "off" })).ok();
    let file = std::fs::read_to_string(world.repo().path().join(".windlass/config.toml")).unwrap();
    assert_eq!(file, "commit = \"off\"\n");
    assert!(server.get("/api/settings/schema").json()["properties"]["max_iterations"].is_object());
    assert!(server.get("/api/agents").json().as_array().is_some_and(|agents| !agents.is_empty()));
    assert!(server.get("/api/doctor").json()["findings"].is_array());
}

#[test]
fn what_the_projects_own_files_run_needs_consent_over_the_api_too() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    let repo = world.repo().path();
    std::fs::create_dir_all(repo.join(".windlass")).unwrap();
    std::fs::write(repo.join(".windlass/config.toml"), "gates = [\"true\"]\n").unwrap();
    let git = |args: &[&str]| assert_eq!(world.run(git_command(&world, args)).code, Some(0));
    git(&["add", "-A"]);
    git(&["commit", "--quiet", "--message", "settings"]);
    let server = Server::start(&world);
    let mut body = json!({ "project": repo, "goal": "g", "agent_command": agent.command_line() });
    let preview = server.post("/api/loops/preview", &body).ok();
    assert!(preview["trust"].to_string().contains("true"), "{preview}");
    let refused = server.post("/api/loops", &body);
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (409, json!("trust_needed")));
    assert!(refused.json()["error"]["details"].is_array());
    body["trust"] = json!(true);
    assert_eq!(server.post("/api/loops", &body).status, 400, "to what?");
    body["trust"] = json!([]);
    assert_eq!(server.post("/api/loops", &body).status, 409, "what was not shown");
    body["trust"] = seen(&preview["trust"]);
    std::fs::write(repo.join(".windlass/config.toml"), "gates = [\"true\", \"id\"]\n").unwrap();
    let changed = server.post("/api/loops", &body);
    let error = changed.json()["error"].clone();
    assert_eq!((changed.status, &error["code"]), (409, &json!("trust_needed")));
    assert!(error["message"].as_str().unwrap().contains(".windlass/config.toml"), "{error}");
    assert_eq!(call(&world, &["trust", "--show", "--json"]).json()["trusted"], false, "nothing is agreed to");
    body["trust"] = seen(&error["details"]);
    assert_eq!(server.post("/api/loops", &body).status, 201);
}

/// The files of a list as somebody was shown them.
fn seen(files: &Value) -> Value {
    let file = |file: &Value| json!({ "file": file["file"], "sha256": file["sha256"] });
    files.as_array().expect("a list").iter().map(file).collect()
}

fn git_command(world: &World, args: &[&str]) -> std::process::Command {
    let mut command = world.command("git");
    command.args(args).current_dir(world.repo().path());
    command
}

#[test]
fn milestones_are_made_ordered_and_shown() {
    let world = World::new();
    let server = Server::start(&world);
    let project = world.repo().path().display().to_string();
    for id in ["one", "two"] {
        let body =
            json!({ "project": project, "id": id, "title": id, "goal": "g", "features": ["F1: a"], "criteria": ["b"] });
        server.post("/api/milestones", &body).ok();
    }
    let board = server.put("/api/milestones/order", &json!({ "project": project, "ids": ["two", "one"] })).ok();
    let ids: Vec<&str> = board["milestones"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["two", "one"]);
    let listed = call(&world, &["milestone", "list", "--json"]).assert_code(0).json();
    assert_eq!(server.get(&format!("/api/milestones?project={project}")).ok()["milestones"], listed);
    let unknown = server.post("/api/milestones/three/start", &json!({ "project": project }));
    assert_eq!(unknown.status, 409, "{}", unknown.text());
}

#[test]
fn a_detached_loop_is_left_to_the_server() {
    let world = World::new();
    let agent = world.script(IN_STEP);
    let server = Server::start(&world);
    let started = crate::support::run(&world, &agent, &["--detach", "--json"]);
    started.assert_code(0);
    agent.wait_touched("at1");
    assert_eq!(server.get("/api/server").ok()["driving"], 1);
    agent.open_gate("go1");
    agent.open_gate("go2");
    let path = format!("/api/loops/{}/events", server.id("work"));
    server.events(&path, None).until("loop_stopped");
    assert_eq!(status(&world, "work")["status"], "completed");
}

pub const TWO_COMMITS: &str = r#"
[[turn]]
steps = [{ write = { path = "one.txt", content = "1" } }, { say = "more" }]
[[turn]]
steps = [{ write = { path = "two.txt", content = "2" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

#[test]
fn work_is_taken_back_and_merged_and_what_a_person_should_know_is_in_the_answer() {
    let world = World::new();
    let agent = world.script(TWO_COMMITS);
    crate::support::run(&world, &agent, &["--max-iterations", "2"]).assert_code(0);
    let server = Server::start(&world);
    let path = format!("/api/loops/{}", server.id("work"));
    let nowhere = server.post(&format!("{path}/rollback"), &json!({ "to": 7 }));
    assert_eq!((nowhere.status, nowhere.json()["error"]["code"].clone()), (409, json!("refused")));
    assert!(nowhere.json()["error"]["hint"].as_str().unwrap().contains("1 to 2"), "{}", nowhere.text());
    let back = server.post(&format!("{path}/rollback"), &json!({ "to": 1 })).ok();
    assert_eq!((&back["to_iteration"], &back["files"]), (&json!(1), &json!(["two.txt"])));
    assert!(back["saved"].as_str().unwrap().starts_with("refs/windlass/"), "{back}");

    let worktree = server.get(&path).ok()["worktree"].as_str().unwrap().to_owned();
    std::fs::write(std::path::Path::new(&worktree).join("forgotten.txt"), "x").unwrap();
    let merged = server.post(&format!("{path}/merge"), &json!({})).ok();
    assert_eq!((&merged["type"], &merged["name"], &merged["into"]), (&json!("merged"), &json!("work"), &json!("main")));
    assert!(merged["warnings"].to_string().contains("1 file in"), "{merged}");
    assert!(world.repo().path().join("one.txt").exists() && !world.repo().path().join("two.txt").exists());
    let again = server.post(&format!("{path}/merge"), &json!({})).ok();
    assert_eq!(again["type"], "up_to_date");
}

#[test]
fn a_persons_word_is_journalled_with_its_reason() {
    let world = World::new();
    let developer = "#!/bin/sh\ncat > /dev/null\nprintf '## ALL_FEATURES_COMPLETE\\n\\nDone.\\n\\n### Commits\\n- a: b\\n\\n### Summary\\nall\\n'\necho x > done.txt; git add -A; git commit --quiet --message x\n";
    let developer = world.install_script("developer", developer);
    let acceptor = world.install_script("acceptor", "#!/bin/sh\ncat > /dev/null\necho ACCEPTED\n");
    world.config(&format!(
        "agent = \"developer\"\nreviewer = \"acceptor\"\n[agents.developer]\ncommand = [{developer:?}]\n\
         [agents.acceptor]\ncommand = [{acceptor:?}]\n"
    ));
    let words = ["milestone", "add", "first", "--title", "t", "--goal", "g", "--feature", "F1: a", "--criterion", "b"];
    call(&world, &[&words[..], &["--human-review"]].concat()).assert_code(0);
    call(&world, &["milestone", "start", "first"]);
    assert_eq!(status(&world, "milestone-first")["status"], "awaiting_review");
    let server = Server::start(&world);
    let path = format!("/api/loops/{}", server.id("milestone-first"));
    let ruled = server.post(&format!("{path}/approve"), &json!({ "reason": "looks right" })).ok();
    assert_eq!(ruled["status"], "completed");
    let events = server.events(&format!("{path}/events"), None).until("loop_stopped");
    let ruling = events.iter().find(|event| event.data["type"] == "person_ruled").expect("it is in the journal");
    assert_eq!((&ruling.data["approved"], &ruling.data["reason"]), (&json!(true), &json!("looks right")));
}

#[test]
fn what_the_other_commands_tell_is_told_over_the_api() {
    let world = World::new();
    let agent = world.script(TWO_COMMITS);
    let repo = world.repo().path();
    std::fs::create_dir_all(repo.join(".windlass")).unwrap();
    std::fs::write(repo.join(".windlass/config.toml"), "gates = [\"true\"]\n").unwrap();
    let server = Server::start(&world);
    let project = json!({ "project": repo });
    let shown = format!("/api/trust?project={}", repo.display());
    assert_eq!(server.get("/api/trust").status, 400, "whose?");
    let open = server.get(&shown).ok();
    assert_eq!((&open["trusted"], &open["files"][0]["file"]), (&json!(false), &json!(".windlass/config.toml")));
    assert_eq!(server.post("/api/trust", &project).status, 400, "to what?");
    let shown_files = json!({ "project": repo, "files": seen(&open["files"]) });
    std::fs::write(repo.join(".windlass/config.toml"), "gates = [\"false\"]\n").unwrap();
    let changed = server.post("/api/trust", &shown_files);
    assert_eq!((changed.status, &changed.json()["error"]["code"]), (409, &json!("trust_needed")));
    assert_eq!(changed.json()["error"]["details"], server.get(&shown).ok()["files"], "what would run now");
    std::fs::write(repo.join(".windlass/config.toml"), "gates = [\"true\"]\n").unwrap();
    assert_eq!(server.post("/api/trust", &shown_files).ok()["trusted"], true);
    assert_eq!(server.get(&shown).ok(), call(&world, &["trust", "--show", "--json"]).json());
    assert_eq!(server.post("/api/trust/revoke", &project).ok()["revoked"], true);
    assert_eq!(server.get(&shown).ok()["trusted"], false);
    std::fs::remove_dir_all(repo.join(".windlass")).unwrap();

    crate::support::run(&world, &agent, &[]).assert_code(0);
    let path = format!("/api/loops/{}", server.id("work"));
    let worktree = server.get(&path).ok()["worktree"].as_str().unwrap().to_owned();
    std::fs::write(std::path::Path::new(&worktree).join("later.txt"), "x").unwrap();
    let files = |query: &str| server.get(&format!("{path}/diff{query}")).ok()["files"].as_array().unwrap().len();
    assert_eq!((files(""), files("?worktree=true"), files("?iteration=1")), (2, 3, 1));
    assert_eq!((files("?since=1"), files("?since=0&iteration=1"), files("?since=1&iteration=1")), (1, 1, 0));
    assert_eq!(files("?target=true"), 2);
    let report = server.get("/api/report?days=0&utc_offset_minutes=60").ok();
    assert_eq!((&report["total"]["loops"], &report["by_project"][0]["name"]), (&json!(1), &json!(repo)));
    assert_eq!(server.get("/api/report?project=/nowhere").ok()["total"]["loops"], 0);
    assert_eq!(server.get(&format!("{path}/diff?since=9")).json()["error"]["field"], "iteration");
    let entered = server.post(&format!("{path}/takeover"), &json!({})).ok();
    assert_eq!((&entered["status"], &entered["dir"]), (&json!("completed"), &json!(worktree)));
    let kept = server.post("/api/clean", &json!({ "project": repo })).ok();
    assert_eq!((&kept["kept"][0]["name"], &kept["removed"]), (&json!("work"), &json!([])), "it is too young");

    let words = ["milestone", "add", "one", "--title", "t", "--goal", "g", "--feature", "F1: a", "--criterion", "b"];
    call(&world, &words).assert_code(0);
    let one = server.get(&format!("/api/milestones/one?project={}", repo.display())).ok();
    assert_eq!(one, call(&world, &["milestone", "show", "one", "--json"]).json());
    assert_eq!(server.get(&format!("/api/milestones/two?project={}", repo.display())).status, 409);
}

#[test]
fn loops_beyond_max_running_are_queued_and_start_when_the_server_is_back() {
    let world = World::new();
    world.config("max_running = 1\n");
    let first = world.script("[[turn]]\nsteps = [{ touch = \"here\" }, \"hang\"]");
    let second = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    let server = Server::start(&world);
    let start = |goal: &str, agent: &windlass_testkit::ScriptedAgent| {
        let body = json!({ "project": world.repo().path(), "goal": goal, "agent_command": agent.command_line() });
        assert_eq!(server.post("/api/loops", &body).status, 201);
    };
    start("first", &first);
    first.wait_touched("here");
    start("second", &second);
    let mut logs = world.start(crate::support::windlass(&world, &["logs", "second", "-f", "--json"]));
    logs.wait_line(windlass_testkit::Stream::Stdout, "loop_queued");
    let rows = server.get("/api/loops?status=queued").ok();
    assert_eq!(rows["loops"][0]["name"], "second", "{rows}");
    assert_eq!(rows["loops"][0]["waiting_for"], "a free slot");
    server.running.kill();
    server.running.wait_ended();
    logs.wait();
    assert!(second.turns().is_empty());
    let _server = Server::start(&world);
    second.wait_turns(1);
    call(&world, &["logs", "second", "-f"]);
    assert_eq!(status(&world, "second")["status"], "completed");
    assert_eq!(status(&world, "first")["status"], "interrupted");
}
