//! OpenAI's Chat Completions API.
//!
//! Invariant: the last chunk before `[DONE]` carries the usage, whether it was requested or not.

use serde_json::{Value, json};

use super::asked::{Asked, Entry, Tool, content_text};
use super::reply::{Frame, Part, Reply, deltas, fresh_id};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |m: &Value| match m["role"].as_str()? {
        "user" => Some(Entry::User(content_text(&m["content"]))),
        "assistant" => Some(Entry::Assistant),
        "tool" | "function" => Some(Entry::Result),
        _ => None,
    };
    messages.iter().filter_map(entry).collect()
}

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = |t: &Value| {
        let function = &t[t["type"].as_str().unwrap_or("function")];
        let schema = function["parameters"].clone();
        Some(Tool { name: function["name"].as_str()?.to_owned(), namespace: None, schema })
    };
    tools.iter().filter_map(tool).collect()
}

/// By how its instructions start; a request for a summary has others.
pub(super) fn is_of_aider(body: &Value) -> bool {
    let first = content_text(&body["messages"][0]["content"]);
    first.starts_with("Act as an expert ")
}

fn usage(reply: &Reply) -> Value {
    let u = reply.usage;
    json!({
        "prompt_tokens": u.input, "completion_tokens": u.output, "total_tokens": u.input + u.output,
        "prompt_tokens_details": { "cached_tokens": u.cached },
        "completion_tokens_details": { "reasoning_tokens": u.thinking },
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.has_calls() { "tool_calls" } else { "stop" }
}

pub(super) fn whole(asked: &Asked, reply: &Reply) -> Value {
    let mut message = json!({ "role": "assistant", "content": reply.whole_text() });
    let calls: Vec<Value> = reply
        .calls()
        .map(|c| json!({ "id": c.id, "type": "function", "function": { "name": c.name, "arguments": c.input.text() } }))
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": fresh_id("chatcmpl-"), "object": "chat.completion", "created": 1_700_000_000, "model": asked.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(reply) }], "usage": usage(reply),
    })
}

pub(super) fn frames(asked: &Asked, reply: &Reply) -> Vec<Frame> {
    let id = fresh_id("chatcmpl-");
    let chunk = |choices: Value| {
        json!({
            "id": id, "object": "chat.completion.chunk", "created": 1_700_000_000, "model": asked.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value| Frame::data(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])));
    let mut frames = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let mut calls = 0;
    for part in &reply.parts {
        match part {
            Part::Think(text) => {
                frames.extend(deltas(text).into_iter().map(|t| delta(json!({ "reasoning_content": t }))))
            }
            Part::Text(text) => frames.extend(deltas(text).into_iter().map(|t| delta(json!({ "content": t })))),
            Part::Call(call) => {
                let function = json!({ "name": call.name, "arguments": "" });
                let start = json!({ "index": calls, "id": call.id, "type": "function", "function": function });
                frames.push(delta(json!({ "tool_calls": [start] })));
                for piece in deltas(&call.input.text()) {
                    let more = json!({ "index": calls, "function": { "arguments": piece } });
                    frames.push(delta(json!({ "tool_calls": [more] })));
                }
                calls += 1;
            }
            Part::Gate(name) => frames.push(Frame::Gate(name.clone())),
        }
    }
    if reply.cut {
        frames.push(Frame::Cut);
        return frames;
    }
    frames.push(Frame::data(&chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish_reason(reply) }]))));
    let mut last = chunk(json!([]));
    last["usage"] = usage(reply);
    frames.push(Frame::data(&last));
    frames.push(Frame::Send("data: [DONE]\n\n".to_owned()));
    frames
}
