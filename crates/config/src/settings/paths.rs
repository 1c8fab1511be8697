//! Where data and the user's settings live.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::settings::environment::Environment;

/// The two places, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Database, transcripts, workspaces.
    pub data: PathBuf,
    /// The user's `config.toml`, whether it exists or not.
    pub user_config: PathBuf,
    /// `WINDLASS_CONFIG` names it, so that a missing one is worth a word.
    pub user_config_named: bool,
}

impl Paths {
    /// Relative paths are taken from `cwd`, because agents and background loops run elsewhere.
    pub fn from_env(env: &Environment, cwd: &Path) -> Result<Paths, ConfigError> {
        let named = |name| env.path(name).map(|path| cwd.join(path));
        let data = named("WINDLASS_HOME")
            .or_else(|| platform_dir(env, "XDG_DATA_HOME", ".local/share"))
            .ok_or(ConfigError::NoHome { what: "data", variable: "WINDLASS_HOME" })?;
        let named_config = named("WINDLASS_CONFIG");
        let user_config_named = named_config.is_some();
        let user_config = named_config
            .or_else(|| platform_dir(env, "XDG_CONFIG_HOME", ".config").map(|dir| dir.join("config.toml")))
            .ok_or(ConfigError::NoHome { what: "settings", variable: "WINDLASS_CONFIG" })?;
        Ok(Paths { data, user_config, user_config_named })
    }
}

/// Our directory in the one that the platform has for such files.
fn platform_dir(env: &Environment, xdg: &str, below_home: &str) -> Option<PathBuf> {
    let home = || env.path("HOME").filter(|home| home.is_absolute());
    let dir = if cfg!(target_os = "macos") {
        home()?.join("Library/Application Support")
    } else {
        // The XDG specification says to ignore a relative path.
        match env.path(xdg).filter(|dir| dir.is_absolute()) {
            Some(dir) => dir,
            None => home()?.join(below_home),
        }
    };
    Some(dir.join("windlass"))
}
