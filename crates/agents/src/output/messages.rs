//! The message format that claude has and qwen took over: content blocks, tool results, sub-agents.
//!
//! A sub-agent's words are shown as thoughts: only the agent itself can promise anything.

use serde_json::Value;

use super::jsonl::{Turn, text};

/// Whether a line is about a sub-agent.
pub(crate) fn of_sub_agent(line: &Value) -> bool {
    !text(line, "parent_tool_use_id").is_empty()
}

/// The content of an assistant message.
pub(crate) fn assistant(line: &Value, turn: &mut Turn<'_>) {
    let content = &line["message"]["content"];
    let said = |text: &str, turn: &mut Turn<'_>| {
        if of_sub_agent(line) { turn.thinking(text) } else { turn.text(text) }
    };
    if let Some(plain) = content.as_str() {
        said(plain, turn);
    }
    for block in content.as_array().into_iter().flatten() {
        match text(block, "type") {
            "text" => said(text(block, "text"), turn),
            "thinking" => turn.thinking(text(block, "thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                turn.tool_use(text(block, "id"), text(block, "name"), &block["input"]);
            }
            _ => {}
        }
    }
}

/// The results of tools, which come as a message of the user.
pub(crate) fn user(line: &Value, turn: &mut Turn<'_>) {
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        if text(block, "type") == "tool_result" {
            let failed = block["is_error"].as_bool().unwrap_or(false);
            turn.tool_result(text(block, "tool_use_id"), &block["content"], failed);
        }
    }
}
