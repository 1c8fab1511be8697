//! The lines of `claude --input-format stream-json --output-format stream-json`.

use std::ffi::OsString;

use serde_json::{Value, json};
use windlass_testkit::neutral::NeutralEvent;
use windlass_testkit::script::EndTurn;

use super::{Lines, Voice, say};

pub(super) struct Claude {
    session: String,
    /// Of the prompt that is being answered.
    uuid: Value,
    messages: u32,
    said: String,
}

impl Claude {
    pub(super) fn new(args: &[OsString]) -> Claude {
        let after = |flag: &str| {
            let at = args.iter().position(|arg| arg == flag)?;
            args.get(at + 1).map(|value| value.to_string_lossy().into_owned())
        };
        let session = after("--resume").or_else(|| after("--session-id")).unwrap_or_else(|| "no-session".to_owned());
        Claude { session, uuid: Value::Null, messages: 0, said: String::new() }
    }

    fn message(&mut self, block: &Value) -> Result<(), String> {
        self.messages += 1;
        say(&json!({
            "type": "assistant", "session_id": self.session, "parent_tool_use_id": null,
            "message": {
                "id": format!("m{}", self.messages), "model": "claude-sonnet-4-5", "role": "assistant",
                "content": [block], "usage": { "input_tokens": 1, "output_tokens": 1 },
            },
        }))
    }
}

impl Voice for Claude {
    fn prompt(&mut self, lines: &mut Lines) -> Result<Option<String>, String> {
        while let Some(line) = lines.next()? {
            if line["type"] != "user" {
                continue;
            }
            let text = line["message"]["content"][0]["text"].as_str().ok_or("a prompt without text")?;
            self.uuid = line["uuid"].clone();
            say(&json!({ "type": "system", "subtype": "init", "session_id": self.session }))?;
            return Ok(Some(text.to_owned()));
        }
        Ok(None)
    }

    fn event(&mut self, event: &NeutralEvent) -> Result<(), String> {
        match event {
            NeutralEvent::Text { text } => {
                self.said.clone_from(text);
                self.message(&json!({ "type": "text", "text": text }))
            }
            NeutralEvent::Thinking { text } => self.message(&json!({ "type": "thinking", "thinking": text })),
            NeutralEvent::ToolUse { id, name, input } => {
                self.message(&json!({ "type": "tool_use", "id": id, "name": name, "input": { "command": input } }))
            }
            NeutralEvent::ToolResult { id, output, is_error } => say(&json!({
                "type": "user", "session_id": self.session,
                "message": { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error },
                ] },
            })),
            other @ (NeutralEvent::Session { .. }
            | NeutralEvent::Usage { .. }
            | NeutralEvent::Error { .. }
            | NeutralEvent::Result { .. }) => Err(format!("claude has no line for {other:?}")),
        }
    }

    fn ask(&mut self, _tool: &str, _lines: &mut Lines) -> Result<String, String> {
        Err("claude is started without permission prompts".to_owned())
    }

    fn wait_cancel(&mut self, lines: &mut Lines) -> Result<(), String> {
        while let Some(line) = lines.next()? {
            if line["type"] == "control_request" && line["request"]["subtype"] == "interrupt" {
                let response = json!({ "subtype": "success", "request_id": line["request_id"] });
                return say(&json!({ "type": "control_response", "response": response }));
            }
        }
        Err("the input ended".to_owned())
    }

    fn end(&mut self, end: &EndTurn) -> Result<(), String> {
        let is_error = end.error.is_some() || end.stop_reason.is_some();
        let usage = json!({ "inputTokens": self.messages, "outputTokens": self.messages, "costUSD": 0.01 });
        say(&json!({
            "type": "result", "subtype": if is_error { "error_during_execution" } else { "success" },
            "is_error": is_error, "result": end.error.as_deref().unwrap_or(&self.said),
            "session_id": self.session, "user_message_uuid": self.uuid, "queued_turn_count": 0,
            "model_usage_since_last_result": { "claude-sonnet-4-5": usage },
        }))?;
        self.messages = 0;
        Ok(())
    }
}
