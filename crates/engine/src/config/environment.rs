//! The environment variables that the product reads, all of them.
//!
//! An empty variable counts as one that is not set.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::error::ConfigError;
use super::keys::{KEYS, Options};
use super::origin::{Layer, Origin, Place};
use windlass_core::nearest::nearest;

/// An environment. Callers that may read the process's own environment pass it in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// From `std::env::vars_os()`.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(vars.into_iter().collect())
    }

    /// All variables that are valid UTF-8.
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.0.iter().filter_map(|(name, value)| Some((name.to_str()?.into(), value.to_str()?.into()))).collect()
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(vars: I) -> Self {
        Self(vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// A variable that Windlass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    pub doc: &'static str,
}

const PREFIX: &str = "WINDLASS_";

const GENERAL: [Variable; 13] = [
    Variable { name: "WINDLASS_HOME", doc: "Data directory: database, transcripts, workspaces" },
    Variable { name: "WINDLASS_CONFIG", doc: "Your settings file" },
    Variable { name: "WINDLASS_TOKEN", doc: "Token for the server given with --server, for scripts" },
    Variable { name: "RUST_LOG", doc: "Log filter for standard error, such as debug or windlass_engine=trace" },
    Variable { name: "NO_COLOR", doc: "Disable colors if set" },
    Variable { name: "SHELL", doc: "Shell that runs gates" },
    Variable { name: "PATH", doc: "Search path for agents and git" },
    Variable { name: "HOME", doc: "Home directory, base of the default data and settings directories" },
    Variable { name: "XDG_DATA_HOME", doc: "Base of the data directory if WINDLASS_HOME is not set" },
    Variable { name: "XDG_CONFIG_HOME", doc: "Base of the settings directory if WINDLASS_CONFIG is not set" },
    Variable { name: "LC_ALL", doc: "Locale; sets the language of the follow-up word" },
    Variable { name: "LC_MESSAGES", doc: "Locale if LC_ALL is not set" },
    Variable { name: "LANG", doc: "Locale if neither LC_ALL nor LC_MESSAGES is set" },
];

/// Variables that Windlass sets for agents and notifications. They are present if one of those calls Windlass.
const FOR_AGENTS: [&str; 8] = [
    "WINDLASS_LOOP",
    "WINDLASS_LOOP_ID",
    "WINDLASS_TURN",
    "WINDLASS_PROCESS",
    "WINDLASS_EVENT",
    "WINDLASS_MCP_SOCKET",
    "WINDLASS_PORT_BASE",
    "WINDLASS_PORT_COUNT",
];
const FOR_TESTS: &str = "WINDLASS_TEST_";

/// Every variable that Windlass reads: the general ones, then one for each setting.
pub fn environment() -> impl Iterator<Item = Variable> {
    GENERAL.into_iter().chain(KEYS.iter().map(|key| Variable { name: key.env, doc: key.doc }))
}

/// A warning for each `WINDLASS_` variable that does not exist.
pub(super) fn warnings(env: &Environment) -> Vec<String> {
    let known: Vec<_> = environment().map(|variable| variable.name).filter(|name| name.starts_with(PREFIX)).collect();
    let names = env.0.keys().map(|name| name.to_string_lossy());
    let ours = names.filter(|name| name.starts_with(PREFIX) && !name.starts_with(FOR_TESTS));
    ours.filter(|name| !known.contains(&name.as_ref()) && !FOR_AGENTS.contains(&name.as_ref()))
        .map(|name| match nearest(&name[PREFIX.len()..], known.iter().map(|known| &known[PREFIX.len()..])) {
            Some(near) => format!("environment variable {name} is not recognized; did you mean {PREFIX}{near}?"),
            None => format!("environment variable {name} is not recognized"),
        })
        .collect()
}

/// The layer of the environment.
pub(super) fn layer(env: &Environment) -> Result<Layer, ConfigError> {
    let mut layer = Layer { options: Options::default(), ..Layer::default() };
    for key in KEYS {
        let Some(value) = env.get(key.env) else { continue };
        let place = || Place::Env { name: key.env.to_owned() };
        let text = value.to_str().ok_or_else(|| ConfigError::NotText { place: place() })?;
        layer.options.read_text(key.name, text).map_err(|error| ConfigError::Value {
            place: place(),
            key: key.name.to_owned(),
            error,
        })?;
        layer.origins.insert(key.name, Origin::Env { name: key.env.to_owned() });
    }
    Ok(layer)
}

/// The locale's language. It is part of the defaults, so that files override it.
pub(super) fn language(env: &Environment) -> Layer {
    let mut layer = Layer::default();
    for name in ["LC_ALL", "LC_MESSAGES", "LANG"] {
        let Some(locale) = env.get(name) else { continue };
        let locale = locale.to_string_lossy();
        let tag = locale.split(['.', '@']).next().unwrap_or_default();
        if !matches!(tag, "" | "C" | "POSIX") {
            layer.options.language = Some(tag.replace('_', "-"));
            layer.origins.insert("language", Origin::Env { name: name.to_owned() });
        }
        // The first that is set decides, also when it says nothing about a language.
        break;
    }
    layer
}
