//! A request to the model, read into one shape for all four APIs.
//!
//! Invariant: reading never fails; what a request lacks is empty here, and the script still answers.

use serde_json::Value;

use super::injected::asked_part;
use super::{anthropic, chat, gemini, responses};

/// The API a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// Anthropic, `POST …/v1/messages`.
    Anthropic,
    /// OpenAI, `POST …/responses`.
    Responses,
    /// OpenAI, `POST …/chat/completions`.
    Chat,
    /// Google, `POST …/models/M:streamGenerateContent`.
    Gemini,
}

/// A tool that the request offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    /// The group it is called under, in APIs that group tools.
    pub namespace: Option<String>,
    /// JSON Schema of its input; null for a tool that takes plain text.
    pub schema: Value,
}

/// What a request asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub wire: Wire,
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The real prompts of the session, the last one last.
    pub prompts: Vec<String>,
    /// The assistant's turns since the last prompt.
    pub step: usize,
    pub tools: Vec<Tool>,
    /// The working directory, where the request mentions it.
    pub cwd: Option<String>,
    /// It is Aider that asks: it has no tools, writes files from what the model says, and takes one answer a turn.
    pub by_words: bool,
}

/// One entry of a transcript, as far as the script cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A text of the user's role, which may be something that the CLI added.
    User(String),
    Assistant,
    /// A tool's result.
    Result,
}

impl Wire {
    /// By the path of a request, whatever stands before it.
    pub fn of(path: &str) -> Option<Wire> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") || path.ends_with("/messages/count_tokens") {
            Some(Wire::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Wire::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Wire::Chat)
        } else {
            let method = path.rsplit_once("/models/").and_then(|(_, rest)| rest.split_once(':'))?.1;
            ["generateContent", "streamGenerateContent", "countTokens"].contains(&method).then_some(Wire::Gemini)
        }
    }
}

impl Asked {
    pub(super) fn read(wire: Wire, path: &str, body: &Value) -> Asked {
        let (model, stream, entries, tools) = match wire {
            Wire::Anthropic => (text(body, "model"), flag(body), anthropic::entries(body), anthropic::tools(body)),
            Wire::Responses => (text(body, "model"), flag(body), responses::entries(body), responses::tools(body)),
            Wire::Chat => (text(body, "model"), flag(body), chat::entries(body), chat::tools(body)),
            Wire::Gemini => {
                let stream = path.contains(":streamGenerateContent");
                (gemini::model(path), stream, gemini::entries(body), gemini::tools(body))
            }
        };
        let (prompts, step) = read_entries(&entries);
        let by_words = tools.is_empty() && wire == Wire::Chat && chat::is_of_aider(body);
        Asked { wire, model, stream, prompts, step, tools, cwd: cwd(body), by_words }
    }

    /// The prompt to answer.
    pub fn prompt(&self) -> &str {
        self.prompts.last().map_or("", String::as_str)
    }
}

/// The prompts, and how many times the assistant spoke since the last of them. Neighbouring entries of the assistant
/// are one answer: some APIs keep text and calls apart.
fn read_entries(entries: &[Entry]) -> (Vec<String>, usize) {
    let mut prompts: Vec<String> = Vec::new();
    let mut step = 0;
    let mut speaking = false;
    for entry in entries {
        match entry {
            Entry::User(text) => {
                if let Some(asked) = asked_part(text) {
                    prompts.push(asked.to_owned());
                    step = 0;
                    speaking = false;
                }
            }
            Entry::Assistant => {
                if !speaking {
                    step += 1;
                }
                speaking = true;
            }
            Entry::Result => speaking = false,
        }
    }
    (prompts, step)
}

fn text(body: &Value, key: &str) -> String {
    body[key].as_str().unwrap_or_default().to_owned()
}

fn flag(body: &Value) -> bool {
    body["stream"].as_bool().unwrap_or(false)
}

/// The text of a content that is a string or a list of parts with a text.
pub(super) fn content_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|p| p["text"].as_str()).collect();
    texts.join("\n")
}

/// Each CLI tells the model where it works, in its own words.
fn cwd(body: &Value) -> Option<String> {
    let text = body.to_string();
    ["<cwd>", "orking directory: ", "workspace: ", "current working directory is ", "working in the directory: "]
        .iter()
        .find_map(|mark| {
            let rest = text.split_once(mark)?.1;
            let rest = rest.trim_start_matches(['`', '\'']);
            let end = rest.find(|c: char| c.is_whitespace() || "\\<\"'`,".contains(c)).unwrap_or(rest.len());
            rest.starts_with('/').then(|| rest[..end].trim_end_matches('.').to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_from_the_last_real_prompt() {
        let user = |t: &str| Entry::User(t.to_owned());
        let (prompts, step) = read_entries(&[
            user("<environment_context>x</environment_context>"),
            user("first"),
            Entry::Assistant,
            Entry::Result,
            Entry::Assistant,
            user("second"),
            Entry::Assistant,
            Entry::Assistant,
            Entry::Result,
            user("<system-reminder>x</system-reminder>"),
        ]);
        assert_eq!(prompts, ["first", "second"]);
        assert_eq!(step, 1);
    }

    #[test]
    fn the_api_is_told_by_the_path() {
        assert_eq!(Wire::of("/x/v1/messages?beta=true"), Some(Wire::Anthropic));
        assert_eq!(Wire::of("/v1/messages/count_tokens"), Some(Wire::Anthropic));
        assert_eq!(Wire::of("/v1/responses"), Some(Wire::Responses));
        assert_eq!(Wire::of("/chat/completions"), Some(Wire::Chat));
        assert_eq!(Wire::of("/v1beta/models/g:streamGenerateContent?alt=sse"), Some(Wire::Gemini));
        assert_eq!(Wire::of("/v1/models"), None);
    }
}
