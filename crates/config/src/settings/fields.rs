//! The fields of an agent's profile: each once, with its kind and its words, also those of the tables inside.
//!
//! Reading, the schema, the types for other languages and the reference are made from this table.

use serde_json::{Map, Value as Json, json};
use toml_edit::{Item, Value as Toml};
use windlass_agents::OWN_MCP_SERVER;

use crate::error::ConfigError;
use crate::settings::file::{Source, entries, span_of, unknown, wrong_type};
use crate::values::{ValueError, texts};
use windlass_core::nearest::nearest;

/// One field, as people know it.
#[derive(Debug, Clone, Copy)]
pub struct ProfileField {
    pub name: &'static str,
    pub kind: FieldKind,
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum FieldKind {
    Text,
    /// A text with something in it.
    Words,
    Texts,
    TextMap,
    Switch,
    Count,
    /// US dollars per million tokens.
    Price,
    Output,
    Adapter,
    /// A table in the agent's own format.
    Free,
    /// Tables by name, all of one kind.
    Tables(&'static TableKind),
}

/// What the tables of a field are.
#[derive(Debug)]
pub struct TableKind {
    /// What other programs call it.
    pub title: &'static str,
    pub fields: &'static [ProfileField],
    pub required: &'static [&'static str],
    expected: &'static str,
    example: &'static str,
    check_name: fn(&str) -> Result<(), ValueError>,
}

/// What an adapter can be, in the order of the documentation.
pub(crate) const ADAPTERS: [&str; 8] = ["command", "claude", "codex", "copilot", "opencode", "gemini", "qwen", "acp"];
pub(crate) const OUTPUTS: [&str; 2] = ["text", "jsonl"];

impl FieldKind {
    fn expected(self) -> &'static str {
        match self {
            FieldKind::Text | FieldKind::Words => "a text",
            FieldKind::Texts => "a list of texts",
            FieldKind::TextMap => "a table of texts",
            FieldKind::Switch => "true or false",
            FieldKind::Count => "a whole number",
            FieldKind::Price => "a number of US dollars",
            FieldKind::Output => "text or jsonl",
            FieldKind::Adapter => "the name of an adapter",
            FieldKind::Free => "a table",
            FieldKind::Tables(tables) => tables.expected,
        }
    }

    fn example(self) -> &'static str {
        match self {
            FieldKind::Text | FieldKind::Words => "\"text\"",
            FieldKind::Texts => "[\"program\", \"argument\"]",
            FieldKind::TextMap => "{ NAME = \"value\" }",
            FieldKind::Switch => "true",
            FieldKind::Count => "5",
            FieldKind::Price => "2.5",
            FieldKind::Output => "\"jsonl\"",
            FieldKind::Adapter => "\"claude\"",
            FieldKind::Free => "{ key = \"value\" }",
            FieldKind::Tables(tables) => tables.example,
        }
    }
}

const SERVERS: TableKind = TableKind {
    title: "McpServer",
    fields: &[
        ProfileField {
            name: "command",
            kind: FieldKind::Words,
            doc: "The program; it talks over its stdin and stdout",
        },
        ProfileField { name: "args", kind: FieldKind::Texts, doc: "Its arguments" },
        ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables for it" },
    ],
    required: &["command"],
    expected: "a table of MCP servers",
    example: "{ NAME = { command = \"program\", args = [\"argument\"] } }",
    check_name: server_name,
};

const PRICES: TableKind = TableKind {
    title: "ModelPrice",
    fields: &[
        ProfileField { name: "input", kind: FieldKind::Price, doc: "US dollars per million tokens of input" },
        ProfileField { name: "output", kind: FieldKind::Price, doc: "The same for output" },
        ProfileField { name: "reasoning", kind: FieldKind::Price, doc: "The same for reasoning; as output if unset" },
        ProfileField {
            name: "cache_read",
            kind: FieldKind::Price,
            doc: "The same for cached input; as input if unset",
        },
        ProfileField {
            name: "cache_write",
            kind: FieldKind::Price,
            doc: "The same for filling the cache; as input if unset",
        },
    ],
    required: &["input", "output"],
    expected: "a table of prices by model",
    example: "{ \"model\" = { input = 2.5, output = 10.0 } }",
    check_name: |_| Ok(()),
};

/// Every field of a profile.
pub const PROFILE_FIELDS: [ProfileField; 21] = [
    ProfileField { name: "display_name", kind: FieldKind::Text, doc: "How people call it" },
    ProfileField {
        name: "adapter",
        kind: FieldKind::Adapter,
        doc: "Whose language it speaks: command, claude, codex, copilot, opencode, gemini, qwen or acp",
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
    ProfileField {
        name: "env_pass",
        kind: FieldKind::Texts,
        doc: "Variables of your environment that this agent gets beside its own credentials, as in the setting env_pass",
    },
    ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables with their values" },
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
    ProfileField {
        name: "system_prompt",
        kind: FieldKind::Text,
        doc: "Put behind the agent's own system prompt in the loop's sessions",
    },
    ProfileField {
        name: "mcp_servers",
        kind: FieldKind::Tables(&SERVERS),
        doc: "MCP servers for the loop's sessions, by name, beside the agent's own",
    },
    ProfileField {
        name: "denied_tools",
        kind: FieldKind::Texts,
        doc: "Tools that the agent is told not to use, in its own notation, such as WebFetch or Bash(rm:*)",
    },
    ProfileField {
        name: "settings",
        kind: FieldKind::Free,
        doc: "Settings of the agent itself, in its own format, for the loop's sessions only",
    },
    ProfileField {
        name: "config_dir",
        kind: FieldKind::Words,
        doc: "The directory of the agent's own configuration, where it also keeps its login; ~/ is your home",
    },
    ProfileField {
        name: "prices",
        kind: FieldKind::Tables(&PRICES),
        doc: "Prices by model, in US dollars per million tokens; they go before the built-in list",
    },
    ProfileField { name: "loop_enabled", kind: FieldKind::Switch, doc: "Enable automatic loop until task completion" },
    ProfileField { name: "max_iterations", kind: FieldKind::Count, doc: "Maximum number of loop iterations" },
    ProfileField {
        name: "completion_promise",
        kind: FieldKind::Text,
        doc: "Exact string that signals task completion, e.g. <promise>COMPLETE</promise>",
    },
];

/// The name is part of the tools' names and of command lines.
fn server_name(name: &str) -> Result<(), ValueError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(ValueError::new(
            format!("'{}' cannot be the name of an MCP server", name.escape_debug()),
            "use letters, digits, - and _, at most 64 of them",
        ));
    }
    if name == OWN_MCP_SERVER {
        return Err(ValueError::new(
            format!("'{name}' is the name of the MCP server that Windlass itself offers"),
            "choose another name",
        ));
    }
    Ok(())
}

/// The value of one field of the table at `path`.
pub(crate) fn read(
    source: &Source<'_>,
    path: &str,
    field: &ProfileField,
    key: &toml_edit::Key,
    item: &Item,
) -> Result<Json, ConfigError> {
    let full = format!("{path}.{}", field.name);
    if let FieldKind::Tables(tables) = field.kind
        && let Some(table) = item.as_table_like()
    {
        let mut all = Map::new();
        for (key, item) in entries(table) {
            all.insert(key.get().to_owned(), read_table(source, &full, tables, key, item)?);
        }
        return Ok(Json::Object(all));
    }
    let place = source.place_of(span_of(key, item));
    match value_of(field.kind, item) {
        None => Err(wrong_type(place, &full, field.kind.expected(), field.kind.example(), item)),
        Some(Err(error)) => Err(ConfigError::Value { place, key: full, error }),
        Some(Ok(value)) => Ok(value),
    }
}

/// One of the tables of a field.
fn read_table(
    source: &Source<'_>,
    path: &str,
    kind: &TableKind,
    key: &toml_edit::Key,
    item: &Item,
) -> Result<Json, ConfigError> {
    let path = format!("{path}.{}", key.get());
    let wrong = |error| ConfigError::Value { place: source.place_of(key.span()), key: path.clone(), error };
    (kind.check_name)(key.get()).map_err(wrong)?;
    let Some(table) = item.as_table_like() else {
        let place = source.place_of(span_of(key, item));
        return Err(wrong_type(place, &path, "a table", "{ … }", item));
    };
    let read = read_fields(source, &path, kind.fields, table, |_, _| {})?;
    match kind.required.iter().find(|name| !read.contains_key(**name)) {
        Some(missing) => Err(wrong(ValueError::new(format!("it has no {missing}"), kind.example_hint()))),
        None => Ok(Json::Object(read)),
    }
}

impl TableKind {
    fn example_hint(&self) -> String {
        format!("for example: {}", self.example)
    }
}

/// Every key of a table, which must be known; `seen` is told of each with its line.
pub(crate) fn read_fields(
    source: &Source<'_>,
    path: &str,
    fields: &'static [ProfileField],
    table: &dyn toml_edit::TableLike,
    mut seen: impl FnMut(&'static str, usize),
) -> Result<Map<String, Json>, ConfigError> {
    let mut all = Map::new();
    for (key, item) in entries(table) {
        let Some(field) = fields.iter().find(|field| field.name == key.get()) else {
            let known = fields.iter().map(|field| field.name).collect();
            return Err(unknown(source.place_of(key.span()), path, key.get(), known));
        };
        all.insert(field.name.to_owned(), read(source, path, field, key, item)?);
        seen(field.name, source.line_of(key.span()));
    }
    Ok(all)
}

/// The value of a plain field; `None` if it is of another type altogether.
fn value_of(kind: FieldKind, item: &Item) -> Option<Result<Json, ValueError>> {
    Some(match kind {
        FieldKind::Text => Ok(json!(item.as_str()?)),
        FieldKind::Words => match item.as_str()? {
            text if text.trim().is_empty() => Err(ValueError::new("the text is blank", "write a text")),
            text => Ok(json!(text)),
        },
        FieldKind::Switch => Ok(json!(item.as_bool()?)),
        // Out of range is clamped, not refused; so is a number that does not even fit.
        FieldKind::Count => Ok(json!(u32::try_from(item.as_integer()?.max(0)).unwrap_or(u32::MAX))),
        FieldKind::Price => price(item)?,
        FieldKind::Texts => texts(item.as_array()?).map(|texts| json!(texts)),
        FieldKind::TextMap => text_map(entries(item.as_table_like()?)),
        FieldKind::Output => one_of(item.as_str()?, "output", &OUTPUTS),
        FieldKind::Adapter => one_of(item.as_str()?, "adapter", &ADAPTERS),
        FieldKind::Free => Ok(free(entries(item.as_table_like()?))),
        FieldKind::Tables(_) => return None,
    })
}

fn price(item: &Item) -> Option<Result<Json, ValueError>> {
    #[expect(clippy::cast_precision_loss, reason = "no price has sixteen digits")]
    let amount = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64))?;
    Some(if amount.is_finite() && amount >= 0.0 {
        Ok(json!(amount))
    } else {
        Err(ValueError::new(format!("{amount} US dollars are no price"), "give an amount of zero or more, such as 2.5"))
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

/// Whatever a table holds, as JSON; a date is a text there.
fn free(table: Vec<(&toml_edit::Key, &Item)>) -> Json {
    let value = |item: &Item| match item {
        Item::None => Json::Null,
        Item::Value(value) => free_value(value),
        Item::Table(table) => free(entries(table)),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| free(entries(table))).collect(),
    };
    Json::Object(table.into_iter().map(|(key, item)| (key.get().to_owned(), value(item))).collect())
}

fn free_value(value: &Toml) -> Json {
    match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => json!(number.value()),
        Toml::Boolean(switch) => json!(switch.value()),
        Toml::Datetime(date) => json!(date.value().to_string()),
        Toml::Array(list) => list.iter().map(free_value).collect(),
        Toml::InlineTable(table) => free(entries(table)),
    }
}
