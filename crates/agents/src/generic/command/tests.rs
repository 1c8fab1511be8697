//! The command adapter on real and on hostile output.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use windlass_core::spec::AgentChoice;

use super::*;

fn profile(change: impl FnOnce(&mut AgentProfile)) -> AgentProfile {
    let mut profile = AgentProfile::of_command(vec!["agent".into()]);
    change(&mut profile);
    profile
}

fn read(profile: &AgentProfile, stdout: &[u8], chunk: usize) -> (CommandSession, Vec<AgentEvent>) {
    let mut session = CommandSession::new(profile, None);
    let mut events = Vec::new();
    for part in stdout.chunks(chunk.max(1)) {
        session.stdout(part, &mut events);
    }
    session.finish(&mut events);
    (session, events)
}

fn texts(events: &[AgentEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let AgentEvent::Text { text } = event { Some(text.as_str()) } else { None })
        .collect()
}

fn jsonl() -> AgentProfile {
    profile(|profile| profile.output = Some(OutputFormat::Jsonl))
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn request<'a>(agent: &'a AgentChoice, prompt: &'a str, session: Option<&'a str>) -> TurnRequest<'a> {
    TurnRequest {
        agent,
        prompt,
        prompt_file: PathBuf::from("/turn/prompt.md"),
        session,
        cwd: PathBuf::from("/tree"),
        env: BTreeMap::from([("PATH".into(), "/bin".into())]),
        own_program: PathBuf::from("/bin/windlass"),
    }
}

fn launch(request: &TurnRequest<'_>) -> Result<CommandSpec, LaunchError> {
    super::launch(request, &LaunchFacts::default(), &Injected::default())
}

fn choice(words: &[&str]) -> AgentChoice {
    let profile = AgentProfile::of_command(words.iter().map(|word| (*word).to_owned()).collect());
    AgentChoice { name: "mine".into(), profile }
}

#[test]
fn the_prompt_comes_on_stdin_unless_the_command_names_it() {
    let plain = launch(&request(&choice(&["agent", "-x"]), "do it", None)).unwrap();
    assert_eq!(plain.program, "agent");
    assert_eq!(plain.args, ["-x"]);
    assert_eq!(plain.stdin, Stdin::File { path: "/turn/prompt.md".into() });

    let argument = launch(&request(&choice(&["agent", "-p", "{prompt}"]), "do $(it) `now`", None)).unwrap();
    assert_eq!(argument.args, ["-p", "do $(it) `now`"]);
    assert_eq!(argument.stdin, Stdin::Null);

    let file = launch(&request(&choice(&["agent", "--from={prompt_file}"]), "x", None)).unwrap();
    assert_eq!(file.args, ["--from=/turn/prompt.md"]);
}

#[test]
// promise: context-8
fn a_prompt_that_looks_like_a_placeholder_stays_as_it_is() {
    let spec = launch(&request(&choice(&["agent", "{prompt}"]), "explain {prompt_file} and {self}", None)).unwrap();
    assert_eq!(spec.args, ["explain {prompt_file} and {self}"]);
}

#[test]
fn a_resumed_turn_names_its_session() {
    let mut agent = choice(&["agent"]);
    agent.profile.resume_args = vec!["--resume".into(), "{session}".into()];
    assert_eq!(launch(&request(&agent, "x", Some("s-1"))).unwrap().args, ["--resume", "s-1"]);
    assert!(launch(&request(&agent, "x", None)).unwrap().args.is_empty());
}

#[test]
fn what_no_argument_can_carry_is_refused_with_a_way_out() {
    let long = "x".repeat(200_000);
    let agent = choice(&["agent", "{prompt}"]);
    let error = launch(&request(&agent, &long, None)).unwrap_err();
    assert_eq!(error, LaunchError::PromptTooLong { agent: "mine".into(), bytes: 200_000 });
    assert!(error.hint().contains("{prompt_file}"));
    assert_eq!(launch(&request(&agent, "a\0b", None)), Err(LaunchError::PromptHasNul));
    assert_eq!(launch(&request(&choice(&[]), "x", None)), Err(LaunchError::NoCommand { agent: "mine".into() }));
}

#[test]
fn all_of_standard_output_is_assistant_text() {
    let output = "one\n\x1b[1mtwo\x1b[0m\nthree".as_bytes();
    for chunk in 1..output.len() {
        let (_, events) = read(&profile(|_| {}), output, chunk);
        assert_eq!(texts(&events), "one\ntwo\nthree");
    }
}

#[test]
fn a_long_line_is_handed_on_in_parts() {
    let (_, events) = read(&profile(|_| {}), &vec![b'x'; 1_000_000], 8192);
    assert!(events.len() > 5);
    assert_eq!(texts(&events).len(), 1_000_000);
}

#[test]
fn patterns_find_session_usage_and_answer() {
    let profile = profile(|profile| {
        profile.session_pattern = Some("session: (\\S+)".into());
        profile.usage_pattern = Some(r"tokens (?P<input>[\d,]+)/(?P<output>\d+) \$(?P<cost>[\d.]+)".into());
        profile.answer_pattern = Some("^ANSWER (.*)$".into());
    });
    let output = b"session: abc-1\nthinking <promise>\ntokens 1,200/30 $0.25\nANSWER all done\n";
    for chunk in 1..output.len() {
        let (_, events) = read(&profile, output, chunk);
        assert_eq!(texts(&events), "all done\n");
        assert!(events.contains(&AgentEvent::Session { id: "abc-1".into() }));
        let usage = Usage { input_tokens: 1200, output_tokens: 30, cost_usd: Some(0.25), ..Usage::default() };
        let usage = usage.named_by_agent();
        assert!(events.contains(&AgentEvent::Usage { model: String::new(), usage }));
    }
}

#[test]
fn lines_of_the_program_itself_are_not_the_agents_words() {
    let profile = profile(|profile| {
        profile.noise_pattern = Some("^(Agent v|Tokens: )".into());
        profile.usage_pattern = Some(r"^Tokens: (?<input>[\d.]+[kM]?) sent, (?<output>[\d.]+[kM]?) received".into());
    });
    let output = b"Agent v1.2\n\nI wrote it.\nAgent: done\nTokens: 2.7k sent, 55 received.\n";
    for chunk in 1..output.len() {
        let (_, events) = read(&profile, output, chunk);
        assert_eq!(texts(&events), "\nI wrote it.\nAgent: done\n");
        assert!(events.contains(&AgentEvent::Raw { line: "Agent v1.2".into() }));
        let usage = Usage { input_tokens: 2700, output_tokens: 55, ..Usage::default() }.named_by_agent();
        assert!(events.contains(&AgentEvent::Usage { model: String::new(), usage }), "{events:?}");
    }
}

#[test]
fn tokens_may_be_counted_in_thousands() {
    let cases = [("12", 12), ("2.7k", 2_700), ("31K", 31_000), ("1.2M", 1_200_000)];
    for (text, tokens) in cases {
        assert_eq!(tokens_in(text), Some(tokens), "{text}");
    }
    for text in ["", "k", "-1k", "1e30k", "2.7", "many"] {
        assert_eq!(tokens_in(text), None, "{text}");
    }
}

#[test]
fn a_pattern_that_does_not_compile_is_named() {
    let (key, _) = check_patterns(&profile(|profile| profile.session_pattern = Some("(".into()))).unwrap_err();
    assert_eq!(key, "session_pattern");
}

#[test]
fn json_lines_are_neutral_events_and_the_rest_is_kept_raw() {
    let output = br#"{"type":"text","text":"hello"}
{"type":"tool_result","id":"1","output":"<promise>COMPLETE</promise>"}
{"type":"from the future","x":1}
not json at all
{"type":"usage","model":"m","input_tokens":5,"cost_usd":0.5}
{"type":"text","te"#;
    let (_, events) = read(&jsonl(), output, 7);
    assert_eq!(texts(&events), "hello\n");
    assert_eq!(events.len(), 6);
    assert!(matches!(&events[2], AgentEvent::Raw { line } if line.contains("from the future")));
    assert!(matches!(&events[5], AgentEvent::Raw { .. }));
}

#[test]
fn exit_code_and_stderr_make_the_failure_message() {
    let (mut session, _) = read(&profile(|_| {}), b"<promise>COMPLETE</promise>\n", 100);
    assert_eq!(session.outcome(Exit::Code(0), now()), TurnOutcome::Finished);
    session.stderr(b"boom: no such model\n", &mut Vec::new());
    let failed = |message: &str| TurnOutcome::Failed { kind: ErrorKind::Other, message: message.into() };
    assert_eq!(session.outcome(Exit::Code(1), now()), failed("exit code 1: boom: no such model"));
    assert_eq!(session.outcome(Exit::Signal(9), now()), failed("killed by signal 9: boom: no such model"));
}

#[test]
fn a_structured_rate_limit_is_no_failure_and_says_until_when() {
    let line = br#"{"type":"error","kind":"rate_limit","message":"slow down","retry_after_ms":90000}"#;
    let (session, _) = read(&jsonl(), line, 100);
    let until = Some("2026-11-15T12:01:30Z".parse().unwrap());
    assert_eq!(session.outcome(Exit::Code(1), now()), TurnOutcome::RateLimited { until, message: "slow down".into() });
}

#[test]
fn an_error_that_the_agent_recovered_from_does_not_count() {
    let output = br#"{"type":"error","kind":"overloaded","message":"529"}
{"type":"result","text":"fine","is_error":false}
"#;
    let (session, _) = read(&jsonl(), output, 100);
    assert_eq!(session.outcome(Exit::Code(0), now()), TurnOutcome::Finished);
}

#[test]
// promise: failures-5
fn words_about_limits_in_the_work_trigger_nothing() {
    let output = br#"{"type":"text","text":"error 429 rate_limit, retry after 3600"}"#;
    let (session, _) = read(&jsonl(), output, 100);
    assert_eq!(session.outcome(Exit::Code(0), now()), TurnOutcome::Finished);
}

proptest! {
    #[test]
    fn random_bytes_never_break_a_session(bytes in proptest::collection::vec(any::<u8>(), 0..2000), chunk in 1usize..200, json in any::<bool>()) {
        let profile = if json { jsonl() } else { profile(|_| {}) };
        let (_, events) = read(&profile, &bytes, chunk);
        let (_, whole) = read(&profile, &bytes, bytes.len());
        prop_assert_eq!(texts(&events), texts(&whole));
    }
}

#[test]
fn a_turn_says_that_json_lines_were_read_as_words() {
    let notes = |profile: &AgentProfile, stdout: &str, chunk| -> usize {
        let (_, events) = read(profile, stdout.as_bytes(), chunk);
        events.iter().filter(|event| matches!(event, AgentEvent::Raw { line } if line == READ_AS_WORDS)).count()
    };
    let json = "starting\n{\"type\": \"message\", \"text\": \"hello\"}\n{\"type\": \"end\"}\n";
    let text = profile(|_| {});
    for chunk in [1, 7, 1000] {
        assert_eq!(notes(&text, json, chunk), 1);
        assert_eq!(notes(&text, "fn main() {\n{ not JSON }\n}\n", chunk), 0);
        assert_eq!(
            notes(&text, &format!("My review:\n```windlass-review\n{json}```\n"), chunk),
            0,
            "a block that was asked for"
        );
        assert_eq!(notes(&text, &format!("```\n{json}```\n{json}"), chunk), 1);
        let mapped = profile(|profile| profile.answer_pattern = Some("text\": \"(.*)\"".into()));
        assert_eq!(notes(&mapped, json, chunk), 0, "its profile says what is its answer");
    }
}

#[test]
fn arguments_are_added_for_what_a_turn_has() {
    let mut agent = choice(&["agent", "--json"]);
    agent.profile = serde_json::from_value(serde_json::json!({
        "command": ["agent", "--json"], "args": ["--last"], "model_args": ["--model", "{model}"],
        "system_prompt_args": ["--system={system_prompt}"], "read_only_args": ["--plan"],
        "resume_args": ["--resume", "{session}"], "resume_last_args": ["--continue"],
        "config_dir": "~/.other", "places": { "variable": "AGENT_HOME" },
    }))
    .unwrap();
    let words = |agent: &AgentChoice, session, facts: &LaunchFacts, injected: &Injected| {
        super::launch(&request(agent, "x", session), facts, injected).unwrap().args
    };
    let (facts, none) = (LaunchFacts::default(), Injected::default());
    assert_eq!(words(&agent, None, &facts, &none), ["--json", "--last"]);
    assert_eq!(words(&agent, Some("s-1"), &facts, &none), ["--json", "--resume", "s-1", "--last"]);
    assert_eq!(words(&agent, Some(LAST_SESSION), &facts, &none), ["--json", "--continue", "--last"]);
    agent.profile.model = Some("m".into());
    let injected = Injected { read_only: true, system_prompt: Some("{model}".into()), ..Injected::default() };
    let with_all = words(&agent, None, &facts, &injected);
    assert_eq!(with_all, ["--json", "--model", "m", "--system={model}", "--plan", "--last"]);
    let confined = LaunchFacts { confined: true, ..LaunchFacts::default() };
    assert!(!words(&agent, None, &confined, &injected).contains(&"--plan".to_owned()), "the sandbox keeps the files");
    let mut started = request(&agent, "x", None);
    started.env.insert("HOME".into(), "/h".into());
    let spec = super::launch(&started, &facts, &none).unwrap();
    assert_eq!(spec.env.get("AGENT_HOME").map(String::as_str), Some("/h/.other"));
}

#[test]
fn an_agent_without_session_names_resumes_its_last_one() {
    let named = |said: &str| {
        let profile = profile(|profile| {
            profile.resume_last_args = vec!["--continue".into()];
            profile.session_pattern = Some("session: (.+)".into());
        });
        let mut session = super::session(&profile);
        let mut events = Vec::new();
        session.stdout(said.as_bytes(), &mut events);
        session.finish(&mut events);
        let id = |event: &AgentEvent| if let AgentEvent::Session { id } = event { Some(id.clone()) } else { None };
        events.iter().filter_map(id).collect::<Vec<_>>()
    };
    assert_eq!(named("hello\n"), [LAST_SESSION]);
    assert_eq!(named("session: 7\nhello\n"), ["7"]);
}

#[test]
fn an_error_in_text_or_on_stderr_fails_the_turn_unless_figures_follow() {
    let profile = profile(|profile| {
        profile.error_pattern = Some("^litellm\\.(.+)$".into());
        profile.usage_pattern = Some("Tokens: (?<input>\\d+) sent, (?<output>\\d+) received".into());
    });
    let outcome = |stdout: &str, stderr: &str| {
        let mut session = CommandSession::new(&profile, None);
        let mut events = Vec::new();
        session.stdout(stdout.as_bytes(), &mut events);
        session.stderr(stderr.as_bytes(), &mut events);
        session.finish(&mut events);
        session.outcome(Exit::Code(0), now())
    };
    let kind = |outcome| if let TurnOutcome::Failed { kind, .. } = outcome { Some(kind) } else { None };
    let wrong_key = "litellm.AuthenticationError: Incorrect API key provided: x.\n";
    assert_eq!(kind(outcome(wrong_key, "")), Some(ErrorKind::Auth));
    assert_eq!(kind(outcome("", wrong_key)), Some(ErrorKind::Auth));
    assert_eq!(outcome(&format!("{wrong_key}Tokens: 10 sent, 5 received\n"), ""), TurnOutcome::Finished);
    let limited = outcome("litellm.RateLimitError: rate limit exceeded\n", "");
    assert!(matches!(limited, TurnOutcome::RateLimited { .. }), "{limited:?}");
    assert_eq!(outcome("it said litellm.AuthenticationError\n", ""), TurnOutcome::Finished);
}

/// Rules as a profile has them.
fn mapped(rules: serde_json::Value) -> AgentProfile {
    profile(|profile| {
        profile.output = Some(OutputFormat::Jsonl);
        profile.events = serde_json::from_value(rules).unwrap();
    })
}

fn read_mapped(profile: &AgentProfile, lines: &[&str], exit: Exit) -> (Vec<AgentEvent>, TurnOutcome) {
    let mut session = super::session(profile);
    let mut events = Vec::new();
    for line in lines {
        session.stdout(format!("{line}\n").as_bytes(), &mut events);
    }
    session.finish(&mut events);
    let outcome = session.outcome(exit, now());
    (events, outcome)
}

#[test]
// promise: settings-9
fn rules_turn_lines_of_any_format_into_events() {
    let profile = mapped(serde_json::json!([
        { "when": { "t": "init" }, "session": "id", "model": "m" },
        { "when": { "t": "msg" }, "each": "parts", "text": "text", "thinking": "thought" },
        { "when": { "t": "call" }, "tool": "fn.name", "tool_input": "fn.args", "tool_id": "n" },
        { "when": { "t": "ret" }, "tool_id": "n", "tool_result": "out", "tool_failed": "bad" },
        { "when": { "t": "use" }, "input_tokens": "in", "output_tokens": "out", "cache_read_tokens": "hit",
          "cost_usd": "usd", "input_has_cached": true },
        { "when": { "t": "end", "all.-1": "ok" }, "end": "finished" },
    ]));
    let lines = [
        r#"{"t":"init","id":"s-1","m":"some-model"}"#,
        r#"{"t":"msg","parts":[{"thought":"hm"},{"t":"text","text":"hello"},{"image":1}]}"#,
        r#"{"t":"call","n":3,"fn":{"name":"sh","args":{"cmd":"ls"}}}"#,
        r#"{"t":"ret","n":3,"out":"a.txt","bad":false}"#,
        r#"{"t":"use","in":100,"out":10,"hit":60,"usd":0.5}"#,
        r#"{"t":"other"}"#,
        r#"{"t":"end","all":["no","ok"]}"#,
    ];
    let (events, outcome) = read_mapped(&profile, &lines, Exit::Code(0));
    assert_eq!(outcome, TurnOutcome::Finished);
    let usage = Usage {
        input_tokens: 40,
        output_tokens: 10,
        cache_read_tokens: 60,
        messages: 1,
        cost_usd: Some(0.5),
        ..Usage::default()
    };
    let expected = [
        AgentEvent::Session { id: "s-1".into() },
        AgentEvent::Thinking { text: "hm".into() },
        AgentEvent::Text { text: "hello\n".into() },
        AgentEvent::ToolUse { id: "3".into(), name: "sh".into(), input: r#"{"cmd":"ls"}"#.into() },
        AgentEvent::ToolResult { id: "3".into(), output: "a.txt".into(), is_error: false },
        AgentEvent::Usage { model: "some-model".into(), usage: usage.named_by_agent() },
        AgentEvent::Raw { line: r#"{"t":"other"}"#.into() },
        AgentEvent::Result { text: String::new(), is_error: false },
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_mapped_turn_fails_without_its_last_line_or_with_an_error() {
    let rules = serde_json::json!([
        { "when": { "t": "msg" }, "text": "text" },
        { "when": { "t": "err" }, "error": "why", "error_status": "code" },
        { "when": { "t": "end" }, "end": "finished" },
    ]);
    let ends = mapped(rules.clone());
    let kind = |profile: &AgentProfile, lines: &[&str], exit| {
        let outcome = read_mapped(profile, lines, exit).1;
        if let TurnOutcome::Failed { kind, .. } = outcome { Some(kind) } else { None }
    };
    let (said, failed, end) = (r#"{"t":"msg","text":"x"}"#, r#"{"t":"err","why":"no","code":401}"#, r#"{"t":"end"}"#);
    assert_eq!(kind(&ends, &[said], Exit::Code(0)), Some(ErrorKind::Network), "cut off");
    assert_eq!(kind(&ends, &[said, failed], Exit::Code(0)), Some(ErrorKind::Auth));
    assert_eq!(kind(&ends, &[failed, said, end], Exit::Code(0)), None, "it recovered");
    assert_eq!(kind(&ends, &[said, end], Exit::Code(1)), Some(ErrorKind::Other));
    // An agent without a last line is done when its process is.
    let mut endless = rules;
    endless.as_array_mut().unwrap().pop();
    let endless = mapped(endless);
    assert_eq!(kind(&endless, &[said], Exit::Code(0)), None);
    assert_eq!(kind(&endless, &[said, failed], Exit::Code(0)), Some(ErrorKind::Auth));
    assert_eq!(kind(&endless, &[], Exit::Code(0)), Some(ErrorKind::Other), "it said nothing");
}

#[test]
fn an_error_on_standard_error_tells_why_a_mapped_turn_failed() {
    let mut profile = mapped(serde_json::json!([
        { "when": { "type": "message", "id": "", "text": "Ran into*" }, "error": "text" },
        { "when": { "type": "message" }, "text": "text" },
    ]));
    profile.error_pattern = Some("^(?:Error: |see \\S+/HTTP/)(.+)$".into());
    let outcome = |stdout: &str, stderr: &str, code: i32| {
        let mut session = session(&profile);
        let mut events = Vec::new();
        session.stdout(stdout.as_bytes(), &mut events);
        session.stderr(stderr.as_bytes(), &mut events);
        session.finish(&mut events);
        session.outcome(Exit::Code(code), now())
    };
    let kind = |outcome| if let TurnOutcome::Failed { kind, .. } = outcome { Some(kind) } else { None };
    let said = "{\"type\":\"message\",\"id\":\"1\",\"text\":\"Ran into a wall\"}\n";
    assert_eq!(outcome(said, "loading\n", 0), TurnOutcome::Finished);
    assert_eq!(kind(outcome(said, "Error: Invalid API key.\n", 1)), Some(ErrorKind::Auth));
    let limited = outcome(said, "Error: Client error for url 'x'\nsee https://y/HTTP/Status/429: no more\n", 2);
    assert!(matches!(limited, TurnOutcome::RateLimited { .. }), "{limited:?}");
}

#[test]
// promise: bounds-11
fn program_that_prints_events_and_goes_round_in_circles_is_found() {
    let spins = |line: &str, times: usize| read(&jsonl(), line.repeat(times).as_bytes(), 64).0.spins();
    let overflow = "{\"type\":\"error\",\"kind\":\"context_overflow\",\"message\":\"too long: 7\"}\n";
    assert_eq!(spins(overflow, 4), None);
    assert_eq!(spins(overflow, 5).unwrap().0, ErrorKind::ContextOverflow);
    let round =
        "{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":\"ls\"}\n{\"type\":\"tool_result\",\"output\":\"a\"}\n";
    assert_eq!(spins(round, 199), None);
    assert_eq!(spins(round, 200).unwrap().0, ErrorKind::Other);
    // Parts of a text may be alike.
    assert_eq!(spins("{\"type\":\"text\",\"text\":\".\"}\n", 1_000), None);
}
