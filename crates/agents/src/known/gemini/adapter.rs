//! Gemini CLI: `gemini --output-format stream-json`.
//!
//! It exits with 0 after a cut stream and after a signal, so only its `result` line counts; a failure's exit code is
//! the HTTP status modulo 256.

use serde_json::Value;
use windlass_core::agent::ErrorKind;
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{Usage, UsageByModel};

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, text, time};
use crate::output::prices::Prices;
use crate::start::{Injected, Words, session_id};
use crate::turn::{Launch, LaunchError, LaunchFacts, TurnRequest};

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "gemini");
    words.add(["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"]).model("--model");
    match request.session {
        Some(session) => words.add(["--resume", session]),
        None => words.option("--session-id", session_id(&facts.turn_id).as_deref()),
    };
    inject(&mut words, injected);
    words.extra().config_dir("GEMINI_CLI_HOME");
    // Or it starts itself a second time, and a signal reaches only the first.
    words.env("GEMINI_CLI_NO_RELAUNCH", "true").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    words.finish()
}

/// It has no place for settings or servers of one session: what it calls settings of the system must belong to root.
fn inject(words: &mut Words<'_>, injected: &Injected) {
    let read_only: &[&str] = if injected.read_only { &["write_file", "replace"] } else { &[] };
    let denied = read_only.iter().copied().chain(injected.denied_tools.iter().map(String::as_str));
    let rules: String = denied.map(rule).collect();
    if !rules.is_empty() {
        let file = words.file("agent_policy.toml", rules);
        words.add(["--policy", &file]);
    }
    // Put behind the prompt that comes on standard input.
    words.option("--prompt", injected.system_prompt.as_deref());
}

/// `run_shell_command(git push)` denies some of a tool, `web_fetch` all of it.
fn rule(tool: &str) -> String {
    let (tool, prefix) = match tool.strip_suffix(')').and_then(|tool| tool.split_once('(')) {
        Some((tool, prefix)) => (tool, format!("commandPrefix = {}\n", toml::Value::from(prefix))),
        None => (tool, String::new()),
    };
    let tool = toml::Value::from(tool);
    format!("[[rule]]\ntoolName = {tool}\n{prefix}decision = \"deny\"\npriority = 999\n")
}

#[derive(Debug)]
pub(crate) struct Gemini {
    prices: Prices,
    model: String,
    /// The agent is in the middle of a message: its text came in parts, or it called a tool.
    in_message: bool,
    in_text: bool,
    messages: u64,
}

impl Gemini {
    pub(crate) fn new(profile: &AgentProfile) -> Self {
        Self { prices: Prices::of(profile), model: String::new(), in_message: false, in_text: false, messages: 0 }
    }
}

impl Dialect for Gemini {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        let kind = text(line, "type");
        if kind != "message" {
            self.in_text = false;
            turn.end_text();
        }
        match kind {
            "init" => {
                turn.session(text(line, "session_id"));
                text(line, "model").clone_into(&mut self.model);
            }
            "message" => self.message(line, turn),
            "tool_use" => {
                self.begin(turn);
                turn.tool_use(text(line, "tool_id"), text(line, "tool_name"), &line["parameters"]);
            }
            "tool_result" => {
                self.in_message = false;
                let failed = text(line, "status") == "error";
                let output = if line["output"].is_null() { &line["error"] } else { &line["output"] };
                turn.tool_result(text(line, "tool_id"), output, failed);
            }
            "error" if text(line, "severity") != "warning" => {
                turn.trouble(Fault::of(None, "", text(line, "message")).reported_at(time(line, "timestamp")));
            }
            "result" => self.result(line, turn),
            _ => return false,
        }
        true
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        // Without a result the messages are all that is known.
        let usage = Usage { messages: std::mem::take(&mut self.messages), ..Usage::default() };
        turn.usage(&self.model, usage);
    }

    fn by_exit_code(&self, code: i32) -> Option<ErrorKind> {
        match code {
            173 => Some(ErrorKind::RateLimit),
            41 | 145 | 147 => Some(ErrorKind::Auth),
            148 => Some(ErrorKind::ModelNotFound),
            244 | 246..=248 => Some(ErrorKind::Overloaded),
            _ => None,
        }
    }
}

impl Gemini {
    fn begin(&mut self, turn: &mut Turn<'_>) {
        if !std::mem::replace(&mut self.in_message, true) {
            turn.recovered();
            self.messages += 1;
        }
    }

    fn message(&mut self, line: &Value, turn: &mut Turn<'_>) {
        // The other role is the prompt coming back.
        if text(line, "role") != "assistant" {
            return;
        }
        self.begin(turn);
        if line["delta"].as_bool() == Some(true) {
            self.in_text = true;
            turn.text_part(text(line, "content"));
        } else if std::mem::take(&mut self.in_text) {
            // The whole of what came in parts.
            turn.end_text();
        } else {
            turn.text(text(line, "content"));
        }
    }

    fn result(&mut self, line: &Value, turn: &mut Turn<'_>) {
        let models = line["stats"]["models"].as_object().into_iter().flatten();
        let mut figures: UsageByModel = models.map(|(model, stats)| (model.clone(), figures(stats))).collect();
        figures.retain(|_, usage| usage.tokens() > 0);
        if let Some((_, most)) = figures.iter_mut().max_by_key(|(_, usage)| usage.tokens()) {
            most.messages = std::mem::take(&mut self.messages);
        }
        for (model, usage) in figures {
            turn.usage(&model, self.prices.priced(&model, usage));
        }
        let is_error = text(line, "status") != "success";
        let error = &line["error"];
        // Without its own message, use the error reported before.
        if is_error && !error.is_null() {
            let fault = Fault::of(None, text(error, "type"), text(error, "message"));
            turn.trouble(fault.reported_at(time(line, "timestamp")));
        }
        turn.close("", is_error);
    }
}

fn figures(stats: &Value) -> Usage {
    let (all, input, output) =
        (count(stats, "total_tokens"), count(stats, "input_tokens"), count(stats, "output_tokens"));
    let cached = count(stats, "cached");
    Usage {
        input_tokens: input.saturating_sub(cached),
        output_tokens: output,
        // Thoughts are in the sum only.
        reasoning_tokens: all.saturating_sub(input).saturating_sub(output),
        cache_read_tokens: cached,
        ..Usage::default()
    }
}
