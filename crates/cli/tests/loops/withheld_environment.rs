//! What agents, gates and other commands get of the environment: the ordinary part and what was named.

use crate::support::{call, run, windlass};
use windlass_testkit::World;

const HIDDEN: [(&str, &str); 4] = [
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzzzz"),
    ("GITHUB_TOKEN", "not-for-anybody-else"),
    ("SSH_AUTH_SOCK", "/run/user/1000/agent"),
    ("DATABASE_URL", "postgres://localhost/app"),
];

/// A world whose user has keys in the environment.
fn world() -> World {
    let mut world = World::new();
    for (name, value) in HIDDEN {
        world.set_env(name, value);
    }
    world
}

/// An agent that shows its environment and claims to be done.
const SHOWS: &str = r#"
[[turn]]
steps = ["print_env", { say = "<promise>COMPLETE</promise>" }]
"#;

fn said(world: &World) -> String {
    call(world, &["logs", "work", "--raw"]).assert_code(0).stdout.clone()
}

#[test]
// promise: safety-4
fn an_agent_that_prints_its_environment_shows_no_key() {
    let world = world();
    let agent = world.script(SHOWS);
    run(&world, &agent, &[]).assert_code(0);
    let said = said(&world);
    assert!(said.contains("PATH=") && said.contains("HOME=") && said.contains("WINDLASS_TURN="), "{said}");
    for (name, _) in HIDDEN {
        assert!(!said.contains(name), "{name} reached the agent: {said}");
    }
}

#[test]
fn what_is_named_reaches_the_agent_and_the_gate() {
    let world = world();
    let agent = world.script(SHOWS);
    let gate = "test -n \"$DATABASE_URL\" && test -z \"$GITHUB_TOKEN$AWS_SECRET_ACCESS_KEY$SSH_AUTH_SOCK\"";
    run(&world, &agent, &["--gate", gate, "--env-pass", "DATABASE_*"]).assert_code(0);
    let said = said(&world);
    assert!(said.contains("DATABASE_URL=") && !said.contains("GITHUB_TOKEN"), "{said}");
}

#[test]
fn a_profile_names_what_its_agent_alone_gets() {
    let world = world();
    let agent = world.script(SHOWS);
    let words: Vec<String> = agent.command_line().split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
    world.config(&format!("[agents.mine]\ncommand = {words:?}\nenv_pass = [\"GITHUB_TOKEN\"]\n"));
    let gate = "test -z \"$GITHUB_TOKEN\"";
    let args = ["run", "do the work", "--name", "work", "--agent", "mine", "--gate", gate];
    world.run(windlass(&world, &args)).assert_code(0);
    let said = said(&world);
    assert!(said.contains("GITHUB_TOKEN=") && !said.contains("DATABASE_URL"), "{said}");
}

#[test]
fn set_up_and_notify_commands_get_no_more_than_gates() {
    let world = world();
    let places = ["setup", "notify"].map(|name| world.root().join(name));
    world.config(&format!(
        "setup = [\"env > {}\"]\nnotify_command = \"env > {}\"\n",
        places[0].display(),
        places[1].display()
    ));
    run(&world, &world.script(SHOWS), &[]).assert_code(0);
    for place in places {
        let env = std::fs::read_to_string(&place).unwrap();
        assert!(env.contains("PATH=") && env.contains("WINDLASS_LOOP=work"), "{env}");
        for (name, _) in HIDDEN {
            assert!(!env.contains(name), "{name} in {env}");
        }
    }
}

#[test]
fn a_gate_that_misses_a_variable_is_told_about_once_with_its_name() {
    let world = world();
    let agent = world.script(SHOWS);
    let out = run(&world, &agent, &["--gate", ": ${DATABASE_URL:?must be set}", "--max-iterations", "2"]);
    let shown = out.assert_code(3).stdout.clone();
    assert_eq!(
        shown
            .matches("hint: Windlass does not pass DATABASE_URL to gates; pass it with --env-pass DATABASE_URL")
            .count(),
        1,
        "{shown}"
    );
    let world = World::new();
    let shown =
        run(&world, &world.script(SHOWS), &["--gate", "false", "--max-iterations", "1"]).assert_code(3).stdout.clone();
    assert!(!shown.contains("does not pass"), "nothing is withheld there: {shown}");
}

#[test]
fn doctor_and_config_say_what_is_withheld_and_what_is_handed_on() {
    let world = world();
    let shown = call(&world, &["doctor"]).stdout.clone();
    assert!(shown.contains("4 of ") && shown.contains("not passed to gates: AWS_SECRET_ACCESS_KEY"), "{shown}");
    assert!(!shown.contains(HIDDEN[1].1), "a value is shown: {shown}");
    let shown = call(&world, &["config", "show"]).assert_code(0).stdout.clone();
    assert!(shown.contains("env_pass") && shown.contains("WINDLASS_ENV_PASS"), "{shown}");
}
