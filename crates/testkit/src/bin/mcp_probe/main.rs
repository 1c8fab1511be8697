//! A tiny MCP server on standard input and output, written by hand: one tool that tells the word it was started with.
//!
//! `windlass-mcp-probe WORD`; the variable `PROBE_KEY` must be set, so that a test sees that both arrive.

#![allow(clippy::print_stdout, reason = "it talks over its standard output")]

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    let key = std::env::var("PROBE_KEY").unwrap_or_default();
    let said = format!("the word is {word} and the key is {key}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        // A message without an id is told, not asked.
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) else { continue };
        let mut answer = answer(&message, &said);
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}

fn answer(message: &Value, said: &str) -> Value {
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "result": {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "windlass-mcp-probe", "version": "1.0.0" },
        } }),
        "ping" => json!({ "result": {} }),
        "tools/list" => json!({ "result": { "tools": [{
            "name": "tell_the_word",
            "description": "Tells the word.",
            "inputSchema": { "type": "object", "properties": { "loudly": { "type": "boolean" } } },
        }] } }),
        "tools/call" if message["params"]["name"] == "tell_the_word" => {
            json!({ "result": { "content": [{ "type": "text", "text": said }] } })
        }
        method => json!({ "error": { "code": -32601, "message": format!("there is no {method}") } }),
    }
}
