//! What a loop puts into an agent's session: the profile's part and the engine's, together.
//!
//! Invariant: nothing of it touches the agent's own configuration or the workspace. It travels in arguments, in the
//! environment, and in private files next to the prompt, which the engine writes before the start.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_core::profile::{AgentProfile, McpServer, merge_tables};
use windlass_core::spec::AgentChoice;

use crate::turn::{LaunchError, LaunchFacts};

/// The MCP server that Windlass itself offers; no profile may have one of this name.
pub const OWN_MCP_SERVER: &str = "windlass";

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
        Ok(Injected {
            mcp_servers,
            system_prompt: (!prompts.is_empty()).then(|| prompts.join("\n\n")),
            denied_tools: profile.denied_tools.iter().chain(&facts.denied_tools).cloned().collect(),
            read_only: facts.read_only,
            settings,
        })
    }

    /// The profile's keys for what there is.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let wanted = [
            ("mcp_servers", !self.mcp_servers.is_empty()),
            ("system_prompt", self.system_prompt.is_some()),
            ("denied_tools", !self.denied_tools.is_empty()),
            ("settings", !self.settings.is_empty()),
        ];
        wanted.into_iter().filter_map(|(key, wanted)| wanted.then_some(key))
    }

    /// The servers in the JSON format of most agents, each with `more` next to its command.
    pub fn servers_json(&self, more: &Value) -> Value {
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

/// The keys of a profile that not every agent supports.
pub fn keys_of(profile: &AgentProfile) -> impl Iterator<Item = &'static str> {
    let said = [
        ("mcp_servers", !profile.mcp_servers.is_empty()),
        ("system_prompt", profile.system_prompt.is_some()),
        ("denied_tools", !profile.denied_tools.is_empty()),
        ("settings", !profile.settings.is_empty()),
    ];
    said.into_iter().filter_map(|(key, said)| said.then_some(key))
}
