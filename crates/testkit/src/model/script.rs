//! What the model will do: turns, each a list of steps, each step one answer of the model.
//!
//! ```toml
//! select = "prompts"      # the n-th prompt of the session plays the n-th turn, so a fresh session starts at the first;
//!                         # "starts": the server counts turns over all sessions. The last turn repeats.
//! apart = "A title"       # the answer to requests that list no tools: titles, summaries
//! apart_fail = "overflow" # or fail them; without it a CLI that compacts its transcript believes that it helped
//!
//! [[turn]]
//! contains = "review"     # only for prompts with this text; such turns are checked first and are not counted
//! model = "small"         # only for requests that name this model; the same
//! steps = [
//!     { think = "…", say = "text", shell = "make test" },             # text, then a call of the CLI's own shell tool
//!     { write = { path = "a.txt", content = "x" } },                  # its own tool for writing files
//!     { tool = { name = "mcp__probe__echo", input = { a = 1 } } },    # any tool; the end of its name is enough
//!     { say = ["half ", { gate = "go" }, "and half"] },               # the rest waits for server.open_gate("go")
//!     { hold = "go", say = "late" },                                  # not even the head of the answer before that
//!     { say = "half", cut = true },                                   # then the connection is cut; also with `times`
//!     { fail = "rate_limit" },                                        # every time; kinds: see `FailureKind`
//!     { fail = { kind = "rate_limit", retry_after_s = 1 }, times = 2, say = "after two failures" },
//!     { fail = "overloaded", until = "calm", say = "after open_gate(\"calm\")" },
//!     { say = "done", usage = { input = 1200, output = 30, cached = 400 } },
//! ]
//! ```
//!
//! Invariant: a script parses whole or is refused with the place at fault; no word of it is ignored.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::failure::Failure;

/// Everything the model will say.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default)]
    pub select: Select,
    #[serde(default = "default_apart")]
    pub apart: String,
    /// Fail those requests instead, as a service does whose failure is not about one request.
    #[serde(default)]
    pub apart_fail: Option<Failure>,
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
}

/// How the turn of a request is counted, where no `contains` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// By the number of prompts in the transcript.
    #[default]
    Prompts,
    /// By the number of turns the server has seen start. A request starts a turn if it is at step 0 and either its
    /// prompts are new or the turn before it was answered to its end; a CLI's own retry therefore starts none.
    Starts,
}

/// What is said to one prompt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    #[serde(default)]
    pub contains: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    pub steps: Vec<Step>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    pub think: Option<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub say: Vec<Piece>,
    pub shell: Option<String>,
    pub write: Option<Write>,
    pub tool: Option<RawCall>,
    pub usage: Option<Usage>,
    /// The gate before anything is sent.
    pub hold: Option<String>,
    /// Cut the connection where the answer would end.
    pub cut: bool,
    pub fail: Option<Failure>,
    /// Fail, or cut, only the first so many requests that reach this step.
    pub times: Option<u32>,
    /// Fail, or cut, only until this gate is open.
    pub until: Option<String>,
}

/// A part of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    Text(String),
    Gate { gate: String },
}

/// A file to write. A relative path is below the working directory that the request names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub path: String,
    pub content: String,
}

/// A call of a tool by name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCall {
    pub name: String,
    #[serde(default = "no_input")]
    pub input: Value,
}

/// What the answer says it has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// All of the input, cached or not.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// The part of the output that was thinking.
    pub thinking: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input: 1200, cached: 200, output: 30, thinking: 0 }
    }
}

/// Which turn and which step of it a request gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick<'a> {
    pub turn: usize,
    pub step: usize,
    /// None where the script has run out.
    pub play: Option<&'a Step>,
}

/// What is wrong with a script.
#[derive(Debug)]
pub struct ScriptError(String);

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// # Errors
    /// If the text is not a script.
    pub fn from_toml(text: &str) -> Result<Script, ScriptError> {
        toml::from_str(text).map_err(|e| ScriptError(e.to_string())).and_then(Script::checked)
    }

    /// # Errors
    /// If the text is not a script.
    pub fn from_json(text: &str) -> Result<Script, ScriptError> {
        serde_json::from_str(text).map_err(|e| ScriptError(e.to_string())).and_then(Script::checked)
    }

    /// Reads TOML, or JSON if the name ends in `.json`.
    ///
    /// # Errors
    /// If the file cannot be read or is not a script.
    pub fn read(path: &Path) -> Result<Script, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|e| ScriptError(format!("{}: {e}", path.display())))?;
        if path.extension().is_some_and(|e| e == "json") { Script::from_json(&text) } else { Script::from_toml(&text) }
    }

    fn checked(self) -> Result<Script, ScriptError> {
        for (t, turn) in self.turns.iter().enumerate() {
            for (s, step) in turn.steps.iter().enumerate() {
                if let Some(what) = step.mistake() {
                    return Err(ScriptError(format!("turn {}, step {}: {what}", t + 1, s + 1)));
                }
            }
        }
        Ok(self)
    }

    /// The turn for a prompt to a model, the `number`-th from 1 as [`Select`] counts, and its step.
    pub fn pick(&self, model: &str, prompt: &str, number: usize, step: usize) -> Pick<'_> {
        let counted = || self.turns.iter().enumerate().filter(|(_, t)| !t.is_special());
        let is_for = |turn: &Turn| {
            turn.is_special()
                && turn.contains.as_ref().is_none_or(|text| prompt.contains(text))
                && turn.model.as_ref().is_none_or(|name| name == model)
        };
        let special = self.turns.iter().enumerate().find(|(_, t)| is_for(t));
        let chosen = special.or_else(|| counted().nth(number.max(1) - 1)).or_else(|| counted().next_back());
        let Some((turn, of)) = chosen else { return Pick { turn: 0, step, play: None } };
        // Some CLIs ask again after the last answer; repeating it ends them.
        let last = of.steps.last().filter(|s| !s.calls_a_tool());
        Pick { turn, step, play: of.steps.get(step).or(last) }
    }
}

impl Turn {
    fn is_special(&self) -> bool {
        self.contains.is_some() || self.model.is_some()
    }
}

impl Step {
    pub fn calls_a_tool(&self) -> bool {
        self.shell.is_some() || self.write.is_some() || self.tool.is_some()
    }

    fn mistake(&self) -> Option<&'static str> {
        let empty = self.say.is_empty() && self.think.is_none() && !self.calls_a_tool() && !self.cut;
        if self.fail.is_none() && !self.cut && (self.times.is_some() || self.until.is_some()) {
            return Some("`times` and `until` need `fail` or `cut`");
        }
        if self.fail.is_some() && self.cut {
            return Some("`fail` or `cut`, not both");
        }
        if self.times.is_some() && self.until.is_some() {
            return Some("`times` or `until`, not both");
        }
        let afterwards = self.times.is_some() || self.until.is_some();
        if self.fail.is_some() && !afterwards && !empty {
            return Some("it always fails, so it never speaks; add `times` or `until`");
        }
        if empty && self.fail.is_none() && self.hold.is_none() {
            return Some("it does nothing");
        }
        (empty && afterwards).then_some("nothing is said after the failures")
    }
}

fn default_apart() -> String {
    "Scripted title".to_owned()
}

fn no_input() -> Value {
    Value::Object(serde_json::Map::new())
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Vec<Piece>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<Piece>),
    }
    Ok(match OneOrMany::deserialize(d)? {
        OneOrMany::One(text) => vec![Piece::Text(text)],
        OneOrMany::Many(pieces) => pieces,
    })
}
