//! The kinds of values a setting can have: how each is read, shown and described.
//!
//! A value that exists is a valid one: the checks are in the readers, and the fields are private.

use std::borrow::Cow;

use serde_json::{Value as Json, json};
use thiserror::Error;
use toml_edit::Value as Toml;

/// Why a value cannot be taken, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct ValueError {
    pub problem: String,
    pub hint: Option<Cow<'static, str>>,
}

impl ValueError {
    pub(in crate::config) fn new(problem: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { problem: problem.into(), hint: Some(hint.into()) }
    }
}

/// A kind of value.
pub trait Value: Sized {
    /// What a value must be, in words.
    const EXPECTED: &'static str;
    /// One as it stands in a file.
    const EXAMPLE: &'static str;
    /// The words that it can be, if it is one of a few.
    const WORDS: &'static [&'static str] = &[];

    /// `None` if it is of another type altogether.
    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>>;
    /// From a flag or the environment.
    fn from_text(text: &str) -> Result<Self, ValueError>;
    /// From a flag that was given so often.
    fn from_items(items: Vec<String>) -> Result<Self, ValueError> {
        Self::from_text(items.last().map_or("", String::as_str))
    }
    fn json(&self) -> Json;
    fn schema() -> Json;
}

pub(in crate::config) fn not(expected: &str, text: &str) -> ValueError {
    ValueError { problem: format!("'{}' is not {expected}", text.escape_debug()), hint: None }
}

fn not_blank(text: &str) -> Result<String, ValueError> {
    if text.trim().is_empty() {
        return Err(ValueError::new("the value is blank", "enter a value, or remove the setting"));
    }
    Ok(text.to_owned())
}

impl Value for String {
    const EXPECTED: &'static str = "a string";
    const EXAMPLE: &'static str = "\"text\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(not_blank)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        not_blank(text)
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_bool().map(Ok)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(not(Self::EXPECTED, text)),
        }
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

/// The text with which an agent claims to be done; empty for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise(String);

impl Promise {
    pub fn new(text: impl Into<String>) -> Result<Self, ValueError> {
        let text = text.into();
        if text.contains(['\n', '\r']) {
            return Err(ValueError::new(
                "the completion promise spans more than one line",
                "use a single line; the agent prints it as the last line of its answer",
            ));
        }
        if !text.is_empty() && text.trim().is_empty() {
            return Err(ValueError::new(
                "the completion promise is blank",
                "use a text that does not occur in answers by chance, or an empty string for none",
            ));
        }
        Ok(Self(text))
    }

    /// `None` for an empty one.
    pub fn get(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl Value for Promise {
    const EXPECTED: &'static str = "a single-line string";
    const EXAMPLE: &'static str = "\"<promise>COMPLETE</promise>\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(Self::new)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        Self::new(text)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^[^\\r\\n]*$" })
    }
}

/// The texts of a list, or which item of it is none.
pub(in crate::config) fn texts(list: &toml_edit::Array) -> Result<Vec<String>, ValueError> {
    let text = |(index, item): (usize, &Toml)| {
        item.as_str().map(str::to_owned).ok_or_else(|| {
            ValueError::new(format!("item {} of the list is not a string", index + 1), "put every item in quotes")
        })
    };
    list.iter().enumerate().map(text).collect()
}

/// A command line for a shell.
pub(in crate::config) fn command(text: &str, what: &str, hint: &'static str) -> Result<String, ValueError> {
    if text.trim().is_empty() {
        return Err(ValueError::new(format!("a {what} is blank"), hint));
    }
    if text.contains('\0') {
        return Err(ValueError::new(format!("a {what} contains a NUL character"), "remove the NUL character"));
    }
    Ok(text.to_owned())
}
