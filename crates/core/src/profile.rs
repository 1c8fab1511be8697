//! Agents as data: how one is started and how its output is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Default number of iterations of a profile that says none.
pub const DEFAULT_ITERATIONS: u32 = 5;
/// The least and most iterations a loop may be given.
pub const ITERATIONS: std::ops::RangeInclusive<u32> = 1..=100;

/// One agent. Every field is optional in a file; a profile of a built-in name overrides that one field by field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Environment on top of the engine's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How standard output is read; `text` if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputFormat>,
    /// A regular expression whose first group is the agent's session id, for `text` output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_pattern: Option<String>,
    /// A regular expression with named groups `input`, `output`, `cost`, for `text` output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_pattern: Option<String>,
    /// A regular expression whose first group is the final answer, for `text` output: only there a promise counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
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

/// The adapters there are: each knows one agent's command line and format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Everything on standard output is assistant text.
    #[default]
    Text,
    /// One neutral event a line.
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
        fn pick_list(base: &[String], over: &[String]) -> Vec<String> {
            if over.is_empty() { base.to_vec() } else { over.to_vec() }
        }
        let mut env = self.env.clone();
        env.extend(over.env.clone());
        AgentProfile {
            display_name: pick(&self.display_name, &over.display_name),
            adapter: pick(&self.adapter, &over.adapter),
            command: pick_list(&self.command, &over.command),
            args: pick_list(&self.args, &over.args),
            resume_args: pick_list(&self.resume_args, &over.resume_args),
            env,
            output: pick(&self.output, &over.output),
            session_pattern: pick(&self.session_pattern, &over.session_pattern),
            usage_pattern: pick(&self.usage_pattern, &over.usage_pattern),
            answer_pattern: pick(&self.answer_pattern, &over.answer_pattern),
            model: pick(&self.model, &over.model),
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
    fn s0_8_unset_loop_means_no_loop() {
        assert!(!AgentProfile::default().loops());
        assert!(AgentProfile { loop_enabled: Some(true), ..Default::default() }.loops());
    }

    #[test]
    fn s0_9_iterations_default_to_five_and_are_clamped() {
        let with = |n| AgentProfile { max_iterations: n, ..Default::default() }.iterations();
        assert_eq!([None, Some(0), Some(1), Some(100), Some(101), Some(u32::MAX)].map(with), [5, 1, 1, 100, 100, 100]);
    }

    #[test]
    fn s0_10_an_empty_promise_is_none() {
        let with = |p: Option<&str>| AgentProfile { completion_promise: p.map(Into::into), ..Default::default() };
        assert_eq!(with(Some("")).promise(), None);
        assert_eq!(with(None).promise(), None);
        assert_eq!(with(Some("DONE")).promise(), Some("DONE"));
    }

    #[test]
    fn unset_fields_are_left_out_of_json_and_unknown_ones_refused() {
        assert_eq!(serde_json::to_string(&AgentProfile::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<AgentProfile>(r#"{"max_iteration": 3}"#).is_err());
    }
}
