//! Turns that are a conversation: what is written to the agent, and when its turn is over.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_agents::{Exit, LaunchFacts, Progress, Session, SessionFacts, TurnRequest, conversation};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::profile::{AdapterKind, AgentProfile};
use windlass_core::spec::AgentChoice;
use windlass_process::Stdin;

fn agent(adapter: AdapterKind) -> AgentChoice {
    let profile = AgentProfile { adapter: Some(adapter), command: vec!["agent".into()], ..AgentProfile::default() };
    AgentChoice { name: "agent".into(), profile }
}

fn request<'a>(agent: &'a AgentChoice, session: Option<&'a str>) -> TurnRequest<'a> {
    TurnRequest {
        agent,
        prompt: "do \"it\"\nnow",
        prompt_file: "/turn/prompt.md".into(),
        session,
        cwd: "/work".into(),
        env: BTreeMap::new(),
        own_program: "/windlass".into(),
    }
}

fn facts() -> LaunchFacts {
    LaunchFacts { turn_id: "loop.2.coder.1".into(), keep_alive: true, ..LaunchFacts::default() }
}

/// A conversation and what came out of it.
struct Talk {
    session: Box<dyn Session>,
    events: Vec<AgentEvent>,
}

impl Talk {
    fn with(agent: &AgentChoice, session: Option<&str>, has_session: bool) -> Talk {
        let facts = facts();
        let session = conversation(&request(agent, session), &facts, &SessionFacts::default(), has_session).unwrap();
        Talk { session, events: Vec::new() }
    }

    /// What the agent prints, as a line.
    fn hear(&mut self, line: &Value) -> &mut Self {
        self.session.stdout(format!("{line}\n").as_bytes(), &mut self.events);
        self
    }

    /// What is to be written to it by now.
    fn told(&mut self) -> Vec<Value> {
        let bytes = self.session.input();
        assert!(self.session.input().is_empty(), "each byte is handed out once");
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "whole lines: {text:?}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn outcome(&mut self) -> TurnOutcome {
        self.session.finish(&mut self.events);
        self.session.outcome(Exit::Waits, Timestamp::UNIX_EPOCH)
    }
}

mod claude {
    use super::*;

    fn result(uuid: &Value) -> Value {
        json!({ "type": "result", "is_error": false, "result": "done", "user_message_uuid": uuid })
    }

    fn tasks(tasks: Value) -> Value {
        json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks })
    }

    #[test]
    fn it_is_started_with_an_open_input_only_where_it_is_kept() {
        let agent = agent(AdapterKind::Claude);
        let kept = windlass_agents::launch_with(&request(&agent, Some("s")), &facts()).unwrap().command;
        assert_eq!(kept.stdin, Stdin::Pipe);
        assert!(kept.args.windows(2).any(|words| words == ["--input-format", "stream-json"]), "{:?}", kept.args);
        assert!(kept.args.windows(2).any(|words| words == ["--resume", "s"]), "{:?}", kept.args);
        let facts = LaunchFacts { keep_alive: false, ..facts() };
        let plain = windlass_agents::launch_with(&request(&agent, None), &facts).unwrap().command;
        assert_eq!(plain.stdin, Stdin::File { path: "/turn/prompt.md".into() });
        assert!(!plain.args.contains(&"--input-format".to_owned()));
    }

    #[test]
    fn the_prompt_is_one_line_and_its_result_ends_the_turn() {
        let mut talk = Talk::with(&agent(AdapterKind::Claude), None, false);
        let told = talk.told();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["message"]["content"][0]["text"], "do \"it\"\nnow");
        assert_eq!(talk.session.progress(), Progress::Working);
        // Of a turn that claude started by itself.
        talk.hear(&result(&json!("another")));
        assert_eq!(talk.session.progress(), Progress::Working);
        talk.hear(&result(&told[0]["uuid"]));
        assert_eq!(talk.session.progress(), Progress::Over);
        assert_eq!(talk.outcome(), TurnOutcome::Finished);
    }

    #[test]
    // promise: sessions-5
    fn a_turn_with_work_in_the_background_is_not_over() {
        let mut talk = Talk::with(&agent(AdapterKind::Claude), None, false);
        let uuid = talk.told()[0]["uuid"].clone();
        talk.hear(&tasks(json!([{ "task_id": "t" }]))).hear(&result(&uuid));
        assert_eq!(talk.session.progress(), Progress::Lingering);
        talk.hear(&tasks(json!([])));
        assert_eq!(talk.session.progress(), Progress::Lingering, "it will go on, now that the task is done");
        talk.hear(&json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "so" }] } }));
        assert_eq!(talk.session.progress(), Progress::Working);
        talk.hear(&result(&uuid));
        assert_eq!(talk.session.progress(), Progress::Over);
    }

    #[test]
    fn a_result_before_a_queued_prompt_does_not_end_the_turn() {
        let mut talk = Talk::with(&agent(AdapterKind::Claude), None, false);
        talk.hear(&json!({ "type": "result", "is_error": false, "result": "one", "queued_turn_count": 1 }));
        assert_eq!(talk.session.progress(), Progress::Working);
    }

    #[test]
    fn an_interrupt_is_asked_for_in_its_own_words() {
        let mut talk = Talk::with(&agent(AdapterKind::Claude), None, false);
        talk.told();
        assert!(talk.session.interrupt());
        assert_eq!(talk.told()[0]["request"]["subtype"], "interrupt");
    }

    #[test]
    fn a_plain_reader_says_nothing_and_is_never_over() {
        let mut reader = windlass_agents::session(&agent(AdapterKind::Claude).profile);
        reader.stdout(format!("{}\n", result(&Value::Null)).as_bytes(), &mut Vec::new());
        assert_eq!((reader.input(), reader.progress(), reader.interrupt()), (Vec::new(), Progress::Working, false));
    }
}

mod acp {
    use super::*;
    use windlass_core::agent::ErrorKind;
    use windlass_core::profile::McpServer;

    fn acp() -> AgentChoice {
        agent(AdapterKind::Acp)
    }

    fn answer(to: &Value, result: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": to["id"], "result": result })
    }

    fn refusal(to: &Value, code: i32, message: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": to["id"], "error": { "code": code, "message": message } })
    }

    fn update(update: Value) -> Value {
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } })
    }

    fn chunk(kind: &str, text: &str) -> Value {
        update(json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }))
    }

    fn words(talk: &Talk) -> String {
        let text = |event: &AgentEvent| {
            let AgentEvent::Text { text } = event else { return None };
            Some(text.clone())
        };
        talk.events.iter().filter_map(text).collect()
    }

    /// The one message that is to be written.
    #[track_caller]
    fn next(talk: &mut Talk, method: &str) -> Value {
        let told = talk.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["method"], method, "{told:?}");
        assert_eq!(told[0]["jsonrpc"], "2.0");
        told[0].clone()
    }

    /// A conversation whose prompt is out, and that prompt.
    fn prompted(agent: &AgentChoice) -> (Talk, Value) {
        let mut talk = Talk::with(agent, None, false);
        let hello = next(&mut talk, "initialize");
        talk.hear(&answer(&hello, json!({ "protocolVersion": 1 })));
        let new = next(&mut talk, "session/new");
        talk.hear(&answer(&new, json!({ "sessionId": "s1" })));
        let prompt = next(&mut talk, "session/prompt");
        (talk, prompt)
    }

    #[test]
    fn one_question_follows_the_answer_to_the_other() {
        let mut agent = acp();
        let env = BTreeMap::from([("KEY".to_owned(), "value".to_owned())]);
        let server = McpServer { command: "serve".into(), args: vec!["x".into()], env };
        agent.profile.mcp_servers.insert("tools".into(), server);
        let mut talk = Talk::with(&agent, None, false);
        let hello = next(&mut talk, "initialize");
        assert_eq!(hello["params"]["clientCapabilities"]["fs"]["readTextFile"], false);
        assert_eq!(hello["params"]["clientCapabilities"]["terminal"], false);
        talk.hear(&answer(&hello, json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } })));
        let new = next(&mut talk, "session/new");
        let servers = json!([
            { "name": "tools", "command": "serve", "args": ["x"], "env": [{ "name": "KEY", "value": "value" }] },
        ]);
        assert_eq!(new["params"], json!({ "cwd": "/work", "mcpServers": servers }));
        talk.hear(&answer(&new, json!({ "sessionId": "s1" })));
        let prompt = next(&mut talk, "session/prompt");
        let content = json!([{ "type": "text", "text": "do \"it\"\nnow" }]);
        assert_eq!(prompt["params"], json!({ "sessionId": "s1", "prompt": content }));
        talk.hear(&chunk("agent_thought_chunk", "hm")).hear(&chunk("agent_message_chunk", "do"));
        talk.hear(&chunk("agent_message_chunk", "ne"));
        assert_eq!(talk.session.progress(), Progress::Working);
        talk.hear(&answer(&prompt, json!({ "stopReason": "end_turn" })));
        assert_eq!(talk.session.progress(), Progress::Over);
        assert_eq!(talk.outcome(), TurnOutcome::Finished);
        assert_eq!(words(&talk), "done\n");
        assert!(talk.events.contains(&AgentEvent::Session { id: "s1".into() }));
    }

    #[test]
    fn a_process_that_has_the_session_gets_the_prompt_at_once() {
        let mut talk = Talk::with(&acp(), Some("s1"), true);
        let prompt = next(&mut talk, "session/prompt");
        assert_eq!(prompt["params"]["sessionId"], "s1");
        // Of the turn before, come late.
        talk.hear(&json!({ "jsonrpc": "2.0", "id": 1_001, "result": { "stopReason": "end_turn" } }));
        assert_eq!(talk.session.progress(), Progress::Working);
        talk.hear(&answer(&prompt, json!({ "stopReason": "end_turn" })));
        assert_eq!(talk.session.progress(), Progress::Over);
    }

    #[test]
    fn an_old_session_is_resumed_or_loaded_and_its_words_do_not_count_again() {
        for (can, method) in [
            (json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }), "session/resume"),
            (json!({ "loadSession": true }), "session/load"),
        ] {
            let mut talk = Talk::with(&acp(), Some("s1"), false);
            let hello = next(&mut talk, "initialize");
            talk.hear(&answer(&hello, json!({ "protocolVersion": 1, "agentCapabilities": can })));
            let load = next(&mut talk, method);
            assert_eq!(load["params"]["sessionId"], "s1");
            talk.hear(&chunk("agent_message_chunk", "<promise>COMPLETE</promise>\n"));
            talk.hear(&answer(&load, Value::Null));
            let prompt = next(&mut talk, "session/prompt");
            talk.hear(&chunk("agent_message_chunk", "new")).hear(&answer(&prompt, json!({ "stopReason": "end_turn" })));
            assert_eq!(talk.outcome(), TurnOutcome::Finished);
            assert_eq!(words(&talk), "new\n", "{method}");
        }
    }

    #[test]
    fn a_session_that_cannot_be_had_again_is_unknown() {
        let unknown =
            |talk: &mut Talk| matches!(talk.outcome(), TurnOutcome::Failed { kind: ErrorKind::UnknownSession, .. });
        let mut talk = Talk::with(&acp(), Some("s1"), false);
        let hello = next(&mut talk, "initialize");
        talk.hear(&answer(&hello, json!({ "protocolVersion": 1, "agentCapabilities": {} })));
        assert_eq!(
            (talk.session.progress(), talk.told()),
            (Progress::Over, Vec::new()),
            "no prompt without its session"
        );
        assert!(unknown(&mut talk));

        let mut talk = Talk::with(&acp(), Some("s1"), false);
        let hello = next(&mut talk, "initialize");
        talk.hear(&answer(&hello, json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } })));
        let load = next(&mut talk, "session/load");
        talk.hear(&refusal(&load, -32603, "no such thing"));
        assert_eq!((talk.session.progress(), talk.told()), (Progress::Over, Vec::new()));
        assert!(unknown(&mut talk));
    }

    #[test]
    fn what_the_agent_asks_is_answered_by_policy() {
        let options = json!([
            { "optionId": "a", "kind": "allow_always" },
            { "optionId": "o", "kind": "allow_once" },
            { "optionId": "r", "kind": "reject_once" },
        ]);
        let ask = json!({
            "jsonrpc": "2.0", "id": "q", "method": "session/request_permission",
            "params": { "sessionId": "s1", "toolCall": { "toolCallId": "t" }, "options": options },
        });
        let (mut talk, _) = prompted(&acp());
        talk.hear(&ask);
        let selected = |option: &str| {
            json!([{ "jsonrpc": "2.0", "id": "q", "result":
            { "outcome": { "outcome": "selected", "optionId": option } } }])
        };
        assert_eq!(json!(talk.told()), selected("o"));
        let empty = json!({ "jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {} });
        talk.hear(&empty);
        assert_eq!(talk.told()[0]["result"]["outcome"]["outcome"], "cancelled");
        for method in ["fs/read_text_file", "terminal/create", "craft/of_tomorrow"] {
            talk.hear(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": {} }));
            assert_eq!(talk.told()[0]["error"]["code"], -32601);
        }

        let facts = LaunchFacts { read_only: true, ..facts() };
        let (agent, known) = (acp(), SessionFacts::default());
        let session = conversation(&request(&agent, Some("s1")), &facts, &known, true).unwrap();
        let mut talk = Talk { session, events: Vec::new() };
        talk.told();
        talk.hear(&ask);
        assert_eq!(json!(talk.told()), selected("r"));

        let facts = LaunchFacts { confined: true, ..facts };
        let session = conversation(&request(&agent, Some("s1")), &facts, &known, true).unwrap();
        let mut talk = Talk { session, events: Vec::new() };
        talk.told();
        talk.hear(&ask);
        assert_eq!(json!(talk.told()), selected("o"), "the sandbox sees to it that nothing is written");
    }

    #[test]
    fn a_turn_is_cancelled_in_the_words_of_the_protocol_once_there_is_one() {
        let mut talk = Talk::with(&acp(), None, false);
        assert!(!talk.session.interrupt(), "there is no session to cancel");
        let (mut talk, prompt) = prompted(&acp());
        assert!(talk.session.interrupt());
        assert_eq!(next(&mut talk, "session/cancel")["params"], json!({ "sessionId": "s1" }));
        talk.hear(&answer(&prompt, json!({ "stopReason": "cancelled" })));
        assert_eq!(talk.session.progress(), Progress::Over);
    }

    #[test]
    fn only_end_turn_is_a_turn_that_went_well() {
        for reason in ["max_tokens", "max_turn_requests", "refusal", "cancelled", "of_tomorrow"] {
            let (mut talk, prompt) = prompted(&acp());
            talk.hear(&chunk("agent_message_chunk", "<promise>"));
            talk.hear(&answer(&prompt, json!({ "stopReason": reason })));
            assert!(matches!(talk.outcome(), TurnOutcome::Failed { kind: ErrorKind::Other, .. }), "{reason}");
        }
    }

    #[test]
    fn nobody_logged_in_and_another_protocol_end_the_turn_at_once() {
        let mut talk = Talk::with(&acp(), None, false);
        let hello = next(&mut talk, "initialize");
        talk.hear(&answer(&hello, json!({ "protocolVersion": 1 })));
        let new = next(&mut talk, "session/new");
        talk.hear(&refusal(&new, -32000, "Authentication required"));
        assert_eq!(talk.session.progress(), Progress::Over);
        assert!(matches!(talk.outcome(), TurnOutcome::Failed { kind: ErrorKind::Auth, .. }));

        for version in [json!(2), Value::Null] {
            let mut talk = Talk::with(&acp(), None, false);
            let hello = next(&mut talk, "initialize");
            talk.hear(&answer(&hello, json!({ "protocolVersion": version })));
            assert_eq!((talk.session.progress(), talk.told()), (Progress::Over, Vec::new()));
            assert!(matches!(talk.outcome(), TurnOutcome::Failed { kind: ErrorKind::Other, .. }));
        }
    }

    #[test]
    fn a_model_is_chosen_where_the_agent_offers_it() {
        let with_model = |model: &str| {
            let mut agent = acp();
            agent.profile.model = Some(model.into());
            agent
        };
        let offered = json!({
            "sessionId": "s1",
            "modes": { "currentModeId": "default", "availableModes": [{ "id": "default" }, { "id": "yolo" }] },
            "models": { "availableModels": [{ "modelId": "small" }] },
            "configOptions": [{ "id": "model", "category": "model", "options": [{ "value": "big" }] }],
        });
        let opened = |model: &str| {
            let mut talk = Talk::with(&with_model(model), None, false);
            let hello = next(&mut talk, "initialize");
            talk.hear(&answer(&hello, json!({ "protocolVersion": 1 })));
            let new = next(&mut talk, "session/new");
            talk.hear(&answer(&new, offered.clone()));
            let mode = next(&mut talk, "session/set_mode");
            assert_eq!(mode["params"]["modeId"], "yolo");
            // A missing one is not a reason to stop.
            talk.hear(&refusal(&mode, -32602, "no"));
            talk
        };
        let mut talk = opened("big");
        let set = next(&mut talk, "session/set_config_option");
        assert_eq!(set["params"], json!({ "sessionId": "s1", "configId": "model", "value": "big" }));
        talk.hear(&answer(&set, json!({})));
        next(&mut talk, "session/prompt");
        let mut talk = opened("small");
        assert_eq!(next(&mut talk, "session/set_model")["params"]["modelId"], "small");
        let mut talk = opened("huge");
        assert_eq!(talk.session.progress(), Progress::Over);
        let message = "the agent has no model `huge`; it has: big, small".to_owned();
        assert_eq!(talk.outcome(), TurnOutcome::Failed { kind: ErrorKind::ModelNotFound, message });
    }

    #[test]
    fn unknown_updates_and_garbage_are_kept_and_break_nothing() {
        let (mut talk, prompt) = prompted(&acp());
        talk.hear(&update(json!({ "sessionUpdate": "of_tomorrow" })));
        talk.hear(&json!({ "jsonrpc": "2.0", "method": "_vendor/news", "params": {} }));
        talk.hear(&json!({ "jsonrpc": "2.0", "id": "never asked", "result": {} }));
        talk.hear(&json!([1, 2])).hear(&json!({}));
        talk.session.stdout(b"\xff\xfe half a li", &mut talk.events);
        talk.session.stdout(b"ne\n", &mut talk.events);
        let raw = talk.events.iter().filter(|event| matches!(event, AgentEvent::Raw { .. })).count();
        assert_eq!(raw, 6, "{:?}", talk.events);
        talk.hear(&answer(&prompt, json!({ "stopReason": "end_turn" })));
        assert_eq!(talk.outcome(), TurnOutcome::Finished);
        assert_eq!(talk.told(), Vec::<Value>::new());
    }

    #[test]
    // promise: usage-2
    fn the_cost_of_a_session_is_counted_once() {
        let before = windlass_core::usage::Usage { cost_usd: Some(0.25), ..Default::default() };
        let known = SessionFacts { session: None, usage_before: BTreeMap::from([("m".to_owned(), before)]) };
        let agent = acp();
        let session = conversation(&request(&agent, Some("s1")), &facts(), &known, true).unwrap();
        let mut talk = Talk { session, events: Vec::new() };
        let prompt = next(&mut talk, "session/prompt");
        for amount in [0.3, 0.4] {
            talk.hear(&update(
                json!({ "sessionUpdate": "usage_update", "cost": { "amount": amount, "currency": "USD" } }),
            ));
        }
        let usage = json!({ "inputTokens": 100, "outputTokens": 5, "cachedReadTokens": 40, "totalTokens": 105 });
        talk.hear(&answer(&prompt, json!({ "stopReason": "end_turn", "usage": usage })));
        talk.outcome();
        let usage = |event: &AgentEvent| {
            let AgentEvent::Usage { usage, .. } = event else { return None };
            Some(usage.clone())
        };
        let used: Vec<_> = talk.events.iter().filter_map(usage).collect();
        assert_eq!(used.len(), 1);
        assert_eq!((used[0].input_tokens, used[0].cache_read_tokens, used[0].output_tokens), (60, 40, 5));
        assert!((used[0].cost_usd.unwrap() - 0.15).abs() < 1e-9);
    }
}
