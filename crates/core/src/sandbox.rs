//! The sandbox of a loop's processes: decided when the loop is created, and fixed for its lifetime.

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
    /// Sockets of services outside that may be connected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// The container of the level `docker`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerSpec>,
}

/// What containers are made of, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DockerSpec {
    pub image: String,
    /// The path of the daemon's socket.
    pub socket: String,
    /// The daemon is not root's, so that root in a container is the user.
    #[serde(default)]
    pub rootless: bool,
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
    /// In a container: writes as with `Workspace`, and of the machine nothing is there but those places.
    Docker,
}

impl SandboxLevel {
    pub fn name(self) -> &'static str {
        match self {
            SandboxLevel::Off => "off",
            SandboxLevel::Workspace => "workspace",
            SandboxLevel::ReadOnly => "read-only",
            SandboxLevel::Docker => "docker",
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

    /// Whether a process can change the directory it works in.
    pub fn writes(&self) -> bool {
        self.level != SandboxLevel::ReadOnly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_from_before_there_was_a_sandbox_has_none() {
        assert!(SandboxSpec::default().is_off());
        let text = serde_json::to_string(&SandboxSpec { level: SandboxLevel::ReadOnly, ..Default::default() }).unwrap();
        assert_eq!(text, r#"{"level":"read-only","network":"allow"}"#);
    }
}
