//! OpenAI's Responses API.
//!
//! Invariant: every item that is added is done again, except where the script cuts the connection; the completed
//! response carries the usage.

use serde_json::{Value, json};

use super::asked::{Asked, Entry, Tool, content_text};
use super::reply::{Call, Frame, Input, Part, Reply, deltas, fresh_id};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    if let Some(text) = body["input"].as_str() {
        return vec![Entry::User(text.to_owned())];
    }
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => Some(Entry::User(content_text(&item["content"]))),
            ("message", Some("assistant")) => Some(Entry::Assistant),
            ("message", _) => None,
            (k, _) if k.ends_with("_output") => Some(Entry::Result),
            (k, _) if k.ends_with("_call") => Some(Entry::Assistant),
            _ => None,
        }
    };
    items.iter().filter_map(entry).collect()
}

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = |t: &Value, namespace: Option<&str>| {
        let name = t["name"].as_str().or_else(|| t["type"].as_str())?;
        let schema = t["parameters"].clone();
        Some(Tool { name: name.to_owned(), namespace: namespace.map(str::to_owned), schema })
    };
    let group = |t: &Value| -> Vec<Tool> {
        match t["tools"].as_array() {
            Some(inner) => inner.iter().filter_map(|i| tool(i, t["name"].as_str())).collect(),
            None => tool(t, None).into_iter().collect(),
        }
    };
    tools.iter().flat_map(group).collect()
}

fn usage(reply: &Reply) -> Value {
    let u = reply.usage;
    json!({
        "input_tokens": u.input, "input_tokens_details": { "cached_tokens": u.cached },
        "output_tokens": u.output, "output_tokens_details": { "reasoning_tokens": u.thinking },
        "total_tokens": u.input + u.output,
    })
}

fn message_item(id: &str, text: &str, status: &str) -> Value {
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    let content = if status == "completed" { json!([part]) } else { json!([]) };
    json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content })
}

fn reasoning_item(id: &str, text: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [{ "type": "summary_text", "text": text }] })
}

fn call_item(id: &str, call: &Call, arguments: &str) -> Value {
    let mut item = match call.input {
        Input::Json(_) => json!({ "type": "function_call", "arguments": arguments }),
        Input::Text(_) => json!({ "type": "custom_tool_call", "input": arguments }),
    };
    item["id"] = json!(id);
    item["call_id"] = json!(call.id);
    item["name"] = json!(call.name);
    item["status"] = json!("completed");
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn response(id: &str, asked: &Asked, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": id, "object": "response", "created_at": 1_700_000_000, "status": status, "error": null,
        "incomplete_details": null, "model": asked.model, "output": output,
    })
}

fn items(reply: &Reply) -> Vec<Value> {
    let item = |part: &Part| match part {
        Part::Think(text) => Some(reasoning_item(&fresh_id("rs_"), text)),
        Part::Call(call) => Some(call_item(&fresh_id("fc_"), call, &call.input.text())),
        Part::Text(_) | Part::Gate(_) => None,
    };
    let text = reply.whole_text();
    let said = (!text.is_empty()).then(|| message_item(&fresh_id("msg_"), &text, "completed"));
    said.into_iter().chain(reply.parts.iter().filter_map(item)).collect()
}

pub(super) fn whole(asked: &Asked, reply: &Reply) -> Value {
    let mut whole = response(&fresh_id("resp_"), asked, "completed", items(reply));
    whole["usage"] = usage(reply);
    whole
}

pub(super) fn frames(asked: &Asked, reply: &Reply) -> Vec<Frame> {
    let id = fresh_id("resp_");
    let mut stream = Stream::default();
    stream.send(json!({ "type": "response.created", "response": response(&id, asked, "in_progress", vec![]) }));
    for part in &reply.parts {
        match part {
            Part::Think(text) => {
                stream.close_message();
                stream.item(&reasoning_item(&fresh_id("rs_"), text));
            }
            Part::Text(text) => {
                for piece in deltas(text) {
                    stream.say(&piece);
                }
            }
            Part::Call(call) => {
                stream.close_message();
                if reply.cut {
                    stream.half_call(call);
                } else {
                    stream.call(call);
                }
            }
            Part::Gate(name) => stream.frames.push(Frame::Gate(name.clone())),
        }
    }
    if reply.cut {
        stream.frames.push(Frame::Cut);
        return stream.frames;
    }
    stream.close_message();
    let mut done = response(&id, asked, "completed", std::mem::take(&mut stream.done));
    done["usage"] = usage(reply);
    stream.send(json!({ "type": "response.completed", "response": done }));
    stream.frames
}

#[derive(Default)]
struct Stream {
    frames: Vec<Frame>,
    sequence: usize,
    /// The message that is being said: its id and what was said of it.
    message: Option<(String, String)>,
    done: Vec<Value>,
}

impl Stream {
    fn send(&mut self, mut data: Value) {
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        self.frames.push(Frame::event(&name, &data));
    }

    fn added(&mut self, item: &Value) {
        let index = self.done.len();
        self.send(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
    }

    fn finish(&mut self, item: Value) {
        let index = self.done.len();
        self.send(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        self.done.push(item);
    }

    fn item(&mut self, item: &Value) {
        self.added(item);
        self.finish(item.clone());
    }

    fn say(&mut self, piece: &str) {
        if self.message.is_none() {
            let id = fresh_id("msg_");
            self.added(&message_item(&id, "", "in_progress"));
            let part = json!({ "type": "output_text", "text": "", "annotations": [] });
            self.send(json!({ "type": "response.content_part.added", "item_id": id, "output_index": self.done.len(),
                "content_index": 0, "part": part }));
            self.message = Some((id, String::new()));
        }
        let Some((id, said)) = &mut self.message else { return };
        said.push_str(piece);
        let id = id.clone();
        self.send(json!({ "type": "response.output_text.delta", "item_id": id, "output_index": self.done.len(),
            "content_index": 0, "delta": piece }));
    }

    fn close_message(&mut self) {
        let Some((id, text)) = self.message.take() else { return };
        let index = self.done.len();
        let part = json!({ "type": "output_text", "text": text, "annotations": [] });
        self.send(json!({ "type": "response.output_text.done", "item_id": id, "output_index": index,
            "content_index": 0, "text": text }));
        self.send(json!({ "type": "response.content_part.done", "item_id": id, "output_index": index,
            "content_index": 0, "part": part }));
        self.finish(message_item(&id, &text, "completed"));
    }

    fn call(&mut self, call: &Call) {
        let id = self.half_call(call);
        let (kind, key) = call_events(call);
        let text = call.input.text();
        self.send(json!({ "type": format!("response.{kind}.done"), "item_id": id, "output_index": self.done.len(),
            key: text }));
        self.finish(call_item(&id, call, &text));
    }

    fn half_call(&mut self, call: &Call) -> String {
        let id = fresh_id("fc_");
        let (kind, _) = call_events(call);
        self.added(&call_item(&id, call, ""));
        for piece in deltas(&call.input.text()) {
            self.send(json!({ "type": format!("response.{kind}.delta"), "item_id": id,
                "output_index": self.done.len(), "delta": piece }));
        }
        id
    }
}

fn call_events(call: &Call) -> (&'static str, &'static str) {
    match call.input {
        Input::Json(_) => ("function_call_arguments", "arguments"),
        Input::Text(_) => ("custom_tool_call_input", "input"),
    }
}
