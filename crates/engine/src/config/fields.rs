//! The fields of an agent profile and of its nested tables: each once, with its kind and help text.
//!
//! The parser, the schema, the TypeScript types, and the reference are generated from this table.

use serde_json::{Map, Value as Json, json};
use toml_edit::{Item, Value as Toml};
use windlass_agents::OWN_MCP_SERVER;

use super::error::ConfigError;
use super::file::{Source, entries, span_of, unknown, wrong_type};
use super::value::{ValueError, texts};
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
    /// A string that is not blank.
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

/// The adapters, in the order of the documentation.
pub(super) const ADAPTERS: [&str; 8] = ["command", "claude", "codex", "copilot", "opencode", "gemini", "qwen", "acp"];
pub(super) const OUTPUTS: [&str; 2] = ["text", "jsonl"];

impl FieldKind {
    fn expected(self) -> &'static str {
        match self {
            FieldKind::Text | FieldKind::Words => "a string",
            FieldKind::Texts => "a list of strings",
            FieldKind::TextMap => "a table of strings",
            FieldKind::Switch => "true or false",
            FieldKind::Count => "an integer",
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
            doc: "Program to run; it communicates over standard input and output",
        },
        ProfileField { name: "args", kind: FieldKind::Texts, doc: "Arguments" },
        ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables" },
    ],
    required: &["command"],
    expected: "a table of MCP servers",
    example: "{ NAME = { command = \"program\", args = [\"argument\"] } }",
    check_name: server_name,
};

const PRICES: TableKind = TableKind {
    title: "ModelPrice",
    fields: &[
        ProfileField { name: "input", kind: FieldKind::Price, doc: "US dollars per million input tokens" },
        ProfileField { name: "output", kind: FieldKind::Price, doc: "US dollars per million output tokens" },
        ProfileField { name: "reasoning", kind: FieldKind::Price, doc: "For reasoning tokens; default: as output" },
        ProfileField { name: "cache_read", kind: FieldKind::Price, doc: "For cached input tokens; default: as input" },
        ProfileField { name: "cache_write", kind: FieldKind::Price, doc: "For cache writes; default: as input" },
    ],
    required: &["input", "output"],
    expected: "a table of prices by model",
    example: "{ \"model\" = { input = 2.5, output = 10.0 } }",
    check_name: |_| Ok(()),
};

/// Every field of a profile.
pub const PROFILE_FIELDS: [ProfileField; 21] = [
    ProfileField { name: "display_name", kind: FieldKind::Text, doc: "Display name" },
    ProfileField {
        name: "adapter",
        kind: FieldKind::Adapter,
        doc: "Adapter to use: command, claude, codex, copilot, opencode, gemini, qwen, or acp",
    },
    ProfileField {
        name: "command",
        kind: FieldKind::Texts,
        doc: "Program and arguments. {prompt} or {prompt_file} is replaced by the prompt, which otherwise goes to standard \
              input, and {model} by the model",
    },
    ProfileField { name: "args", kind: FieldKind::Texts, doc: "Extra arguments for a built-in agent" },
    ProfileField {
        name: "resume_args",
        kind: FieldKind::Texts,
        doc: "Extra arguments to resume a session; {session} is replaced by its ID",
    },
    ProfileField {
        name: "env_pass",
        kind: FieldKind::Texts,
        doc: "Environment variables to pass to this agent in addition to its credentials, as in the setting env_pass",
    },
    ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables to set" },
    ProfileField {
        name: "output",
        kind: FieldKind::Output,
        doc: "Format of standard output: text, or one JSON event per line (jsonl)",
    },
    ProfileField {
        name: "session_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the session ID, for text output",
    },
    ProfileField {
        name: "usage_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression with the named groups input, output, and cost, for text output",
    },
    ProfileField {
        name: "answer_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the answer, for text output; a promise counts only there",
    },
    ProfileField { name: "model", kind: FieldKind::Text, doc: "Model, if the command contains {model}" },
    ProfileField {
        name: "system_prompt",
        kind: FieldKind::Text,
        doc: "Text to append to the agent's system prompt in loops",
    },
    ProfileField {
        name: "mcp_servers",
        kind: FieldKind::Tables(&SERVERS),
        doc: "MCP servers for loops, by name, in addition to the agent's own",
    },
    ProfileField {
        name: "denied_tools",
        kind: FieldKind::Texts,
        doc: "Tools that the agent must not use, in its own notation, such as WebFetch or Bash(rm:*)",
    },
    ProfileField {
        name: "settings",
        kind: FieldKind::Free,
        doc: "Agent settings that apply only in loops, in the agent's own format",
    },
    ProfileField {
        name: "config_dir",
        kind: FieldKind::Words,
        doc: "Directory of the agent's configuration and login; ~/ is your home directory",
    },
    ProfileField {
        name: "prices",
        kind: FieldKind::Tables(&PRICES),
        doc: "Prices by model, in US dollars per million tokens; they override the built-in list",
    },
    ProfileField { name: "loop_enabled", kind: FieldKind::Switch, doc: "Enable automatic loop until task completion" },
    ProfileField { name: "max_iterations", kind: FieldKind::Count, doc: "Maximum number of loop iterations" },
    ProfileField {
        name: "completion_promise",
        kind: FieldKind::Text,
        doc: "Exact string that signals task completion, e.g. <promise>COMPLETE</promise>",
    },
];

/// Server names end up in tool names and command lines.
fn server_name(name: &str) -> Result<(), ValueError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(ValueError::new(
            format!("'{}' is not a valid name for an MCP server", name.escape_debug()),
            "use at most 64 letters, digits, - and _",
        ));
    }
    if name == OWN_MCP_SERVER {
        return Err(ValueError::new(
            format!("'{name}' is reserved for Windlass's own MCP server"),
            "choose another name",
        ));
    }
    Ok(())
}

/// The value of one field of the table at `path`.
pub(super) fn read(
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
        Some(missing) => Err(wrong(ValueError::new(format!("{missing} is missing"), kind.example_hint()))),
        None => Ok(Json::Object(read)),
    }
}

impl TableKind {
    fn example_hint(&self) -> String {
        format!("for example: {}", self.example)
    }
}

/// Reads every key of a table and reports each to `seen` with its line. Unknown keys are errors.
pub(super) fn read_fields(
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

/// The value of a plain field; `None` if it has the wrong type.
fn value_of(kind: FieldKind, item: &Item) -> Option<Result<Json, ValueError>> {
    Some(match kind {
        FieldKind::Text => Ok(json!(item.as_str()?)),
        FieldKind::Words => match item.as_str()? {
            text if text.trim().is_empty() => Err(ValueError::new("the value is blank", "enter a value")),
            text => Ok(json!(text)),
        },
        FieldKind::Switch => Ok(json!(item.as_bool()?)),
        // Out-of-range numbers are clamped, also those that do not fit into u32.
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
        Err(ValueError::new(format!("${amount} is not a valid price"), "use an amount of zero or more, such as 2.5"))
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
            return Err(ValueError::new(format!("'{}' is not a string", key.get()), "put it in quotes"));
        };
        map.insert(key.get().to_owned(), json!(text.value()));
    }
    Ok(Json::Object(map))
}

/// Converts any table to JSON. Dates become strings.
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
