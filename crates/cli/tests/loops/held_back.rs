//! A change that holds a secret is in no commit, and no claim counts while there is one.

use crate::support::{PROMISE, call, run, status};
use windlass_testkit::World;

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Writes a key, claims; is refused, takes it out, claims again.
fn script() -> String {
    format!(
        r#"
[[turn]]
steps = [
    {{ write = {{ path = "conf.py", content = "TOKEN = '{KEY}'\\n" }} }},
    {{ write = {{ path = "good.py", content = "x = 1\\n" }} }},
    {{ write = {{ path = ".env", content = "A=1\\n" }} }},
    {{ say = "{PROMISE}" }},
]
[[turn]]
steps = [
    {{ write = {{ path = "conf.py", content = "import os\\nTOKEN = os.environ['TOKEN']\\n" }} }},
    {{ delete = ".env" }},
    {{ say = "{PROMISE}" }},
]
"#
    )
}

#[test]
// promise: work-10
fn a_file_with_a_key_is_held_back_until_the_key_is_gone() {
    let world = World::new();
    let agent = world.script(&script());
    let out = run(&world, &agent, &["--gate", "true"]);
    out.assert_code(0)
        .assert_stdout_has("held back: conf.py (line 1: github-token)")
        .assert_stdout_has("claim refused: some files are held back");
    let status = status(&world, "work");
    assert_eq!((&status["iterations"], &status["claims"]["refused"]), (&2.into(), &1.into()));
    assert!(status["history"][0]["checkpoint"]["held_back"].to_string().contains("conf.py"), "{status}");
    call(&world, &["status", "work"]).assert_code(0).assert_stdout_has("completed");
    assert!(agent.prompts()[1].contains("conf.py (line 1: github-token)"), "{}", agent.prompts()[1]);
    let files = world.repo().tree_files("windlass/work~1");
    assert!(files.contains(&"good.py".to_owned()) && !files.contains(&"conf.py".to_owned()), "{files:?}");
    assert!(!files.contains(&".env".to_owned()), "{files:?}");
    let files = world.repo().tree_files("windlass/work");
    assert!(files.contains(&"conf.py".to_owned()), "{files:?}");
    assert!(!world.repo().git(["log", "--all", "-p"]).contains(KEY));
}

#[test]
fn an_allowed_path_may_hold_one() {
    let world = World::new();
    world.config("secrets_allow = [\"*.py\"]\n");
    let agent = world.script(&script());
    run(&world, &agent, &["--max-iterations", "1"]);
    assert!(world.repo().tree_files("windlass/work").contains(&"conf.py".to_owned()));
}

#[test]
// promise: work-10
fn a_commit_of_the_agents_own_is_made_again_without_it() {
    let world = World::new();
    let script = format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"key\", content = \"{KEY}\" }} }}, {{ write = {{ path = \"ok\", content = \"1\" }} }}, \
         {{ run = \"git add -A && git commit -qm mine\" }}, {{ say = \"{PROMISE}\" }}]\n"
    );
    let agent = world.script(&script);
    run(&world, &agent, &["--commit", "agent", "--max-iterations", "1"]).assert_code(3);
    let files = world.repo().tree_files("windlass/work");
    assert!(files.contains(&"ok".to_owned()) && !files.contains(&"key".to_owned()), "{files:?}");
    assert!(!world.repo().git(["log", "windlass/work", "-p"]).contains(KEY));
    call(&world, &["status", "work"]).assert_code(0).assert_stdout_has("key (line 1: github-token)");
}
