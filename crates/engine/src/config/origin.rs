//! Where a setting came from, and where a mistake is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value as Json;

use super::keys::{Key, Options};
use super::profiles::FileProfile;
use super::usage::UsageError;

/// Where a value came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    /// Built in, or a built-in recipe's.
    #[default]
    Default,
    /// A recipe of the user or of the project.
    Recipe {
        path: PathBuf,
        line: usize,
    },
    UserFile {
        path: PathBuf,
        line: usize,
    },
    ProjectFile {
        path: PathBuf,
        line: usize,
    },
    Env {
        name: String,
    },
    Flag {
        name: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Recipe { path, line } | Origin::UserFile { path, line } | Origin::ProjectFile { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Origin::Env { name } | Origin::Flag { name } => f.write_str(name),
        }
    }
}

/// A resolved value; `None` where nobody says anything and there is no default.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    pub value: Option<T>,
    pub origin: Origin,
}

impl<T> Default for Setting<T> {
    fn default() -> Self {
        Self { value: None, origin: Origin::Default }
    }
}

impl<T: Clone> Setting<T> {
    /// Whether somebody said this, rather than nobody.
    pub fn is_said(&self) -> bool {
        self.value.is_some() && self.origin != Origin::Default
    }

    /// The value of a setting that every recipe has.
    pub(super) fn by_recipe(&self, key: &'static str) -> Result<T, UsageError> {
        self.value.clone().ok_or(UsageError::Unset { key })
    }

    /// The value, if somebody said it.
    pub fn said(&self) -> Option<T> {
        self.value.clone().filter(|_| self.is_said())
    }
}

/// One line of `config show`.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub key: String,
    /// As in JSON; `null` where there is no value, and then `unset` says what that means.
    pub value: Json,
    pub unset: Cow<'static, str>,
    pub origin: Origin,
}

impl Shown {
    /// The value as the file would have it.
    pub fn text(&self) -> String {
        if self.value.is_null() { format!("({})", self.unset) } else { self.value.to_string() }
    }
}

/// Where a mistake is; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File { path: PathBuf, line: usize, column: usize },
    Env { name: String },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Place::Env { name } => write!(f, "the environment variable {name}"),
        }
    }
}

/// What one layer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layer {
    pub(super) options: Options,
    pub(super) origins: BTreeMap<&'static str, Origin>,
    pub(super) agents: BTreeMap<String, FileProfile>,
}

impl Layer {
    pub(super) fn of_defaults(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    pub(super) fn of_flags(options: Options) -> Self {
        let origins = super::keys::KEYS
            .iter()
            .filter_map(|key| Some((key.name, Origin::Flag { name: key.flag_name()?.to_owned() })))
            .collect();
        Self { options, origins, ..Self::default() }
    }

    pub(super) fn origin(&self, key: &Key) -> Origin {
        self.origins.get(key.name).cloned().unwrap_or_default()
    }
}
