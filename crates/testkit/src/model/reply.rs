//! An answer of the model in one shape for all four APIs, and the frames it is sent in.
//!
//! Invariant: frames are sent in their order, one write each; what follows a gate is not on the wire before it opens.

use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::Value;

use super::script::Usage;

/// One whole answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    /// Cut the connection where the last part would be closed.
    pub(super) cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Think(String),
    Text(String),
    Gate(String),
    Call(Call),
}

/// A call of one of the request's tools.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) input: Input,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Json(Value),
    /// For tools that take plain text, such as a patch.
    Text(String),
}

impl Input {
    pub(super) fn text(&self) -> String {
        match self {
            Input::Json(value) => value.to_string(),
            Input::Text(text) => text.clone(),
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Input::Json(value) => value.clone(),
            Input::Text(text) => Value::String(text.clone()),
        }
    }
}

/// What goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    Send(String),
    Gate(String),
    Cut,
}

impl Frame {
    /// A server-sent event with a name.
    pub(super) fn event(name: &str, data: &Value) -> Frame {
        Frame::Send(format!("event: {name}\ndata: {data}\n\n"))
    }

    /// A server-sent event without one.
    pub(super) fn data(data: &Value) -> Frame {
        Frame::Send(format!("data: {data}\n\n"))
    }
}

impl Reply {
    pub(super) fn text(text: &str, usage: Usage) -> Reply {
        Reply { parts: vec![Part::Text(text.to_owned())], usage, cut: false }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|p| matches!(p, Part::Call(_)))
    }

    pub(super) fn gates(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|p| match p {
            Part::Gate(name) => Some(name.as_str()),
            Part::Think(_) | Part::Text(_) | Part::Call(_) => None,
        })
    }

    /// Everything said, for an answer that is not streamed.
    pub(super) fn whole_text(&self) -> String {
        let said = self.parts.iter().filter_map(|p| match p {
            Part::Text(text) => Some(text.as_str()),
            Part::Think(_) | Part::Gate(_) | Part::Call(_) => None,
        });
        said.collect()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|p| match p {
            Part::Call(call) => Some(call),
            Part::Think(_) | Part::Text(_) | Part::Gate(_) => None,
        })
    }
}

/// A text in pieces, as a model would stream it: a reader that needs whole words or whole JSON is found out.
pub(super) fn deltas(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    // Few pieces also for long texts: how many there are must not become the cost of a test.
    let size = chars.len().div_ceil(8).max(12);
    chars.chunks(size).map(|c| c.iter().collect()).collect()
}

/// An id that no other answer has, also not one of an earlier server in the same session.
pub(super) fn fresh_id(prefix: &str) -> String {
    format!("{prefix}{:016x}", RandomState::new().build_hasher().finish())
}
