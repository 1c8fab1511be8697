//! OpenCode: `opencode run --format json`.
//!
//! It has no closing line: the turn is over when a step ended for another reason than calling tools. The model is
//! never named, so usage counts for the one of the profile.

use serde_json::{Map, Value, json};
use windlass_core::agent::ErrorKind;
use windlass_core::profile::{AgentProfile, McpServer, merge_tables};
use windlass_core::usage::{CostBasis, Usage};

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, status, text, time};
use crate::output::prices::Prices;
use crate::output::reset;
use crate::start::{Injected, Words};
use crate::turn::{Launch, LaunchError, LaunchFacts, TurnRequest};

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "opencode");
    // It waits out whatever a provider requests silently in its output; its log of errors has it.
    words.add(["run", "--format", "json", "--auto", "--print-logs", "--log-level", "ERROR"]).model("--model");
    match request.session {
        Some(session) => words.add(["--session", session]),
        // A title saves the call that would invent one.
        None => words.add(["--title", "windlass"]),
    };
    words.extra().config_dir("OPENCODE_CONFIG_DIR");
    words.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    permissions(&mut words, facts, injected)?;
    config(&mut words, injected)?;
    words.finish()
}

const PERMISSION: &str = "OPENCODE_PERMISSION";
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

/// Keeps the user's permissions and adds only denials.
fn permissions(words: &mut Words<'_>, facts: &LaunchFacts, injected: &Injected) -> Result<(), LaunchError> {
    let mut denied = Map::new();
    if injected.read_only {
        denied.insert("edit".to_owned(), json!("deny"));
    }
    for tool in &injected.denied_tools {
        // `bash(git push*)` denies some of a tool, `webfetch` all of it.
        let (tool, rule) = match tool.strip_suffix(')').and_then(|tool| tool.split_once('(')) {
            Some((tool, pattern)) => (tool, json!({ pattern: "deny" })),
            None => (tool.as_str(), json!("deny")),
        };
        merge_tables(&mut denied, &Map::from_iter([(tool.to_owned(), rule)]));
    }
    let mut all = if words.said(PERMISSION).is_some() {
        if denied.is_empty() {
            return Ok(());
        }
        words.said_json(PERMISSION)?
    } else {
        let shell = if facts.allow_push { json!({"*": "allow"}) } else { json!({"*": "allow", "git push*": "deny"}) };
        Map::from_iter([
            ("bash".to_owned(), shell),
            ("edit".to_owned(), json!("allow")),
            ("question".to_owned(), json!("deny")),
        ])
    };
    merge_tables(&mut all, &denied);
    words.set(PERMISSION, &Value::Object(all).to_string());
    Ok(())
}

fn config(words: &mut Words<'_>, injected: &Injected) -> Result<(), LaunchError> {
    let mut config = injected.settings.clone();
    let server = |server: &McpServer| {
        let command: Vec<&String> = std::iter::once(&server.command).chain(&server.args).collect();
        json!({ "type": "local", "command": command, "environment": server.env, "enabled": true })
    };
    let servers: Map<_, _> = injected.mcp_servers.iter().map(|(name, one)| (name.clone(), server(one))).collect();
    if !servers.is_empty() {
        merge_tables(&mut config, &Map::from_iter([("mcp".to_owned(), Value::Object(servers))]));
    }
    let mut all = Map::new();
    if !config.is_empty() || injected.system_prompt.is_some() {
        all = words.said_json(CONFIG)?;
        merge_tables(&mut all, &config);
    }
    if let Some(prompt) = &injected.system_prompt {
        let file = words.file("agent_instructions.md", format!("{prompt}\n"));
        let before = all.get("instructions").and_then(Value::as_array).cloned().unwrap_or_default();
        let instructions = before.into_iter().chain([json!(file)]).collect();
        all.insert("instructions".to_owned(), Value::Array(instructions));
    }
    if !all.is_empty() {
        words.set(CONFIG, &Value::Object(all).to_string());
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Opencode {
    prices: Prices,
    model: String,
}

impl Opencode {
    pub(crate) fn new(profile: &AgentProfile) -> Self {
        Self { prices: Prices::of(profile), model: profile.model.clone().unwrap_or_default() }
    }
}

impl Dialect for Opencode {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        let part = &line["part"];
        match text(line, "type") {
            "step_start" => {
                turn.session(text(line, "sessionID"));
                turn.recovered();
            }
            "text" => turn.text(text(part, "text")),
            "reasoning" => turn.thinking(text(part, "text")),
            "tool_use" => tool(part, turn),
            "step_finish" => self.step(part, turn),
            "error" => {
                turn.session(text(line, "sessionID"));
                turn.trouble(fault(&line["error"]).reported_at(time(line, "timestamp")));
            }
            _ => return false,
        }
        true
    }

    /// `… message="stream error" … error.error="AI_APICallError: …"`
    fn said_aside<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (before, message) = line.split_once(" error.error=\"AI_APICallError: ")?;
        before.contains("message=\"stream error\"").then_some(message.trim_end_matches('"'))
    }
}

impl Opencode {
    fn step(&mut self, part: &Value, turn: &mut Turn<'_>) {
        let tokens = &part["tokens"];
        let mut usage = Usage {
            input_tokens: count(tokens, "input"),
            output_tokens: count(tokens, "output"),
            reasoning_tokens: count(tokens, "reasoning"),
            cache_read_tokens: count(&tokens["cache"], "read"),
            cache_write_tokens: count(&tokens["cache"], "write"),
            cost_usd: part["cost"].as_f64(),
            cost_basis: CostBasis::Agent,
            messages: 1,
        };
        // It reports a cost of 0 for a model without a price and for an answer without token counts.
        if usage.cost_usd.is_none_or(|cost| cost <= 0.0) {
            let free = usage.tokens() == 0;
            usage = self.prices.priced(if free { "" } else { &self.model }, usage);
        }
        turn.usage(&self.model, usage);
        match text(part, "reason") {
            "tool-calls" => {}
            // What is left of an answer whose stream broke. It asks again without end.
            "" | "unknown" | "error" | "other" => {
                turn.trouble(Fault::new(ErrorKind::Network, "the model's answer ended early"));
            }
            _ => turn.close("", false),
        }
    }
}

/// Told once, when the tool is done.
fn tool(part: &Value, turn: &mut Turn<'_>) {
    let (id, state) = (text(part, "callID"), &part["state"]);
    turn.tool_use(id, text(part, "tool"), &state["input"]);
    match text(state, "status") {
        "completed" => turn.tool_result(id, &state["output"], false),
        "error" => turn.tool_result(id, &state["error"], true),
        _ => {}
    }
}

fn fault(error: &Value) -> Fault {
    let data = &error["data"];
    let body: Value = serde_json::from_str(text(data, "responseBody")).unwrap_or(Value::Null);
    let inner = body.get("error").unwrap_or(&body);
    let codes = [text(error, "name"), text(inner, "code"), text(inner, "type")];
    let code = codes.into_iter().find(|code| !matches!(*code, "" | "APIError" | "UnknownError"));
    let message = text(data, "message");
    let message = if message.is_empty() { text(error, "name") } else { message };
    let mut fault = Fault::of(status(data, "statusCode"), code.unwrap_or(""), message);
    if fault.kind == ErrorKind::RateLimit {
        fault.reset = reset::in_fields(&data["responseHeaders"]).or_else(|| reset::in_fields(&body)).or(fault.reset);
    }
    fault
}
