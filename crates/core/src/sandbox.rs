//! What the processes of a loop are kept away from: decided when the loop is made, and kept for all of its life.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SandboxSpec {
    pub level: SandboxLevel,
    /// What enforced it when the loop was made, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default)]
    pub network: NetworkAccess,
    /// Hosts that may be reached, where the network is a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Places that may be read although they are denied by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<String>,
    /// Places that may be written to besides those of the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Places that are denied besides those of the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// The agent and the gates have the user's rights.
    #[default]
    Off,
    /// Writes only in the workspace and named places; reads anywhere but in denied places.
    Workspace,
    /// The same, and the workspace cannot be written to either.
    ReadOnly,
}

impl SandboxLevel {
    pub fn name(self) -> &'static str {
        match self {
            SandboxLevel::Off => "off",
            SandboxLevel::Workspace => "workspace",
            SandboxLevel::ReadOnly => "read-only",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    #[default]
    Allow,
    Deny,
    /// Only the hosts that are listed, through a proxy.
    List,
}

impl NetworkAccess {
    pub fn name(self) -> &'static str {
        match self {
            NetworkAccess::Allow => "allow",
            NetworkAccess::Deny => "deny",
            NetworkAccess::List => "list",
        }
    }
}

impl SandboxSpec {
    pub fn is_off(&self) -> bool {
        self.level == SandboxLevel::Off
    }

    /// The level of a process: one that only reads gets no more than that.
    pub fn level_for(&self, only_reads: bool) -> SandboxLevel {
        match self.level {
            SandboxLevel::Workspace if only_reads => SandboxLevel::ReadOnly,
            level @ (SandboxLevel::Off | SandboxLevel::Workspace | SandboxLevel::ReadOnly) => level,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_reads_gets_a_read_only_workspace_where_there_is_a_sandbox() {
        let level = |level, only_reads| SandboxSpec { level, ..SandboxSpec::default() }.level_for(only_reads);
        assert_eq!(level(SandboxLevel::Workspace, true), SandboxLevel::ReadOnly);
        assert_eq!(level(SandboxLevel::Workspace, false), SandboxLevel::Workspace);
        assert_eq!(level(SandboxLevel::Off, true), SandboxLevel::Off);
    }

    #[test]
    fn a_loop_from_before_there_was_a_sandbox_has_none() {
        assert!(SandboxSpec::default().is_off());
        let text = serde_json::to_string(&SandboxSpec { level: SandboxLevel::ReadOnly, ..Default::default() }).unwrap();
        assert_eq!(text, r#"{"level":"read-only","network":"allow"}"#);
    }
}
