//! Qwen Code: `qwen --output-format stream-json`; claude's format with differences.
//!
//! The figures of its result are those of the whole session and name no model.

use serde_json::{Value, json};
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{Usage, UsageByModel, total};

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, text};
use crate::output::messages;
use crate::output::meter::{Meter, minus};
use crate::output::prices::Prices;
use crate::start::{Injected, Words, session_id};
use crate::turn::{Launch, LaunchError, LaunchFacts, SessionFacts, TurnRequest};

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "qwen");
    words.add(["--output-format", "stream-json", "--approval-mode", "yolo"]).model("--model");
    match request.session {
        Some(session) => words.add(["--resume", session]),
        None => words.option("--session-id", session_id(&facts.turn_id).as_deref()),
    };
    words.option("--append-system-prompt", injected.system_prompt.as_deref());
    if !injected.mcp_servers.is_empty() {
        // The agent hides tools of servers behind a search unless the server opts out.
        let servers = injected.servers_json(&json!({ "alwaysLoadTools": true }));
        let file = words.file("agent_mcp.json", servers.to_string());
        words.add(["--mcp-config", &file]);
    }
    let push = (!facts.allow_push).then_some("run_shell_command(git push)");
    // Without its own editing tools it refuses shell commands with a redirection too; a sandbox keeps the files as they are.
    let keeps_files = injected.read_only && !facts.confined;
    let read_only: &[&str] = if keeps_files { &["edit", "write_file", "notebook_edit"] } else { &[] };
    let denied = push.into_iter().chain(read_only.iter().copied());
    for tool in denied.chain(injected.denied_tools.iter().map(String::as_str)) {
        words.add(["--exclude-tools", tool]);
    }
    if !injected.settings.is_empty() {
        let file = words.file("agent_settings.json", json!(injected.settings).to_string());
        words.set_alone("QWEN_CODE_SYSTEM_SETTINGS_PATH", &file)?;
    }
    words.extra().config_dir("QWEN_HOME");
    words.env("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1");
    words.finish()
}

#[derive(Debug)]
pub(crate) struct Qwen {
    meter: Meter,
    prices: Prices,
    model: String,
    before: UsageByModel,
}

impl Qwen {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        let prices = Prices::of(profile);
        let meter = Meter::new(prices.clone());
        Self { meter, prices, model: String::new(), before: facts.usage_before.clone() }
    }
}

impl Dialect for Qwen {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        match text(line, "type") {
            "system" if text(line, "subtype") == "init" => {
                turn.session(text(line, "session_id"));
                text(line, "model").clone_into(&mut self.model);
            }
            "assistant" => {
                turn.recovered();
                messages::assistant(line, turn);
                let message = &line["message"];
                let usage = figures(&message["usage"]);
                if usage.tokens() > 0 {
                    self.meter.message(text(message, "id"), text(message, "model"), usage, turn);
                }
            }
            "user" => messages::user(line, turn),
            // It retries automatically.
            "system" if text(line, "subtype") == "retry" => {}
            // Parts of messages that come whole later.
            "stream_event" => {}
            "result" => self.result(line, turn),
            _ => return false,
        }
        true
    }

    /// `Retrying in 60s (attempt 1/10): [API Error: 429 …]`; its own waits grow to minutes.
    fn said_aside<'a>(&self, line: &'a str) -> Option<&'a str> {
        line.strip_prefix("Retrying in ")?.split_once("): ").map(|(_, message)| message)
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        self.meter.end(turn);
    }
}

impl Qwen {
    fn result(&mut self, line: &Value, turn: &mut Turn<'_>) {
        turn.session(text(line, "session_id"));
        let session = figures(&line["usage"]);
        if session.tokens() > 0 {
            let used = self.prices.priced(&self.model, minus(&session, &total(&self.before)));
            self.meter.settle(&UsageByModel::from([(self.model.clone(), used)]), turn);
            self.before = UsageByModel::from([(self.model.clone(), session)]);
        }
        let is_error = line["is_error"].as_bool().unwrap_or(true);
        if is_error {
            let error = &line["error"];
            let code = [text(error, "code"), text(error, "type")].into_iter().find(|code| !code.is_empty());
            turn.trouble(Fault::of(None, code.unwrap_or(""), text(error, "message")));
        }
        turn.close(text(line, "result"), is_error);
    }
}

fn figures(usage: &Value) -> Usage {
    let (input, cached) = (count(usage, "input_tokens"), count(usage, "cache_read_input_tokens"));
    let (all, output) = (count(usage, "total_tokens"), count(usage, "output_tokens"));
    Usage {
        // The cached part is in the input.
        input_tokens: input.saturating_sub(cached),
        output_tokens: output,
        reasoning_tokens: all.saturating_sub(input).saturating_sub(output),
        cache_read_tokens: cached,
        ..Usage::default()
    }
}
