//! A repository's own files run nothing before somebody has agreed to their content.

use crate::support::{PROMISE, call, run, run_command, status, trust, windlass};
use windlass_testkit::World;

/// Works and claims to be done.
const CLAIMS: &str = r#"
[[turn]]
steps = [{ write = { path = "made", content = "1\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// A world whose repository has this file in its last commit.
fn world(path: &str, content: &str) -> World {
    let world = World::new();
    put(&world, path, content);
    world
}

fn put(world: &World, path: &str, content: &str) {
    let file = world.repo().path().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
    world.repo().git(["add", "--force", "--all"]);
    world.repo().git(["commit", "--quiet", "--message", path]);
}

/// The command leaves a trace in the world.
fn trace(world: &World) -> String {
    format!("echo ran >> {}", world.root().join("trace").display())
}

fn ran(world: &World) -> bool {
    world.root().join("trace").exists()
}

#[test]
// promise: safety-6
fn commands_of_the_repositorys_settings_do_not_run_without_consent() {
    for key in ["gates", "setup", "notify_command"] {
        let world = World::new();
        let command = trace(&world);
        let value = if key == "notify_command" { format!("{command:?}") } else { format!("[{command:?}]") };
        put(&world, ".windlass/config.toml", &format!("{key} = {value}\n"));
        let out = run(&world, &world.script(CLAIMS), &[]);
        out.assert_code(2)
            .assert_stderr_has("this repository's commands are not trusted yet")
            .assert_stderr_has(&format!("line 1: {key}"))
            .assert_stderr_has("hint: review them, then run `windlass trust`");
        assert!(!ran(&world), "{key} ran");
        assert_eq!(call(&world, &["list", "--json"]).assert_code(0).json(), serde_json::json!([]));
        trust(&world);
        run(&world, &world.script(CLAIMS), &[]).assert_code(0);
        assert!(ran(&world), "{key} did not run");
    }
}

#[test]
fn what_the_user_says_needs_no_consent() {
    let world = World::new();
    let command = trace(&world);
    world.config(&format!("gates = [{command:?}]\n"));
    run(&world, &world.script(CLAIMS), &[]).assert_code(0);
    assert!(ran(&world));
}

#[test]
fn a_flag_stands_in_for_what_the_repository_says() {
    let world = world(".windlass/config.toml", "gates = [\"false\"]\nmax_iterations = 3\n");
    run(&world, &world.script(CLAIMS), &["--gate", "true"]).assert_code(0);
}

#[test]
fn harmless_settings_ask_nothing() {
    let world = world(".windlass/config.toml", "max_iterations = 3\nprotect = [\"tests/**\"]\n");
    run(&world, &world.script(CLAIMS), &[]).assert_code(0);
    call(&world, &["trust", "--show"]).assert_code(0).assert_stdout_has("defines no commands");
}

#[test]
// promise: safety-6
fn files_that_make_an_agent_run_code_need_consent_and_their_change_needs_it_again() {
    let server = |name: &str| format!(r#"{{ "mcpServers": {{ "x": {{ "command": "{name}" }} }} }}"#);
    let world = world(".mcp.json", &server("one"));
    let agent = world.script(CLAIMS);
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("mcpServers: one");
    let shown = call(&world, &["trust", "--json", "--show"]).assert_code(6).json();
    assert_eq!(shown["trusted"], false);
    assert_eq!((&shown["files"][0]["file"], &shown["files"][0]["agents"][0]), (&".mcp.json".into(), &"claude".into()));
    trust(&world);
    call(&world, &["trust", "--show"]).assert_code(0);
    run(&world, &agent, &[]).assert_code(0);
    put(&world, ".mcp.json", &server("two"));
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("mcpServers: two");
    call(&world, &["trust", "--revoke"]).assert_code(0);
    call(&world, &["trust", "--show"]).assert_code(6);
}

#[test]
fn the_revision_that_a_loop_starts_from_is_what_counts() {
    let world = world("plain", "x");
    world.repo().git(["checkout", "--quiet", "-b", "trap"]);
    put(&world, ".claude/settings.json", r#"{ "hooks": { "SessionStart": [{ "hooks": [{ "command": "evil" }] }] } }"#);
    world.repo().git(["checkout", "--quiet", "main"]);
    let agent = world.script(CLAIMS);
    run(&world, &agent, &["--base", "trap"])
        .assert_code(2)
        .assert_stderr_has("hooks: evil")
        .assert_stderr_has("windlass trust --base trap");
    call(&world, &["trust", "--yes", "--base", "trap"]).assert_code(0);
    run(&world, &agent, &["--base", "trap"]).assert_code(0);
}

#[test]
// promise: context-12
fn an_agent_that_edits_the_settings_changes_nothing_in_its_loop_and_the_next_needs_consent() {
    let world = world(".windlass/config.toml", "gates = [\"test -f made\"]\n");
    trust(&world);
    let command = trace(&world);
    let script = format!(
        r#"
[[turn]]
steps = [
    {{ write = {{ path = ".windlass/config.toml", content = 'gates = ["{command}"]' }} }},
    {{ write = {{ path = ".mcp.json", content = '{{ "mcpServers": {{ "x": {{ "command": "evil" }} }} }}' }} }},
    {{ say = "{PROMISE}" }},
]
[[turn]]
steps = [{{ write = {{ path = "made", content = "1" }} }}, {{ say = "{PROMISE}" }}]
"#
    );
    run(&world, &world.script(&script), &[]).assert_code(0);
    assert_eq!(
        status(&world, "work")["iterations"],
        2,
        "the gate of the settings as they were refused the first claim"
    );
    assert!(!ran(&world), "the agent's own gate ran");
    call(&world, &["merge", "work"]).assert_code(0);
    let agent = world.script(CLAIMS);
    let mut next = windlass(&world, &["run", "again", "--name", "next", "--agent-command"]);
    next.arg(agent.command_line());
    world.run(next).assert_code(2).assert_stderr_has(".windlass/config.toml").assert_stderr_has("mcpServers: evil");
}

#[test]
// promise: safety-6
fn the_flag_agrees_for_good_and_an_agent_cannot() {
    let world = world(".windlass/config.toml", "gates = [\"true\"]\n");
    let agent = world.script(CLAIMS);
    let mut inside = run_command(&world, &agent, &["--trust"]);
    inside.env("WINDLASS_TURN", "work.1.coder.1");
    world.run(inside).assert_code(2).assert_stderr_has("agents in a loop cannot trust commands");
    run(&world, &agent, &["--trust"]).assert_code(0);
    call(&world, &["trust", "--show"]).assert_code(0);
}

#[test]
fn a_notify_command_that_changed_since_is_not_run() {
    let world = World::new();
    put(&world, ".windlass/config.toml", "notify_command = \"true\"\n");
    trust(&world);
    // As a loop that works in place could do it.
    let text = format!("notify_command = {:?}\n", trace(&world));
    let file = world.repo().path().join(".windlass/config.toml");
    let script = format!("[[turn]]\nsteps = [{{ say = \"{PROMISE}\" }}]\n");
    let agent = world.script(&script);
    let gate = format!("printf %s '{text}' > {}", file.display());
    run(&world, &agent, &["--gate", &gate]).assert_code(0);
    assert!(!ran(&world));
}

/// Puts a link in the last commit.
fn link(world: &World, path: &str, target: &str) {
    let file = world.repo().path().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, file).unwrap();
    world.repo().git(["add", "--force", "--all"]);
    world.repo().git(["commit", "--quiet", "--message", path]);
}

fn servers(name: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "x": {{ "command": "{name}" }} }} }}"#)
}

#[test]
fn a_link_to_a_file_asks_for_what_it_leads_to_and_a_changed_target_asks_again() {
    for in_place in [false, true] {
        let world = world("cfg/m.json", &servers("one"));
        link(&world, ".mcp.json", "deep/../cfg/m.json");
        let agent = world.script(CLAIMS);
        run(&world, &agent, &[]).assert_code(2).assert_stderr_has("does not follow");
        std::fs::remove_file(world.repo().path().join(".mcp.json")).unwrap();
        link(&world, ".mcp.json", "alias/m.json");
        link(&world, "alias", "./cfg");
        let more = if in_place { &["--in-place"][..] } else { &[] };
        let says = |out: &windlass_testkit::Output, what: &str| {
            out.assert_code(2).assert_stderr_has("link to cfg/m.json").assert_stderr_has(what);
        };
        says(&run(&world, &agent, more), "mcpServers: one");
        call(&world, &["trust", "--show"]).assert_code(6).assert_stdout_has("link to cfg/m.json");
        trust(&world);
        call(&world, &["trust", "--show"]).assert_code(0).assert_stdout_has("link to cfg/m.json");
        put(&world, "cfg/m.json", &servers("two"));
        says(&run(&world, &agent, more), "mcpServers: two");
        trust(&world);
        // The same words by another way.
        put(&world, "cfg/other.json", &servers("two"));
        std::fs::remove_file(world.repo().path().join(".mcp.json")).unwrap();
        link(&world, ".mcp.json", "cfg/other.json");
        run(&world, &agent, more).assert_code(2).assert_stderr_has("link to cfg/other.json");
        trust(&world);
        run(&world, &agent, more).assert_code(0);
    }
}

#[test]
fn a_link_to_a_folder_asks_for_the_files_that_it_leads_to() {
    let hooks =
        |name: &str| format!(r#"{{ "hooks": {{ "SessionStart": [{{ "hooks": [{{ "command": "{name}" }}] }}] }} }}"#);
    let world = world("h/settings.json", &hooks("one"));
    put(&world, "h/agents/plain.md", "nothing\n");
    put(&world, "elsewhere/a.md", "---\nhooks:\n---\n");
    link(&world, "h/agents/loop", "..");
    link(&world, "h/agents/more", "../../elsewhere");
    link(&world, ".claude", "h");
    let agent = world.script(CLAIMS);
    run(&world, &agent, &[])
        .assert_code(2)
        .assert_stderr_has(".claude/settings.json")
        .assert_stderr_has("hooks: one")
        .assert_stderr_has(".claude/agents/more/a.md")
        .assert_stderr_has("link to elsewhere/a.md");
    trust(&world);
    run(&world, &agent, &[]).assert_code(0);
    put(&world, "h/settings.json", &hooks("two"));
    let mut next = windlass(&world, &["run", "again", "--name", "next", "--agent-command"]);
    next.arg(agent.command_line());
    world.run(next).assert_code(2).assert_stderr_has("hooks: two");
}

#[test]
fn a_link_out_of_the_repository_is_named_and_its_content_counts() {
    let world = World::new();
    let outside = world.root().join("outside.json");
    std::fs::write(&outside, servers("one")).unwrap();
    link(&world, ".mcp.json", outside.to_str().unwrap());
    let agent = world.script(CLAIMS);
    let named = format!("link to {}, outside the repository", outside.display());
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has(&named).assert_stderr_has("mcpServers: one");
    trust(&world);
    call(&world, &["trust", "--show"]).assert_code(0).assert_stdout_has(&named);
    std::fs::write(&outside, servers("two")).unwrap();
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("mcpServers: two");
    std::fs::remove_file(world.repo().path().join(".mcp.json")).unwrap();
    link(&world, ".mcp.json", "../outside.json");
    run(&world, &agent, &[]).assert_code(2).assert_stderr_has("link to ../outside.json, outside the repository");
}

#[test]
fn settings_that_are_a_link_say_where_they_lie_and_texts_outside_need_consent() {
    let world = World::new();
    let outside = world.root().join("settings.toml");
    std::fs::write(&outside, "gates = [\"true\"]\n").unwrap();
    link(&world, ".windlass/config.toml", outside.to_str().unwrap());
    run(&world, &world.script(CLAIMS), &[])
        .assert_code(2)
        .assert_stderr_has(&format!("link to {}, outside the repository", outside.display()));
    let world = World::new();
    std::fs::write(world.root().join("letter"), "private\n").unwrap();
    link(&world, "vision.md", "../letter");
    put(&world, ".windlass/config.toml", "vision = \"vision.md\"\n");
    run(&world, &world.script(CLAIMS), &[]).assert_code(2).assert_stderr_has("line 1: vision");
}
