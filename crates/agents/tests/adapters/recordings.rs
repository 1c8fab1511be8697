//! What the adapters make of the complete output of real runs, whole and in pieces of any size.
//!
//! `tests/recordings` came with the project; `recordings` is filled by its own recorder. Both have, for each agent,
//! `<case>.jsonl` with the standard output, and optionally `<case>.stderr`, `<case>.usage.json` and `<case>.meta.json`.
//! After a new recording: `INSTA_UPDATE=always cargo test -p windlass-agents --test adapters recordings`, and look at what changed.

use crate::replay::{Recording, adapter, events_and_outcome, usage_of};
use insta::assert_snapshot;
use windlass_agents::SessionFacts;

fn check(agent: &str) {
    let recordings = Recording::all(agent);
    assert!(recordings.len() > 10, "the recordings of {agent} are missing");
    for recording in &recordings {
        // The recorders resume what they recorded as `tool`.
        let resumed = recordings
            .iter()
            .find(|other| recording.case == "resume" && other.case == "tool" && other.from == recording.from);
        let usage_before = resumed.map(|before| {
            usage_of(&events_and_outcome(adapter(agent), before, &SessionFacts::default(), usize::MAX).0)
        });
        let facts = SessionFacts { session: None, usage_before: usage_before.unwrap_or_default() };
        let whole = events_and_outcome(adapter(agent), recording, &facts, usize::MAX);
        for chunk in [1, 7, 4096] {
            let pieces = events_and_outcome(adapter(agent), recording, &facts, chunk);
            assert_eq!(pieces, whole, "{agent} {} in pieces of {chunk}", recording.case);
        }
        let (events, outcome) = whole;
        let mut lines: Vec<String> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        lines.push(format!("total: {}", serde_json::to_string(&usage_of(&events)).unwrap()));
        lines.push(format!("outcome: {}", serde_json::to_string(&outcome).unwrap()));
        assert_snapshot!(format!("{agent}_{}", recording.name()), lines.join("\n"));
    }
}

#[test]
// promise: sessions-6
fn claude() {
    check("claude");
}

/// Named by the agent that spoke it.
#[test]
// promise: sessions-6
fn acp() {
    check("acp");
}

#[test]
// promise: sessions-6
fn codex() {
    check("codex");
}

#[test]
// promise: sessions-6
fn copilot() {
    check("copilot");
}

#[test]
// promise: sessions-6
fn gemini() {
    check("gemini");
}

#[test]
// promise: sessions-6
fn opencode() {
    check("opencode");
}

#[test]
// promise: sessions-6
fn qwen() {
    check("qwen");
}
