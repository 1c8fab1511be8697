//! What became of the tool calls of one turn.
//!
//! A reviewer whose every call failed has seen nothing: its approval says nothing about the work.

use std::collections::{BTreeMap, BTreeSet};

use windlass_agents::OWN_MCP_SERVER;

/// Names are the agent's to choose, so their number is bounded.
const MOST_NAMES: usize = 50;
const LONGEST_OUTPUT: usize = 400;

#[derive(Debug, Default)]
pub struct ToolCalls {
    by_name: BTreeMap<String, u64>,
    failed: u64,
    /// Calls of Windlass's own tools that have no result yet; they work where nothing else does.
    own_pending: BTreeSet<String>,
    others: u64,
    others_failed: u64,
    last_failure: String,
}

impl ToolCalls {
    pub fn begun(&mut self, id: &str, name: &str) {
        if self.by_name.len() < MOST_NAMES || self.by_name.contains_key(name) {
            *self.by_name.entry(name.chars().take(80).collect()).or_default() += 1;
        }
        if is_own(name) {
            self.own_pending.insert(id.to_owned());
        } else {
            self.others += 1;
        }
    }

    pub fn ended(&mut self, id: &str, output: &str, is_error: bool) {
        let own = self.own_pending.remove(id);
        self.failed += u64::from(is_error);
        if is_error && !own {
            self.others_failed += 1;
            self.last_failure = output.trim().chars().take(LONGEST_OUTPUT).collect();
        }
    }

    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// How often each tool was used.
    pub fn by_name(&self) -> Vec<(String, u64)> {
        self.by_name.iter().map(|(name, times)| (name.clone(), *times)).collect()
    }

    /// Why nothing that the agent checked can have reached it, if that is so.
    pub fn all_failed(&self) -> Option<String> {
        if self.others == 0 || self.others_failed < self.others {
            return None;
        }
        let last = if self.last_failure.is_empty() { "no output" } else { &self.last_failure };
        Some(match self.others {
            1 => format!("its only tool call failed: {last}"),
            calls => format!("all of its {calls} tool calls failed, the last one with: {last}"),
        })
    }
}

/// Agents put the server's name before the tool's: `mcp__windlass__verdict`, `windlass.verdict`, `windlass-verdict`.
fn is_own(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == OWN_MCP_SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(list: &[(&str, bool)]) -> ToolCalls {
        let mut calls = ToolCalls::default();
        for (index, (name, fails)) in list.iter().enumerate() {
            calls.begun(&index.to_string(), name);
            calls.ended(&index.to_string(), "bwrap: no", *fails);
        }
        calls
    }

    #[test]
    fn calls_of_which_one_worked_are_not_all_failed() {
        assert_eq!(calls(&[]).all_failed(), None);
        assert_eq!(calls(&[("shell", true), ("shell", false)]).all_failed(), None);
        assert_eq!(calls(&[("windlass.verdict", true)]).all_failed(), None);
        let mut unfinished = calls(&[("shell", true)]);
        unfinished.begun("x", "shell");
        assert_eq!(unfinished.all_failed(), None);
    }

    #[test]
    fn calls_of_windlass_own_tools_do_not_hide_that_all_others_failed() {
        for own in ["windlass.verdict", "mcp__windlass__verdict", "windlass-verdict"] {
            let why = calls(&[("shell", true), (own, false), ("shell", true)]).all_failed();
            assert_eq!(why.as_deref(), Some("all of its 2 tool calls failed, the last one with: bwrap: no"), "{own}");
        }
        assert_eq!(calls(&[("shell", true)]).all_failed().as_deref(), Some("its only tool call failed: bwrap: no"));
    }
}
