//! The two forms in which models are asked: OpenAI's Chat Completions and Anthropic's Messages.

use serde_json::{Value, json};
use windlass_core::summary::{Protocol, Question};
use windlass_core::text::truncate_str;

use super::failure::CallError;

const LONGEST_DETAIL: usize = 300;
/// What reasoning may take of OpenAI's limit, which counts it in.
const REASONING_TOKENS: u32 = 4_096;

/// The address to ask, from the base that the user gave with or without its usual tail.
pub(super) fn path(protocol: Protocol, base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    let (tail, whole) = match protocol {
        Protocol::Openai => ("/chat/completions", "/chat/completions"),
        Protocol::Anthropic if base.ends_with("/v1") => ("/messages", "/v1/messages"),
        Protocol::Anthropic => ("/v1/messages", "/v1/messages"),
    };
    if base.ends_with(whole) { base.to_owned() } else { format!("{base}{tail}") }
}

/// How the limit of an answer's length is called. OpenAI's newer models refuse the name that all others know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitName {
    MaxTokens,
    MaxCompletionTokens,
}

pub(super) fn body(protocol: Protocol, model: &str, question: &Question, most: u32, limit: LimitName) -> Value {
    let user = json!({ "role": "user", "content": question.user });
    match protocol {
        Protocol::Anthropic => {
            json!({ "model": model, "max_tokens": most, "system": question.system, "messages": [user] })
        }
        Protocol::Openai => {
            let system = json!({ "role": "system", "content": question.system });
            let messages = json!([system, user]);
            match limit {
                LimitName::MaxTokens => json!({ "model": model, "max_tokens": most, "messages": messages }),
                LimitName::MaxCompletionTokens => {
                    let most = most.saturating_add(REASONING_TOKENS);
                    json!({ "model": model, "max_completion_tokens": most, "messages": messages })
                }
            }
        }
    }
}

/// The text of an answer.
pub(super) fn text(protocol: Protocol, body: &[u8]) -> Result<String, CallError> {
    let value: Value = serde_json::from_slice(body).map_err(|error| CallError::NotUnderstood(error.to_string()))?;
    let content = match protocol {
        Protocol::Openai => value.pointer("/choices/0/message/content"),
        Protocol::Anthropic => value.get("content"),
    };
    let text = match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")).filter_map(Value::as_str).collect()
        }
        Some(Value::Null) => String::new(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            return Err(CallError::NotUnderstood("no content".to_owned()));
        }
    };
    if text.trim().is_empty() { Err(CallError::Empty) } else { Ok(text) }
}

/// What a refusal says, on one short line.
pub(super) fn detail(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let said = [value.pointer("/error/message"), value.get("error"), value.get("message"), value.get("detail")]
        .into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    let line: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "no reason given".to_owned() } else { truncate_str(&line, LONGEST_DETAIL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_not_doubled() {
        let openai = |base| path(Protocol::Openai, base);
        assert_eq!(openai("http://h/v1"), "http://h/v1/chat/completions");
        assert_eq!(openai("http://h/v1/ "), "http://h/v1/chat/completions");
        assert_eq!(openai("http://h/v1/chat/completions"), "http://h/v1/chat/completions");
        let anthropic = |base| path(Protocol::Anthropic, base);
        assert_eq!(anthropic("http://h"), "http://h/v1/messages");
        assert_eq!(anthropic("http://h/v1/"), "http://h/v1/messages");
        assert_eq!(anthropic("http://h/proxy/v1/messages"), "http://h/proxy/v1/messages");
    }

    #[test]
    fn texts_come_in_parts_too() {
        let openai =
            br#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#;
        assert_eq!(text(Protocol::Openai, openai).unwrap(), "ab");
        let anthropic = br#"{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"a"}]}"#;
        assert_eq!(text(Protocol::Anthropic, anthropic).unwrap(), "a");
        assert_eq!(text(Protocol::Anthropic, br#"{"content":[]}"#), Err(CallError::Empty));
        assert_eq!(text(Protocol::Openai, br#"{"choices":[{"message":{"content":null}}]}"#), Err(CallError::Empty));
        assert!(matches!(text(Protocol::Openai, b"{}"), Err(CallError::NotUnderstood(_))));
    }

    #[test]
    fn a_refusal_is_one_short_line() {
        assert_eq!(detail(br#"{"error":{"message":"no\n  credit"}}"#), "no credit");
        assert_eq!(detail(br#"{"error":"model not found"}"#), "model not found");
        assert_eq!(detail(b""), "no reason given");
        assert_eq!(detail("é".repeat(5_000).as_bytes()).chars().count(), LONGEST_DETAIL + 3);
    }
}
