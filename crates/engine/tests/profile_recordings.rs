//! What the agents without an adapter once printed, read by their profiles.

use std::path::Path;

use serde_json::Value;
use windlass_agents::{Exit, session};
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::profile::AgentProfile;
use windlass_engine::config::built_in_agents;

fn read(profile: &AgentProfile, agent: &str, case: &str) -> (Vec<AgentEvent>, TurnOutcome) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings").join(agent);
    let bytes = |end: &str| std::fs::read(dir.join(format!("{case}.{end}"))).unwrap_or_default();
    let meta: Value = serde_json::from_slice(&bytes("meta.json")).unwrap_or_else(|e| panic!("{agent} {case}: {e}"));
    let exit = meta["exit"].as_i64().map_or(Exit::Signal(9), |code| Exit::Code(i32::try_from(code).unwrap()));
    let (mut session, mut events) = (session(profile), Vec::new());
    session.stdout(&bytes("jsonl"), &mut events);
    session.stderr(&bytes("stderr"), &mut events);
    session.finish(&mut events);
    let outcome = session.outcome(exit, "2026-01-01T00:00:00Z".parse().unwrap());
    (events, outcome)
}

/// `None` for a limit, which is waited for.
fn failure(outcome: &TurnOutcome) -> Option<ErrorKind> {
    if let TurnOutcome::Failed { kind, .. } = outcome {
        return Some(*kind);
    }
    assert!(matches!(outcome, TurnOutcome::RateLimited { .. }), "{outcome:?}");
    None
}

fn said(events: &[AgentEvent]) -> String {
    events.iter().filter_map(|event| if let AgentEvent::Text { text } = event { Some(&**text) } else { None }).collect()
}

#[test]
fn a_turn_with_a_tool_is_read_with_all_its_parts() {
    // 1200 tokens of which 200 were cached, then 1500 and 1200. goose tells only the sum, Vibe nothing.
    for (agent, used) in
        [("pi", (1300, 1400, 55)), ("cline", (1300, 1400, 55)), ("goose", (2700, 0, 55)), ("mistral-vibe", (0, 0, 0))]
    {
        let profile = &built_in_agents()[agent];
        let (events, outcome) = read(profile, agent, "tool");
        assert_eq!(outcome, TurnOutcome::Finished, "{agent}");
        assert_eq!(said(&events), "I will write the file.\nFile written. <promise>COMPLETE</promise>\n", "{agent}");
        let called = events.iter().find_map(|event| {
            let AgentEvent::ToolUse { id, input, .. } = event else { return None };
            Some((id.clone(), input.contains("echo scripted")))
        });
        let (id, runs) = called.unwrap_or_else(|| panic!("{agent} called no tool"));
        assert!(runs, "{agent}");
        let answered = events.iter().any(|event| {
            matches!(event, AgentEvent::ToolResult { id: of, output, is_error: false } if *of == id && output.contains("scripted"))
        });
        assert!(answered, "{agent}: {events:?}");
        let (mut input, mut cached, mut output) = (0, 0, 0);
        for event in &events {
            if let AgentEvent::Usage { usage, .. } = event {
                (input, cached, output) =
                    (input + usage.input_tokens, cached + usage.cache_read_tokens, output + usage.output_tokens);
            }
        }
        assert_eq!((input, cached, output), used, "{agent}");
        assert!(!events.iter().any(|event| matches!(event, AgentEvent::Raw { .. })), "{agent}: {events:?}");
    }
}

#[test]
fn what_aider_says_is_told_from_what_its_program_prints() {
    let (events, outcome) = read(&built_in_agents()["aider"], "aider", "tool");
    assert_eq!(outcome, TurnOutcome::Finished);
    let said = said(&events);
    let words = ["I will write the file.", "out.txt", "scripted", "File written. <promise>COMPLETE</promise>"];
    let at: Vec<_> = words.map(|word| said.find(word)).into();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{said}");
    assert!(said.trim_start().starts_with(words[0]), "{said}");
    for noise in ["Aider v", "Repo-map", "Tokens:", "Applied edit"] {
        assert!(!said.contains(noise), "{said}");
    }
    let usage =
        events.iter().find_map(|event| if let AgentEvent::Usage { usage, .. } = event { Some(usage) } else { None });
    let usage = usage.expect("it says what it used");
    assert!(
        usage.input_tokens > 0 && usage.output_tokens > 0 && usage.cost_usd.is_some_and(|cost| cost > 0.0),
        "{usage:?}"
    );
}

#[test]
fn failures_are_told_apart() {
    for (agent, case, expected) in [
        ("pi", "rate_limit", None),
        ("pi", "auth", Some(ErrorKind::Auth)),
        ("pi", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("pi", "overflow", Some(ErrorKind::ContextOverflow)),
        ("pi", "server_error", Some(ErrorKind::Overloaded)),
        ("pi", "resume_unknown", Some(ErrorKind::UnknownSession)),
        ("cline", "rate_limit", None),
        ("cline", "auth", Some(ErrorKind::Auth)),
        ("cline", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("cline", "overflow", Some(ErrorKind::ContextOverflow)),
        ("goose", "rate_limit", None),
        ("goose", "quota", Some(ErrorKind::Billing)),
        ("goose", "auth", Some(ErrorKind::Auth)),
        ("goose", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("goose", "overflow", Some(ErrorKind::ContextOverflow)),
        ("goose", "server_error", Some(ErrorKind::Overloaded)),
        ("goose", "cut", Some(ErrorKind::Network)),
        ("kimi", "rate_limit", None),
        ("kimi", "server_error", Some(ErrorKind::Overloaded)),
        ("kimi", "quota", Some(ErrorKind::Billing)),
        ("kimi", "auth", Some(ErrorKind::Auth)),
        ("kimi", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("kimi", "overflow", Some(ErrorKind::ContextOverflow)),
        ("kimi", "resume_unknown", Some(ErrorKind::UnknownSession)),
        ("kimi", "cut", Some(ErrorKind::Network)),
        ("mistral-vibe", "rate_limit", None),
        ("mistral-vibe", "quota", Some(ErrorKind::Billing)),
        ("mistral-vibe", "auth", Some(ErrorKind::Auth)),
        ("mistral-vibe", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("mistral-vibe", "overflow", Some(ErrorKind::ContextOverflow)),
        ("mistral-vibe", "server_error", Some(ErrorKind::Overloaded)),
        ("mistral-vibe", "resume_unknown", Some(ErrorKind::UnknownSession)),
        ("mistral-vibe", "cut", Some(ErrorKind::Network)),
        ("aider", "rate_limit", None),
        ("aider", "usage_limit", None),
        ("aider", "quota", Some(ErrorKind::Billing)),
        ("aider", "auth", Some(ErrorKind::Auth)),
        ("aider", "model_not_found", Some(ErrorKind::ModelNotFound)),
        ("aider", "overflow", Some(ErrorKind::ContextOverflow)),
        ("aider", "overloaded", Some(ErrorKind::Overloaded)),
        ("aider", "server_error", Some(ErrorKind::Overloaded)),
        ("aider", "cut", Some(ErrorKind::Network)),
    ] {
        let (_, outcome) = read(&built_in_agents()[agent], agent, case);
        assert_eq!(failure(&outcome), expected, "{agent} {case}: {outcome:?}");
    }
}

#[test]
fn what_a_tool_prints_is_no_failure_of_the_turn() {
    for agent in ["pi", "cline", "aider", "goose", "kimi", "mistral-vibe"] {
        let (_, outcome) = read(&built_in_agents()[agent], agent, "tool_fails");
        assert_eq!(outcome, TurnOutcome::Finished, "{agent}");
    }
}

#[test]
fn a_resumed_turn_names_its_session() {
    for agent in ["pi", "mistral-vibe"] {
        let (events, outcome) = read(&built_in_agents()[agent], agent, "resume");
        assert_eq!(outcome, TurnOutcome::Finished);
        assert!(matches!(&events[0], AgentEvent::Session { id } if !id.is_empty()), "{events:?}");
    }
}
