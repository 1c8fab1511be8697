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

    call(&world, &["init", "--yes"]).assert_code(2).assert_stderr_has("already exists").assert_stderr_has("--force");
    std::fs::write(&file, "gates = [\"false\"]\n").unwrap();
    call(&world, &["init", "--yes", "--force"]).assert_code(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn an_agent_cannot_have_its_own_settings_trusted() {
    let world = node_project();
    let mut command = windlass(&world, &["init", "--yes"]);
    command.env("WINDLASS_TURN", "1.coder.1");
    world.run(command).assert_code(2).assert_stderr_has("agents in a loop");
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

#[test]
// promise: cli-9
fn what_would_stop_a_loop_is_found_before_anything_is_made() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    run(&world, &agent, &["--protect", "data[0-9"]).assert_code(2).assert_stderr_has("its [ has no ]");
    let taken = run(&world, &agent, &["--branch", "main"]);
    taken.assert_code(2).assert_stderr_has("the branch main already exists").assert_stderr_has("--base main");
    assert!(!taken.stderr.contains("branch -D"), "{}", taken.stderr);
    let spaced = world.new_dir("my agents").join("agent.sh");
    std::fs::write(&spaced, "").unwrap();
    let split = call(&world, &["run", "x", "--agent-command", &format!("{} --fast", spaced.display())]);
    split.assert_code(7).assert_stderr_has(&format!(
        "hint: quote the path, which contains a space: --agent-command \"'{}'\"",
        spaced.display()
    ));
    assert_eq!(world.repo().branches(), ["main"]);
    assert_eq!(call(&world, &["list", "--json"]).json(), serde_json::json!([]));
    let noted = run(&world, &agent, &["--protect", "tets/**", "--protect", "README.md"]);
    noted.assert_code(0).assert_stdout_has("--protect 'tets/**' matches no file");
    assert!(!noted.stdout.contains("'README.md' matches"), "{}", noted.stdout);
}

#[test]
fn an_agent_that_was_never_logged_in_is_noted_with_the_command() {
    let world = World::new();
    world.install_script("codex", "exit 1");
    let out = call(&world, &["run", "x", "--agent", "codex"]);
    out.assert_stdout_has("codex does not look logged in: log in with `codex login`");
    let mut command = windlass(&world, &["run", "x", "--agent", "codex"]);
    command.env("CODEX_API_KEY", "key");
    assert!(!world.run(command).stdout.contains("logged in"));
}

#[test]
fn config_set_and_unset_keep_comments() {
    let world = World::new();
    world.config("# mine\nagent = \"claude\" # the best\n");
    call(&world, &["config", "set", "max_iterations", "7"]).assert_code(0).assert_stdout_has("max_iterations = 7");
    call(&world, &["config", "set", "agent", "codex"]).assert_code(0);
    call(&world, &["config", "set", "gates", "make test", "make lint"]).assert_code(0);
    call(&world, &["config", "set", "duration", "90m"]).assert_code(0);
    call(&world, &["config", "set", "agents.claude.model", "opus"]).assert_code(0);
    let get = |key: &str| call(&world, &["config", "get", key]).assert_code(0).stdout.clone();
    assert_eq!(
        (get("max_iterations"), get("agent"), get("gates")),
        ("7\n".into(), "codex\n".into(), "make test\nmake lint\n".into())
    );
    call(&world, &["config", "unset", "gates"]).assert_code(0);
    let path = call(&world, &["config", "path", "--json"]).json()["user"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("# mine\nagent = \"codex\" # the best\n"), "{text}");
    assert!(text.contains("model = \"opus\"") && !text.contains("gates"), "{text}");
    call(&world, &["config", "set", "max_iterations", "many"]).assert_code(2).assert_stderr_has("max_iterations");
    call(&world, &["config", "set", "agnet", "x"]).assert_code(2).assert_stderr_has("did you mean 'agent'?");
    call(&world, &["config", "unset", "agnet"]).assert_code(2).assert_stderr_has("there is no setting 'agnet'");
    call(&world, &["config", "get", "agnet"]).assert_code(2).assert_stderr_has("did you mean 'agent'?");
    call(&world, &["config", "unset", "reviewer"]).assert_code(2).assert_stderr_has("is not set in the user settings");
    call(&world, &["config", "set", "gates", "make", "--project"]).assert_code(0);
    let project = std::fs::read_to_string(world.repo().path().join(".windlass/config.toml")).unwrap();
    assert_eq!(project, "gates = [\"make\"]\n");
}

#[test]
fn config_edit_opens_the_editor_and_checks_the_file() {
    let world = World::new();
    let editor = world.install_script("my-editor", "echo 'max_iterations = 3' >> \"$1\"");
    let edit = |editor: &str| {
        let mut command = windlass(&world, &["config", "edit"]);
        command.env("EDITOR", editor).env_remove("VISUAL");
        world.run(command)
    };
    edit(editor.to_str().unwrap()).assert_code(0).assert_stdout_has("is valid");
    assert_eq!(call(&world, &["config", "get", "max_iterations"]).stdout, "3\n");
    edit("no-such-editor").assert_code(2).assert_stderr_has("cannot start the editor");
    let bad = world.install_script("bad-editor", "echo 'nonsense = 1' >> \"$1\"");
    edit(bad.to_str().unwrap()).assert_code(2).assert_stderr_has("nonsense");
}
