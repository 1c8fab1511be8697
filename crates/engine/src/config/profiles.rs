//! Agents' profiles: the built-in ones, those of the files, one on top of the other field by field.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use toml_edit::{Item, Value as Toml};
use windlass_core::profile::{AgentProfile, OutputFormat};

use super::error::ConfigError;
use super::file::{Source, entries, span_of, unknown, wrong_type};
use super::nearest::nearest;
use super::origin::{Layer, Origin, Shown};
use super::value::{ValueError, texts};

/// An agent, with where each of its fields came from; a field without one is built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    pub profile: AgentProfile,
    pub origins: BTreeMap<&'static str, Origin>,
}

/// An agent as one file has it.
#[derive(Debug, Default)]
pub(super) struct FileProfile {
    profile: AgentProfile,
    origins: BTreeMap<&'static str, Origin>,
}

/// One field of a profile, as people know it.
#[derive(Debug, Clone, Copy)]
pub struct ProfileField {
    pub name: &'static str,
    pub kind: FieldKind,
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    Texts,
    TextMap,
    Switch,
    Count,
    Output,
    Adapter,
}

impl FieldKind {
    fn expected(self) -> &'static str {
        match self {
            FieldKind::Text => "a text",
            FieldKind::Texts => "a list of texts",
            FieldKind::TextMap => "a table of texts",
            FieldKind::Switch => "true or false",
            FieldKind::Count => "a whole number",
            FieldKind::Output => "text or jsonl",
            FieldKind::Adapter => "the name of an adapter",
        }
    }

    fn example(self) -> &'static str {
        match self {
            FieldKind::Text => "\"text\"",
            FieldKind::Texts => "[\"program\", \"argument\"]",
            FieldKind::TextMap => "{ NAME = \"value\" }",
            FieldKind::Switch => "true",
            FieldKind::Count => "5",
            FieldKind::Output => "\"jsonl\"",
            FieldKind::Adapter => "\"claude\"",
        }
    }
}

/// Every field of a profile.
pub const PROFILE_FIELDS: [ProfileField; 14] = [
    ProfileField { name: "display_name", kind: FieldKind::Text, doc: "How people call it" },
    ProfileField {
        name: "adapter",
        kind: FieldKind::Adapter,
        doc: "Whose language it speaks: command, claude, codex, copilot, opencode, gemini or qwen",
    },
    ProfileField {
        name: "command",
        kind: FieldKind::Texts,
        doc: "Program and arguments; {prompt} or {prompt_file} stands for the prompt, which otherwise comes on stdin, \
              {model} for the model",
    },
    ProfileField {
        name: "args",
        kind: FieldKind::Texts,
        doc: "Arguments on top of those that a known agent is started with",
    },
    ProfileField {
        name: "resume_args",
        kind: FieldKind::Texts,
        doc: "Arguments added to go on in a session; {session} stands for its id",
    },
    ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables on top of your own" },
    ProfileField {
        name: "output",
        kind: FieldKind::Output,
        doc: "How standard output is read: as text, or as one event a line (jsonl)",
    },
    ProfileField {
        name: "session_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the session's id, for text output",
    },
    ProfileField {
        name: "usage_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression with the named groups input, output and cost, for text output",
    },
    ProfileField {
        name: "answer_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the answer, for text output: a promise counts only there",
    },
    ProfileField { name: "model", kind: FieldKind::Text, doc: "The model, where the command has {model}" },
    ProfileField { name: "loop_enabled", kind: FieldKind::Switch, doc: "Enable automatic loop until task completion" },
    ProfileField { name: "max_iterations", kind: FieldKind::Count, doc: "Maximum number of loop iterations" },
    ProfileField {
        name: "completion_promise",
        kind: FieldKind::Text,
        doc: "Exact string that signals task completion, e.g. <promise>COMPLETE</promise>",
    },
];

/// The agents that are part of the program. `{self}` stands for its path and is filled in when it is started.
pub fn built_in_agents() -> BTreeMap<String, AgentProfile> {
    let demo = AgentProfile {
        display_name: Some("Demo".to_owned()),
        command: vec!["{self}".to_owned(), "demo-agent".to_owned()],
        output: Some(OutputFormat::Jsonl),
        ..AgentProfile::default()
    };
    let mut agents = windlass_agents::built_in_profiles();
    agents.insert("demo".to_owned(), demo);
    agents
}

pub(super) fn built_in() -> BTreeMap<String, Profile> {
    let with_origins = |(name, profile)| (name, Profile { profile, origins: BTreeMap::new() });
    built_in_agents().into_iter().map(with_origins).collect()
}

/// Puts the agents of a layer on top of those below.
pub(super) fn overlay(agents: &mut BTreeMap<String, Profile>, layer: &Layer) {
    for (name, over) in &layer.agents {
        let base = agents.entry(name.clone()).or_default();
        base.profile = base.profile.overlaid(&over.profile);
        base.origins.extend(over.origins.clone());
    }
}

impl Profile {
    pub(super) fn show(&self, agent: &str) -> Vec<Shown> {
        let Ok(Json::Object(fields)) = serde_json::to_value(&self.profile) else { return Vec::new() };
        let known = PROFILE_FIELDS.iter().filter_map(|field| Some((field.name, fields.get(field.name)?)));
        known
            .map(|(field, value)| Shown {
                key: format!("agents.{agent}.{field}"),
                value: value.clone(),
                unset: "unset",
                origin: self.origins.get(field).cloned().unwrap_or_default(),
            })
            .collect()
    }
}

/// The table `[agents]` of a file.
pub(super) fn read(
    source: &Source<'_>,
    item: &Item,
    origin: &impl Fn(PathBuf, usize) -> Origin,
) -> Result<BTreeMap<String, FileProfile>, ConfigError> {
    const EXAMPLE: &str = "{ NAME = { command = [\"program\"] } }";
    let Some(table) = item.as_table_like() else {
        return Err(wrong_type(source.place_of(item.span()), "agents", "a table of agents", EXAMPLE, item));
    };
    let mut agents = BTreeMap::new();
    for (key, item) in entries(table) {
        let path = format!("agents.{}", key.get());
        let Some(fields) = item.as_table_like() else {
            let place = source.place_of(span_of(key, item));
            return Err(wrong_type(place, &path, "a table", "{ command = [\"program\"] }", item));
        };
        let mut json = Map::new();
        let mut origins = BTreeMap::new();
        for (key, item) in entries(fields) {
            let known = PROFILE_FIELDS.iter().map(|field| field.name).collect();
            let Some(field) = PROFILE_FIELDS.iter().find(|field| field.name == key.get()) else {
                return Err(unknown(source.place_of(key.span()), &path, key.get(), known));
            };
            let full = format!("{path}.{}", field.name);
            let place = source.place_of(span_of(key, item));
            let value = match value_of(field.kind, item) {
                None => return Err(wrong_type(place, &full, field.kind.expected(), field.kind.example(), item)),
                Some(Err(error)) => return Err(ConfigError::Value { place, key: full, error }),
                Some(Ok(value)) => value,
            };
            json.insert(field.name.to_owned(), value);
            origins.insert(field.name, origin(source.path.to_owned(), source.line_of(key.span())));
        }
        let profile = serde_json::from_value(Json::Object(json)).map_err(|error| ConfigError::Value {
            place: source.place_of(key.span()),
            key: path,
            error: ValueError { problem: error.to_string(), hint: None },
        })?;
        agents.insert(key.get().to_owned(), FileProfile { profile, origins });
    }
    Ok(agents)
}

/// The value of a field; `None` if it is of another type altogether.
fn value_of(kind: FieldKind, item: &Item) -> Option<Result<Json, ValueError>> {
    Some(match kind {
        FieldKind::Text => Ok(json!(item.as_str()?)),
        FieldKind::Switch => Ok(json!(item.as_bool()?)),
        // Out of range is clamped, not refused; so is a number that does not even fit.
        FieldKind::Count => Ok(json!(u32::try_from(item.as_integer()?.max(0)).unwrap_or(u32::MAX))),
        FieldKind::Texts => texts(item.as_array()?).map(|texts| json!(texts)),
        FieldKind::TextMap => text_map(entries(item.as_table_like()?)),
        FieldKind::Output => one_of(item.as_str()?, "output", &["text", "jsonl"]),
        FieldKind::Adapter => {
            let known = ["command", "claude", "codex", "copilot", "opencode", "gemini", "qwen"];
            one_of(item.as_str()?, "adapter", &known)
        }
    })
}

fn one_of(word: &str, what: &str, known: &[&str]) -> Result<Json, ValueError> {
    if known.contains(&word) {
        return Ok(json!(word));
    }
    let hint = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("use {}", known.join(", ")),
    };
    Err(ValueError::new(format!("'{}' is not a known {what}", word.escape_debug()), hint))
}

fn text_map(entries: Vec<(&toml_edit::Key, &Item)>) -> Result<Json, ValueError> {
    let mut map = Map::new();
    for (key, item) in entries {
        let Some(Toml::String(text)) = item.as_value() else {
            return Err(ValueError::new(format!("'{}' is not a text", key.get()), "put it into quotes"));
        };
        map.insert(key.get().to_owned(), json!(text.value()));
    }
    Ok(Json::Object(map))
}
