//! Codex: `codex exec --json`.
//!
//! Failures are text only; the model is never named, so usage counts for the one of the profile. Figures are those of
//! the whole thread.

use serde_json::{Value, json};
use windlass_core::command::CommandSpec;
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{Usage, UsageByModel, total};

use crate::fault::Fault;
use crate::jsonl::{Dialect, Turn, count, text};
use crate::meter::minus;
use crate::prices::price;
use crate::words::Words;
use crate::{LaunchError, LaunchFacts, SessionFacts, TurnRequest};

pub(crate) fn launch(request: &TurnRequest<'_>, facts: &LaunchFacts) -> Result<CommandSpec, LaunchError> {
    let mut words = Words::new(request, "codex");
    words.add(["exec"]);
    if request.session.is_some() {
        words.add(["resume"]);
    }
    words.add(["--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]).model("--model");
    if let Some(prompt) = &facts.system_prompt {
        // A value is TOML, and a JSON string is a TOML string.
        words.add(["-c", &format!("developer_instructions={}", json!(prompt))]);
    }
    words.extra();
    if let Some(session) = request.session {
        words.add([session]);
    }
    // The prompt comes on standard input.
    words.add(["-"]).finish()
}

#[derive(Debug)]
pub(crate) struct Codex {
    model: String,
    before: UsageByModel,
    /// Messages since the last figures.
    messages: u64,
}

impl Codex {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        let model = profile.model.clone().unwrap_or_default();
        Self { model, before: facts.usage_before.clone(), messages: 0 }
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
        // Further figures of this process go on from here.
        if figures.tokens() > 0 {
            self.before = UsageByModel::from([(self.model.clone(), figures)]);
        }
        self.report(used, turn);
    }

    fn report(&mut self, mut usage: Usage, turn: &mut Turn<'_>) {
        usage.messages = std::mem::take(&mut self.messages);
        usage.cost_usd = price(&self.model, &usage);
        turn.usage(&self.model, usage);
    }
}

/// One thing the agent did, when it begins and when it is done.
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
        // A warning: what ends the turn is told by `turn.failed`.
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
