//! What the adapters make of the complete output of real runs, whole and in pieces of any size.
//!
//! `tests/recordings` came with the project; `recordings` is filled by its own recorder. Both have, for each agent,
//! `<case>.jsonl` with the standard output, and optionally `<case>.stderr`, `<case>.usage.json` and `<case>.meta.json`.

mod replay;

use insta::assert_snapshot;
use replay::{Recording, adapter, events_and_outcome, usage_of};
use windlass_agents::SessionFacts;
use windlass_core::usage::UsageByModel;

fn check(agent: &str) {
    let recordings = Recording::all(agent);
    assert!(recordings.len() > 10, "the recordings of {agent} are missing");
    let first = recordings.iter().find(|recording| recording.case == "tool").unwrap();
    let (events, _) = events_and_outcome(adapter(agent), first, &SessionFacts::default(), usize::MAX);
    let usage_before = usage_of(&events);
    for recording in &recordings {
        let resumes = recording.case == "resume";
        let facts = SessionFacts {
            session: None,
            usage_before: if resumes { usage_before.clone() } else { UsageByModel::new() },
        };
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
fn claude() {
    check("claude");
}

#[test]
fn codex() {
    check("codex");
}

#[test]
fn copilot() {
    check("copilot");
}

#[test]
fn gemini() {
    check("gemini");
}

#[test]
fn opencode() {
    check("opencode");
}

#[test]
fn qwen() {
    check("qwen");
}
