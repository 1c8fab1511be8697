//! Agents as data: how one is started and how its output is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod data;

pub use data::{AboutAgent, EndOfTurn, EventRule, ProfilePlaces};

/// Default number of iterations of a profile that says none.
pub const DEFAULT_ITERATIONS: u32 = 5;
/// The least and most iterations a loop may be given.
pub const ITERATIONS: std::ops::RangeInclusive<u32> = 1..=100;

/// One agent. Every field is optional in a file; a profile of a built-in name overrides that one field by field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentProfile {
    /// How people call it; the name of the profile if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Which adapter starts it and reads its output; `command` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterKind>,
    /// Program and arguments. `{prompt}` and `{prompt_file}` stand for the prompt; without them it comes on stdin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments after those of the adapter, for every adapter but `command`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Arguments for a turn that resumes the agent's session; `{session}` stands for its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume_args: Vec<String>,
    /// Arguments for a turn that resumes the last session of the directory, for an agent that names no session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume_last_args: Vec<String>,
    /// Arguments for a turn with a model; `{model}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_args: Vec<String>,
    /// Arguments for a turn with a system prompt; `{system_prompt}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system_prompt_args: Vec<String>,
    /// Arguments for a turn that only reads, outside a sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only_args: Vec<String>,
    /// Variables of the engine's environment that the agent gets besides the ordinary ones and its own credentials:
    /// names, or beginnings of names with a `*` behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    /// Environment on top of what it is given of the engine's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How standard output is read; `text` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputFormat>,
    /// What the agent's JSON lines mean, for `jsonl` output. Without rules, each line is a neutral event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventRule>,
    /// A regular expression whose first group is the agent's session id, for `text` output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_pattern: Option<String>,
    /// A regular expression with named groups `input`, `output`, `cost`, for `text` output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_pattern: Option<String>,
    /// A regular expression whose first group is the final answer, for `text` output: only there a promise counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_pattern: Option<String>,
    /// A regular expression for lines of `text` output that are the program's own, not the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_pattern: Option<String>,
    /// A regular expression whose first group is the message of an error, in a line of `text` output or of stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Put behind the agent's own system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// MCP servers for the loop's sessions, by name, beside those that the agent has of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Tools that the agent is told not to use, in its own notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_tools: Vec<String>,
    /// Settings of the agent itself, in its own format, for the loop's sessions only.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// The directory of the agent's own configuration and login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<String>,
    /// Where the agent keeps what, for an agent without an adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<ProfilePlaces>,
    /// How it is installed, logged in and asked for its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<AboutAgent>,
    /// Prices by model; they go before the built-in list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
    /// Whether starting this agent means looping: unset means no, except for `windlass run`, which is that wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_enabled: Option<bool>,
    /// Runs of the agent in a loop; out of range is clamped to 1–100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// The exact, case-sensitive text that signals completion; empty means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_promise: Option<String>,
}

/// A program that offers tools to an agent over its standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    pub command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// US dollars per million tokens of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    /// As `output` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<f64>,
    /// As `input` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// As `input` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// Puts one table on top of another, key by key; a table on a table continues inside.
pub fn merge_tables(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_tables(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The adapters there are: each knows one agent's command line and format.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AdapterKind {
    /// Any program, described by the profile itself.
    #[default]
    Command,
    Claude,
    Codex,
    Copilot,
    Opencode,
    Gemini,
    Qwen,
    /// Any program that speaks the Agent Client Protocol.
    Acp,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Everything on standard output is assistant text.
    #[default]
    Text,
    /// One JSON object a line: a neutral event, or what `events` makes of it.
    Jsonl,
}

impl AgentProfile {
    /// A one-off command agent.
    pub fn of_command(words: Vec<String>) -> Self {
        Self { command: words, ..Self::default() }
    }

    pub fn adapter(&self) -> AdapterKind {
        self.adapter.unwrap_or_default()
    }

    /// Whether the agent has sessions that a turn can resume. A command has them where its profile says how.
    pub fn has_sessions(&self) -> bool {
        let resumes = !self.resume_args.is_empty() || !self.resume_last_args.is_empty();
        self.adapter() != AdapterKind::Command || resumes
    }

    pub fn loops(&self) -> bool {
        self.loop_enabled.unwrap_or(false)
    }

    pub fn iterations(&self) -> u32 {
        self.max_iterations.unwrap_or(DEFAULT_ITERATIONS).clamp(*ITERATIONS.start(), *ITERATIONS.end())
    }

    pub fn promise(&self) -> Option<&str> {
        self.completion_promise.as_deref().filter(|promise| !promise.is_empty())
    }

    /// This profile with what `over` says put on top, field by field.
    #[must_use]
    pub fn overlaid(&self, over: &AgentProfile) -> AgentProfile {
        fn pick<T: Clone>(base: &Option<T>, over: &Option<T>) -> Option<T> {
            over.clone().or_else(|| base.clone())
        }
        fn pick_list<T: Clone>(base: &[T], over: &[T]) -> Vec<T> {
            if over.is_empty() { base.to_vec() } else { over.to_vec() }
        }
        fn pick_map<V: Clone>(base: &BTreeMap<String, V>, over: &BTreeMap<String, V>) -> BTreeMap<String, V> {
            base.iter().chain(over).map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        let mut settings = self.settings.clone();
        merge_tables(&mut settings, &over.settings);
        AgentProfile {
            display_name: pick(&self.display_name, &over.display_name),
            adapter: pick(&self.adapter, &over.adapter),
            command: pick_list(&self.command, &over.command),
            args: pick_list(&self.args, &over.args),
            resume_args: pick_list(&self.resume_args, &over.resume_args),
            resume_last_args: pick_list(&self.resume_last_args, &over.resume_last_args),
            model_args: pick_list(&self.model_args, &over.model_args),
            system_prompt_args: pick_list(&self.system_prompt_args, &over.system_prompt_args),
            read_only_args: pick_list(&self.read_only_args, &over.read_only_args),
            env_pass: pick_list(&self.env_pass, &over.env_pass),
            env: pick_map(&self.env, &over.env),
            output: pick(&self.output, &over.output),
            events: pick_list(&self.events, &over.events),
            session_pattern: pick(&self.session_pattern, &over.session_pattern),
            usage_pattern: pick(&self.usage_pattern, &over.usage_pattern),
            answer_pattern: pick(&self.answer_pattern, &over.answer_pattern),
            noise_pattern: pick(&self.noise_pattern, &over.noise_pattern),
            error_pattern: pick(&self.error_pattern, &over.error_pattern),
            model: pick(&self.model, &over.model),
            system_prompt: pick(&self.system_prompt, &over.system_prompt),
            mcp_servers: pick_map(&self.mcp_servers, &over.mcp_servers),
            denied_tools: pick_list(&self.denied_tools, &over.denied_tools),
            settings,
            config_dir: pick(&self.config_dir, &over.config_dir),
            places: pick(&self.places, &over.places),
            about: pick(&self.about, &over.about),
            prices: pick_map(&self.prices, &over.prices),
            loop_enabled: pick(&self.loop_enabled, &over.loop_enabled),
            max_iterations: pick(&self.max_iterations, &over.max_iterations),
            completion_promise: pick(&self.completion_promise, &over.completion_promise),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // promise: settings-1
    fn unset_loop_means_no_loop() {
        assert!(!AgentProfile::default().loops());
        assert!(AgentProfile { loop_enabled: Some(true), ..Default::default() }.loops());
    }

    #[test]
    // promise: bounds-4, settings-1
    fn iterations_default_to_five_and_are_clamped() {
        let with = |n| AgentProfile { max_iterations: n, ..Default::default() }.iterations();
        assert_eq!([None, Some(0), Some(1), Some(100), Some(101), Some(u32::MAX)].map(with), [5, 1, 1, 100, 100, 100]);
    }

    #[test]
    // promise: settings-1
    fn an_empty_promise_is_none() {
        let with = |p: Option<&str>| AgentProfile { completion_promise: p.map(Into::into), ..Default::default() };
        assert_eq!(with(Some("")).promise(), None);
        assert_eq!(with(None).promise(), None);
        assert_eq!(with(Some("DONE")).promise(), Some("DONE"));
    }

    #[test]
    fn a_profile_on_top_adds_to_tables_and_replaces_the_rest() {
        let profile = |json: serde_json::Value| serde_json::from_value::<AgentProfile>(json).unwrap();
        let base = profile(serde_json::json!({
            "system_prompt": "below", "denied_tools": ["a"], "config_dir": "/below",
            "mcp_servers": { "one": { "command": "1" }, "two": { "command": "2" } },
            "settings": { "a": { "b": 1, "c": 2 }, "d": [1] },
            "prices": { "m": { "input": 1.0, "output": 2.0 } },
        }));
        let over = profile(serde_json::json!({
            "system_prompt": "above", "denied_tools": ["b"],
            "mcp_servers": { "two": { "command": "22", "args": ["x"] } },
            "settings": { "a": { "c": 3 }, "d": [2] },
            "prices": { "n": { "input": 3.0, "output": 4.0 } },
        }));
        let both = profile(serde_json::json!({
            "system_prompt": "above", "denied_tools": ["b"], "config_dir": "/below",
            "mcp_servers": { "one": { "command": "1" }, "two": { "command": "22", "args": ["x"] } },
            "settings": { "a": { "b": 1, "c": 3 }, "d": [2] },
            "prices": { "m": { "input": 1.0, "output": 2.0 }, "n": { "input": 3.0, "output": 4.0 } },
        }));
        assert_eq!(base.overlaid(&over), both);
    }

    #[test]
    // promise: settings-1
    fn unset_fields_are_left_out_of_json_and_unknown_ones_refused() {
        assert_eq!(serde_json::to_string(&AgentProfile::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<AgentProfile>(r#"{"max_iteration": 3}"#).is_err());
    }
}
