//! What a user sees on a terminal, and elsewhere.

use crate::support::*;
use windlass_testkit::{ScriptedAgent, World, run_in_terminal};

/// At a limit for a moment, then done.
const LIMITED: &str = r#"
    [[turn]]
    steps = [
        { event = { type = "error", kind = "rate_limit", message = "slow down, there are too many of you who ask all day and all night", retry_after_ms = 2_500 } },
        { exit = 1 },
    ]
    [[turn]]
    steps = [{ event = { type = "text", text = "<promise>COMPLETE</promise>" } }]
"#;

fn limited(world: &World) -> ScriptedAgent {
    let agent = world.script(LIMITED);
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!(
        "agent = \"scripted\"\n[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n",
        words.join(", ")
    ));
    agent
}

#[test]
fn a_wait_is_one_line_that_counts_down() {
    let world = World::new();
    let _agent = limited(&world);
    let (text, status) = run_in_terminal(windlass(&world, &["run", "x", "--name", "work"]));
    assert!(status.success(), "{text}");
    let (_, waiting) = text.split_once("  waiting until ").unwrap_or_else(|| panic!("no word of the wait: {text:?}"));
    let (_, waiting) = waiting.split_once("all night").expect("the whole message, in as many lines as it needs");
    let (_, waiting) = waiting.split_once('\n').expect("the line ends");
    let (waiting, _) = waiting.split_once("attempt 2").expect("it goes on");
    // Drawn again and again in its place, at the width of the terminal, and gone when there is something to say.
    let drawn: Vec<&str> = waiting.split("\r\x1b[2K").filter(|line| line.contains("waiting until")).collect();
    assert!(!drawn.is_empty(), "{waiting:?}");
    assert!(drawn.iter().all(|line| line.starts_with("\x1b[?7l") && line.ends_with("\x1b[?7h")), "{drawn:?}");
    assert!(drawn.iter().all(|line| line.contains(" left (rate limit: slow down")), "{drawn:?}");
    assert!(!waiting.contains('\n'), "one line for all of it: {waiting:?}");
}

#[test]
fn without_a_terminal_a_wait_is_one_line() {
    let world = World::new();
    let _agent = limited(&world);
    let out = call(&world, &["run", "x", "--name", "work"]);
    out.assert_code(0);
    let told: Vec<&str> = out.stdout.lines().filter(|line| line.contains("waiting")).collect();
    assert_eq!(told.len(), 1, "{}", out.shown());
    let told = told[0].strip_prefix("  waiting until ").expect("it says until when");
    assert!(told.contains(" UTC (") && told.contains("s): rate limit: slow down"), "{told}");
    assert!(!out.stdout.contains('\x1b') && !out.stderr.contains('\x1b'), "{}", out.shown());
}

#[test]
// promise: api-7
fn a_diff_on_a_terminal_obeys_nothing_that_an_agent_wrote() {
    let world = World::new();
    let agent =
        world.install_script("agent", &format!("printf 'x\\033]52;c;ZXZpbA==\\007\\n' > file\necho '{PROMISE}'"));
    call(&world, &["run", "x", "--name", "work", "--agent-command", &agent.to_string_lossy()]).assert_code(0);
    let (text, status) = run_in_terminal(windlass(&world, &["diff", "work"]));
    assert!(status.success(), "{text}");
    assert!(text.contains("x^[]52;c;ZXZpbA==^G") && !text.contains("\x1b]"), "{text:?}");
    // A program gets the patch itself.
    assert!(call(&world, &["diff", "work"]).stdout.contains("x\x1b]52;c;ZXZpbA==\x07"));
}

#[test]
// promise: api-7
fn nothing_that_a_command_prints_on_a_terminal_is_obeyed_by_it() {
    let world = World::new();
    // A control above ASCII, and one that turns the text around: in the words of the agent, in the name of a file.
    let script = format!(
        "printf 'a\\302\\233b\\342\\200\\256c\\342\\200\\217d'; echo x > \"$(printf 'n\\342\\200\\256.txt')\"\necho '{PROMISE}'"
    );
    let agent = world.install_script("agent", &script);
    call(&world, &["run", "x", "--name", "work", "--agent-command", &agent.to_string_lossy()]).assert_code(0);
    for args in [
        &["logs", "work", "--json"][..],
        &["logs", "work"],
        &["status", "work", "--json"],
        &["status", "work"],
        &["diff", "work", "--json"],
        &["list", "--json"],
    ] {
        let (text, status) = run_in_terminal(windlass(&world, args));
        assert!(status.success(), "{text}");
        assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{200f}']), "{args:?}: {text:?}");
    }
    let logs = call(&world, &["logs", "work", "--json"]);
    assert!(logs.stdout.contains("a\\u009bb\\u202ec\\u200fd"), "{}", logs.stdout);
}
