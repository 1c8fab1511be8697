//! The agents Windlass knows: a folder for each, with everything about it.
//!
//! An agent with an adapter is a `KnownAgent`: what its program is called, how to get and log in to it, where it keeps what,
//! what it runs from a repository, and how it is started and read. One that needs no adapter is a `DescribedAgent`: a
//! profile, as a user would write it, and its traps. `templates` are profiles that nobody tried.

mod aider;
mod claude;
mod cline;
mod codex;
mod copilot;
pub(crate) mod facts;
mod gemini;
mod goose;
mod kimi;
mod mistral_vibe;
mod opencode;
mod pi;
pub(crate) mod places;
mod qwen;
pub(crate) mod traps;

use std::collections::BTreeMap;

use windlass_core::profile::{AdapterKind, AgentProfile};

use crate::start::Adapter;
use places::Places;
use traps::Trap;

/// The agents with an adapter: their kinds and folders.
macro_rules! adapters {
    ($($kind:ident: $folder:ident),* $(,)?) => {
        /// All agents with an adapter, by name.
        pub const KNOWN_AGENTS: &[KnownAgent] = &[$($folder::AGENT),*];

        /// The names of all adapters, as in a profile.
        pub const ADAPTERS: &[&str] = &["command", $(stringify!($folder),)* "acp"];

        impl KnownAgent {
            pub fn of(adapter: AdapterKind) -> Option<&'static KnownAgent> {
                match adapter {
                    AdapterKind::Command | AdapterKind::Acp => None,
                    $(AdapterKind::$kind => KNOWN_AGENTS.iter().find(|known| known.kind == adapter),)*
                }
            }
        }
    };
}

/// The agents that a profile describes: their folders.
macro_rules! profiles {
    ($($folder:ident),* $(,)?) => {
        /// All agents that were tried and need no adapter, by name.
        pub const DESCRIBED_AGENTS: &[DescribedAgent] = &[$($folder::AGENT),*];
    };
}

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        /// Agents that Windlass was not tried with, by name: settings files for `windlass agents add`.
        pub const TEMPLATES: &[(&str, &str)] = &[$(($name, include_str!(concat!("templates/", $name, ".toml")))),*];
    };
}

adapters! {
    Claude: claude,
    Codex: codex,
    Copilot: copilot,
    Gemini: gemini,
    Opencode: opencode,
    Qwen: qwen,
}

profiles! { aider, cline, goose, kimi, mistral_vibe, pi }

templates! { "amp", "auggie", "crush", "cursor-agent", "droid", "junie", "kiro", "openhands" }

/// One agent with an adapter.
#[derive(Debug, Clone, Copy)]
pub struct KnownAgent {
    pub kind: AdapterKind,
    /// The name of its built-in profile, and of its program.
    pub name: &'static str,
    pub display_name: &'static str,
    /// The range of tested versions; the upper bound is a guess of where to expect a change.
    pub known_good: (&'static str, &'static str),
    /// What to run to log in.
    pub login: &'static str,
    /// Environment variables that log in without a user.
    pub key_variables: &'static [&'static str],
    /// Variables of its configuration and login, as names or prefixes with `*`; only this agent gets them.
    pub own_variables: &'static [&'static str],
    /// The variable that sets its configuration directory.
    pub config_variable: &'static str,
    /// Its package in the npm registry.
    pub npm_package: &'static str,
    pub counts: Counts,
    /// It names the cost itself; otherwise the price table is asked.
    pub names_cost: bool,
    /// Arguments that open a session for a user, with `{session}` for its ID.
    pub(crate) takeover: &'static [&'static str],
    /// Where it asks its models and logs in: part of `@models`.
    pub(crate) hosts: &'static [&'static str],
    /// What it needs of the user's files.
    pub(crate) places: fn(&mut Places<'_>),
    /// Files of a repository that it runs code from.
    pub(crate) traps: &'static [Trap],
    pub(crate) adapter: &'static dyn Adapter,
}

/// When an agent's usage is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// While the turn runs, so that a budget can end it.
    AsItGoes,
    /// As it goes if its model has a price; otherwise it is held until the agent names the cost itself.
    OncePriced,
    /// Before the next turn.
    AtTheEnd,
}

/// One agent that needs no adapter.
#[derive(Debug, Clone, Copy)]
pub struct DescribedAgent {
    pub name: &'static str,
    /// A settings file with its profile.
    pub profile: &'static str,
    pub(crate) traps: &'static [Trap],
}

/// Where models are asked, by the agents with an adapter. Profiles name their own.
pub fn model_hosts() -> impl Iterator<Item = &'static str> {
    KNOWN_AGENTS.iter().flat_map(|known| known.hosts.iter().copied())
}

/// Programs that start the program named after them.
const LAUNCHERS: [&str; 7] = ["node", "npx", "bun", "bunx", "pnpm", "yarn", "env"];
/// Words that make a launcher start something.
const LAUNCHER_COMMANDS: [&str; 4] = ["exec", "dlx", "run", "x"];

/// The agent that a profile starts. One that speaks ACP, or is described by its profile alone, is known by the name of
/// its program or package: `gemini --acp`, `codex-acp`, `npx -y @agentclientprotocol/claude-agent-acp`.
pub fn known(profile: &AgentProfile) -> Option<&'static KnownAgent> {
    KnownAgent::of(profile.adapter())
        .or_else(|| KNOWN_AGENTS.iter().find(|known| known.is_started_by(&profile.command)))
}

impl KnownAgent {
    /// Whether one process takes turn after turn.
    pub fn keeps_alive(&self) -> bool {
        self.adapter.keeps_alive()
    }

    /// Whether MCP servers can be added for one session.
    pub fn takes_mcp_servers(&self) -> bool {
        !self.adapter.refuses().contains(&"mcp_servers")
    }

    fn is_started_by(&self, command: &[String]) -> bool {
        let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let mut words = command.iter().map(String::as_str);
        let mut program = words.next().unwrap_or_default();
        if LAUNCHERS.contains(&base(program).as_str()) {
            let is_option =
                |word: &&str| word.starts_with('-') || word.contains('=') || LAUNCHER_COMMANDS.contains(word);
            program = words.find(|word| !is_option(word)).unwrap_or_default();
        }
        // `name@version`, and the file of an installed package.
        let unversioned =
            program.rsplit_once('@').map_or(program, |(name, _)| if name.is_empty() { program } else { name });
        let name = base(unversioned);
        let named = name.strip_prefix(self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']));
        named || program.contains(&format!("{}/", self.npm_package)) || unversioned == self.npm_package
    }
}

/// The variables of the user's environment that an agent is configured and logged in with.
pub fn own_variables(profile: &AgentProfile) -> &'static [&'static str] {
    known(profile).map_or(&[], |known| known.own_variables)
}

/// The profiles everybody has; the user's of the same name override them field by field.
pub fn built_in_profiles() -> BTreeMap<String, AgentProfile> {
    let profile = |known: &KnownAgent| AgentProfile {
        display_name: Some(known.display_name.to_owned()),
        adapter: Some(known.kind),
        command: vec![known.name.to_owned()],
        ..AgentProfile::default()
    };
    KNOWN_AGENTS.iter().map(|known| (known.name.to_owned(), profile(known))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_its_own_credentials_and_not_those_of_another() {
        let passed = |profile: &AgentProfile, name| {
            windlass_redact::environment::passes(name, own_variables(profile).iter().copied())
        };
        for known in KNOWN_AGENTS {
            let profile = &built_in_profiles()[known.name];
            for key in known.key_variables {
                assert!(passed(profile, key), "{}: {key}", known.name);
            }
            assert!(!passed(profile, "AWS_SECRET_ACCESS_KEY") && !passed(profile, "DATABASE_URL"), "{}", known.name);
        }
        assert!(!passed(&built_in_profiles()["claude"], "OPENAI_API_KEY"));
        let acp = |program: &str| AgentProfile {
            adapter: Some(AdapterKind::Acp),
            command: vec![program.to_owned()],
            ..AgentProfile::default()
        };
        assert!(passed(&acp("/opt/bin/codex-acp"), "CODEX_API_KEY"));
        assert!(passed(&acp("gemini"), "GEMINI_API_KEY"));
        assert!(!passed(&acp("claudette"), "ANTHROPIC_API_KEY"));
        let name = |command: &str| {
            let command = command.split(' ').map(str::to_owned).collect();
            known(&AgentProfile { adapter: Some(AdapterKind::Acp), command, ..AgentProfile::default() })
                .map(|known| known.name)
        };
        for (command, expected) in [
            ("npx -y @agentclientprotocol/claude-agent-acp@0.49.0", Some("claude")),
            ("npx --yes @google/gemini-cli --acp", Some("gemini")),
            ("node /opt/node_modules/@qwen-code/qwen-code/dist/index.js --acp", Some("qwen")),
            ("env A=b opencode acp", Some("opencode")),
            ("pnpm dlx @agentclientprotocol/codex-acp", Some("codex")),
            ("/usr/bin/copilot --acp", Some("copilot")),
            ("aider --model gemini", None),
            ("npx", None),
            ("", None),
        ] {
            assert_eq!(name(command), expected, "{command}");
        }
        assert!(own_variables(&AgentProfile::of_command(vec!["./my-agent.sh".into()])).is_empty());
    }

    #[test]
    fn every_adapter_but_the_generic_one_has_its_profile() {
        let profiles = built_in_profiles();
        assert_eq!(profiles.keys().collect::<Vec<_>>(), ["claude", "codex", "copilot", "gemini", "opencode", "qwen"]);
        for known in KNOWN_AGENTS {
            assert_eq!(profiles[known.name].adapter(), known.kind);
            assert_eq!(profiles[known.name].loop_enabled, None);
        }
        assert!(KnownAgent::of(AdapterKind::Command).is_none());
    }
}
