//! A project's first minutes: `init`, and the gate that `run` offers.

use crate::support::*;
use windlass_testkit::{World, type_in_terminal};

fn node_project() -> World {
    let world = World::new();
    let package = r#"{"scripts":{"test":"sh ./test.sh","lint":"true"},"devDependencies":{"x":"1"}}"#;
    world.repo().write("package.json", package).write("package-lock.json", "{}").write("tests/a.js", "");
    world.repo().write(".github/workflows/ci.yml", "on: push\n").write("test.sh", "true\n").commit("A project");
    world
}

#[test]
// promise: cli-8
fn init_writes_commented_settings_that_are_read_and_trusted() {
    let world = node_project();
    let file = world.repo().path().join(".windlass/config.toml");
    let preview = call(&world, &["init"]);
    preview.assert_code(0).assert_stdout_has("\"npm test\", # package.json").assert_stdout_has("nothing written");
    assert!(!file.exists());
    let json = call(&world, &["init", "--json"]).assert_code(0).json();
    assert_eq!((&json["written"], &json["found"]["setup"][0]["line"]), (&false.into(), &"npm ci".into()));

    call(&world, &["init", "--yes"]).assert_code(0).assert_stdout_has("wrote ");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect::<Vec<_>>(),
        [
            "gates = [",
            "    \"npm test\", # package.json",
            "]",
            "setup = [",
            "    \"npm ci\", # package-lock.json",
            "]",
            "protect = [",
            "    \".github/**\", # .github/workflows",
            "]",
        ],
        "{text}"
    );
    assert!(
        text.contains("# Also found in package.json: \"npm run lint\"") && text.contains("Add \"tests/**\""),
        "{text}"
    );
    let settings = call(&world, &["config", "show", "--json"]).assert_code(0).json();
    let of = |key: &str| settings.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()["value"].clone();
    assert_eq!((of("gates"), of("setup")), (serde_json::json!(["npm test"]), serde_json::json!(["npm ci"])));
    call(&world, &["trust", "--show"]).assert_code(0);

    call(&world, &["init", "--yes"]).assert_code(2).assert_stderr_has("exists already").assert_stderr_has("--force");
    std::fs::write(&file, "gates = [\"false\"]\n").unwrap();
    call(&world, &["init", "--yes", "--force"]).assert_code(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn an_agent_cannot_have_its_own_settings_trusted() {
    let world = node_project();
    let mut command = windlass(&world, &["init", "--yes"]);
    command.env("WINDLASS_TURN", "1.coder.1");
    world.run(command).assert_code(2).assert_stderr_has("an agent of a loop");
    assert!(!world.repo().path().join(".windlass").exists());
}

#[test]
fn a_loop_without_gates_names_the_one_that_was_found_and_goes_on() {
    let world = World::new();
    world.repo().write("Makefile", "test:\n\ttrue\n").commit("A project");
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"x\", content = \"x\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let out = run(&world, &agent, &[]);
    out.assert_code(0).assert_stdout_has("--gate \"make test\"").assert_stdout_has("claimed, not verified");
}

#[test]
fn at_a_terminal_the_found_gate_is_offered() {
    let world = World::new();
    world.repo().write("Makefile", "test:\n\ttrue\n").commit("A project");
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"x\", content = \"x\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let (text, status) = type_in_terminal(run_command(&world, &agent, &[]), "\n");
    assert!(status.success(), "{text}");
    assert!(text.contains("make test (Makefile)") && text.contains("completed: verified"), "{text}");
    let (text, _) = type_in_terminal(windlass(&world, &["run", "x", "--agent-command", &agent.command_line()]), "n\n");
    assert!(text.contains("claimed, not verified"), "{text}");
}
