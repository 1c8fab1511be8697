//! Anthropic's Messages API.
//!
//! Invariant: block starts and stops pair up, except where the script cuts the connection.

use serde_json::{Value, json};

use super::asked::{Asked, Entry, Tool, content_text};
use super::reply::{Frame, Part, Reply, deltas, fresh_id};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().flat_map(|m| message_entries(&m["role"], &m["content"])).collect()
}

fn message_entries(role: &Value, content: &Value) -> Vec<Entry> {
    if role == "assistant" {
        return vec![Entry::Assistant];
    }
    // Claude joins messages of the user into one, so each block counts for itself.
    match content.as_array() {
        None => vec![Entry::User(content_text(content))],
        Some(blocks) => blocks
            .iter()
            .map(|block| match block["type"].as_str() {
                Some("tool_result") => Entry::Result,
                _ => Entry::User(block["text"].as_str().unwrap_or_default().to_owned()),
            })
            .collect(),
    }
}

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = |t: &Value| {
        Some(Tool { name: t["name"].as_str()?.to_owned(), namespace: None, schema: t["input_schema"].clone() })
    };
    tools.iter().filter_map(tool).collect()
}

fn usage(reply: &Reply) -> Value {
    let u = reply.usage;
    json!({
        "input_tokens": u.input - u.cached.min(u.input), "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": u.cached, "output_tokens": u.output, "service_tier": "standard",
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.has_calls() { "tool_use" } else { "end_turn" }
}

pub(super) fn whole(asked: &Asked, reply: &Reply) -> Value {
    let content: Vec<Value> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Think(t) => Some(json!({ "type": "thinking", "thinking": t, "signature": "c2NyaXB0ZWQ=" })),
            Part::Text(t) => Some(json!({ "type": "text", "text": t })),
            Part::Call(c) => Some(json!({ "type": "tool_use", "id": c.id, "name": c.name, "input": c.input.json() })),
            Part::Gate(_) => None,
        })
        .collect();
    json!({
        "id": fresh_id("msg_"), "type": "message", "role": "assistant", "model": asked.model, "content": content,
        "stop_reason": stop_reason(reply), "stop_sequence": null, "usage": usage(reply),
    })
}

pub(super) fn frames(asked: &Asked, reply: &Reply) -> Vec<Frame> {
    let mut stream = Stream::default();
    let mut first = usage(reply);
    first["output_tokens"] = json!(1);
    let message = json!({
        "id": fresh_id("msg_"), "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": first,
    });
    stream.send(json!({ "type": "message_start", "message": message }));
    stream.send(json!({ "type": "ping" }));
    for part in &reply.parts {
        match part {
            Part::Think(text) => {
                stream.open("thinking", json!({ "type": "thinking", "thinking": "", "signature": "" }));
                for piece in deltas(text) {
                    stream.delta(json!({ "type": "thinking_delta", "thinking": piece }));
                }
                stream.delta(json!({ "type": "signature_delta", "signature": "c2NyaXB0ZWQ=" }));
            }
            Part::Text(text) => {
                stream.open("text", json!({ "type": "text", "text": "" }));
                for piece in deltas(text) {
                    stream.delta(json!({ "type": "text_delta", "text": piece }));
                }
            }
            Part::Call(call) => {
                stream.close();
                stream.open("tool", json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} }));
                for piece in deltas(&call.input.text()) {
                    stream.delta(json!({ "type": "input_json_delta", "partial_json": piece }));
                }
            }
            Part::Gate(name) => stream.frames.push(Frame::Gate(name.clone())),
        }
    }
    if reply.cut {
        stream.frames.push(Frame::Cut);
        return stream.frames;
    }
    stream.close();
    let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
    stream.send(json!({ "type": "message_delta", "delta": delta, "usage": usage(reply) }));
    stream.send(json!({ "type": "message_stop" }));
    stream.frames
}

#[derive(Default)]
struct Stream {
    frames: Vec<Frame>,
    index: usize,
    open: Option<&'static str>,
}

impl Stream {
    fn send(&mut self, data: Value) {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        self.frames.push(Frame::event(&name, &data));
    }

    /// Starts a block unless one of this kind is open: text continues after a gate.
    fn open(&mut self, kind: &'static str, block: Value) {
        if self.open == Some(kind) {
            return;
        }
        self.close();
        self.send(json!({ "type": "content_block_start", "index": self.index, "content_block": block }));
        self.open = Some(kind);
    }

    fn delta(&mut self, delta: Value) {
        self.send(json!({ "type": "content_block_delta", "index": self.index, "delta": delta }));
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.send(json!({ "type": "content_block_stop", "index": self.index }));
            self.index += 1;
        }
    }
}
