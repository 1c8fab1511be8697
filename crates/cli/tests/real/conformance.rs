//! What holds for whole loops with the real agent CLIs when things go wrong, against the scripted model on loopback.
//! A CLI that is not installed is skipped, loudly; `cargo run -p windlass-testkit --bin agent-clis -- install`
//! installs all of them. What is declared here is the table in `docs/conformance.md`:
//! `UPDATE=1 cargo test -p windlass --test real the_table` writes it again.

use crate::table::Case;
use crate::table::Verdict::{Differs, Works};
use windlass_testkit::clis::Cli;

/// Each case becomes a test for each CLI that is named, and a row of the table.
macro_rules! conformance {
    ($($module:ident::$case:ident $title:literal { $($test:ident: $cli:ident $verdict:expr,)* })*) => {
        $(mod $case {
            use super::*;
            $(#[test] fn $test() { crate::$module::$case(Cli::$cli); })*
        })*
        const CASES: &[Case] = &[$(
            Case { name: stringify!($case), title: $title, runs: &[$((Cli::$cli, $verdict)),*] },
        )*];
    };
}

conformance! {
    working::promise_loop "A claim that comes too early is refused by a gate; the same session goes on and completes" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Differs("Cline takes a prompt for an existing session only in a terminal: every turn is a fresh session with goal and history."),
        aider: Aider Differs("Aider keeps no session without a terminal: every turn is a fresh session with goal and history."),
        vibe: Vibe Works,
        goose: Goose Differs("goose names no session in its output: every turn is a fresh session with goal and history."),
        kimi: Kimi Works,
    }
    working::words_of_trouble "Rate limits, overflows and wrong keys in tool output and in what the agent says trigger nothing" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Works,
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Works,
    }
    waiting::limit_with_a_reset "A rate or usage limit that names its end: `waiting` until then, under another engine too, no iteration used" {
        claude: Claude Works,
        codex: Codex Differs("Codex names only an hour of its own clock. Windlass asks again after 5 minutes, then after 10, 20, 40, 60."),
        opencode: Opencode Works,
        gemini: Gemini Differs("Gemini waits out longer ends by itself, and keeps no session in which nothing was answered yet: what follows is a fresh one, which is said."),
        copilot: Copilot Works,
        qwen: Qwen Differs("Qwen asks again by itself for many minutes and says so only on standard error, without the end. After five silent minutes Windlass ends it and waits, 5 minutes first."),
    }
    waiting::limit_without_a_reset "A rate or usage limit without an end: `waiting` for 5 minutes, then longer" {
        claude: Claude Works,
        codex: Codex Differs("Codex and OpenCode wait in silence for as long as the provider asks for, here an hour. After five silent minutes Windlass ends them and waits itself."),
        opencode: Opencode Differs("Codex and OpenCode wait in silence for as long as the provider asks for, here an hour. After five silent minutes Windlass ends them and waits itself."),
        gemini: Gemini Works,
        copilot: Copilot Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Differs("Aider asks again by itself for a minute before the loop hears of it."),
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Differs("Kimi Code asks again by itself for two minutes before the loop hears of it."),
    }
    waiting::connection_cut "The connection breaks in the middle of every answer: the loop backs off for 10 seconds, then longer" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Differs("OpenCode asks again by itself for a minute before the loop hears of it."),
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Differs("Aider asks again by itself for a minute before the loop hears of it."),
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Differs("Kimi Code asks again by itself for two minutes before the loop hears of it."),
    }
    failing::context_overflow "The context overflows: a fresh session with goal and history, which is said" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        pi: Pi Works,
        vibe: Vibe Works,
        kimi: Kimi Works,
    }
    failing::session_unknown "The agent no longer knows the session: a fresh one with goal and history, which is said" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        pi: Pi Works,
        vibe: Vibe Works,
        kimi: Kimi Works,
    }
    failing::wrong_key "The key is wrong: paused, exit code 6, with the command that logs in; `resume` completes" {
        claude: Claude Works,
        codex: Codex Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Works,
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Works,
    }
    failing::model_not_found "There is no such model: the turn fails for that reason and the loop is errored, exit code 7" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Works,
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Works,
    }
    failing::model_fallback "There is no such model, and `--fallback` names another one: it takes over, no iteration used" {
        claude: Claude Works,
        codex: Codex Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        pi: Pi Works,
        cline: Cline Works,
        aider: Aider Works,
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Works,
    }
    endings::killed_in_an_answer "Windlass is killed with -9 while an answer streams; no process is left, `resume` completes in the same session" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Differs("Copilot writes its session late: one that dies in its first seconds is unknown afterwards. The turn then begins again at the checkpoint, in a fresh session, which is said."),
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Differs("Cline takes a prompt for an existing session only in a terminal: every turn is a fresh session with goal and history."),
        aider: Aider Differs("Aider keeps no session without a terminal: every turn is a fresh session with goal and history."),
        vibe: Vibe Works,
        goose: Goose Differs("goose names no session in its output: every turn is a fresh session with goal and history."),
    }
    endings::terminated_in_a_tool "SIGTERM to Windlass while the agent runs `sleep 600`; no process is left, exit code 143, `resume` completes in the same session" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Differs("Cline takes a prompt for an existing session only in a terminal: every turn is a fresh session with goal and history."),
        vibe: Vibe Works,
        goose: Goose Differs("goose names no session in its output: every turn is a fresh session with goal and history."),
    }
    endings::ctrl_c_in_a_tool "Ctrl-C (SIGINT to the group) while the agent runs `sleep 600`; no process is left, exit code 130" {
        claude: Claude Works,
        codex: Codex Works,
        opencode: Opencode Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        qwen: Qwen Works,
        pi: Pi Works,
        cline: Cline Works,
        vibe: Vibe Works,
        goose: Goose Works,
        kimi: Kimi Works,
    }
    endings::paused_and_resumed "`pause`, then `resume` in another process: the agent's session goes on" {
        claude: Claude Works,
        codex: Codex Works,
        gemini: Gemini Works,
        copilot: Copilot Works,
        pi: Pi Works,
        vibe: Vibe Works,
        kimi: Kimi Works,
    }
}

#[test]
fn the_table_in_the_documentation_is_what_is_declared_here() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let document = std::fs::read_to_string(&path).expect("docs/conformance.md is there");
    let wanted = crate::table::put_into(&document, CASES);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).expect("docs/conformance.md can be written");
        return;
    }
    let how = "UPDATE=1 cargo test -p windlass --test real the_table";
    assert!(document == wanted, "docs/conformance.md is not what the tests declare; write it again with {how}");
}
