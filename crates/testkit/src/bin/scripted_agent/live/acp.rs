//! The Agent Client Protocol, from the agent's side: JSON-RPC, one message a line.

use serde_json::{Value, json};
use windlass_testkit::neutral::NeutralEvent;
use windlass_testkit::script::{AcpAbilities, EndTurn};

use super::{Lines, Voice, say};

const OLD_WORDS: &str = "Words of an earlier turn.\n<promise>COMPLETE</promise>\n";

pub(super) struct Acp {
    abilities: AcpAbilities,
    session: String,
    /// Of the prompt that is being answered.
    id: Value,
    asked: u32,
}

impl Acp {
    pub(super) fn new(abilities: AcpAbilities) -> Acp {
        Acp { abilities, session: String::new(), id: Value::Null, asked: 0 }
    }

    fn answer(id: &Value, result: &Value) -> Result<(), String> {
        say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn refuse(id: &Value, code: i32, message: &str) -> Result<(), String> {
        say(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    }

    fn update(&self, update: &Value) -> Result<(), String> {
        let params = json!({ "sessionId": self.session, "update": update });
        say(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
    }

    fn chunk(&self, kind: &str, text: &str) -> Result<(), String> {
        self.update(&json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }))
    }

    /// Takes one request that is not a prompt.
    fn serve(&mut self, line: &Value) -> Result<(), String> {
        let (id, params) = (&line["id"], &line["params"]);
        match line["method"].as_str().unwrap_or_default() {
            "initialize" => Self::answer(
                id,
                &json!({
                    "protocolVersion": 1,
                    "agentCapabilities": {
                        "loadSession": self.abilities.load,
                        "sessionCapabilities": if self.abilities.resume { json!({ "resume": {} }) } else { json!({}) },
                    },
                    "agentInfo": { "name": "scripted", "version": "0.1.0" },
                    "authMethods": [{ "id": "login", "name": "Log in" }],
                }),
            ),
            "session/new" | "session/load" | "session/resume" if self.abilities.logged_out => {
                Self::refuse(id, -32000, "Authentication required")
            }
            "session/new" => {
                self.session = format!("session-{}", windlass_testkit::ProcessId::own().start_ticks);
                Self::answer(id, &json!({ "sessionId": self.session }))
            }
            "session/load" | "session/resume" => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                if !session.starts_with("session-") {
                    return Self::refuse(id, -32602, "Session not found");
                }
                session.clone_into(&mut self.session);
                if line["method"] == "session/load" {
                    self.chunk("user_message_chunk", "an earlier prompt")?;
                    self.chunk("agent_message_chunk", OLD_WORDS)?;
                }
                Self::answer(id, &json!({}))
            }
            _ if id.is_null() => Ok(()),
            method => Self::refuse(id, -32601, &format!("no method {method}")),
        }
    }
}

impl Voice for Acp {
    fn prompt(&mut self, lines: &mut Lines) -> Result<Option<String>, String> {
        while let Some(line) = lines.next()? {
            if line["method"] != "session/prompt" {
                self.serve(&line)?;
                continue;
            }
            if line["params"]["sessionId"] != *self.session {
                Self::refuse(&line["id"], -32602, "Session not found")?;
                continue;
            }
            self.id = line["id"].clone();
            let text = line["params"]["prompt"][0]["text"].as_str().ok_or("a prompt without text")?;
            return Ok(Some(text.to_owned()));
        }
        Ok(None)
    }

    fn event(&mut self, event: &NeutralEvent) -> Result<(), String> {
        match event {
            NeutralEvent::Text { text } => self.chunk("agent_message_chunk", &format!("{text}\n")),
            NeutralEvent::Thinking { text } => self.chunk("agent_thought_chunk", text),
            NeutralEvent::ToolUse { id, name, input } => self.update(&json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "title": name, "kind": "execute",
                "status": "pending", "rawInput": { "command": input },
            })),
            NeutralEvent::ToolResult { id, output, is_error } => self.update(&json!({
                "sessionUpdate": "tool_call_update", "toolCallId": id,
                "status": if *is_error { "failed" } else { "completed" },
                "content": [{ "type": "content", "content": { "type": "text", "text": output } }],
            })),
            other @ (NeutralEvent::Session { .. }
            | NeutralEvent::Usage { .. }
            | NeutralEvent::Error { .. }
            | NeutralEvent::Result { .. }) => Err(format!("ACP has no update for {other:?}")),
        }
    }

    fn ask(&mut self, tool: &str, lines: &mut Lines) -> Result<String, String> {
        self.asked += 1;
        let id = json!(format!("ask-{}", self.asked));
        let options = json!([
            { "optionId": "always", "name": "Always", "kind": "allow_always" },
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": self.session, "toolCall": { "toolCallId": tool }, "options": options });
        say(&json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params }))?;
        // A request that the client has never offered to serve is to be refused, not to be left waiting.
        say(&json!({ "jsonrpc": "2.0", "id": "read", "method": "fs/read_text_file", "params": { "path": "/x" } }))?;
        let (mut answer, mut refused) = (None, false);
        while answer.is_none() || !refused {
            let line = lines.next()?.ok_or("the input ended")?;
            if line["id"] == id {
                let outcome = &line["result"]["outcome"];
                answer = Some(outcome["optionId"].as_str().unwrap_or("none").to_owned());
            } else if line["id"] == "read" {
                refused = line["error"]["code"] == -32601;
            }
        }
        Ok(answer.unwrap_or_default())
    }

    fn wait_cancel(&mut self, lines: &mut Lines) -> Result<(), String> {
        while let Some(line) = lines.next()? {
            if line["method"] == "session/cancel" {
                return Ok(());
            }
        }
        Err("the input ended".to_owned())
    }

    fn end(&mut self, end: &EndTurn) -> Result<(), String> {
        if let Some(message) = &end.error {
            return Self::refuse(&self.id, -32603, message);
        }
        let reason = end.stop_reason.as_deref().unwrap_or("end_turn");
        Self::answer(&self.id, &json!({ "stopReason": reason }))
    }
}
