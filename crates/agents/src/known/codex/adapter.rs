//! Codex: `codex exec --json`.
//!
//! Failures are text only; the model is never named, so usage counts for the one of the profile. Figures are those of
//! the whole thread.

use serde_json::{Value, json};
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{Usage, UsageByModel, total};

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, text};
use crate::output::meter::minus;
use crate::output::prices::Prices;
use crate::start::{Injected, Words};
use crate::turn::{Launch, LaunchError, LaunchFacts, SessionFacts, TurnRequest};

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "codex");
    words.add(["exec"]);
    if request.session.is_some() {
        words.add(["resume"]);
    }
    words.add(["--json", "--skip-git-repo-check"]);
    if injected.read_only && !facts.confined {
        // As settings, because `exec resume` has no flag for the sandbox.
        words.add(["-c", "sandbox_mode=\"read-only\"", "-c", "approval_policy=\"never\""]);
    } else {
        words.add(["--dangerously-bypass-approvals-and-sandbox"]);
    }
    words.model("--model");
    // It takes the directory for trusted anyway, but would write that down in the user's configuration.
    let trusted = json!({ request.cwd.to_string_lossy(): { "trust_level": "trusted" } });
    words.add(["-c", &format!("projects={}", toml_value(&trusted))]);
    for setting in settings(injected) {
        words.add(["-c", &setting]);
    }
    words.extra().config_dir("CODEX_HOME");
    if let Some(session) = request.session {
        words.add([session]);
    }
    // The prompt comes on standard input.
    words.add(["-"]).finish()
}

/// Settings as `-c` takes them: a dotted path, and a value in TOML.
fn settings(injected: &Injected) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(prompt) = &injected.system_prompt {
        lines.push(format!("developer_instructions={}", toml_value(&json!(prompt))));
    }
    for (name, server) in &injected.mcp_servers {
        let mut server = json!(server);
        // Otherwise a turn without full access refuses to call it, because no user can approve.
        server["default_tools_approval_mode"] = json!("approve");
        for (key, value) in server.as_object().into_iter().flatten() {
            lines.push(format!("mcp_servers.{name}.{key}={}", toml_value(value)));
        }
    }
    for (key, value) in &injected.settings {
        dotted(key, value, &mut lines);
    }
    lines
}

/// One line for each value, so that the rest of a table of the user's stays. The path is cut at every dot, so a table
/// with a dot in a key goes whole.
fn dotted(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(table) if !table.is_empty() && table.keys().all(|key| !key.contains('.')) => {
            for (key, value) in table {
                dotted(&format!("{path}.{key}"), value, lines);
            }
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            lines.push(format!("{path}={}", toml_value(value)))
        }
    }
}

fn toml_value(value: &Value) -> String {
    let mut text = String::new();
    match serde::Serialize::serialize(value, toml::ser::ValueSerializer::new(&mut text)) {
        Ok(_) => text,
        // Only values that TOML cannot express, such as null.
        Err(_) => value.to_string(),
    }
}

#[derive(Debug)]
pub(crate) struct Codex {
    model: String,
    prices: Prices,
    before: UsageByModel,
    /// Messages since the last figures.
    messages: u64,
}

impl Codex {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        let model = profile.model.clone().unwrap_or_default();
        Self { model, prices: Prices::of(profile), before: facts.usage_before.clone(), messages: 0 }
    }
}

impl Dialect for Codex {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        match text(line, "type") {
            "thread.started" => turn.session(text(line, "thread_id")),
            "turn.started" => {}
            "item.started" => return item(&line["item"], false, turn),
            "item.updated" => {}
            "item.completed" => {
                let done = item(&line["item"], true, turn);
                self.messages += u64::from(text(&line["item"], "type") == "agent_message");
                return done;
            }
            "turn.completed" => {
                self.used(&line["usage"], turn);
                turn.close("", false);
            }
            "turn.failed" => {
                self.used(&line["usage"], turn);
                turn.trouble(Fault::of(None, "", text(&line["error"], "message")));
                turn.close("", true);
            }
            "error" => turn.trouble(Fault::of(None, "", text(line, "message"))),
            _ => return false,
        }
        true
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        self.report(Usage::default(), turn);
    }
}

impl Codex {
    fn used(&mut self, usage: &Value, turn: &mut Turn<'_>) {
        let (input, cached) = (count(usage, "input_tokens"), count(usage, "cached_input_tokens"));
        let (output, reasoning) = (count(usage, "output_tokens"), count(usage, "reasoning_output_tokens"));
        let written = count(usage, "cache_write_input_tokens");
        let figures = Usage {
            input_tokens: input.saturating_sub(cached).saturating_sub(written),
            output_tokens: output.saturating_sub(reasoning),
            reasoning_tokens: reasoning,
            cache_read_tokens: cached,
            cache_write_tokens: written,
            ..Usage::default()
        };
        let used = minus(&figures, &total(&self.before));
        // Further figures of this process continue from here.
        if figures.tokens() > 0 {
            self.before = UsageByModel::from([(self.model.clone(), figures)]);
        }
        self.report(used, turn);
    }

    fn report(&mut self, mut usage: Usage, turn: &mut Turn<'_>) {
        usage.messages = std::mem::take(&mut self.messages);
        turn.usage(&self.model, self.prices.priced(&self.model, usage));
    }
}

/// One thing the agent did, when it starts and when it is done.
fn item(item: &Value, done: bool, turn: &mut Turn<'_>) -> bool {
    let (id, kind) = (text(item, "id"), text(item, "type"));
    let failed = text(item, "status") == "failed" || item["exit_code"].as_i64().is_some_and(|code| code != 0);
    let (name, input, output) = match kind {
        "agent_message" | "reasoning" | "error" if !done => return true,
        "agent_message" => {
            turn.recovered();
            turn.text(text(item, "text"));
            return true;
        }
        "reasoning" => {
            turn.thinking(text(item, "text"));
            return true;
        }
        // A warning; `turn.failed` reports what ends the turn.
        "error" => return false,
        "command_execution" => ("shell".to_owned(), &item["command"], &item["aggregated_output"]),
        "file_change" => ("apply_patch".to_owned(), &item["changes"], &item["status"]),
        "mcp_tool_call" => {
            let failure = &item["error"];
            let output = if failure.is_null() { &item["result"]["content"] } else { failure };
            (format!("{}.{}", text(item, "server"), text(item, "tool")), &item["arguments"], output)
        }
        "web_search" => ("web_search".to_owned(), &item["query"], &Value::Null),
        _ => return false,
    };
    if done {
        turn.tool_result(id, output, failed);
    } else {
        turn.recovered();
        turn.tool_use(id, &name, input);
    }
    true
}
