//! Google's Gemini API.
//!
//! Invariant: only the last chunk has a finish reason and the usage, as the service does it.

use serde_json::{Value, json};

use super::asked::{Asked, Entry, Tool, content_text};
use super::reply::{Frame, Part, Reply, deltas, fresh_id};

/// The model is in the path.
pub(super) fn model(path: &str) -> String {
    let after = path.rsplit_once("/models/").map_or("", |(_, rest)| rest);
    after.split(':').next().unwrap_or_default().to_owned()
}

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let contents = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |content: &Value| {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        if content["role"] == "model" {
            Entry::Assistant
        } else if parts.iter().any(|p| p.get("functionResponse").is_some()) {
            Entry::Result
        } else {
            Entry::User(content_text(&content["parts"]))
        }
    };
    contents.iter().map(entry).collect()
}

pub(super) fn tools(body: &Value) -> Vec<Tool> {
    let groups = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let declared = groups.iter().filter_map(|g| g["functionDeclarations"].as_array()).flatten();
    let tool = |t: &Value| {
        let schema = t.get("parametersJsonSchema").or_else(|| t.get("parameters")).cloned().unwrap_or_default();
        Some(Tool { name: t["name"].as_str()?.to_owned(), namespace: None, schema })
    };
    declared.filter_map(tool).collect()
}

fn usage(reply: &Reply) -> Value {
    let u = reply.usage;
    json!({
        "promptTokenCount": u.input, "cachedContentTokenCount": u.cached,
        "candidatesTokenCount": u.output - u.thinking.min(u.output), "thoughtsTokenCount": u.thinking,
        "totalTokenCount": u.input + u.output,
    })
}

fn part(of: &Part) -> Option<Value> {
    match of {
        Part::Think(t) => Some(json!({ "text": t, "thought": true })),
        Part::Text(t) => Some(json!({ "text": t })),
        Part::Call(c) => {
            let call = json!({ "id": c.id, "name": c.name, "args": c.input.json() });
            Some(json!({ "functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ=" }))
        }
        Part::Gate(_) => None,
    }
}

pub(super) fn whole(asked: &Asked, reply: &Reply) -> Value {
    let parts: Vec<Value> = reply.parts.iter().filter_map(part).collect();
    let content = json!({ "role": "model", "parts": parts });
    json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }], "usageMetadata": usage(reply),
        "modelVersion": asked.model, "responseId": fresh_id("resp-"),
    })
}

pub(super) fn frames(asked: &Asked, reply: &Reply) -> Vec<Frame> {
    let id = fresh_id("resp-");
    let chunk = |parts: Vec<Value>| {
        let candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        json!({ "candidates": [candidate], "modelVersion": asked.model, "responseId": id })
    };
    let mut frames = Vec::new();
    for one in &reply.parts {
        match one {
            Part::Text(text) => {
                frames.extend(deltas(text).into_iter().map(|t| Frame::data(&chunk(vec![json!({ "text": t })]))));
            }
            Part::Gate(name) => frames.push(Frame::Gate(name.clone())),
            Part::Think(_) | Part::Call(_) => frames.extend(part(one).map(|p| Frame::data(&chunk(vec![p])))),
        }
    }
    if reply.cut {
        frames.push(Frame::Cut);
        return frames;
    }
    let mut last = chunk(vec![json!({ "text": "" })]);
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = usage(reply);
    frames.push(Frame::data(&last));
    frames
}
