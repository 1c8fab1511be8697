//! Output that no agent should print: the adapters survive it, and never take it for a finished turn.

use std::sync::LazyLock;

use crate::replay::{AGENTS, Recording, adapter, events_and_outcome, now};
use proptest::prelude::*;
use serde_json::Value;
use windlass_agents::{Exit, SessionFacts, session_with};
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};

static RECORDINGS: LazyLock<Vec<(usize, Recording)>> = LazyLock::new(|| {
    let all = |(index, agent): (usize, &&str)| Recording::all(agent).into_iter().map(move |found| (index, found));
    AGENTS.iter().enumerate().flat_map(all).collect()
});

fn read(agent: &str, stdout: &[u8], exit: Exit, chunk: usize) -> (Vec<AgentEvent>, TurnOutcome) {
    let recording =
        Recording { case: String::new(), from: None, stdout: stdout.into(), stderr: vec![], usage_file: None, exit };
    events_and_outcome(adapter(agent), &recording, &SessionFacts::default(), chunk)
}

/// Whether a line is the agent's closing word that all went well, told independently of the adapter.
fn closes_well(agent: &str, line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<Value>(line) else { return false };
    let kind = line["type"].as_str().unwrap_or("");
    match agent {
        "claude" | "qwen" => kind == "result" && line["is_error"] == false,
        "codex" => kind == "turn.completed",
        "copilot" => kind == "result" && line["exitCode"] == 0,
        "gemini" => kind == "result" && line["status"] == "success",
        "opencode" => kind == "step_finish" && line["part"]["reason"] != "tool-calls",
        other => panic!("{other}"),
    }
}

fn check(agent: &str, stdout: &[u8], chunk: usize) -> Result<(), TestCaseError> {
    let (events, outcome) = read(agent, stdout, Exit::Code(0), chunk);
    if outcome.is_finished() {
        let closed = stdout.split(|byte| *byte == b'\n').any(|line| closes_well(agent, line));
        prop_assert!(closed, "{agent} finished without a closing line");
    }
    for event in &events {
        if let AgentEvent::Raw { line } = event {
            prop_assert!(line.len() <= 3 * 64 * 1024);
        }
    }
    let (_, killed) = read(agent, stdout, Exit::Signal(9), chunk);
    prop_assert!(!killed.is_finished());
    Ok(())
}

#[derive(Debug, Clone)]
enum Change {
    Flip(usize, u8),
    Remove(usize, usize),
    Double(usize, usize),
    Cut(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        (any::<usize>(), 1..400_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<usize>(), 1..400_usize).prop_map(|(at, count)| Change::Double(at, count)),
        any::<usize>().prop_map(Change::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len();
    let range = |at: usize, count: usize| at % length..(at % length + count).min(length);
    match *change {
        Change::Flip(at, byte) => bytes[at % length] = byte,
        Change::Remove(at, count) => drop(bytes.drain(range(at, count))),
        Change::Double(at, count) => {
            let part = bytes[range(at, count)].to_vec();
            bytes.splice(at % length..at % length, part);
        }
        Change::Cut(at) => bytes.truncate(at % length),
    }
}

/// Something that no agent has in any of its fields.
fn odd_value() -> impl Strategy<Value = Value> {
    let deep = (0..100).fold(Value::Null, |inner, _| serde_json::json!([inner]));
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| serde_json::json!(number)),
        ".{0,40}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({ "": {} })),
        Just(deep),
    ]
}

/// Puts another value in place of one inside.
fn swap(value: &mut Value, at: usize, odd: &Value) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(fields) => fields.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let count = inner.len();
    match inner.into_iter().nth(at % count.max(1)) {
        // Deeper as long as the number reports it.
        Some(inner) if (at / count).is_multiple_of(2) => swap(inner, at / count / 2, odd),
        Some(inner) => *inner = odd.clone(),
        None => *value = odd.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    // promise: failures-10
    fn random_bytes_break_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..600), chunk in 1..50_usize) {
        for agent in AGENTS {
            check(agent, &bytes, chunk)?;
        }
    }

    #[test]
    // promise: failures-10
    fn mutated_recordings_break_nothing(
        pick in any::<prop::sample::Index>(),
        changes in proptest::collection::vec(change(), 1..6),
        chunk in 1..9000_usize,
    ) {
        let (agent, recording) = pick.get(&RECORDINGS);
        let mut bytes = recording.stdout.clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        check(AGENTS[*agent], &bytes, chunk)?;
    }

    /// Every adapter on every agent's output: fields of the right name and the wrong type.
    #[test]
    fn values_of_another_type_break_nothing(
        pick in any::<prop::sample::Index>(), swaps in proptest::collection::vec((any::<usize>(), odd_value()), 1..8),
        chunk in 1..5_000_usize,
    ) {
        let (agent, recording) = pick.get(&RECORDINGS);
        let mut lines: Vec<Value> =
            recording.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        if !lines.is_empty() {
            for (at, odd) in &swaps {
                let count = lines.len();
                swap(&mut lines[at % count], at / count, odd);
            }
            let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
            check(AGENTS[*agent], stdout.as_bytes(), chunk)?;
        }
    }

    #[test]
    fn random_usage_files_break_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..300), odd in odd_value()) {
        let nested = serde_json::json!({ "modelMetrics": { "m": { "usage": odd.clone(), "inputTokens": odd } } });
        for agent in AGENTS {
            for content in [bytes.clone(), nested.to_string().into_bytes()] {
                let mut session = session_with(&adapter(agent), &SessionFacts::default());
                let mut events = Vec::new();
                session.usage_file(&content, &mut events);
                session.finish(&mut events);
                prop_assert!(!session.outcome(Exit::Code(0), now()).is_finished());
            }
        }
    }

    #[test]
    fn output_of_another_agent_breaks_nothing(pick in any::<prop::sample::Index>(), agent in 0..AGENTS.len()) {
        let (_, recording) = pick.get(&RECORDINGS);
        check(AGENTS[agent], &recording.stdout, 4096)?;
    }
}

#[test]
fn a_result_that_is_cut_in_the_middle_is_no_result() {
    for agent in AGENTS {
        let plain = Recording::all(agent).into_iter().find(|recording| recording.case == "plain").unwrap();
        let whole = plain.stdout.strip_suffix(b"\n").unwrap();
        assert!(read(agent, whole, Exit::Code(0), 7).1.is_finished(), "{agent}: only the last line end is missing");
        let last = whole.iter().rposition(|byte| *byte == b'\n').unwrap();
        for end in [last, last + 1, (last + whole.len()) / 2, whole.len() - 1] {
            let (_, outcome) = read(agent, &whole[..end], Exit::Code(0), 7);
            let network = matches!(outcome, TurnOutcome::Failed { kind: ErrorKind::Network, .. });
            assert!(network, "{agent} cut at {end}: {outcome:?}");
        }
    }
}

#[test]
fn nothing_printed_is_a_failure_that_says_so() {
    for agent in AGENTS {
        for (exit, message) in [
            (Exit::Code(0), "the agent printed nothing (exit code 0)"),
            (Exit::Code(3), "exit code 3"),
            (Exit::Signal(9), "the agent was killed by signal 9 before its result"),
        ] {
            let (events, outcome) = read(agent, b"\n  \n", exit, 1);
            assert_eq!(events, [], "{agent}");
            assert_eq!(outcome, TurnOutcome::Failed { kind: ErrorKind::Other, message: message.into() }, "{agent}");
        }
    }
}

#[test]
fn another_program_under_the_agents_name_is_quoted() {
    for agent in AGENTS {
        let (events, outcome) = read(agent, b"hello <promise>COMPLETE</promise>\n{\"half\":\n[1]\n", Exit::Code(0), 5);
        assert!(events.iter().all(|event| matches!(event, AgentEvent::Raw { .. })), "{agent}: {events:?}");
        let message = "the agent's output is not in its known format: hello <promise>COMPLETE</promise>".into();
        assert_eq!(outcome, TurnOutcome::Failed { kind: ErrorKind::Other, message });
    }
}

#[test]
fn ten_megabytes_in_a_line_are_read_and_more_are_passed_over() {
    for agent in AGENTS {
        let plain = Recording::all(agent).into_iter().find(|recording| recording.case == "plain").unwrap();
        for size in [10 * 1024 * 1024, 20 * 1024 * 1024] {
            let mut stdout = format!("{{\"type\":\"news\",\"x\":\"{}\"}}\n", "y".repeat(size)).into_bytes();
            stdout.extend(&plain.stdout);
            let (events, outcome) = read(agent, &stdout, Exit::Code(0), 65536);
            assert!(outcome.is_finished(), "{agent}");
            assert!(matches!(&events[0], AgentEvent::Raw { line } if line.len() == 64 * 1024), "{agent}");
        }
    }
}

#[test]
// promise: failures-5
fn words_about_limits_in_the_agents_work_trigger_nothing() {
    let words = "HTTP 429 rate_limit_error: usage limit reached|1794772294, retry after 90 seconds. \
        401 Unauthorized. context_length_exceeded. prompt is too long. model not found. No conversation found. ECONNRESET";
    for agent in AGENTS {
        for case in ["tool", "write", "plain"] {
            let mut recording = Recording::all(agent).into_iter().find(|recording| recording.case == case).unwrap();
            let stdout = String::from_utf8(recording.stdout).unwrap();
            // In what the agent says, does and reads.
            let stdout = ["scripted model", "I will write the file.", "echo scripted", "File written.", "scripted\\n"]
                .iter()
                .fold(stdout, |text, from| text.replace(from, words));
            recording.stdout = stdout.replace("\"scripted\"", &format!("\"{words}\"")).into_bytes();
            recording.stderr = words.as_bytes().to_vec();
            let (events, outcome) = events_and_outcome(adapter(agent), &recording, &SessionFacts::default(), 4096);
            assert!(events.iter().any(|event| format!("{event:?}").contains("usage limit")), "{agent} {case}");
            assert!(
                !events.iter().any(|event| matches!(event, AgentEvent::Error { .. })),
                "{agent} {case}: {events:?}"
            );
            assert_eq!(outcome, TurnOutcome::Finished, "{agent} {case}");

            // The same work, and then the stream breaks or the agent is killed: still no word of a limit.
            let end = recording.stdout.len() - 10;
            for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(15)] {
                let mut session = session_with(&adapter(agent), &SessionFacts::default());
                let mut events = Vec::new();
                session.stderr(&recording.stderr, &mut events);
                session.stdout(&recording.stdout[..end], &mut events);
                session.finish(&mut events);
                let outcome = session.outcome(exit, now());
                let harmless =
                    matches!(&outcome, TurnOutcome::Failed { kind: ErrorKind::Other | ErrorKind::Network, .. });
                assert!(harmless, "{agent} {case}: {outcome:?}");
            }
        }
    }
}
