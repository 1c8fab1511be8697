//! What Windlass sends to an ACP agent: the handshake, the prompt, and answers to its requests.
//!
//! One request at a time: each follows the answer to the one before. No file system and no terminal are offered, the
//! agent has its own; whatever else it requests is refused, never left waiting.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::agent::ErrorKind;
use windlass_core::profile::McpServer;

use super::Asked;
use crate::output::fault::Fault;
use crate::output::jsonl::text;
use crate::turn::{Progress, TurnRequest};

const VERSION: u64 = 1;
/// Modes in which an agent does not ask, by the names that agents give them.
const FREE_MODES: [&str; 3] = ["agent-full-access", "full-access", "yolo"];
/// Modes in which it changes nothing.
const LOOKING_MODES: [&str; 2] = ["read-only", "plan"];

/// What a conversation starts with.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub prompt: String,
    pub prompt_number: u64,
    pub cwd: String,
    /// The session to continue in.
    pub session: Option<String>,
    /// The process is in that session already.
    pub has_session: bool,
    pub model: Option<String>,
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub read_only: bool,
}

impl Opening {
    pub(crate) fn new(request: &TurnRequest<'_>, turn_id: &str, has_session: bool) -> Self {
        Self {
            prompt: request.prompt.to_owned(),
            prompt_number: number(turn_id),
            cwd: request.cwd.to_string_lossy().into_owned(),
            session: request.session.map(str::to_owned),
            has_session,
            model: request.agent.profile.model.clone().filter(|model| !model.is_empty()),
            mcp_servers: BTreeMap::new(),
            read_only: false,
        }
    }
}

/// Tells the prompts of one process apart.
fn number(turn_id: &str) -> u64 {
    // FNV-1a, cut to what every JSON library takes for a whole number.
    let hash = turn_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash >> 33
}

#[derive(Debug)]
pub(crate) struct Talk {
    opening: Opening,
    out: Vec<u8>,
    progress: Progress,
    /// The session of the prompt, once there is one.
    session: Option<String>,
    /// The modes and models that the agent reported when the session started.
    offers: Value,
    cancelled: bool,
}

impl Talk {
    pub(super) fn new(opening: Opening) -> Self {
        let session = opening.session.clone().filter(|_| opening.has_session);
        let mut talk = Self {
            opening,
            out: Vec::new(),
            progress: Progress::Working,
            session,
            offers: Value::Null,
            cancelled: false,
        };
        if talk.opening.has_session {
            talk.ask_prompt();
        } else {
            let info = json!({ "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION") });
            let nothing = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
            let params = json!({ "protocolVersion": VERSION, "clientCapabilities": nothing, "clientInfo": info });
            talk.ask(Asked::Initialize, "initialize", &params);
        }
        talk
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// Asks the agent to end its turn. False if it has none yet.
    pub(super) fn cancel(&mut self) -> bool {
        let Some(session) = &self.session else { return false };
        self.cancelled = true;
        let message = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
        self.say(&message);
        true
    }

    /// Continues after an answer; why it cannot, if it cannot.
    pub(super) fn answered(&mut self, asked: Asked, result: &Value, refused: bool) -> Option<Fault> {
        if refused {
            self.progress = Progress::Over;
            return None;
        }
        let next = match asked {
            Asked::Initialize => self.open_session(result),
            Asked::NewSession | Asked::OldSession => {
                let named = Some(text(result, "sessionId")).filter(|id| !id.is_empty()).map(str::to_owned);
                self.session = named.or_else(|| self.opening.session.clone());
                self.offers = result.clone();
                self.choose_mode()
            }
            Asked::Mode => self.choose_model(),
            Asked::Model => {
                self.ask_prompt();
                Ok(())
            }
            Asked::Prompt(number) => {
                if number == self.opening.prompt_number {
                    self.progress = Progress::Over;
                }
                Ok(())
            }
        };
        if next.is_err() {
            self.progress = Progress::Over;
        }
        next.err()
    }

    fn open_session(&mut self, agent: &Value) -> Result<(), Fault> {
        let version = agent["protocolVersion"].as_u64();
        if version != Some(VERSION) {
            let theirs = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
            let message = format!("the agent supports ACP version {theirs}; Windlass supports version {VERSION}");
            return Err(Fault::new(ErrorKind::Other, message));
        }
        let mut params = json!({ "cwd": self.opening.cwd, "mcpServers": self.servers() });
        let Some(session) = &self.opening.session else {
            self.ask(Asked::NewSession, "session/new", &params);
            return Ok(());
        };
        params["sessionId"] = json!(session);
        let can = &agent["agentCapabilities"];
        // Resuming is silent; loading replays everything.
        if can["sessionCapabilities"]["resume"].is_object() {
            self.ask(Asked::OldSession, "session/resume", &params);
        } else if can["loadSession"] == true {
            self.ask(Asked::OldSession, "session/load", &params);
        } else {
            let message = "the agent cannot resume a session after its process has exited";
            return Err(Fault::new(ErrorKind::UnknownSession, message));
        }
        Ok(())
    }

    fn servers(&self) -> Value {
        let server = |(name, server): (&String, &McpServer)| {
            let env: Vec<Value> =
                server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            json!({ "name": name, "command": server.command, "args": server.args, "env": env })
        };
        self.opening.mcp_servers.iter().map(server).collect()
    }

    fn choose_mode(&mut self) -> Result<(), Fault> {
        let wanted: &[&str] = if self.opening.read_only { &LOOKING_MODES } else { &FREE_MODES };
        let offered = &self.offers["modes"];
        let modes: Vec<&str> = ids(&offered["availableModes"], "id").collect();
        let mode = wanted.iter().find(|mode| modes.contains(mode) && text(offered, "currentModeId") != **mode);
        match mode {
            Some(mode) => {
                let params = json!({ "sessionId": self.session, "modeId": mode });
                self.ask(Asked::Mode, "session/set_mode", &params);
                Ok(())
            }
            None => self.choose_model(),
        }
    }

    fn choose_model(&mut self) -> Result<(), Fault> {
        let Some(model) = self.opening.model.clone() else {
            self.ask_prompt();
            return Ok(());
        };
        let options = self.offers["configOptions"].as_array().into_iter().flatten();
        let option = options.into_iter().find(|option| text(option, "category") == "model").cloned();
        let listed = ids(&self.offers["models"]["availableModels"], "modelId").map(str::to_owned);
        let in_option = option.iter().flat_map(|option| ids(&option["options"], "value")).map(str::to_owned);
        let (listed, in_option): (Vec<String>, Vec<String>) = (listed.collect(), in_option.collect());
        if let Some(option) = option.filter(|_| in_option.contains(&model)) {
            let params = json!({ "sessionId": self.session, "configId": option["id"], "value": model });
            self.ask(Asked::Model, "session/set_config_option", &params);
            return Ok(());
        }
        if listed.contains(&model) {
            let params = json!({ "sessionId": self.session, "modelId": model });
            self.ask(Asked::Model, "session/set_model", &params);
            return Ok(());
        }
        let known: Vec<String> = in_option.into_iter().chain(listed).collect();
        let has = if known.is_empty() {
            "does not support model selection over ACP".to_owned()
        } else {
            format!("has: {}", known.join(", "))
        };
        Err(Fault::new(ErrorKind::ModelNotFound, format!("the agent has no model `{model}`; it {has}")))
    }

    fn ask_prompt(&mut self) {
        let content = json!([{ "type": "text", "text": self.opening.prompt }]);
        let params = json!({ "sessionId": self.session, "prompt": content });
        self.ask(Asked::Prompt(self.opening.prompt_number), "session/prompt", &params);
    }

    /// Answers a permission request; in a loop, no user can.
    pub(super) fn permit(&mut self, request: &Value) {
        // Once, not always: an agent may keep what is allowed always in the user's own settings.
        let wanted =
            if self.opening.read_only { ["reject_once", "reject_always"] } else { ["allow_once", "allow_always"] };
        let options = request["params"]["options"].as_array();
        let of_kind = |kind: &str| options.into_iter().flatten().find(|option| text(option, "kind") == kind);
        let chosen = wanted.into_iter().find_map(of_kind).filter(|_| !self.cancelled);
        let outcome = match chosen {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        self.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "outcome": outcome } }));
    }

    pub(super) fn refuse(&mut self, request: &Value, method: &str) {
        let error = json!({ "code": -32601, "message": format!("Windlass does not support the method {method}") });
        self.say(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }

    fn ask(&mut self, asked: Asked, method: &str, params: &Value) {
        self.say(&json!({ "jsonrpc": "2.0", "id": asked.id(), "method": method, "params": params }));
    }

    fn say(&mut self, message: &Value) {
        self.out.extend(message.to_string().bytes());
        self.out.push(b'\n');
    }
}

fn ids<'a>(list: &'a Value, name: &'a str) -> impl Iterator<Item = &'a str> {
    list.as_array().into_iter().flatten().map(move |one| text(one, name))
}
