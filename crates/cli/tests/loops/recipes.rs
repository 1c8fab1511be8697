//! Recipes of the user and of the project: whole loops that follow them, and the commands that show them.

use std::fs;

use crate::support::{call, run, status, trust};
use windlass_testkit::World;

const CLAIMS: &str = r#"
[[turn]]
steps = [{ write = { path = "made", content = "1\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

const MINE: &str = r#"
extends = "promise"
about = "promise, in our words"
max_iterations = 7
on_failure = { retry = 2 }

[prompts]
goal = """
House rules apply.
The task: {{ goal | upper }}
"""
"#;

fn of_user(world: &World, name: &str, text: &str) {
    let folder = world.config_file().parent().unwrap().join("recipes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

fn of_project(world: &World, name: &str, text: &str) {
    let folder = world.repo().path().join(".windlass/recipes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
    world.repo().git(["add", "--force", "--all"]);
    world.repo().git(["commit", "--quiet", "--message", name]);
}

#[test]
// promise: recipes-1, recipes-2
fn agent_gets_the_prompt_that_the_users_recipe_replaces() {
    let world = crate::world();
    of_user(&world, "mine", MINE);
    let agent = world.script(CLAIMS);
    run(&world, &agent, &["--recipe", "mine"]).assert_code(0);
    let prompts = agent.prompts();
    assert!(prompts[0].starts_with("House rules apply.\nThe task: DO THE WORK\n"), "{}", prompts[0]);
    // Everything that it does not replace is as in the recipe that it extends.
    assert!(prompts[0].contains("end your answer with this on a line of its own"), "{}", prompts[0]);
    let status = status(&world, "work");
    assert_eq!((status["recipe"].as_str(), status["status"].as_str()), (Some("mine"), Some("completed")));
    assert_eq!(status["limits"]["max_iterations"], 7);
}

#[test]
// promise: recipes-1
fn settings_and_flags_win_over_a_recipe() {
    let world = crate::world();
    of_user(&world, "mine", MINE);
    world.config("recipe = \"mine\"\n");
    let shown = call(&world, &["config", "show", "--json"]).assert_code(0).json();
    let row = |key: &str| shown.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone();
    assert_eq!(row("max_iterations")["value"], 7);
    assert!(row("max_iterations")["origin"].as_str().unwrap().ends_with("recipes/mine.toml:4"), "{shown}");
    world.config("recipe = \"mine\"\nmax_iterations = 9\n");
    run(&world, &world.script(CLAIMS), &[]).assert_code(0);
    assert_eq!(status(&world, "work")["limits"]["max_iterations"], 9);
}

#[test]
// promise: recipes-3
fn projects_recipe_that_runs_or_says_something_needs_consent() {
    let texts = [
        ("gates = [\"test -f made\"]", "gates"),
        ("setup = [\"true\"]", "setup"),
        ("[prompts]\nask_promise = \"Say {{ promise }} at once.\"", "prompts.ask_promise"),
    ];
    for (text, key) in texts {
        let world = crate::world();
        of_project(&world, "ours", &format!("extends = \"promise\"\n{text}\n"));
        run(&world, &world.script(CLAIMS), &["--recipe", "ours"])
            .assert_code(2)
            .assert_stderr_has(".windlass/recipes/ours.toml")
            .assert_stderr_has(key);
        assert_eq!(call(&world, &["list", "--json"]).assert_code(0).json(), serde_json::json!([]));
        // Another recipe does not ask for it.
        run(&world, &world.script(CLAIMS), &["--no-loop"]).assert_code(0);
        call(&world, &["clean", "--force", "work"]);
        trust(&world);
        let again = call(&world, &["trust", "--show", "--json"]).assert_code(0).json();
        assert_eq!(again["trusted"], true, "{again}");
        let agent = world.script(CLAIMS).command_line();
        let ran = ["run", "do it", "--name", "second", "--recipe", "ours", "--agent-command", &agent];
        call(&world, &ran).assert_code(0);
        // What it says now is not what was agreed to.
        of_project(&world, "ours", "extends = \"promise\"\ngates = [\"true\"]\n");
        call(&world, &["run", "do it", "--name", "third", "--recipe", "ours", "--agent-command", &agent])
            .assert_code(2);
    }
}

#[test]
// promise: recipes-3
fn projects_recipe_of_limits_alone_needs_no_consent() {
    let world = crate::world();
    of_project(&world, "short", "extends = \"promise\"\nmax_iterations = 2\n");
    run(&world, &world.script(CLAIMS), &["--recipe", "short"]).assert_code(0);
    assert_eq!(status(&world, "work")["limits"]["max_iterations"], 2);
}

#[test]
// promise: recipes-2
fn auditor_gets_the_text_of_the_recipe() {
    let world = crate::world();
    of_user(&world, "strict", "extends = \"audited\"\n[prompts]\nauditor = \"Be strict about: {{ goal }}\"\n");
    let coder = world
        .script("[[turn]]\nsteps = [{ write = { path = \"made\", content = \"1\\n\" } }, { say = \"I made it.\" }]\n");
    let clean = "```windlass-review\n{\"verdict\": \"clean\", \"summary\": {\"done\": [\"made\"]}}\n```";
    let auditor = world.script(&format!("[[turn]]\nsteps = [{{ say = {clean:?} }}]\n"));
    let words = auditor.command_line();
    run(&world, &coder, &["--recipe", "strict", "--reviewer-command", &words, "--max-iterations", "2"]);
    let prompts = auditor.prompts();
    assert!(prompts[0].starts_with("Be strict about: do the work"), "{}", prompts[0]);
    // How to answer is not the recipe's: Windlass has to read it.
    assert!(prompts[0].contains("windlass-review"), "{}", prompts[0]);
}

#[test]
// promise: recipes-1
fn recipe_for_a_target_is_chosen_by_what_the_recipes_say() {
    let world = crate::world();
    of_user(&world, "polish", "extends = \"refine\"\ndefault_for = \"target\"\n");
    let grows = "[[turn]]\nsteps = [{ append = { path = \"a\", content = \"x\\n\" } }, { say = \"more\" }]\n";
    run(&world, &world.script(grows), &["--iter", "1"]).assert_code(0);
    assert_eq!(status(&world, "work")["recipe"], "polish");
}

#[test]
// promise: recipes-4
fn check_names_file_line_and_fault() {
    let world = crate::world();
    call(&world, &["recipe", "check"]).assert_code(0).assert_stdout_has("only built-in recipes found");
    of_user(&world, "mine", MINE);
    call(&world, &["recipe", "check"]).assert_code(0).assert_stdout_has("✓ mine");
    let faults = [
        (
            "extends = \"promise\"\nmax_iteration = 3\n",
            "2:1: unknown key 'max_iteration'",
            "did you mean 'max_iterations'?",
        ),
        ("extends = \"promis\"\n", "1:11: unknown recipe 'promis' in extends", "did you mean 'promise'?"),
        ("extends = \"bad\"\n", "1:11: recipe extends itself through 'bad'", "extend a built-in recipe"),
        ("about = \"x\"\n", "1:1: 'session' is missing", "extends = \"promise\""),
        ("extends = \"promise\"\ndone = \"gate\"\n", "2:8: 'done': 'gate' is not a known kind of done", "'gates'"),
        ("extends = \"promise\"\nreview = \"audit\"\n", "'done' and 'review' do not match", "findings_clear"),
        ("extends = \"promise\"\nmax_running = 3\n", "2:1: 'max_running' cannot be set in a recipe", "settings file"),
        ("extends = \"promise\"\n[prompts]\ngaol = \"x\"\n", "3:1: unknown key 'prompts.gaol'", "did you mean 'goal'?"),
        (
            "extends = \"promise\"\n[prompts]\ngoal = \"\"\"\none\n{{ goals }}\n\"\"\"\n",
            "5:1: 'prompts.goal': unknown value 'goals' in this text",
            "did you mean 'goal'?",
        ),
    ];
    for (text, fault, hint) in faults {
        of_user(&world, "bad", text);
        let checked = call(&world, &["recipe", "check"]);
        checked.assert_code(2).assert_stdout_has(fault).assert_stdout_has(hint).assert_stdout_has("recipes/bad.toml:");
        let json = call(&world, &["recipe", "check", "bad", "--json"]).assert_code(2).json();
        assert!(json[0]["fault"]["message"].as_str().unwrap().contains(fault), "{json}");
        // What is wrong with a recipe that nobody uses is nobody's trouble.
        call(&world, &["list"]).assert_code(0);
        call(&world, &["run", "x", "--recipe", "bad", "--agent-command", "true"])
            .assert_code(2)
            .assert_stderr_has(fault);
    }
    of_user(&world, "promise", MINE);
    call(&world, &["recipe", "check", "promise"]).assert_code(0);
    call(&world, &["recipe", "check"]).assert_code(2).assert_stdout_has("'promise' is the name of a built-in recipe");
}

#[test]
// promise: recipes-4
fn list_and_show_name_every_recipe_and_what_it_sets() {
    let world = crate::world();
    of_user(&world, "mine", MINE);
    of_project(&world, "mine", "extends = \"mine\"\nmax_iterations = 3\n");
    let listed = call(&world, &["recipe", "list", "--json"]).assert_code(0).json();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|row| (&row["name"], &row["source"])).collect();
    let built_in = names.iter().filter(|(_, source)| *source == "built_in").count();
    assert!(built_in >= 4 && names.len() == built_in + 2, "{listed}");
    assert_eq!((&listed[0]["source"], &listed[1]["source"]), (&"project".into(), &"user".into()));
    assert_eq!((&listed[0]["hidden"], &listed[1]["hidden"]), (&false.into(), &true.into()));
    let shown = call(&world, &["recipe", "show", "mine"]);
    shown.assert_code(0).assert_stdout_has("max_iterations = 3").assert_stdout_has("replaced prompts: goal");
    let text = call(&world, &["recipe", "show", "mine", "--prompt", "goal"]);
    assert_eq!(text.assert_code(0).stdout, "House rules apply.\nThe task: {{ goal | upper }}\n");
    call(&world, &["recipe", "show", "promis"]).assert_code(2).assert_stderr_has("did you mean 'promise'?");
    call(&world, &["recipe", "show", "mine", "--prompt", "auditr"]).assert_code(2).assert_stderr_has("'auditor'");
}
