//! Claude Code: `claude -p --output-format stream-json`; kept alive with `--input-format stream-json`, where each
//! line of its standard input is a prompt and each `result` the end of a turn.
//!
//! `subtype` stays "success" on API errors, so `is_error` decides. Costs are the agent's own.

mod account;

use serde_json::{Value, json};
use windlass_core::agent::{AgentEvent, ErrorKind};
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{CostBasis, Usage, UsageByModel, total};
use windlass_process::Stdin;

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, status, text};
use crate::output::messages;
use crate::output::meter::{Meter, minus};
use crate::output::prices::Prices;
use crate::output::reset::{self, Reset};
use crate::start::{Injected, Words, session_id};
use crate::turn::{Launch, LaunchError, LaunchFacts, Progress, SessionFacts, TurnRequest};

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "claude");
    words.add(["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]).model("--model");
    if facts.keep_alive {
        words.add(["--input-format", "stream-json"]).stdin(Stdin::Pipe);
    }
    match request.session {
        Some(session) => words.add(["--resume", session]),
        None => words.option("--session-id", session_id(&facts.turn_id).as_deref()),
    };
    inject(&mut words, facts, injected);
    words.extra().config_dir("CLAUDE_CONFIG_DIR");
    words.env("DISABLE_AUTOUPDATER", "1");
    if facts.as_root {
        // Otherwise it refuses to skip permissions.
        words.env("IS_SANDBOX", "1");
    }
    // A Windlass that was itself started by claude must not make its agents believe they are nested.
    words.unset("CLAUDECODE").unset("CLAUDE_CODE_ENTRYPOINT").unset("CLAUDE_CODE_SSE_PORT");
    words.finish()
}

fn inject(words: &mut Words<'_>, facts: &LaunchFacts, injected: &Injected) {
    words.option("--append-system-prompt", injected.system_prompt.as_deref());
    if !injected.mcp_servers.is_empty() {
        // The agent hides tools of servers behind a search unless the server opts out.
        let servers = injected.servers_json(&json!({ "type": "stdio", "alwaysLoad": true }));
        let file = words.file("agent_mcp.json", servers.to_string());
        words.add(["--mcp-config", &file]);
    }
    if !injected.settings.is_empty() {
        let file = words.file("agent_settings.json", json!(injected.settings).to_string());
        words.add(["--settings", &file]);
    }
    // No user can answer a question.
    let mut denied = vec!["AskUserQuestion"];
    if !facts.allow_push {
        denied.push("Bash(git push:*)");
    }
    if injected.read_only {
        denied.extend(["Edit", "Write", "NotebookEdit"]);
    }
    denied.extend(injected.denied_tools.iter().map(String::as_str));
    words.add(["--disallowedTools", &denied.join(",")]);
}

#[derive(Debug)]
pub(crate) struct Claude {
    meter: Meter,
    before: UsageByModel,
    /// When the limit ends that the agent has run into.
    limit: Option<Reset>,
    /// What the costs are that it names.
    basis: CostBasis,
    talk: Option<Talk>,
    /// The content of the last periodic line.
    last_figures: Value,
}

/// A turn that comes in through standard input.
#[derive(Debug)]
struct Talk {
    /// Names the prompt; a result that answers another one is not this turn's.
    prompt_id: Option<String>,
    out: Vec<u8>,
    progress: Progress,
    /// Shells and sub-agents in the background: when one ends, claude continues automatically.
    background: bool,
}

impl Talk {
    /// Takes in a result.
    fn answered(&mut self, line: &Value) {
        let answers = text(line, "user_message_uuid");
        let other = !answers.is_empty() && self.prompt_id.as_deref().is_some_and(|own| own != answers);
        let more = other || count(line, "queued_turn_count") > 0;
        self.progress = match (more, self.background) {
            (true, _) => Progress::Working,
            (false, true) => Progress::Lingering,
            (false, false) => Progress::Over,
        };
    }

    fn say(&mut self, line: &Value) {
        self.out.extend(line.to_string().bytes());
        self.out.push(b'\n');
    }
}

impl Claude {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        let mut meter = Meter::new(Prices::of(profile));
        meter.agent_names(CostBasis::Agent);
        Self {
            meter,
            before: facts.usage_before.clone(),
            limit: None,
            basis: CostBasis::Agent,
            talk: None,
            last_figures: Value::Null,
        }
    }

    /// For a turn whose prompt goes through standard input.
    pub(crate) fn talking(mut self, prompt: &str, turn_id: &str) -> Self {
        let prompt_id = session_id(&format!("{turn_id}/prompt"));
        let mut talk = Talk { prompt_id, out: Vec::new(), progress: Progress::Working, background: false };
        talk.say(&json!({
            "type": "user",
            "uuid": talk.prompt_id,
            "message": { "role": "user", "content": [{ "type": "text", "text": prompt }] },
        }));
        self.talk = Some(talk);
        self
    }
}

impl Dialect for Claude {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        match text(line, "type") {
            "system" => return self.system(line, turn),
            "assistant" => self.assistant(line, turn),
            "user" => messages::user(line, turn),
            "rate_limit_event" => self.rate_limit(&line["rate_limit_info"], turn),
            "result" => self.result(line, turn),
            // Parts of messages that come whole later, and the protocol's own.
            "stream_event" | "control_request" | "control_response" | "command_lifecycle" => {}
            // They come for as long as a tool runs, whatever it does.
            "keep_alive" | "tool_progress" => turn.heartbeat(),
            _ => return false,
        }
        true
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        self.meter.end(turn);
    }

    fn input(&mut self) -> Vec<u8> {
        self.talk.as_mut().map(|talk| std::mem::take(&mut talk.out)).unwrap_or_default()
    }

    fn progress(&self) -> Progress {
        self.talk.as_ref().map_or(Progress::Working, |talk| talk.progress)
    }

    fn interrupt(&mut self) -> bool {
        let Some(talk) = &mut self.talk else { return false };
        talk.say(&json!({
            "type": "control_request",
            "request_id": "interrupt",
            "request": { "subtype": "interrupt" },
        }));
        true
    }
}

impl Claude {
    fn system(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        match text(line, "subtype") {
            "background_tasks_changed" => {
                if let Some(talk) = &mut self.talk {
                    talk.background = line["tasks"].as_array().is_some_and(|tasks| !tasks.is_empty());
                }
            }
            "init" => {
                turn.session(text(line, "session_id"));
                // Without a key it is a subscription, on which nothing is paid by the token.
                if matches!(text(line, "apiKeySource"), "none" | "oauth") {
                    self.basis = CostBasis::ListPrice;
                    self.meter.agent_names(CostBasis::ListPrice);
                }
            }
            "api_retry" => turn.trouble(retry(line)),
            // They come at intervals; only figures that change show that something happens.
            "thinking_tokens" | "task_progress" | "status" => {
                let figures = figures_of(line);
                if figures == self.last_figures {
                    turn.heartbeat();
                }
                self.last_figures = figures;
            }
            "task_started" | "task_notification" | "task_updated" | "compact_boundary" => {}
            _ => return false,
        }
        true
    }

    fn assistant(&mut self, line: &Value, turn: &mut Turn<'_>) {
        let message = &line["message"];
        let model = text(message, "model");
        if model == "<synthetic>" || line["is_api_error_message"].as_bool() == Some(true) {
            // Written by the program, not by the model: an error that will also be in the result.
            let said = message["content"].as_array().into_iter().flatten().map(|block| text(block, "text"));
            let said: Vec<&str> = said.collect();
            turn.trouble(self.fault(line, &said.join("\n")));
            return;
        }
        turn.recovered();
        if let Some(talk) = &mut self.talk {
            talk.progress = Progress::Working;
        }
        turn.session(text(line, "session_id"));
        messages::assistant(line, turn);
        let usage = &message["usage"];
        let figures = Usage {
            input_tokens: count(usage, "input_tokens"),
            output_tokens: count(usage, "output_tokens"),
            cache_read_tokens: count(usage, "cache_read_input_tokens"),
            cache_write_tokens: count(usage, "cache_creation_input_tokens"),
            ..Usage::default()
        };
        self.meter.message(text(message, "id"), model, figures, turn);
    }

    fn rate_limit(&mut self, info: &Value, turn: &mut Turn<'_>) {
        let windows = account::windows(info);
        if !windows.is_empty() {
            turn.events.push(AgentEvent::Account { windows });
        }
        // Comes with every turn on a subscription; only a refusal is news, and only if no result follows.
        if matches!(text(info, "status"), "rejected" | "denied") {
            self.limit = reset::in_fields(info);
            let which = text(info, "rateLimitType").replace('_', " ");
            let message =
                if which.is_empty() { "usage limit reached".into() } else { format!("{which} limit reached") };
            turn.trouble(Fault { reset: self.limit, ..Fault::new(ErrorKind::RateLimit, message) });
        }
    }

    fn fault(&self, line: &Value, message: &str) -> Fault {
        let codes = ["error", "api_error_type", "terminal_reason"].map(|name| text(line, name));
        let code = codes.into_iter().find(|code| !matches!(*code, "" | "api_error" | "unknown" | "invalid_request"));
        let overflow = text(line, "terminal_reason") == "prompt_too_long";
        let status = status(line, "api_error_status");
        let code = match code {
            _ if overflow => "prompt_too_long",
            // A failed connection is also a "server_error", but has no status.
            Some("server_error") if status.is_none() => "",
            code => code.unwrap_or(""),
        };
        let mut fault = Fault::of(status, code, message);
        if fault.kind == ErrorKind::RateLimit {
            fault.reset = self.limit.or_else(|| reset::in_fields(line)).or(fault.reset);
        }
        fault
    }

    fn result(&mut self, line: &Value, turn: &mut Turn<'_>) {
        let is_error = line["is_error"].as_bool().unwrap_or(true);
        let errors: Vec<&str> = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let said = if errors.is_empty() { text(line, "result").to_owned() } else { errors.join("; ") };
        self.meter.settle(&self.figures(line), turn);
        if is_error {
            let reason = text(line, "terminal_reason");
            let said = if said.is_empty() { format!("the agent failed: {}", text(line, "subtype")) } else { said };
            let mut fault = self.fault(line, &said);
            if matches!(reason, "max_turns" | "budget_exhausted") {
                fault.kind = ErrorKind::Other;
            }
            if fault.kind != ErrorKind::UnknownSession {
                turn.session(text(line, "session_id"));
            }
            // The earlier error is more specific.
            if fault.kind != ErrorKind::Other || turn.known_fault().is_none_or(|known| known.kind == ErrorKind::Other) {
                turn.trouble(fault);
            }
        } else {
            turn.session(text(line, "session_id"));
        }
        turn.close(text(line, "result"), is_error);
        if let Some(talk) = &mut self.talk {
            talk.answered(line);
        }
    }

    /// What the turn used, by model.
    fn figures(&self, line: &Value) -> UsageByModel {
        if let Some(fresh) = line["model_usage_since_last_result"].as_object() {
            return fresh.iter().map(|(model, usage)| (name(model), self.model_usage(usage))).collect();
        }
        let by_model = line["modelUsage"].as_object().into_iter().flatten();
        let mut figures: UsageByModel = by_model.map(|(model, usage)| (name(model), self.model_usage(usage))).collect();
        // Older versions count from the start of the process, newer ones from the start of the session.
        let run = &line["usage"];
        let run = count(run, "input_tokens")
            + count(run, "output_tokens")
            + count(run, "cache_read_input_tokens")
            + count(run, "cache_creation_input_tokens");
        if total(&figures).tokens() > run {
            for (model, usage) in &mut figures {
                if let Some(before) = self.before.get(model) {
                    let cost = usage.cost_usd.zip(before.cost_usd).map(|(now, before)| (now - before).max(0.0));
                    *usage = Usage { cost_usd: cost, cost_basis: usage.cost_basis, ..minus(usage, before) };
                }
            }
        }
        figures
    }
}

impl Claude {
    fn model_usage(&self, usage: &Value) -> Usage {
        let thinking = count(usage, "thinkingTokens");
        let cost_usd = usage["costUSD"].as_f64();
        Usage {
            input_tokens: count(usage, "inputTokens"),
            output_tokens: count(usage, "outputTokens").saturating_sub(thinking),
            reasoning_tokens: thinking,
            cache_read_tokens: count(usage, "cacheReadInputTokens"),
            cache_write_tokens: count(usage, "cacheCreationInputTokens"),
            cost_usd,
            cost_basis: if cost_usd.is_some() { self.basis } else { CostBasis::Unknown },
            messages: 0,
        }
    }
}

/// A line without what is different in every line, such as its id and its time.
fn figures_of(line: &Value) -> Value {
    let mut figures = line.clone();
    if let Some(object) = figures.as_object_mut() {
        object.retain(|name, _| !["uuid", "timestamp", "elapsed_time_seconds", "duration_ms"].contains(&name.as_str()));
    }
    figures
}

/// The same model with a larger window is the same model.
fn name(model: &str) -> String {
    model.split('[').next().unwrap_or(model).to_owned()
}

fn retry(line: &Value) -> Fault {
    let error = match text(line, "error") {
        "" | "unknown" => "no usable answer",
        error => error,
    };
    let mut fault = Fault::of(status(line, "error_status"), error, error);
    let status = line["error_status"].as_u64().map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let (attempt, most) = (count(line, "attempt"), count(line, "max_retries"));
    fault.message = format!("{error}{status}, attempt {attempt} of {most}");
    // Its short pause between attempts does not show when the limit ends.
    fault.reset = None;
    fault
}
