//! Any agent that speaks the Agent Client Protocol (ACP): JSON-RPC over its standard input and output, one message a
//! line. Windlass is the client; `talk` contains what it sends, this file what it reads.
//!
//! The ids of our requests have a fixed meaning, so that a stored transcript can be read without knowing what was
//! asked. Messages are read as plain JSON, like those of every other agent: the agents differ in what they add to the
//! protocol and in what they leave out, and unknown updates must be kept, not refused.

mod talk;
mod usage;

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::agent::ErrorKind;
use windlass_core::profile::{AdapterKind, AgentProfile};
use windlass_process::Stdin;

use crate::output::fault::Fault;
use crate::output::jsonl::JsonSession;
use crate::output::jsonl::{Dialect, Turn, text};
use crate::start::{Adapter, Injected, Words};
use crate::turn::{Launch, LaunchError, LaunchFacts, Progress, Session, SessionFacts, TurnRequest};
pub(crate) use talk::{Opening, Talk};
use usage::Spent;

/// The JSON-RPC error for "not logged in".
const AUTH_REQUIRED: i64 = -32000;

/// What the answer with an id is an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    NewSession,
    OldSession,
    Mode,
    Model,
    /// A prompt, identified by its number.
    Prompt(u64),
}

impl Asked {
    const FIRST_PROMPT: u64 = 1_000;

    fn id(self) -> u64 {
        match self {
            Asked::Initialize => 1,
            Asked::NewSession => 2,
            Asked::OldSession => 3,
            Asked::Mode => 4,
            Asked::Model => 5,
            Asked::Prompt(number) => Self::FIRST_PROMPT + number,
        }
    }

    fn of(id: &Value) -> Option<Self> {
        let known = [Asked::Initialize, Asked::NewSession, Asked::OldSession, Asked::Mode, Asked::Model];
        let id = id.as_u64()?;
        let prompt = id.checked_sub(Self::FIRST_PROMPT).map(Asked::Prompt);
        known.into_iter().find(|asked| asked.id() == id).or(prompt)
    }
}

/// The adapter.
#[derive(Debug)]
pub(crate) struct Protocol;

impl Adapter for Protocol {
    fn launch(
        &self,
        request: &TurnRequest<'_>,
        facts: &LaunchFacts,
        _injected: &Injected,
    ) -> Result<Launch, LaunchError> {
        launch(request, facts)
    }

    fn session(&self, profile: &AgentProfile, facts: &SessionFacts) -> Box<dyn Session> {
        Box::new(JsonSession::new(Acp::new(profile, facts)))
    }

    /// The protocol passes on servers and nothing else.
    fn refuses(&self) -> &'static [&'static str] {
        &["system_prompt", "denied_tools", "settings"]
    }

    fn keeps_alive(&self) -> bool {
        true
    }

    fn always_converses(&self) -> bool {
        true
    }

    fn conversation(
        &self,
        request: &TurnRequest<'_>,
        launch: &LaunchFacts,
        injected: Injected,
        facts: &SessionFacts,
        has_session: bool,
    ) -> Box<dyn Session> {
        let opening = Opening {
            mcp_servers: injected.mcp_servers,
            // In the sandbox a reviewer may try what it likes; a mode that only looks would forbid its commands too.
            read_only: injected.read_only && !launch.confined,
            ..Opening::new(request, &launch.turn_id, has_session)
        };
        Box::new(JsonSession::new(Acp::new(&request.agent.profile, facts).talking(opening)))
    }
}

fn launch(request: &TurnRequest<'_>, facts: &LaunchFacts) -> Result<Launch, LaunchError> {
    if request.agent.profile.command.first().is_none_or(String::is_empty) {
        return Err(LaunchError::NoCommand { agent: request.agent.name.clone() });
    }
    let mut words = Words::new(request, "");
    words.extra().stdin(Stdin::Pipe);
    // An adapter may start an agent that would believe itself nested.
    words.unset("CLAUDECODE").unset("CLAUDE_CODE_ENTRYPOINT").unset("CLAUDE_CODE_SSE_PORT");
    let known = crate::known::known(&request.agent.profile);
    if let Some(known) = known {
        words.config_dir(known.config_variable);
    }
    let known = known.map(|known| known.kind);
    if facts.confined && known == Some(AdapterKind::Codex) {
        // The only way to start codex-acp without its own sandbox: it ignores `sandbox_mode`.
        words.set("INITIAL_AGENT_MODE", "agent-full-access");
    }
    words.finish()
}

#[derive(Debug)]
pub(crate) struct Acp {
    /// While a session is being loaded, updates describe earlier turns.
    replaying: bool,
    tools: BTreeMap<String, Tool>,
    message_id: String,
    /// The last piece of text: some agents put their error there and nowhere else.
    last_piece: String,
    spent: Spent,
    talk: Option<Talk>,
}

/// A tool call that is running.
#[derive(Debug, Default)]
struct Tool {
    name: String,
    /// As last seen: many agents name a call before they know what it will be.
    input: Value,
    told: bool,
    done: bool,
}

impl Acp {
    pub(crate) fn new(profile: &AgentProfile, facts: &SessionFacts) -> Self {
        Self {
            replaying: false,
            tools: BTreeMap::new(),
            message_id: String::new(),
            last_piece: String::new(),
            spent: Spent::new(profile, &facts.usage_before),
            talk: None,
        }
    }

    /// For a turn that is held with the agent.
    pub(crate) fn talking(mut self, opening: Opening) -> Self {
        self.talk = Some(Talk::new(opening));
        self
    }
}

impl Dialect for Acp {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        let method = text(line, "method");
        if method.is_empty() {
            return self.answer(line, turn);
        }
        if !line["id"].is_null() {
            self.request(line, method, turn);
            return true;
        }
        method == "session/update" && self.update(&line["params"], turn)
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        self.spent.end(turn);
    }

    fn input(&mut self) -> Vec<u8> {
        self.talk.as_mut().map(Talk::take).unwrap_or_default()
    }

    fn progress(&self) -> Progress {
        self.talk.as_ref().map_or(Progress::Working, Talk::progress)
    }

    fn interrupt(&mut self) -> bool {
        self.talk.as_mut().is_some_and(Talk::cancel)
    }
}

impl Acp {
    /// The agent wants something of us.
    fn request(&mut self, line: &Value, method: &str, turn: &mut Turn<'_>) {
        let permission = method == "session/request_permission";
        if permission {
            // Some agents first report a tool here.
            self.tool(&line["params"]["toolCall"], turn);
        }
        if let Some(talk) = &mut self.talk {
            if permission { talk.permit(line) } else { talk.refuse(line, method) }
        }
    }

    /// False: an answer to nothing we asked.
    fn answer(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        let Some(asked) = Asked::of(&line["id"]) else { return false };
        let failed = line.get("error").filter(|error| !error.is_null());
        if asked == Asked::Initialize {
            self.replaying = true;
        } else if matches!(asked, Asked::NewSession | Asked::OldSession) {
            self.replaying = false;
            turn.session(text(&line["result"], "sessionId"));
            self.spent.models(&line["result"]);
        }
        match (asked, failed) {
            (Asked::Prompt(_), None) => self.prompted(&line["result"], turn),
            // A mode is a convenience; what it would have allowed is requested instead.
            (Asked::Mode, Some(_)) | (_, None) => {}
            (_, Some(error)) => {
                let fault = fault(asked, error);
                turn.close(&fault.message, true);
                turn.trouble(fault);
            }
        }
        if let Some(talk) = &mut self.talk {
            let refused = failed.is_some() && asked != Asked::Mode;
            if let Some(fault) = talk.answered(asked, &line["result"], refused) {
                turn.close(&fault.message.clone(), true);
                turn.trouble(fault);
            }
        }
        true
    }

    /// The prompt was answered to its end.
    fn prompted(&mut self, result: &Value, turn: &mut Turn<'_>) {
        self.spent.answered(result, turn);
        let said = std::mem::take(&mut self.last_piece);
        let fault = match text(result, "stopReason") {
            "end_turn" => hidden_error(result, &said),
            "max_tokens" => Some(Fault::new(ErrorKind::Other, "the agent reached its token limit for one turn")),
            "max_turn_requests" => {
                Some(Fault::new(ErrorKind::Other, "the agent reached its request limit for one turn"))
            }
            "refusal" => Some(Fault::new(ErrorKind::Other, "the agent refused the prompt")),
            "cancelled" => Some(Fault::new(ErrorKind::Other, "the agent cancelled its turn")),
            other => Some(Fault::new(ErrorKind::Other, format!("the agent stopped for an unknown reason: {other}"))),
        };
        let is_error = fault.is_some();
        if let Some(fault) = fault {
            turn.trouble(fault);
        }
        turn.close("", is_error);
    }

    fn update(&mut self, params: &Value, turn: &mut Turn<'_>) -> bool {
        let update = &params["update"];
        if self.replaying {
            return true;
        }
        turn.session(text(params, "sessionId"));
        match text(update, "sessionUpdate") {
            "agent_message_chunk" => self.message(update, turn),
            "agent_thought_chunk" => turn.thinking(text(&update["content"], "text")),
            "tool_call" | "tool_call_update" => self.tool(update, turn),
            "plan" => turn.thinking(&plan(update)),
            "usage_update" => self.spent.update(update),
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update" => {}
            _ => return false,
        }
        true
    }

    fn message(&mut self, update: &Value, turn: &mut Turn<'_>) {
        let id = text(update, "messageId");
        if id != self.message_id {
            turn.end_text();
            id.clone_into(&mut self.message_id);
        }
        self.spent.piece(&update["_meta"]["usage"]);
        let piece = text(&update["content"], "text");
        if !piece.is_empty() {
            turn.recovered();
            piece.clone_into(&mut self.last_piece);
            turn.text_part(piece);
        }
    }

    fn tool(&mut self, call: &Value, turn: &mut Turn<'_>) {
        let id = text(call, "toolCallId");
        let status = text(call, "status");
        let ended = matches!(status, "completed" | "failed");
        let tool = self.tools.entry(id.to_owned()).or_default();
        if let Some(name) = tool_name(call)
            && tool.name.is_empty()
        {
            name.clone_into(&mut tool.name);
        }
        let input = &call["rawInput"];
        if input.as_object().is_some_and(|input| !input.is_empty()) || input.is_string() {
            tool.input = input.clone();
        }
        if !tool.told && !matches!(status, "" | "pending") {
            tool.told = true;
            let input = if tool.input.is_null() { Value::from(text(call, "title")) } else { tool.input.take() };
            turn.tool_use(id, &tool.name, &input);
        }
        if ended && !tool.done {
            tool.done = true;
            turn.tool_result(id, &output(call), status == "failed");
        }
    }
}

/// The name of a tool: the agent's own name if given, otherwise its display name.
fn tool_name(call: &Value) -> Option<&str> {
    let title = Some(text(call, "title")).filter(|title| !title.contains(char::is_whitespace));
    let names = [
        text(call, "name"),
        text(&call["_meta"]["claudeCode"], "toolName"),
        text(&call["_meta"], "toolName"),
        title.unwrap_or_default(),
        text(call, "kind"),
        text(call, "title"),
    ];
    names.into_iter().find(|name| !name.is_empty())
}

fn output(call: &Value) -> Value {
    let content = call["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = content.map(|part| text(&part["content"], "text")).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { call["rawOutput"].clone() } else { Value::from(texts.join("\n")) }
}

fn plan(update: &Value) -> String {
    let entries = update["entries"].as_array().into_iter().flatten();
    let line = |entry: &Value| {
        let mark = if text(entry, "status") == "completed" { 'x' } else { ' ' };
        format!("- [{mark}] {}\n", text(entry, "content"))
    };
    entries.map(line).collect()
}

/// Some agents end a turn that failed as if it had gone well, with the error as their last words. Then no model was
/// asked to the end, and they count no tokens.
fn hidden_error(result: &Value, said: &str) -> Option<Fault> {
    let counted = result["usage"].is_object();
    let told_of_none = result.get("usage").is_some_and(Value::is_null);
    let error = said.strip_prefix("Error: ");
    (!counted && (told_of_none || error.is_some())).then(|| Fault::of(None, "", error.unwrap_or(said)))
}

fn fault(asked: Asked, error: &Value) -> Fault {
    let code = error["code"].as_i64().unwrap_or(0);
    let data = &error["data"];
    let details = [text(data, "details"), text(data, "message"), text(error, "message")];
    let message = details.into_iter().find(|text| !text.is_empty()).unwrap_or("the agent gave no reason");
    let message = message.strip_prefix("Internal error: ").unwrap_or(message);
    if code == AUTH_REQUIRED {
        return Fault::new(ErrorKind::Auth, message);
    }
    let names = [text(data, "errorKind"), text(data, "errorName")];
    let name = names.into_iter().find(|name| !matches!(*name, "" | "APIError" | "invalid_request"));
    let status = u16::try_from(code).ok().filter(|code| (400..600).contains(code)).or_else(|| leading_status(message));
    let mut fault = Fault::of(status, name.unwrap_or(""), message);
    if fault.kind == ErrorKind::Other {
        fault.kind = match asked {
            Asked::OldSession => ErrorKind::UnknownSession,
            Asked::Model => ErrorKind::ModelNotFound,
            Asked::Initialize | Asked::NewSession | Asked::Mode | Asked::Prompt(_) => ErrorKind::Other,
        };
    }
    fault
}

/// `401 Incorrect API key`.
fn leading_status(message: &str) -> Option<u16> {
    let status = message.split(' ').next()?.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}
