//! Which turn is played, and what the agent records of each start.

use windlass_testkit::script::Script;
use windlass_testkit::{World, scripted_agent};

const THREE: &str = r#"
    [[turn]]
    steps = [{ say = "first" }]
    [[turn]]
    steps = [{ say = "second" }]
    [[turn]]
    steps = [{ say = "last" }]
"#;

#[test]
fn turns_are_played_in_order_and_the_last_repeats() {
    let world = World::new();
    let agent = world.script(THREE);
    let said: Vec<String> = (0..4).map(|_| world.run(world.agent(&agent)).stdout).collect();
    assert_eq!(said, ["first\n", "second\n", "last\n", "last\n"]);
    let numbers: Vec<usize> = agent.turns().iter().map(|t| t.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[test]
fn selected_by_iteration_a_turn_that_was_cut_off_is_played_again() {
    let world = World::new();
    let agent = world.script(&format!("select = \"iteration\"\n{THREE}"));
    let said: Vec<String> = ["0190.2.coder.1", "0190.2.coder.2", "0190.3.coder.1", "0190.9.coder.1"]
        .map(|turn| {
            let mut command = world.agent(&agent);
            command.env("WINDLASS_TURN", turn);
            world.run(command).stdout
        })
        .into();
    assert_eq!(said, ["second\n", "second\n", "last\n", "last\n"]);
    let id = agent.turns()[1].id().expect("a turn id");
    assert_eq!((id.loop_id.as_str(), id.iteration, id.attempt), ("0190", 2, 2));
    world.run(world.agent(&agent)).assert_code(64).assert_stderr_has("WINDLASS_TURN");
}

#[test]
fn a_start_is_recorded_with_its_identity_and_arguments() {
    let world = World::new();
    let agent = world.script(THREE);
    let mut command = world.agent(&agent);
    command.env("WINDLASS_LOOP", "l-1").args(["--resume", "abc", "-x"]);
    let running = world.start(command);
    let pid = running.pid();
    running.wait().assert_code(0);
    let start = agent.turns().remove(0);
    assert_eq!(start.process.pid, pid);
    assert_eq!(start.loop_id.as_deref(), Some("l-1"));
    assert_eq!(start.turn, None);
    assert_eq!(start.args[2..], ["--resume", "abc", "-x"]);
    assert_eq!(start.cwd, world.repo().path());
    assert!(!start.process.alive());
}

#[test]
fn starts_at_the_same_time_get_different_numbers() {
    let world = World::new();
    let agent = world.script(THREE);
    let running: Vec<_> = (0..20).map(|_| world.start(world.agent(&agent))).collect();
    for one in running {
        one.wait().assert_code(0);
    }
    let numbers: Vec<usize> = agent.turns().iter().map(|t| t.number).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    assert_eq!(agent.prompts().len(), 20);
}

#[test]
fn a_start_counts_before_its_prompt_is_read() {
    let world = World::new();
    let agent = world.script(THREE);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = world.agent(&agent);
    command.stdin(reader);
    let running = world.start(command);
    assert_eq!(agent.wait_turns(1).number, 1);
    assert_eq!(agent.prompt_bytes(1), None);
    drop(writer);
    running.wait().assert_code(0);
    assert_eq!(agent.prompt_bytes(1), Some(Vec::new()));
}

#[test]
fn prompts_are_stored_from_stdin_argument_and_file() {
    let world = World::new();
    let agent = world.script(THREE);
    world.run_with_input(world.agent(&agent), b"from stdin \xff\n".to_vec());
    let mut by_argument = world.agent(&agent);
    by_argument.args(["--prompt", "from argument"]);
    world.run(by_argument);
    let mut after_dashes = world.agent(&agent);
    after_dashes.args(["--", "--after-dashes"]);
    world.run(after_dashes);
    let mut by_file = world.agent(&agent);
    by_file.args(["--prompt-file", "README.md"]);
    world.run(by_file);
    assert_eq!(agent.prompt_bytes(1).expect("stored"), b"from stdin \xff\n");
    assert_eq!(agent.prompts()[1..], ["from argument", "--after-dashes", "# A project\n"]);
}

#[test]
fn a_turn_can_leave_its_stdin_unread() {
    let world = World::new();
    let agent = world.script("[[turn]]\nstdin = \"ignore\"\nsteps = [{ say = \"done\" }]");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = world.agent(&agent);
    command.stdin(reader);
    assert_eq!(world.run(command).stdout, "done\n");
    drop(writer);
}

#[test]
fn the_script_may_come_by_environment_or_as_json() {
    let world = World::new();
    let agent = world.script(THREE);
    let mut command = world.command(scripted_agent());
    command.env("SCRIPTED_AGENT", &agent.path);
    assert_eq!(world.run(command).stdout, "first\n");
    let json = agent.file("agent.json");
    std::fs::write(&json, r#"{"turn": [{"steps": [{"say": "json"}]}]}"#).expect("writable");
    let mut command = world.command(scripted_agent());
    command.arg("--script").arg(json);
    assert_eq!(world.run(command).stdout, "json\n");
}

#[test]
fn the_agent_tells_its_version_without_a_script() {
    let world = World::new();
    let mut command = world.command(scripted_agent());
    command.arg("--version");
    world.run(command).assert_code(0).assert_stdout_has("windlass-scripted-agent");
}

#[test]
fn without_a_script_the_agent_says_what_is_missing() {
    let world = World::new();
    world.run(world.command(scripted_agent())).assert_code(64).assert_stderr_has("--script FILE");
}

#[test]
fn a_mistake_in_a_script_names_turn_and_step() {
    let refused = |steps: &str| Script::from_toml(&format!("[[turn]]\nsteps = [{steps}]"));
    let error = refused(r#"{ say = "a" }, { shout = "b" }"#).expect_err("no such step");
    assert!(error.starts_with("turn 1, step 2: unknown variant `shout`"), "{error}");
    assert!(refused(r#"{ hang = { for = 3 } }"#).is_err());
    assert!(refused(r#"{ event = { type = "usage", tokens = 3 } }"#).is_err());
    assert!(refused(r#"{ event = { type = "gossip" } }"#).is_err());
    assert!(Script::from_toml("").is_err());
    assert!(Script::from_toml("turn = []").is_err());
}

#[test]
#[should_panic(expected = "bad script: turn 1, step 1")]
fn a_world_refuses_a_bad_script_at_once() {
    World::new().script("[[turn]]\nsteps = [\"dance\"]");
}

#[test]
fn the_script_in_the_readme_is_one() {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let script = Script::from_toml(example).expect("a script");
    assert!(script.turns[0].steps.len() > 30);
}
