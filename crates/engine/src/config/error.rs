//! What can be wrong with settings, and what to do about it. All of it is wrong use: exit code 2.

use std::io;
use std::path::PathBuf;

use super::origin::Place;
use crate::config::values::value::ValueError;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the settings in {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the settings in {} are larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{place} is not valid UTF-8")]
    NotText { place: Place },
    #[error("{place}: {message}")]
    Syntax { place: Place, message: String },
    #[error("{place}: unknown key '{key}'")]
    UnknownKey { place: Place, key: String, nearest: Option<String>, known: Vec<&'static str> },
    #[error("{place}: '{key}' must be {expected}, not {found}")]
    Type { place: Place, key: String, expected: &'static str, example: &'static str, found: &'static str },
    #[error("{place}: '{key}': {error}")]
    Value { place: Place, key: String, error: ValueError },
    #[error("{place}: '{key}' cannot be set in a project's file, because the agent can read that file")]
    NotInProject { place: Place, key: &'static str },
    #[error("{place}: '{key}' cannot be set in a recipe")]
    NotInRecipe { place: Place, key: &'static str },
    #[error("{place}: {problem}")]
    Recipe { place: Place, problem: String, hint: String },
    #[error("cannot find the directory for {what}: neither HOME nor {variable} is set")]
    NoHome { what: &'static str, variable: &'static str },
}

impl ConfigError {
    /// The way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Unreadable { path, .. } => {
                Some(format!("make {} readable for this user, or move it away", path.display()))
            }
            ConfigError::TooLarge { .. } => {
                Some("check that it is the right file; 'windlass config path' shows the paths".into())
            }
            ConfigError::NotText { place: Place::File { .. } } => Some("save the file as UTF-8".into()),
            ConfigError::NotText { place: Place::Env { name } } => {
                Some(format!("set {name} to plain text, or unset it"))
            }
            ConfigError::Syntax { .. } => Some("write TOML: one 'key = value' per line, strings in quotes".into()),
            ConfigError::UnknownKey { nearest: Some(near), .. } => Some(format!("did you mean '{near}'?")),
            ConfigError::UnknownKey { nearest: None, known, .. } => Some(format!("known keys: {}", known.join(", "))),
            ConfigError::Type { key, example, .. } => {
                let key = key.rsplit('.').next().unwrap_or(key);
                Some(format!("for example: {key} = {example}"))
            }
            ConfigError::Value { error, .. } => error.hint.as_deref().map(Into::into),
            ConfigError::NotInProject { .. } => {
                Some("set it in your own settings file (see 'windlass config path'), or use the flag".into())
            }
            ConfigError::NotInRecipe { .. } => Some(
                "set it in a settings file (see 'windlass config path'), because it does not apply to one loop".into(),
            ),
            ConfigError::Recipe { hint, .. } => Some(hint.clone()),
            ConfigError::NoHome { variable, .. } => Some(format!("set HOME, or {variable}")),
        }
    }
}
