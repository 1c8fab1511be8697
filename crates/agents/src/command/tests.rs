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
    let mut session = CommandSession::new(profile);
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
        let mapped = profile(|profile| profile.answer_pattern = Some("text\": \"(.*)\"".into()));
        assert_eq!(notes(&mapped, json, chunk), 0, "its profile says what is its answer");
    }
}
