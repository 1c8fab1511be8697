//! The queue of goals of another machine.

use serde_json::json;
use windlass_testkit::World;

use crate::client::Server;
use crate::support::{call, status};

#[test]
fn queue_of_another_machine_is_filled_changed_and_worked_off_there() {
    let (world, elsewhere) = (World::new(), World::new());
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { touch = "here" }, { wait_for = "go" }, { write = { path = "state", content = "1\n" } },
            { say = "<promise>COMPLETE</promise>" },
        ]
        "#,
    );
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("queue_per_account = 1\n[agents.slow]\ncommand = [{}]\n", words.join(", ")));
    let server = Server::start(&world);
    let project = world.repo().path().to_str().unwrap().to_owned();
    let link = crate::remote::link(&server);
    let ask = |args: &[&str]| call(&elsewhere, &[&["--server", &link, "-C", &project, "queue"], args].concat());
    let add: &[&str] = &["--agent", "slow", "--gate", "true"];
    ask(&[["add", "first"].as_slice(), add].concat()).assert_code(0).assert_stdout_has("added goal 1: first");
    agent.wait_touched("here");
    ask(&[["add", "second", "third"].as_slice(), add].concat()).assert_code(0);
    ask(&["move", "3", "--before", "2"]).assert_code(0).assert_stdout_has("account slow has 1 of 1 goals running");
    ask(&["remove", "2"]).assert_code(0);
    ask(&["remove", "1"]).assert_code(2).assert_stderr_has("goal 1 has already started");
    ask(&["remove", "2"]).assert_code(2).assert_stderr_has("goal '2' is not in the queue");
    ask(&["start"]).assert_code(2).assert_stderr_has("does not work with --server");
    let (there, here) = (ask(&["list", "--json"]), call(&world, &["queue", "list", "--json"]));
    assert_eq!(there.assert_code(0).json(), here.assert_code(0).json());
    assert_eq!(server.get("/api/queue").ok()["driven"], true);

    // A circle can only be written in one request.
    let goal = |name: &str, after: &str| {
        let run = json!({ "project": project, "goal": name, "name": name, "settings": { "agent": "slow" } });
        json!({ "run": run, "after": [after] })
    };
    let circle = server.post("/api/queue", &json!({ "goals": [goal("a", "b"), goal("b", "a")] }));
    assert_eq!(circle.status, 409, "{}", circle.text());
    assert!(circle.text().contains("the goals depend on each other in a circle"));
    assert_eq!(server.get("/api/queue").ok()["goals"].as_array().unwrap().len(), 2);
    agent.open_gate("go");
    call(&world, &["logs", "first", "-f"]);
    agent.wait_turns(2);
    call(&world, &["logs", "third", "-f"]);
    assert_eq!(
        (&status(&world, "first")["verified"], &status(&world, "third")["verified"]),
        (&json!(true), &json!(true))
    );
}
