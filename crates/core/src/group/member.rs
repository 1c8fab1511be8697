//! What a group sees of a loop.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::AccountWindow;
use crate::stop::{End, Outcome};

/// A loop as its catalogue row shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopReport {
    pub standing: Standing,
    /// Of a completed loop.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    #[serde(default)]
    pub hidden_gates: HiddenGates,
    #[serde(default)]
    pub findings_open: u64,
    /// `None`: unknown.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub tokens: u64,
    /// How much of its account its agent last reported as used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<AccountWindow>,
    #[serde(default)]
    pub elapsed_ms: u64,
    #[serde(default)]
    pub iterations: u32,
    #[serde(default)]
    pub head_commit: Option<String>,
}

impl LoopReport {
    pub fn new(standing: Standing) -> Self {
        Self {
            standing,
            outcome: None,
            hidden_gates: HiddenGates::default(),
            findings_open: 0,
            cost_usd: None,
            tokens: 0,
            account: Vec::new(),
            elapsed_ms: 0,
            iterations: 0,
            head_commit: None,
        }
    }

    pub fn is_verified(&self) -> bool {
        self.outcome == Some(Outcome::Verified)
    }

    pub fn is_completed(&self) -> bool {
        self.standing == Standing::Ended { end: End::Completed }
    }

    pub fn has_ended(&self) -> bool {
        match self.standing {
            Standing::Ended { .. } => true,
            Standing::Queued | Standing::Running | Standing::Waiting { .. } | Standing::Paused => false,
        }
    }

    /// Nothing of it runs by itself.
    pub fn rests(&self) -> bool {
        match self.standing {
            Standing::Ended { .. } | Standing::Paused => true,
            Standing::Queued | Standing::Running | Standing::Waiting { .. } => false,
        }
    }
}

/// How the loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Standing {
    /// For a slot.
    Queued,
    Running,
    Waiting {
        until: Option<Timestamp>,
        /// Its agent's account has reached a limit of the provider.
        rate_limit: bool,
    },
    /// Needs a person.
    Paused,
    Ended {
        end: End,
    },
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Standing::Queued => "queued",
            Standing::Running => "running",
            Standing::Waiting { .. } => "waiting",
            Standing::Paused => "paused",
            Standing::Ended { end } => end.name(),
        }
    }
}

/// What the gates that agents do not see said. Better ones come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HiddenGates {
    Passed,
    /// There is none, or no claim was judged by them.
    #[default]
    NotJudged,
    Failed,
}

/// How much a loop changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiffSize {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

impl DiffSize {
    pub fn lines(self) -> u64 {
        self.added.saturating_add(self.removed)
    }

    /// Of a patch as git writes it.
    pub fn of_patch(patch: &[u8]) -> Self {
        let mut size = Self::default();
        let mut in_hunk = false;
        for line in patch.split(|byte| *byte == b'\n') {
            if line.starts_with(b"diff --git ") {
                size.files += 1;
                in_hunk = false;
            } else if line.starts_with(b"@@") {
                in_hunk = true;
            } else if in_hunk && line.starts_with(b"+") {
                size.added += 1;
            } else if in_hunk && line.starts_with(b"-") {
                size.removed += 1;
            }
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_size_counts_lines_of_hunks_and_no_headers() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n context\n--- gone\n+++ new\n+more\n\
            diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+one\n";
        assert_eq!(DiffSize::of_patch(patch), DiffSize { files: 2, added: 3, removed: 1 });
    }
}
