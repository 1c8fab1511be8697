//! Settings that come as JSON: those of one loop, and changes to a settings file.
//!
//! Invariant: a value is read by the very code that reads the files, so that the same is refused in the same words. A
//! change to a file is written only if the file can be read afterwards, and leaves comments and order as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use thiserror::Error;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use super::error::ConfigError;
use super::file::{self, read_layer};
use super::keys::{KEYS, Misread, Options};
use super::origin::Origin;
use windlass_core::nearest::nearest;

/// A setting in a request that cannot be taken.
#[derive(Debug, Error)]
pub enum RequestError {
    #[error("unknown setting '{key}'")]
    Unknown { key: String, nearest: Option<&'static str> },
    #[error("'{key}' must be {expected}")]
    Type { key: String, expected: &'static str, example: &'static str },
    #[error("'{key}': {problem}")]
    Value { key: String, problem: String, hint: Option<String> },
    #[error(transparent)]
    File(#[from] ConfigError),
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl RequestError {
    /// The setting that is meant.
    pub fn key(&self) -> Option<&str> {
        match self {
            RequestError::Unknown { key, .. } | RequestError::Type { key, .. } | RequestError::Value { key, .. } => {
                Some(key)
            }
            RequestError::File(
                ConfigError::UnknownKey { key, .. } | ConfigError::Type { key, .. } | ConfigError::Value { key, .. },
            ) => Some(key),
            RequestError::File(
                ConfigError::Unreadable { .. }
                | ConfigError::TooLarge { .. }
                | ConfigError::NotText { .. }
                | ConfigError::Syntax { .. }
                | ConfigError::NotInProject { .. }
                | ConfigError::NotInRecipe { .. }
                | ConfigError::Recipe { .. }
                | ConfigError::NoHome { .. },
            )
            | RequestError::Write { .. } => None,
        }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            RequestError::Unknown { nearest: Some(near), .. } => Some(format!("did you mean '{near}'?")),
            RequestError::Unknown { nearest: None, .. } => {
                Some("run 'windlass config show' to list all settings".to_owned())
            }
            RequestError::Type { key, example, .. } => Some(format!("for example: {key} = {example}")),
            RequestError::Value { hint, .. } => hint.clone(),
            RequestError::File(error) => error.hint(),
            RequestError::Write { .. } => None,
        }
    }
}

impl Options {
    /// The settings of one loop, under the keys of the configuration.
    pub fn from_json(settings: &BTreeMap<String, Json>) -> Result<Self, RequestError> {
        let mut options = Options::default();
        for (key, value) in settings.iter().filter(|(_, value)| !value.is_null()) {
            let Some(known) = KEYS.iter().find(|known| known.name == key) else {
                return Err(RequestError::Unknown {
                    key: key.chars().take(80).collect(),
                    nearest: nearest(key, KEYS.iter().map(|key| key.name)),
                });
            };
            let wrong = || RequestError::Type { key: key.clone(), expected: known.expected, example: known.example };
            let value = toml(value).ok_or_else(wrong)?;
            options.read_toml(known.name, &value).map_err(|misread| match misread {
                Misread::Type => wrong(),
                Misread::Value(error) => RequestError::Value {
                    key: key.clone(),
                    problem: error.to_string(),
                    hint: error.hint.map(|hint| hint.to_string()),
                },
            })?;
        }
        Ok(options)
    }
}

/// Changes a settings file, which `origin` says is the user's or a project's: a key gets a value, or goes with `null`. Tables such as `agents` are changed field by field.
pub fn edit(
    path: &Path,
    change: &BTreeMap<String, Json>,
    origin: fn(PathBuf, usize) -> Origin,
) -> Result<(), RequestError> {
    let before = file::read_text(path)?.unwrap_or_default();
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| {
        // Told with its place by the reader.
        read_layer(path, &before, origin).err().unwrap_or(ConfigError::Syntax {
            place: super::Place::File { path: path.to_owned(), line: 1, column: 1 },
            message: error.message().to_owned(),
        })
    })?;
    let old: Vec<String> = document.iter().map(|(key, _)| key.to_owned()).collect();
    for (key, value) in change {
        put(document.as_table_mut(), key, value)?;
    }
    keep_comments_above(&mut document, &old);
    let after = document.to_string();
    // What would not be understood is not written.
    read_layer(path, &after, origin)?;
    write(path, &after).map_err(|source| RequestError::Write { path: path.to_owned(), source })
}

/// Adds tables at the end of a settings file; what is in it stays as it is.
pub fn append(path: &Path, text: &str, origin: fn(PathBuf, usize) -> Origin) -> Result<(), RequestError> {
    let before = file::read_text(path)?.unwrap_or_default();
    let gap = match before.as_str() {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let after = format!("{before}{gap}{text}");
    read_layer(path, &after, origin)?;
    write(path, &after).map_err(|source| RequestError::Write { path: path.to_owned(), source })
}

/// Puts new settings below the comments at the end of the file: above them, they would part these from the setting they explain.
/// In front of tables, nothing else is possible.
fn keep_comments_above(document: &mut DocumentMut, old: &[String]) {
    let comments = document.trailing().as_str().unwrap_or_default().to_owned();
    let tables = document.iter().any(|(_, item)| !item.is_value());
    let new = document.iter().map(|(key, _)| key.to_owned()).find(|key| !old.contains(key));
    let (Some(new), false) = (new, tables || comments.trim().is_empty()) else { return };
    let gap = if comments.ends_with('\n') { "" } else { "\n" };
    if let Some(mut key) = document.as_table_mut().key_mut(&new) {
        key.leaf_decor_mut().set_prefix(format!("{comments}{gap}"));
    }
    document.set_trailing("");
}

fn put(table: &mut Table, key: &str, value: &Json) -> Result<(), RequestError> {
    match value {
        Json::Null => {
            table.remove(key);
        }
        Json::Object(fields) if is_table(table.get(key)) => {
            if table.get(key).is_none() {
                let mut made = Table::new();
                made.set_implicit(true);
                table.insert(key, Item::Table(made));
            }
            let Some(inner) = table.get_mut(key).and_then(Item::as_table_mut) else { return Ok(()) };
            for (field, value) in fields {
                put(inner, field, value)?;
            }
        }
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            let Some(new) = toml(value) else {
                return Err(RequestError::Type { key: key.to_owned(), expected: "a value", example: "\"text\"" });
            };
            match table.get_mut(key).and_then(Item::as_value_mut) {
                // What stands behind the value, such as a comment, stays.
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = new;
                    *old.decor_mut() = decor;
                }
                None => {
                    table.insert(key, Item::Value(new));
                }
            }
        }
    }
    Ok(())
}

/// Whether an object is to be put in field by field: where a table stands, or nothing.
fn is_table(item: Option<&Item>) -> bool {
    item.is_none_or(|item| item.is_none() || item.is_table())
}

fn toml(value: &Json) -> Option<Toml> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Toml::Array(items.iter().map(toml).collect::<Option<Array>>()?),
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (key, value) in fields {
                table.insert(key, toml(value)?);
            }
            Toml::InlineTable(table)
        }
    })
}

/// Writes a settings file: whole or not at all, with the rights that it has.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    // What the link points to is changed, not the link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let new = path.with_extension(format!("toml.new-{}", std::process::id()));
    let mut file = std::fs::File::create(&new)?;
    if let Ok(meta) = std::fs::metadata(path) {
        file.set_permissions(meta.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(value: Json) -> BTreeMap<String, Json> {
        serde_json::from_value(value).unwrap()
    }

    fn of_user(path: PathBuf, line: usize) -> Origin {
        Origin::UserFile { path, line }
    }

    #[test]
    fn hidden_gate_is_not_written_to_a_project_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let wanted = change(json!({ "hidden_gates": ["./hidden.sh"] }));
        let error = edit(&path, &wanted, |path, line| Origin::ProjectFile { path, line }).unwrap_err();
        assert!(error.to_string().contains("the agent can read that file"), "{error}");
        assert!(!path.exists());
        edit(&path, &wanted, of_user).unwrap();
    }

    #[test]
    fn settings_of_a_request_are_read_as_a_file_is() {
        let options = Options::from_json(&change(json!({ "max_iterations": 3, "gates": ["make"], "model": null })));
        let options = options.unwrap();
        assert_eq!(options.max_iterations.and_then(|max| max.get()), Some(3));
        assert_eq!((options.gates.is_some(), options.model), (true, None));
        let error = Options::from_json(&change(json!({ "max_iteration": 3 }))).unwrap_err();
        assert_eq!(error.key(), Some("max_iteration"));
        assert_eq!(error.hint().as_deref(), Some("did you mean 'max_iterations'?"));
        let error = Options::from_json(&change(json!({ "max_iterations": "many" }))).unwrap_err();
        assert_eq!(error.key(), Some("max_iterations"));
    }

    #[test]
    fn an_edit_keeps_comments_order_and_what_it_does_not_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let text =
            "# mine\nagent = \"claude\" # the best\nmax_iterations = 5\n\n[agents.x]\n# why\ncommand = [\"x\"]\n";
        std::fs::write(&path, text).unwrap();
        let wanted = json!({
            "agent": "codex", "max_iterations": null, "commit": "off",
            "agents": { "x": { "model": "m" }, "y": { "command": ["y"] } },
        });
        edit(&path, &change(wanted), of_user).unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        let expected = "# mine\nagent = \"codex\" # the best\ncommit = \"off\"\n\n[agents.x]\n# why\n\
                        command = [\"x\"]\nmodel = \"m\"\n\n[agents.y]\ncommand = [\"y\"]\n";
        assert_eq!(now, expected);
    }

    #[test]
    fn new_setting_goes_below_trailing_comments() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let text = "protect = [\"a\"]\n# Add \"tests/**\".\n\n# The agent.\n# agent = \"claude\"\n";
        std::fs::write(&path, text).unwrap();
        edit(&path, &change(json!({ "agent": "codex", "commit": "off" })), of_user).unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        assert_eq!(now, format!("{text}agent = \"codex\"\ncommit = \"off\"\n"));
        std::fs::write(&path, "# only a comment").unwrap();
        edit(&path, &change(json!({ "commit": "off" })), of_user).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# only a comment\ncommit = \"off\"\n");
    }

    #[test]
    fn what_could_not_be_read_afterwards_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "agent = \"claude\"\n").unwrap();
        for wrong in
            [json!({ "agnet": "x" }), json!({ "max_iterations": "x" }), json!({ "agents": { "x": { "colour": 1 } } })]
        {
            let error = edit(&path, &change(wrong), of_user).unwrap_err();
            assert!(error.key().is_some(), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "agent = \"claude\"\n");
    }

    #[test]
    fn a_file_that_is_not_there_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/config.toml");
        edit(&path, &change(json!({ "max_iterations": 7 })), of_user).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "max_iterations = 7\n");
    }
}
