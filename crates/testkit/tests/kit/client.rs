//! A client that speaks each API just enough to ask and to understand what was streamed.
//!
//! Invariant: it reads the answers in its own way and shares no code with the server.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use windlass_testkit::model::ModelServer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

pub(crate) const APIS: [Api; 4] = [Api::Anthropic, Api::Responses, Api::Chat, Api::Gemini];

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Api {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Api::Anthropic => "/v1/messages",
            Api::Responses => "/v1/responses",
            Api::Chat => "/v1/chat/completions",
            Api::Gemini => "/v1beta/models/m:streamGenerateContent",
        }
    }

    /// A request after these prompts, each but the last one answered, and `steps` calls of a tool since.
    pub(crate) fn request(self, prompts: &[&str], steps: usize, stream: bool) -> Value {
        let schema = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
        let mut items = Vec::new();
        for (at, prompt) in prompts.iter().enumerate() {
            if at > 0 {
                items.push(self.said());
            }
            items.push(self.asked(prompt));
        }
        for _ in 0..steps {
            items.extend(self.called());
        }
        match self {
            Api::Anthropic => json!({ "model": "m", "stream": stream, "messages": items,
                "tools": [{ "name": "Bash", "input_schema": schema }] }),
            Api::Responses => json!({ "model": "m", "stream": stream, "input": items,
                "tools": [{ "type": "function", "name": "exec_command", "parameters": schema }] }),
            Api::Chat => json!({ "model": "m", "stream": stream, "messages": items,
                "tools": [{ "type": "function", "function": { "name": "bash", "parameters": schema } }] }),
            Api::Gemini => json!({ "contents": items, "whole": !stream, "tools": [{ "functionDeclarations": [
                { "name": "run_shell_command", "parametersJsonSchema": schema }] }] }),
        }
    }

    fn asked(self, prompt: &str) -> Value {
        match self {
            Api::Anthropic | Api::Chat => json!({ "role": "user", "content": prompt }),
            Api::Responses => json!({ "type": "message", "role": "user",
                "content": [{ "type": "input_text", "text": prompt }] }),
            Api::Gemini => json!({ "role": "user", "parts": [{ "text": prompt }] }),
        }
    }

    fn said(self) -> Value {
        match self {
            Api::Anthropic | Api::Chat => json!({ "role": "assistant", "content": "so be it" }),
            Api::Responses => json!({ "type": "message", "role": "assistant",
                "content": [{ "type": "output_text", "text": "so be it" }] }),
            Api::Gemini => json!({ "role": "model", "parts": [{ "text": "so be it" }] }),
        }
    }

    fn called(self) -> Vec<Value> {
        match self {
            Api::Anthropic => vec![
                json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Bash", "input": {} }] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "ok" }] }),
            ],
            Api::Responses => vec![
                json!({ "type": "function_call", "call_id": "t", "name": "exec_command", "arguments": "{}" }),
                json!({ "type": "function_call_output", "call_id": "t", "output": "ok" }),
            ],
            Api::Chat => vec![
                json!({ "role": "assistant", "content": null, "tool_calls": [] }),
                json!({ "role": "tool", "tool_call_id": "t", "content": "ok" }),
            ],
            Api::Gemini => vec![
                json!({ "role": "model", "parts": [{ "functionCall": { "name": "run_shell_command", "args": {} } }] }),
                json!({ "role": "user", "parts": [{ "functionResponse": { "name": "run_shell_command" } }] }),
            ],
        }
    }

    /// The text of a streamed answer, put together from its pieces.
    pub(crate) fn text(self, body: &str) -> String {
        let piece = |event: &Value| match self {
            Api::Anthropic => event["delta"]["text"].as_str().map(str::to_owned),
            Api::Responses => {
                let is_text = event["type"] == "response.output_text.delta";
                is_text.then(|| event["delta"].as_str().unwrap_or_default().to_owned())
            }
            Api::Chat => event["choices"][0]["delta"]["content"].as_str().map(str::to_owned),
            Api::Gemini => event["candidates"][0]["content"]["parts"][0]["text"].as_str().map(str::to_owned),
        };
        events(body).iter().filter_map(piece).collect()
    }

    /// The command of the shell call in a streamed answer.
    pub(crate) fn command(self, body: &str) -> Option<String> {
        let events = events(body);
        if self == Api::Gemini {
            let calls = events.iter().map(|e| &e["candidates"][0]["content"]["parts"][0]["functionCall"]);
            return calls.filter_map(|c| c["args"]["command"].as_str().map(str::to_owned)).next();
        }
        let piece = |event: &Value| match self {
            Api::Anthropic => event["delta"]["partial_json"].as_str().map(str::to_owned),
            Api::Responses => {
                let is_call = event["type"] == "response.function_call_arguments.delta";
                is_call.then(|| event["delta"].as_str().unwrap_or_default().to_owned())
            }
            Api::Chat | Api::Gemini => {
                event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str().map(str::to_owned)
            }
        };
        let input: String = events.iter().filter_map(piece).collect();
        let input: Value = serde_json::from_str(&input).ok()?;
        input["command"].as_str().map(str::to_owned)
    }
}

fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|l| l.strip_prefix("data: "));
    data.filter_map(|d| serde_json::from_str(d).ok()).collect()
}

pub(crate) fn post(server: &ModelServer, api: Api, request: &Value) -> Answer {
    let whole = request["whole"] == true;
    let path = if whole { "/v1beta/models/m:generateContent" } else { api.path() };
    post_path(&server.url(), path, request)
}

/// Posts and reads to the end of a whole answer.
pub(crate) fn post_path(url: &str, path: &str, request: &Value) -> Answer {
    let answer = exchange(url, path, request);
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("an answer has a status");
    let chunked = head.contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, head: format!("{head}\r\n"), body }
}

/// Posts and reads whatever comes before the connection ends.
pub(crate) fn post_to_cut(url: &str, api: Api, request: &Value) -> String {
    exchange(url, api.path(), request)
}

fn exchange(url: &str, path: &str, request: &Value) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("the server listens");
    let body = request.to_string();
    write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("the server reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").expect("a chunk has a size");
        let size = usize::from_str_radix(size, 16).expect("a size is a number");
        if size == 0 {
            return whole;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
}
