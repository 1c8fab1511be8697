//! What the recordings do not show: limits with a reset time, sub-agents, older versions, usage over several turns.

use crate::replay::{Recording, adapter, events_and_outcome, now, usage_of};
use serde_json::{Value, json};
use windlass_agents::{Exit, SessionFacts};
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::profile::{AgentProfile, ModelPrice};
use windlass_core::usage::{CostBasis, Usage, UsageByModel, total};

fn lines(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

fn turn(agent: &str, printed: &[Value], exit: i32, facts: &SessionFacts) -> (Vec<AgentEvent>, TurnOutcome) {
    let recording = Recording {
        case: String::new(),
        from: None,
        stdout: lines(printed),
        stderr: vec![],
        usage_file: None,
        exit: Exit::Code(exit),
    };
    events_and_outcome(adapter(agent), &recording, facts, 64)
}

fn until(outcome: &TurnOutcome) -> Option<String> {
    match outcome {
        TurnOutcome::RateLimited { until, .. } => Some(until.map(|at| at.to_string()).unwrap_or_default()),
        TurnOutcome::Finished
        | TurnOutcome::Failed { .. }
        | TurnOutcome::NotStarted { .. }
        | TurnOutcome::Interrupted
        | TurnOutcome::NotTried { .. }
        | TurnOutcome::CutOff => None,
    }
}

#[test]
fn claude_says_in_several_ways_when_a_limit_ends() {
    let in_90_s = now().as_second() + 90;
    let event = json!({"type": "rate_limit_event", "rate_limit_info":
        {"status": "rejected", "resetsAt": in_90_s, "rateLimitType": "five_hour", "isUsingOverage": false}});
    let result = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
        "result": "You've hit your limit · resets 2pm (Asia/Shanghai)", "session_id": "s"});
    let reset = Some("2026-11-15T23:01:30Z".to_owned());
    let none = SessionFacts::default();
    assert_eq!(until(&turn("claude", &[event.clone(), result.clone()], 1, &none).1), reset, "event and result");
    assert_eq!(until(&turn("claude", std::slice::from_ref(&event), 1, &none).1), reset, "the event alone");
    assert_eq!(until(&turn("claude", std::slice::from_ref(&result), 1, &none).1), Some(String::new()), "no time");
    for (what, field, value) in [
        ("old text", "result", json!(format!("Claude AI usage limit reached|{in_90_s}"))),
        ("words", "result", json!("rate limited, try again in 90 seconds")),
        ("a span", "retry_after", json!(90)),
        ("a time", "resets_at", json!("2026-11-15T23:01:30Z")),
        ("milliseconds", "retry_after_ms", json!("90000")),
    ] {
        let mut result = result.clone();
        result[field] = value;
        assert_eq!(until(&turn("claude", &[result], 1, &none).1), reset, "{what}");
    }
    // Without a status, by the name of the error.
    let named = json!({"type": "result", "is_error": true, "error": "rate_limit", "result": "resets in 90 seconds"});
    assert_eq!(until(&turn("claude", &[named], 1, &none).1), reset);
}

#[test]
fn a_limit_that_was_only_announced_or_passed_is_no_failure() {
    let done = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done"});
    for status in ["allowed", "allowed_warning", "rejected"] {
        let event =
            json!({"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": 1_794_783_690}});
        let (events, outcome) = turn("claude", &[event, done.clone()], 0, &SessionFacts::default());
        assert_eq!(outcome, TurnOutcome::Finished, "{status}");
        let told = events.iter().any(|event| matches!(event, AgentEvent::Error { .. }));
        assert_eq!(told, status == "rejected");
    }
}

fn assistant(id: &str, parent: Option<&str>, model: &str, text: &str) -> Value {
    json!({"type": "assistant", "parent_tool_use_id": parent, "session_id": "s", "message": {"id": id, "model": model,
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5}}})
}

#[test]
// promise: sessions-5
fn sub_agents_count_but_cannot_promise() {
    for agent in ["claude", "qwen"] {
        let printed = [
            assistant("m1", Some("toolu_1"), "claude-haiku-4-5", "<promise>COMPLETE</promise>"),
            assistant("m2", None, "claude-sonnet-4-5", "not yet"),
        ];
        let (events, _) = turn(agent, &printed, 1, &SessionFacts::default());
        let said: Vec<_> = events.iter().filter(|event| matches!(event, AgentEvent::Text { .. })).collect();
        assert_eq!(said, [&AgentEvent::Text { text: "not yet\n".into() }]);
        assert!(events.contains(&AgentEvent::Thinking { text: "<promise>COMPLETE</promise>".into() }));
        let usage = usage_of(&events);
        assert_eq!(usage.keys().collect::<Vec<_>>(), ["claude-haiku-4-5", "claude-sonnet-4-5"], "{agent}");
        assert_eq!(total(&usage).messages, 2);
    }
    let copilot = json!({"type": "assistant.message", "data":
        {"content": "<promise>COMPLETE</promise>", "model": "gpt-4.1", "parentToolCallId": "call_1"}});
    let (events, _) = turn("copilot", &[copilot], 0, &SessionFacts::default());
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::Text { .. })));
}

fn claude_result(cumulative: Option<u64>, run: u64, model: &str) -> Value {
    let usage = |input: u64| {
        json!({"inputTokens": input, "outputTokens": 50, "thinkingTokens": 20, "cacheReadInputTokens": 10,
            "cacheCreationInputTokens": 5, "costUSD": input as f64 / 1000.0})
    };
    let mut result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "",
        "usage": {"input_tokens": run, "output_tokens": 50, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5}});
    result["modelUsage"][model] = usage(cumulative.unwrap_or(run));
    if cumulative.is_none() {
        result["model_usage_since_last_result"][model] = usage(run);
    }
    result
}

#[test]
// promise: usage-2
fn what_claude_counts_over_a_session_is_told_for_the_turn() {
    let earlier = Usage { input_tokens: 300, cost_usd: Some(0.3), ..Usage::default() };
    let facts = SessionFacts {
        session: Some("s".into()),
        usage_before: UsageByModel::from([("claude-sonnet-4-5".into(), earlier)]),
    };
    let message = assistant("m1", None, "claude-sonnet-4-5", "hi");
    for (what, result) in [
        ("newest: since the last result", claude_result(None, 100, "claude-sonnet-4-5")),
        ("the whole session", claude_result(Some(400), 100, "claude-sonnet-4-5")),
        ("oldest: this process only", {
            let mut result = claude_result(None, 100, "claude-sonnet-4-5");
            result.as_object_mut().unwrap().remove("model_usage_since_last_result");
            result
        }),
        ("with its window in the name", claude_result(None, 100, "claude-sonnet-4-5[1m]")),
    ] {
        let (events, outcome) = turn("claude", &[message.clone(), result], 0, &facts);
        assert_eq!(outcome, TurnOutcome::Finished, "{what}");
        let used = total(&usage_of(&events));
        assert!((used.cost_usd.unwrap() - 0.1).abs() < 1e-9, "{what}: {used:?}");
        let tokens = [used.input_tokens, used.output_tokens, used.reasoning_tokens, used.cache_read_tokens];
        assert_eq!(tokens, [100, 30, 20, 10], "{what}");
        assert_eq!((used.cache_write_tokens, used.messages), (5, 1), "{what}");
    }
}

#[test]
fn a_model_without_a_price_still_has_the_cost_the_agent_names() {
    let message = assistant("m1", None, "claude-next", "hi");
    let (events, _) =
        turn("claude", &[message.clone(), claude_result(None, 100, "claude-next")], 0, &SessionFacts::default());
    let used = total(&usage_of(&events));
    assert_eq!((used.cost_usd, used.messages, used.input_tokens), (Some(0.1), 1, 100));
    // Killed before it could name it: the tokens are known, the cost is not.
    let (events, _) = turn("claude", &[message], 1, &SessionFacts::default());
    let used = total(&usage_of(&events));
    assert_eq!((used.cost_usd, used.messages, used.input_tokens), (None, 1, 100));
}

#[test]
fn a_model_that_is_called_differently_at_the_end_is_not_counted_twice() {
    let message = assistant("m1", None, "claude-sonnet-4-5", "hi");
    let result = claude_result(None, 100, "us.anthropic.claude-sonnet-4-5-v1:0");
    let used = total(&usage_of(&turn("claude", &[message, result], 0, &SessionFacts::default()).0));
    assert_eq!((used.input_tokens, used.output_tokens + used.reasoning_tokens, used.messages), (100, 50, 1));
    assert!((used.cost_usd.unwrap() - 0.1).abs() < 1e-9);
}

#[test]
fn codex_and_qwen_figures_of_a_session_become_those_of_the_turn() {
    let before = Usage { input_tokens: 1000, output_tokens: 30, cache_read_tokens: 200, ..Usage::default() };
    let facts = SessionFacts { session: None, usage_before: UsageByModel::from([("another".into(), before)]) };
    let codex = json!({"type": "turn.completed", "usage": {"input_tokens": 2400, "cached_input_tokens": 400,
        "output_tokens": 68, "reasoning_output_tokens": 8}});
    let used = total(&usage_of(&turn("codex", &[codex], 0, &facts).0));
    let tokens = [used.input_tokens, used.output_tokens, used.reasoning_tokens, used.cache_read_tokens];
    assert_eq!(tokens, [1000, 30, 8, 200]);
    let qwen = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "model": "qwen3-coder-plus"}),
        json!({"type": "result", "is_error": false, "usage":
            {"input_tokens": 2400, "output_tokens": 68, "cache_read_input_tokens": 400, "total_tokens": 2468}}),
    ];
    let used = total(&usage_of(&turn("qwen", &qwen, 0, &facts).0));
    assert_eq!([used.input_tokens, used.output_tokens, used.cache_read_tokens], [1000, 38, 200]);
    assert!(used.cost_usd.is_some());
}

#[test]
fn copilot_names_the_chosen_session_at_once() {
    let facts = SessionFacts { session: Some("chosen".into()), ..SessionFacts::default() };
    let (events, _) = turn("copilot", &[json!({"type": "session.info", "data": {}})], 0, &facts);
    assert_eq!(events, [AgentEvent::Session { id: "chosen".into() }]);
}

#[test]
fn gemini_exit_codes_tell_what_its_text_does_not() {
    let result = json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": "no, in 5s"}});
    for (code, kind) in [(145, ErrorKind::Auth), (247, ErrorKind::Overloaded), (148, ErrorKind::ModelNotFound)] {
        let (_, outcome) = turn("gemini", std::slice::from_ref(&result), code, &SessionFacts::default());
        assert_eq!(outcome, TurnOutcome::Failed { kind, message: "no, in 5s".into() });
    }
    let (_, outcome) = turn("gemini", &[result], 173, &SessionFacts::default());
    assert_eq!(until(&outcome), Some(String::new()));
}

/// Ended in silence, with this on its standard error and, before or after it, these lines.
fn ended_waiting(agent: &str, stderr: &str, printed: &[Value]) -> TurnOutcome {
    let recording = Recording {
        case: String::new(),
        from: None,
        stdout: lines(printed),
        stderr: stderr.as_bytes().to_vec(),
        usage_file: None,
        exit: Exit::Signal(15),
    };
    events_and_outcome(adapter(agent), &recording, &SessionFacts::default(), 7).1
}

#[test]
fn a_limit_that_is_waited_out_and_told_on_standard_error_only_leaves_the_reason() {
    let qwen = "Warning: x\nRetrying in 60s (attempt 1/10): [API Error: 429 please slow down]\n";
    assert_eq!(until(&ended_waiting("qwen", qwen, &[])), Some(String::new()));
    let opencode = |error: &str| {
        format!("timestamp=1 level=ERROR message=\"stream error\" small=false error.error=\"AI_APICallError: {error}\"")
    };
    assert_eq!(until(&ended_waiting("opencode", &opencode("scripted rate limit"), &[])), Some(String::new()));
    // Anything else there is no limit, and what the agent itself reports says more.
    assert_eq!(until(&ended_waiting("opencode", &opencode("Internal Server Error"), &[])), None);
    assert_eq!(until(&ended_waiting("opencode", "429 rate limit exceeded\nRetrying in 5s: [429]\n", &[])), None);
    assert_eq!(until(&ended_waiting("qwen", "a test prints: Retrying in 60s (1/2): 429 rate limit\n", &[])), None);
    let key = json!({"type": "error", "sessionID": "s", "error":
        {"name": "APIError", "data": {"message": "no such key", "statusCode": 401}}});
    assert_eq!(until(&ended_waiting("opencode", &opencode("scripted rate limit"), &[key])), None);
}

#[test]
fn an_agent_that_waits_for_its_limit_and_is_ended_leaves_the_reason() {
    let printed = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "error", "message": "Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}),
    ];
    let (_, outcome) = turn("codex", &printed, 143, &SessionFacts::default());
    assert_eq!(until(&outcome), Some(String::new()));
}

#[test]
fn opencode_that_has_no_price_does_not_cost_nothing() {
    let step = json!({"type": "step_finish", "part": {"reason": "stop", "cost": 0,
        "tokens": {"input": 10, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}}});
    let recording = |stdout| Recording {
        case: String::new(),
        from: None,
        stdout,
        stderr: vec![],
        usage_file: None,
        exit: Exit::Code(0),
    };
    let mut profile = adapter("opencode");
    profile.model = Some("local/unheard-of".into());
    let (events, outcome) = events_and_outcome(profile, &recording(lines(&[step])), &SessionFacts::default(), 9);
    assert_eq!(outcome, TurnOutcome::Finished);
    assert_eq!(total(&usage_of(&events)).cost_usd, None);
}

#[test]
// promise: usage-3
fn a_cost_says_whether_it_is_the_agents_word_or_a_list_price() {
    let basis = |agent: &str, lines: &[Value], exit| {
        let used = total(&usage_of(&turn(agent, lines, exit, &SessionFacts::default()).0));
        (used.cost_usd.is_some(), used.cost_basis)
    };
    let init = |key: &str| json!({"type": "system", "subtype": "init", "session_id": "s", "apiKeySource": key});
    let message = assistant("m1", None, "claude-sonnet-4-5", "hi");
    let result = claude_result(None, 100, "claude-sonnet-4-5");
    let claude = |key: &str| basis("claude", &[init(key), message.clone(), result.clone()], 0);
    assert_eq!(claude("ANTHROPIC_API_KEY"), (true, CostBasis::Agent));
    assert_eq!(claude("none"), (true, CostBasis::ListPrice), "a subscription pays nothing by the token");
    let killed = basis("claude", &[init("ANTHROPIC_API_KEY"), message.clone()], 1);
    assert_eq!(killed, (true, CostBasis::ListPrice), "it never came to name the cost");
    let used = json!({"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 10}});
    assert_eq!(basis("codex", &[used], 0), (true, CostBasis::ListPrice));
    let step =
        |cost: f64| json!({"type": "step_finish", "part": {"reason": "stop", "cost": cost, "tokens": {"input": 5}}});
    assert_eq!(basis("opencode", &[step(0.5)], 0), (true, CostBasis::Agent));
    assert_eq!(basis("opencode", &[step(0.0)], 0), (true, CostBasis::ListPrice));
}

#[test]
fn prices_of_the_profile_are_what_is_reckoned_with() {
    let price = ModelPrice { input: 10.0, output: 0.0, ..ModelPrice::default() };
    let line = |value: Value| format!("{value}\n").into_bytes();
    let used = json!({"type": "turn.completed", "usage": {"input_tokens": 1_000_000, "output_tokens": 10}});
    let message = json!({"type": "assistant", "message": {"id": "m", "model": "mine/special", "content": [],
        "usage": {"input_tokens": 1_000_000, "output_tokens": 1, "total_tokens": 1_000_001}}});
    for (agent, line) in [("codex", line(used)), ("qwen", line(message))] {
        let profile = AgentProfile {
            model: Some("mine/special".into()),
            prices: [("mine/special".to_owned(), price)].into(),
            ..adapter(agent)
        };
        let mut events = Vec::new();
        let mut session = windlass_agents::session(&profile);
        session.stdout(&line, &mut events);
        session.finish(&mut events);
        assert_eq!(total(&usage_of(&events)).cost_usd, Some(10.0), "{agent}");
    }
}

#[test]
fn heartbeats_are_no_steps_of_the_agent() {
    let step = |lines_: &[Value]| {
        let mut session = windlass_agents::session(&adapter("claude"));
        let mut events = Vec::new();
        session.stdout(&lines(&[json!({"type": "system", "subtype": "init", "session_id": "s"})]), &mut events);
        assert!(session.took_a_step() && !session.took_a_step());
        session.stdout(&lines(lines_), &mut events);
        session.took_a_step()
    };
    let progress = |seconds: u64| json!({"type": "tool_progress", "elapsed_time_seconds": seconds, "uuid": seconds});
    let thinking =
        |tokens: u64, id: u64| json!({"type": "system", "subtype": "thinking_tokens", "n": tokens, "uuid": id});
    let retry =
        json!({"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529, "error": "overloaded"});
    assert!(!step(&[json!({"type": "keep_alive"}), progress(30), progress(60), retry]));
    assert!(step(&[thinking(1, 1)]) && step(&[thinking(1, 1), thinking(2, 2)]));
    let mut session = windlass_agents::session(&adapter("claude"));
    session.stdout(&lines(&[thinking(1, 1)]), &mut Vec::new());
    session.took_a_step();
    session.stdout(&lines(&[thinking(1, 2), thinking(1, 3)]), &mut Vec::new());
    assert!(!session.took_a_step(), "figures that stand still");
    let said = json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "hello"}]}});
    assert!(step(&[progress(30), said]));
}

#[test]
// promise: bounds-11
fn the_same_error_again_and_again_is_an_agent_that_spins() {
    let overflow = |n: u64| {
        json!({"type": "error", "sessionID": "s", "error":
            {"name": "ContextOverflowError", "data": {"message": format!("prompt is too long: {n} tokens")}}})
    };
    let step = json!({"type": "step_start", "sessionID": "s"});
    let spins = |printed: &[Value]| {
        let mut session = windlass_agents::session(&adapter("opencode"));
        session.stdout(&lines(printed), &mut Vec::new());
        session.spins()
    };
    let round = |n: u64| [step.clone(), overflow(n)];
    let many: Vec<Value> = (0..40).flat_map(round).collect();
    let (kind, message) = spins(&many).expect("it spins");
    assert_eq!(kind, ErrorKind::ContextOverflow);
    assert!(
        message.contains("failed 40 times with the same error") && message.contains("prompt is too long"),
        "{message}"
    );
    assert_eq!(spins(&(0..4).flat_map(round).collect::<Vec<_>>()), None, "a few tries are nothing");
    let working = |call: &dyn Fn(u64) -> Value| -> Vec<Value> {
        (0..20).flat_map(|n| [vec![call(n)], round(n).to_vec()].concat()).collect()
    };
    let tool = |n: u64| {
        json!({"type": "tool_use", "part": {"callID": n.to_string(), "tool": "bash", "state":
            {"status": "completed", "input": {"command": format!("echo {n}")}, "output": "ok"}}})
    };
    assert_eq!(spins(&working(&tool)), None, "tools did something new in between");
    assert!(spins(&working(&|_| tool(7))).is_some(), "the same call again is nothing new");
}

#[test]
// promise: bounds-11
fn the_same_few_steps_again_and_again_are_an_agent_that_spins() {
    let said = |text: &str| json!({"type": "text", "part": {"text": text}});
    let tool = |n: usize, output: &str| {
        json!({"type": "tool_use", "part": {"callID": n.to_string(), "tool": "bash", "state":
            {"status": "completed", "input": {"command": "make"}, "output": output}}})
    };
    let spins = |printed: Vec<Value>| {
        let mut session = windlass_agents::session(&adapter("opencode"));
        session.stdout(&lines(&printed), &mut Vec::new());
        session.spins()
    };
    let round = |n: usize| [said("once more"), tool(n, "error")];
    let (kind, message) = spins((0..200).flat_map(round).collect()).expect("it spins");
    assert_eq!((kind, message.as_str()), (ErrorKind::Other, "the agent repeated the same steps again and again"));
    assert_eq!(spins((0..100).flat_map(round).collect()), None, "to look a hundred times may be to wait");
    assert!(spins((0..400).map(|_| said("same")).collect()).is_some(), "words alone");
    let waits = |n: usize| [said("still waiting"), tool(n, &format!("{n} of 900"))];
    assert_eq!(spins((0..400).flat_map(waits).collect()), None, "something moves");
}
