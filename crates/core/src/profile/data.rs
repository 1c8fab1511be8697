//! What a profile says of a program that has no adapter: what its JSON lines mean, where it writes, how it is installed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one kind of JSON line means. A path names a value in the line: `message.content`; a number is the index of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventRule {
    /// The rule applies to lines with these values at these paths; `*` is any value but null and the empty text, and at the end
    /// of a text any ending. The empty text is a value that is not there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, String>,
    /// A list in the line: the other paths are read in each of its items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// A whole message of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A part of a message, without a line end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The name of a tool that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<String>,
    /// The ID of the call, of a tool or of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// What a tool returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<String>,
    /// Whether the tool failed: true, or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_failed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The figure of the input contains the cached tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_has_cached: Option<bool>,
    /// The message of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A code of the provider, such as `rate_limit_error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_status: Option<String>,
    /// The line is the agent's last of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<EndOfTurn>,
}

/// What an agent's last line says of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndOfTurn {
    Finished,
    Failed,
}

/// The directory of an agent, and what of it a sandbox shows. Names are relative to the directory; `~/…` is in the home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProfilePlaces {
    /// The directory, if neither `config_dir` nor the variable names another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The environment variable that names another directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Directories that stay after a turn, such as sessions; writable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Files of the login; writable, because tokens are refreshed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub login: Vec<String>,
    /// Settings: the agent gets copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Read-only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<String>,
    /// What it writes for itself at the top of the workspace: names, or beginnings of names with a `*` behind them. It is
    /// in no commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<String>,
}

impl ProfilePlaces {
    /// Whether a path in the workspace is what the agent writes there for itself.
    pub fn is_own(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        self.workspace.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => !start.is_empty() && first.starts_with(start),
            None => first == name,
        })
    }

    /// The same as globs of git.
    pub fn own_globs(&self) -> Vec<String> {
        let names = self.workspace.iter().filter(|name| !name.trim_matches('*').is_empty());
        names.flat_map(|name| [name.clone(), format!("{name}/**")]).collect()
    }
}

/// How to install a program and log in, how Windlass reads its version, and which hosts it contacts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AboutAgent {
    /// The command that installs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// The command that logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Variables with a key that logs in; the agent gets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Arguments that make it print its version; `--version` if unset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_args: Vec<String>,
    /// The first version that was tried, and the first that was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Hosts that it contacts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_writes_for_itself_is_told_by_the_first_part_of_its_path() {
        let places = ProfilePlaces { workspace: vec![".aider.tags*".into(), ".mine".into()], ..Default::default() };
        for own in [".aider.tags.v4/cache.db", ".aider.tags", ".mine", ".mine/a/b"] {
            assert!(places.is_own(own), "{own}");
        }
        for other in ["src/.mine", ".mine2", ".aider.conf.yml", ""] {
            assert!(!places.is_own(other), "{other}");
        }
        assert_eq!(places.own_globs(), [".aider.tags*", ".aider.tags*/**", ".mine", ".mine/**"]);
        let all = ProfilePlaces { workspace: vec!["*".into(), String::new()], ..Default::default() };
        assert!(all.own_globs().is_empty() && !all.is_own("a"), "nobody's whole workspace is left out");
    }
}
