//! The fields of an agent profile and of its nested tables: each once, with its kind and help text.
//!
//! The parser, the schema, the TypeScript types, and the reference are generated from this table.

use serde_json::{Map, Value as Json, json};
use toml_edit::{Item, Value as Toml};
use windlass_agents::OWN_MCP_SERVER;

use super::error::ConfigError;
use super::file::{Source, entries, span_of, unknown, wrong_type};
use crate::config::values::value::{ValueError, texts};
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
    /// What a line says of the end of a turn.
    EndOfTurn,
    /// A table in the agent's own format.
    Free,
    /// Tables by name, all of one kind.
    Tables(&'static TableKind),
    /// One table.
    Table(&'static TableKind),
    /// A list of tables.
    List(&'static TableKind),
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
pub(super) const OUTPUTS: [&str; 2] = ["text", "jsonl"];
pub(super) const ENDS: [&str; 2] = ["finished", "failed"];

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
            FieldKind::EndOfTurn => "finished or failed",
            FieldKind::Tables(tables) | FieldKind::Table(tables) | FieldKind::List(tables) => tables.expected,
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
            FieldKind::EndOfTurn => "\"finished\"",
            FieldKind::Tables(tables) | FieldKind::Table(tables) | FieldKind::List(tables) => tables.example,
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

/// A field whose value is a path in a JSON line.
const fn path(name: &'static str, doc: &'static str) -> ProfileField {
    ProfileField { name, kind: FieldKind::Words, doc }
}

const EVENTS: TableKind = TableKind {
    title: "EventRule",
    fields: &[
        ProfileField {
            name: "when",
            kind: FieldKind::TextMap,
            doc: "Values by path that a line must have; * is any, text* any that starts so, and an empty text none. Paths are like \
                  message.content.0.text; -1 is the last item",
        },
        path("each", "List in the line; the other paths are then read in each of its items"),
        path("text", "A whole message of the agent"),
        path("text_part", "A part of a message"),
        path("thinking", "What the agent thinks"),
        path("tool", "Name of a tool that the agent calls"),
        path("tool_input", "Input of that call"),
        path("tool_id", "ID of a call or of its result"),
        path("tool_result", "What a tool returned"),
        path("tool_failed", "Whether it failed: true, or a text"),
        path("session", "ID of the agent's session"),
        path("model", "Model that the figures are of"),
        path("input_tokens", "Input tokens of one request"),
        path("output_tokens", "Output tokens of one request"),
        path("reasoning_tokens", "Reasoning tokens of one request, if the output does not contain them"),
        path("cache_read_tokens", "Tokens read from the cache"),
        path("cache_write_tokens", "Tokens written to the cache"),
        path("cost_usd", "Cost of one request in US dollars; 0 is unknown"),
        ProfileField {
            name: "input_has_cached",
            kind: FieldKind::Switch,
            doc: "Whether input_tokens contains the cached tokens",
        },
        path("error", "Message of an error; text or a tool call after it means that the agent recovered"),
        path("error_code", "The provider's code of the error"),
        path("error_status", "HTTP status of the error"),
        ProfileField {
            name: "end",
            kind: FieldKind::EndOfTurn,
            doc: "The line is the last of the turn: finished or failed. Without such a rule, exit code 0 is success",
        },
    ],
    required: &[],
    expected: "a list of tables",
    example: "[{ when = { type = \"message\" }, text = \"message.text\" }]",
    check_name: |_| Ok(()),
};

const PLACES: TableKind = TableKind {
    title: "ProfilePlaces",
    fields: &[
        ProfileField {
            name: "dir",
            kind: FieldKind::Words,
            doc: "Its directory, if neither config_dir nor the variable names another; ~/ is your home",
        },
        ProfileField {
            name: "variable",
            kind: FieldKind::Words,
            doc: "Environment variable that names another directory; set if the profile has config_dir",
        },
        ProfileField {
            name: "keep",
            kind: FieldKind::Texts,
            doc: "Directories below it that stay after a turn, such as sessions: writable. \"\" is all of it",
        },
        ProfileField { name: "login", kind: FieldKind::Texts, doc: "Files of the login: writable" },
        ProfileField { name: "copy", kind: FieldKind::Texts, doc: "Settings: the agent gets copies" },
        ProfileField { name: "show", kind: FieldKind::Texts, doc: "Read-only" },
        ProfileField {
            name: "workspace",
            kind: FieldKind::Texts,
            doc: "What it writes for itself at the top of the workspace, never committed: names, or beginnings of names with a *",
        },
    ],
    required: &[],
    expected: "a table",
    example: "{ dir = \"~/.agent\", keep = [\"sessions\"] }",
    check_name: |_| Ok(()),
};

const ABOUT: TableKind = TableKind {
    title: "AboutAgent",
    fields: &[
        ProfileField { name: "install", kind: FieldKind::Words, doc: "Command that installs it" },
        ProfileField { name: "login", kind: FieldKind::Words, doc: "Command that logs in" },
        ProfileField {
            name: "keys",
            kind: FieldKind::Texts,
            doc: "Variables of your environment with a key that logs in; the agent gets them",
        },
        ProfileField {
            name: "version_args",
            kind: FieldKind::Texts,
            doc: "Arguments that make it print its version; --version if unset",
        },
        ProfileField {
            name: "versions",
            kind: FieldKind::Texts,
            doc: "The first version it was tried with, and the first it was not: [\"1.2.0\", \"1.3.0\"]",
        },
        ProfileField {
            name: "hosts",
            kind: FieldKind::Texts,
            doc: "Hosts that it contacts; @models in network_hosts contains them",
        },
    ],
    required: &[],
    expected: "a table",
    example: "{ install = \"npm install -g agent\" }",
    check_name: |_| Ok(()),
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
pub const PROFILE_FIELDS: [ProfileField; 30] = [
    ProfileField { name: "display_name", kind: FieldKind::Text, doc: "How people call it" },
    ProfileField {
        name: "adapter",
        kind: FieldKind::Adapter,
        doc: "Adapter to use: command, claude, codex, copilot, opencode, gemini, qwen, or acp",
    },
    ProfileField {
        name: "command",
        kind: FieldKind::Texts,
        doc: "Program and arguments; {prompt} or {prompt_file} stands for the prompt, which otherwise comes on stdin, \
              {model} for the model",
    },
    ProfileField { name: "args", kind: FieldKind::Texts, doc: "Arguments after all others" },
    ProfileField {
        name: "resume_args",
        kind: FieldKind::Texts,
        doc: "Extra arguments to resume a session; {session} is replaced by its ID",
    },
    ProfileField {
        name: "resume_last_args",
        kind: FieldKind::Texts,
        doc: "Extra arguments to resume the last session of the directory, for an agent that reports no session ID",
    },
    ProfileField {
        name: "model_args",
        kind: FieldKind::Texts,
        doc: "Arguments added if a model is set; {model} stands for it",
    },
    ProfileField {
        name: "system_prompt_args",
        kind: FieldKind::Texts,
        doc: "Arguments added if there is a system prompt; {system_prompt} stands for it",
    },
    ProfileField {
        name: "read_only_args",
        kind: FieldKind::Texts,
        doc: "Arguments added for a reviewer that runs without a sandbox",
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
        doc: "How standard output is read: as text, or as JSON lines (jsonl)",
    },
    ProfileField {
        name: "events",
        kind: FieldKind::List(&EVENTS),
        doc: "What the agent's JSON lines mean, for jsonl output: all rules that fit a line apply. Without rules, a line is \
              one of Windlass's own events",
    },
    ProfileField {
        name: "session_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the session ID, for text output",
    },
    ProfileField {
        name: "usage_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression with the named groups input, output, and cost, for text output; 2.7k is 2700",
    },
    ProfileField {
        name: "answer_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the answer, for text output; a promise counts only there",
    },
    ProfileField {
        name: "noise_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression for lines that are the program's own and not the agent's words, for text output",
    },
    ProfileField {
        name: "error_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the message of an error, for text output and standard error; figures \
              that usage_pattern finds later mean that the agent recovered",
    },
    ProfileField { name: "model", kind: FieldKind::Text, doc: "The model, where command or model_args has {model}" },
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
        name: "places",
        kind: FieldKind::Table(&PLACES),
        doc: "Directory of an agent without an adapter, and what of it a sandbox shows",
    },
    ProfileField {
        name: "about",
        kind: FieldKind::Table(&ABOUT),
        doc: "How it is installed and logged in, and which version was tried",
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
            "use at most 64 letters, digits, -, and _",
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
    if let FieldKind::Table(kind) = field.kind
        && let Some(table) = item.as_table_like()
    {
        return Ok(Json::Object(read_fields(source, &full, kind.fields, table, |_, _| {})?));
    }
    if let FieldKind::List(kind) = field.kind
        && let Some(tables) = tables_of(item)
    {
        let rows = tables.iter().map(|table| read_fields(source, &full, kind.fields, *table, |_, _| {}));
        return rows.map(|row| row.map(Json::Object)).collect();
    }
    let place = source.place_of(span_of(key, item));
    match value_of(field.kind, item) {
        None => Err(wrong_type(place, &full, field.kind.expected(), field.kind.example(), item)),
        Some(Err(error)) => Err(ConfigError::Value { place, key: full, error }),
        Some(Ok(value)) => Ok(value),
    }
}

/// The tables of a list, in either of TOML's forms.
fn tables_of(item: &Item) -> Option<Vec<&dyn toml_edit::TableLike>> {
    match item {
        Item::ArrayOfTables(tables) => Some(tables.iter().map(|table| table as &dyn toml_edit::TableLike).collect()),
        Item::Value(Toml::Array(list)) => {
            list.iter().map(|item| item.as_inline_table().map(|table| table as &dyn toml_edit::TableLike)).collect()
        }
        Item::None | Item::Value(_) | Item::Table(_) => None,
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
        FieldKind::Adapter => one_of(item.as_str()?, "adapter", windlass_agents::ADAPTERS),
        FieldKind::Free => Ok(free(entries(item.as_table_like()?))),
        FieldKind::EndOfTurn => one_of(item.as_str()?, "end", &ENDS),
        FieldKind::Tables(_) | FieldKind::Table(_) | FieldKind::List(_) => return None,
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
