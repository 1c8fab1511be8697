//! The fields of an agent's profile: each once, with its kind and its words, also those of the tables inside.
//!
//! Reading, the schema, the types for other languages and the reference are made from this table.

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

/// What an adapter can be, in the order of the documentation.
pub(super) const ADAPTERS: [&str; 8] = ["command", "claude", "codex", "copilot", "opencode", "gemini", "qwen", "acp"];
pub(super) const OUTPUTS: [&str; 2] = ["text", "jsonl"];
pub(super) const ENDS: [&str; 2] = ["finished", "failed"];

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
pub const PROFILE_FIELDS: [ProfileField; 30] = [
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
    ProfileField { name: "args", kind: FieldKind::Texts, doc: "Arguments after all others" },
    ProfileField {
        name: "resume_args",
        kind: FieldKind::Texts,
        doc: "Arguments added to go on in a session; {session} stands for its id",
    },
    ProfileField {
        name: "resume_last_args",
        kind: FieldKind::Texts,
        doc: "Arguments added to go on in the last session of the directory, for an agent that names no session",
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
        doc: "Variables of your environment that this agent gets beside its own credentials, as in the setting env_pass",
    },
    ProfileField { name: "env", kind: FieldKind::TextMap, doc: "Environment variables with their values" },
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
        doc: "Regular expression whose first group is the session's id, for text output",
    },
    ProfileField {
        name: "usage_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression with the named groups input, output and cost, for text output; 2.7k is 2700",
    },
    ProfileField {
        name: "answer_pattern",
        kind: FieldKind::Text,
        doc: "Regular expression whose first group is the answer, for text output: a promise counts only there",
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
