//! GitHub Copilot CLI: `copilot --output-format json`.
//!
//! Its session id comes only in its last line, so one is chosen for it; its usage comes in its own file, summed
//! over the session.

use serde_json::{Value, json};
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{Usage, UsageByModel};

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn, count, status, text, time};
use crate::output::meter::minus;
use crate::output::prices::Prices;
use crate::start::{Injected, Words, session_id};
use crate::turn::{Launch, LaunchError, LaunchFacts, SessionFacts, TurnRequest};

/// In its own directory, which is writable for the agent even if other directories are not.
pub(super) const USAGE_FILE: &str = "agent_usage/usage.json";

pub(crate) fn launch(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    injected: &Injected,
) -> Result<Launch, LaunchError> {
    let mut words = Words::new(request, "copilot");
    words.add(["--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update", "--no-color"]);
    words.model("--model");
    let session = match request.session {
        Some(session) => Some(format!("--resume={session}")),
        None => session_id(&facts.turn_id).map(|id| format!("--session-id={id}")),
    };
    if let Some(session) = &session {
        words.add([session]);
    }
    if !facts.allow_push {
        // Its built-in server for GitHub can push without a shell.
        words.add(["--deny-tool=shell(git push)", "--disable-builtin-mcps"]);
    }
    inject(&mut words, injected);
    let usage = words.file(USAGE_FILE, String::new());
    words.add(["--usage-output-file", &usage]).extra().config_dir("COPILOT_HOME");
    words.env("COPILOT_AUTO_UPDATE", "false");
    words.finish()
}

fn inject(words: &mut Words<'_>, injected: &Injected) {
    if !injected.mcp_servers.is_empty() {
        let servers = injected.servers_json(&json!({ "type": "local", "tools": ["*"] }));
        let file = words.file("agent_mcp.json", servers.to_string());
        words.add(["--additional-mcp-config", &format!("@{file}")]);
    }
    let read_only = injected.read_only.then_some("write");
    for tool in read_only.into_iter().chain(injected.denied_tools.iter().map(String::as_str)) {
        words.add([&format!("--deny-tool={tool}")]);
    }
    if let Some(prompt) = &injected.system_prompt {
        // It reads only files with this name in such a directory, and only those that declare where they apply.
        let content = format!("---\napplyTo: \"**\"\n---\n\n{prompt}\n");
        words.file("agent_instructions/loop.instructions.md", content);
        let dir = words.request.prompt_file.with_file_name("agent_instructions");
        let dirs = [words.said(INSTRUCTIONS), Some(&dir.to_string_lossy())];
        let dirs: Vec<&str> = dirs.into_iter().flatten().collect();
        let dirs = dirs.join(",");
        words.set(INSTRUCTIONS, &dirs);
    }
}

const INSTRUCTIONS: &str = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS";

#[derive(Debug)]
pub(crate) struct Copilot {
    session: Option<String>,
    prices: Prices,
    before: UsageByModel,
    model: String,
    messages: u64,
    /// The last thought: it comes both with its message and in its own line.
    thought: String,
}

impl Copilot {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        Self {
            prices: Prices::of(profile),
            session: facts.session.clone(),
            before: facts.usage_before.clone(),
            model: String::new(),
            messages: 0,
            thought: String::new(),
        }
    }
}

impl Dialect for Copilot {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        if let Some(session) = self.session.take() {
            turn.session(&session);
        }
        let data = &line["data"];
        match text(line, "type") {
            "assistant.message" => self.message(line, turn),
            "assistant.reasoning" => self.think(text(data, "content"), turn),
            "tool.execution_start" => {
                turn.tool_use(text(data, "toolCallId"), text(data, "toolName"), &data["arguments"])
            }
            "tool.execution_complete" => {
                let failed = data["success"].as_bool() == Some(false);
                let output =
                    if failed && !data["error"].is_null() { &data["error"] } else { &data["result"]["content"] };
                turn.tool_result(text(data, "toolCallId"), output, failed);
            }
            "model.call_failure" => {
                let code = [text(data, "errorCode"), text(data, "errorType")];
                let code = code.into_iter().find(|code| !code.is_empty()).unwrap_or("");
                let fault = Fault::of(status(data, "statusCode"), code, text(data, "errorMessage"));
                turn.trouble(fault.reported_at(time(line, "timestamp")));
            }
            "session.error" => {
                let kind = text(data, "errorType");
                let kind = if kind == "query" { "" } else { kind };
                let fault = Fault::of(status(data, "statusCode"), kind, text(data, "message"));
                turn.trouble(fault.reported_at(time(line, "timestamp")));
            }
            "result" => {
                turn.session(text(line, "sessionId"));
                turn.close("", line["exitCode"].as_i64() != Some(0));
            }
            kind => return NOTHING_NEW.contains(&kind),
        }
        true
    }

    fn usage_file(&mut self, content: &Value, turn: &mut Turn<'_>) {
        let metrics = content.get("modelMetrics").unwrap_or(&content["usage"]["modelMetrics"]);
        for (model, metric) in metrics.as_object().into_iter().flatten() {
            let session = figures(metric.get("usage").unwrap_or(metric));
            let none = Usage::default();
            let mut used = minus(&session, self.before.get(model).unwrap_or(&none));
            if used.tokens() == 0 {
                continue;
            }
            used.messages = if *model == self.model { std::mem::take(&mut self.messages) } else { 0 };
            turn.usage(model, self.prices.priced(model, used));
        }
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        // Without the file the messages are all that is known.
        let usage = Usage { messages: std::mem::take(&mut self.messages), ..Usage::default() };
        turn.usage(&self.model, usage);
    }
}

impl Copilot {
    fn think(&mut self, thought: &str, turn: &mut Turn<'_>) {
        if self.thought != thought {
            turn.thinking(thought);
            thought.clone_into(&mut self.thought);
        }
    }

    fn message(&mut self, line: &Value, turn: &mut Turn<'_>) {
        let data = &line["data"];
        turn.recovered();
        self.messages += 1;
        text(data, "model").clone_into(&mut self.model);
        self.think(text(data, "reasoningText"), turn);
        let of_sub_agent = !text(data, "parentToolCallId").is_empty() || !text(line, "agentId").is_empty();
        if of_sub_agent { turn.thinking(text(data, "content")) } else { turn.text(text(data, "content")) }
    }
}

fn figures(usage: &Value) -> Usage {
    let (read, written) = (count(usage, "cacheReadTokens"), count(usage, "cacheWriteTokens"));
    let (output, reasoning) = (count(usage, "outputTokens"), count(usage, "reasoningTokens"));
    Usage {
        input_tokens: count(usage, "inputTokens").saturating_sub(read).saturating_sub(written),
        output_tokens: output.saturating_sub(reasoning),
        reasoning_tokens: reasoning,
        cache_read_tokens: read,
        cache_write_tokens: written,
        ..Usage::default()
    }
}

/// Lines that repeat another line or are not needed.
const NOTHING_NEW: &[&str] = &[
    "assistant.idle",
    "assistant.intent",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.reasoning_delta",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "assistant.turn_end",
    "assistant.turn_retry",
    "assistant.turn_start",
    "model.call_final_result",
    "model.call_finished",
    "model.call_start",
    "session.background_tasks_changed",
    "session.info",
    "session.mcp_server_status_changed",
    "session.mcp_server_tools_loaded",
    "session.mcp_servers_loaded",
    "session.skills_loaded",
    "session.tools_updated",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.shell_output",
    "user.message",
];
