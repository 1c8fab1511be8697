//! What a loop puts into an agent's session: the profile's part and the engine's, together.
//!
//! Invariant: nothing of it touches the agent's own configuration or the workspace. It travels in arguments, in the
//! environment, and in private files next to the prompt, which the engine writes before the start.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_core::profile::{AdapterKind, AgentProfile, McpServer, merge_tables};
use windlass_core::spec::AgentChoice;

use crate::{LaunchError, LaunchFacts};

/// The MCP server that Windlass itself offers; no profile may have one of this name.
pub const OWN_MCP_SERVER: &str = "windlass";

/// A file for the agent's eyes only, to be written for its owner alone before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    pub path: PathBuf,
    pub content: String,
}

/// Everything that is injected into one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Injected {
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub system_prompt: Option<String>,
    pub denied_tools: Vec<String>,
    /// Instructs the agent not to change files. Advice only: the engine checks the files.
    pub read_only: bool,
    pub settings: Map<String, Value>,
}

impl Injected {
    /// The profile's and the engine's, or why they do not go together.
    pub fn of(agent: &AgentChoice, facts: &LaunchFacts) -> Result<Injected, LaunchError> {
        let profile = &agent.profile;
        let mut mcp_servers = profile.mcp_servers.clone();
        for (name, server) in &facts.mcp_servers {
            if mcp_servers.insert(name.clone(), server.clone()).is_some() {
                return Err(LaunchError::ServerTwice { agent: agent.name.clone(), server: name.clone() });
            }
        }
        let prompts = [profile.system_prompt.as_deref(), facts.system_prompt.as_deref()];
        let prompts: Vec<&str> = prompts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        let mut settings = profile.settings.clone();
        merge_tables(&mut settings, &facts.settings);
        let injected = Injected {
            mcp_servers,
            system_prompt: (!prompts.is_empty()).then(|| prompts.join("\n\n")),
            denied_tools: profile.denied_tools.iter().chain(&facts.denied_tools).cloned().collect(),
            read_only: facts.read_only,
            settings,
        };
        match injected.refused_by(profile) {
            Some(key) => Err(LaunchError::NoWay { agent: agent.name.clone(), key }),
            None => Ok(injected),
        }
    }

    /// What of it the adapter has no way for; silence would be worse than an error.
    fn refused_by(&self, profile: &AgentProfile) -> Option<&'static str> {
        let wanted = [
            ("mcp_servers", !self.mcp_servers.is_empty()),
            ("system_prompt", self.system_prompt.is_some()),
            ("denied_tools", !self.denied_tools.is_empty()),
            ("settings", !self.settings.is_empty()),
        ];
        wanted.into_iter().find(|(key, wanted)| *wanted && !profile_takes(profile, key)).map(|(key, _)| key)
    }

    /// The servers in the JSON format of most agents, each with `more` next to its command.
    pub(crate) fn servers_json(&self, more: &Value) -> Value {
        let server = |server: &McpServer| {
            let mut json = json!({ "command": server.command, "args": server.args, "env": server.env });
            if let (Some(json), Some(more)) = (json.as_object_mut(), more.as_object()) {
                merge_tables(json, more);
            }
            json
        };
        let servers = self.mcp_servers.iter().map(|(name, one)| (name.clone(), server(one)));
        json!({ "mcpServers": servers.collect::<Map<_, _>>() })
    }
}

/// Whether an agent of this kind supports the profile's key for one session, without a change to
/// the user's own configuration.
pub fn takes(adapter: AdapterKind, key: &str) -> bool {
    match adapter {
        // Nothing is known of such a program but its command.
        AdapterKind::Command => !matches!(key, "mcp_servers" | "system_prompt" | "denied_tools" | "settings"),
        // The protocol passes on servers and nothing else.
        AdapterKind::Acp => !matches!(key, "system_prompt" | "denied_tools" | "settings"),
        // Its rules are files in its directory.
        AdapterKind::Codex => key != "denied_tools",
        // Its settings are one file, which also contains its login.
        AdapterKind::Copilot => key != "settings",
        // It takes settings only from the user's files, the workspace's, and those that belong to root.
        AdapterKind::Gemini => !matches!(key, "mcp_servers" | "settings"),
        AdapterKind::Claude | AdapterKind::Opencode | AdapterKind::Qwen => true,
    }
}

/// A command takes what its profile has arguments for.
fn profile_takes(profile: &AgentProfile, key: &str) -> bool {
    let by_arguments = key == "system_prompt" && !profile.system_prompt_args.is_empty();
    takes(profile.adapter(), key) || profile.adapter() == AdapterKind::Command && by_arguments
}

/// The first key of a profile that its agent cannot be given.
pub fn not_taken(profile: &AgentProfile) -> Option<&'static str> {
    let said = [
        ("mcp_servers", !profile.mcp_servers.is_empty()),
        ("system_prompt", profile.system_prompt.is_some()),
        ("denied_tools", !profile.denied_tools.is_empty()),
        ("settings", !profile.settings.is_empty()),
        ("config_dir", profile.config_dir.is_some()),
    ];
    said.into_iter().find(|(key, said)| *said && !profile_takes(profile, key)).map(|(key, _)| key)
}
