//! Turns that are a conversation: what is written to the agent, and when its turn is over.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_agents::{Exit, LaunchFacts, Progress, Session, SessionFacts, TurnRequest, conversation};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::command::Stdin;
use windlass_core::profile::{AdapterKind, AgentProfile};
use windlass_core::spec::AgentChoice;

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
        // Of a turn that claude began by itself.
        talk.hear(&result(&json!("another")));
        assert_eq!(talk.session.progress(), Progress::Working);
        talk.hear(&result(&told[0]["uuid"]));
        assert_eq!(talk.session.progress(), Progress::Over);
        assert_eq!(talk.outcome(), TurnOutcome::Finished);
    }

    #[test]
    fn i_11_a_turn_with_work_in_the_background_is_not_over() {
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
