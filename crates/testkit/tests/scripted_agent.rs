//! The scripted agent does what each step says, and records what tests need to know.

use windlass_testkit::{ScriptedAgent, World, scripted_agent};

#[test]
fn a_turn_says_edits_runs_and_exits() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { say = "working on {{count}}" },
            { write = { path = "src/new.txt", content = "hi\n" } },
            { run = "cat src/new.txt" },
            { exit = 3 },
        ]
        [[turn]]
        steps = [{ echo_prompt = { style = "quoted" } }]
        "#,
    );
    let output = play(&world, &agent);
    output.assert_code(3);
    assert_eq!(output.stdout, "working on 1\nhi\n");
    assert_eq!(world.repo().read("src/new.txt"), "hi\n");
}

fn play(world: &World, agent: &ScriptedAgent) -> windlass_testkit::Output {
    let mut command = world.command(scripted_agent());
    command.env("SCRIPTED_AGENT", &agent.path);
    world.run(command)
}
