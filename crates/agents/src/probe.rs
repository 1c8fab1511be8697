//! The agents Windlass knows: what their programs are called, what they can do, how to get and log in to them.

use std::collections::BTreeMap;

use windlass_core::profile::{AdapterKind, AgentProfile};

/// One known agent, for `windlass agents` and `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    pub adapter: AdapterKind,
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
    /// Its usage is known while the turn runs, so that a budget can end it; otherwise before the next turn.
    pub streams_usage: bool,
    /// It names the cost itself; otherwise the price table is asked.
    pub names_cost: bool,
    pub resumes: bool,
    pub takes_mcp_servers: bool,
    /// Several turns in one process, as Windlass drives it.
    pub keeps_alive: bool,
}

/// How an installed version compares to the tested versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionFit {
    Older,
    Tried,
    Newer,
}

/// All known agents, by name.
pub const KNOWN_AGENTS: &[KnownAgent] = &[
    KnownAgent {
        adapter: AdapterKind::Claude,
        name: "claude",
        display_name: "Claude Code",
        known_good: ("2.1.325", "2.2.0"),
        login: "claude auth login",
        key_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        own_variables: &[
            "ANTHROPIC_*",
            "CLAUDE_*",
            "API_TIMEOUT_MS",
            "BASH_DEFAULT_TIMEOUT_MS",
            "BASH_MAX_TIMEOUT_MS",
            "BASH_MAX_OUTPUT_LENGTH",
            "MAX_THINKING_TOKENS",
            "MAX_MCP_OUTPUT_TOKENS",
            "MCP_TIMEOUT",
            "MCP_TOOL_TIMEOUT",
            "DISABLE_*",
            "IS_SANDBOX",
        ],
        config_variable: "CLAUDE_CONFIG_DIR",
        npm_package: "@anthropic-ai/claude-code",
        streams_usage: true,
        names_cost: true,
        resumes: true,
        takes_mcp_servers: true,
        keeps_alive: true,
    },
    KnownAgent {
        adapter: AdapterKind::Codex,
        name: "codex",
        display_name: "Codex",
        known_good: ("0.166.0", "0.167.0"),
        login: "codex login",
        key_variables: &["CODEX_API_KEY"],
        own_variables: &["CODEX_*", "OPENAI_*"],
        config_variable: "CODEX_HOME",
        npm_package: "@openai/codex",
        streams_usage: false,
        names_cost: false,
        resumes: true,
        takes_mcp_servers: true,
        keeps_alive: false,
    },
    KnownAgent {
        adapter: AdapterKind::Copilot,
        name: "copilot",
        display_name: "Copilot",
        known_good: ("1.0.102", "1.1.0"),
        login: "copilot login",
        key_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        own_variables: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
        config_variable: "COPILOT_HOME",
        npm_package: "@github/copilot",
        streams_usage: false,
        names_cost: false,
        resumes: true,
        takes_mcp_servers: true,
        keeps_alive: false,
    },
    KnownAgent {
        adapter: AdapterKind::Gemini,
        name: "gemini",
        display_name: "Gemini CLI",
        known_good: ("0.61.0", "0.62.0"),
        login: "gemini",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        own_variables: &[
            "GEMINI_*",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_*",
            "GOOGLE_GENAI_*",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ],
        config_variable: "GEMINI_CLI_HOME",
        npm_package: "@google/gemini-cli",
        streams_usage: false,
        names_cost: false,
        resumes: true,
        takes_mcp_servers: false,
        keeps_alive: false,
    },
    KnownAgent {
        adapter: AdapterKind::Opencode,
        name: "opencode",
        display_name: "OpenCode",
        known_good: ("1.18.33", "1.19.0"),
        login: "opencode auth login",
        // Each provider has its own.
        key_variables: &[],
        own_variables: &[
            "OPENCODE_*",
            "ANTHROPIC_*",
            "OPENAI_*",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "GROQ_API_KEY",
            "XAI_API_KEY",
            "DEEPSEEK_API_KEY",
            "MISTRAL_API_KEY",
        ],
        config_variable: "OPENCODE_CONFIG_DIR",
        npm_package: "opencode-ai",
        streams_usage: true,
        names_cost: true,
        resumes: true,
        takes_mcp_servers: true,
        keeps_alive: false,
    },
    KnownAgent {
        adapter: AdapterKind::Qwen,
        name: "qwen",
        display_name: "Qwen Code",
        known_good: ("0.24.4", "0.25.0"),
        login: "qwen",
        key_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        own_variables: &["QWEN_*", "OPENAI_*", "DASHSCOPE_*"],
        config_variable: "QWEN_HOME",
        npm_package: "@qwen-code/qwen-code",
        streams_usage: true,
        names_cost: false,
        resumes: true,
        takes_mcp_servers: true,
        keeps_alive: false,
    },
];

/// What Windlass can tell people of an agent, from its adapter or from its profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub install: Option<String>,
    pub login: Option<String>,
    /// Variables with a key that logs in.
    pub keys: Vec<String>,
    /// The first version that was tried, and the first that was not.
    pub versions: Option<(String, String)>,
}

impl Facts {
    pub fn of(profile: &AgentProfile) -> Facts {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        if let Some(known) = KnownAgent::of(profile.adapter()) {
            return Facts {
                install: Some(format!("npm install -g {}", known.npm_package)),
                login: Some(known.login.to_owned()),
                keys: texts(known.key_variables),
                versions: Some((known.known_good.0.to_owned(), known.known_good.1.to_owned())),
            };
        }
        let about = profile.about.clone().unwrap_or_default();
        let versions = match about.versions.as_slice() {
            [from, below] => Some((from.clone(), below.clone())),
            _ => None,
        };
        Facts { install: about.install, login: about.login, keys: about.keys, versions }
    }

    /// Compares the printed version to the tried ones; `None` if there are none, or the output contains no version.
    pub fn fit(&self, printed: &str) -> Option<VersionFit> {
        let (from, below) = self.versions.as_ref()?;
        let numbers = |text: &str| -> Vec<u64> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
        let version = numbers(version_in(printed)?);
        Some(if version < numbers(from) {
            VersionFit::Older
        } else if version < numbers(below) {
            VersionFit::Tried
        } else {
            VersionFit::Newer
        })
    }
}

/// The arguments that make an agent's program print its version and nothing else.
pub fn version_args(profile: &AgentProfile) -> Vec<String> {
    let own = profile.about.as_ref().map(|about| about.version_args.clone()).filter(|args| !args.is_empty());
    own.unwrap_or_else(|| vec!["--version".to_owned()])
}

impl KnownAgent {
    pub fn of(adapter: AdapterKind) -> Option<&'static KnownAgent> {
        KNOWN_AGENTS.iter().find(|known| known.adapter == adapter)
    }
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

/// The version in what a program prints, such as `codex-cli 0.166.0` or `2.1.325 (Claude Code)`.
pub fn version_in(printed: &str) -> Option<&str> {
    printed.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')).find_map(|word| {
        let word = word.trim_start_matches('v');
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let version = word[..end].trim_end_matches('.');
        (version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.')).then_some(version)
    })
}

/// The profiles everybody has; the user's of the same name override them field by field.
pub fn built_in_profiles() -> BTreeMap<String, AgentProfile> {
    let profile = |known: &KnownAgent| AgentProfile {
        display_name: Some(known.display_name.to_owned()),
        adapter: Some(known.adapter),
        command: vec![known.name.to_owned()],
        ..AgentProfile::default()
    };
    KNOWN_AGENTS.iter().map(|known| (known.name.to_owned(), profile(known))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        assert_eq!(version_in("codex-cli 0.166.0\n"), Some("0.166.0"));
        assert_eq!(version_in("2.1.325 (Claude Code)"), Some("2.1.325"));
        assert_eq!(version_in("GitHub Copilot CLI 1.0.102.\nCommit: 0a1b2c3"), Some("1.0.102"));
        assert_eq!(version_in("v20.1.0-beta.3"), Some("20.1.0"));
        assert_eq!(version_in("command not found"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn ranges_compare_numbers_and_not_letters() {
        let claude = Facts::of(&built_in_profiles()["claude"]);
        assert_eq!(claude.fit("2.1.325 (Claude Code)"), Some(VersionFit::Tried));
        assert_eq!(claude.fit("2.1.999"), Some(VersionFit::Tried));
        assert_eq!(claude.fit("2.2.0"), Some(VersionFit::Newer));
        assert_eq!(claude.fit("2.10.0"), Some(VersionFit::Newer));
        assert_eq!(claude.fit("2.1.99"), Some(VersionFit::Older));
        assert_eq!(claude.fit("garbage"), None);
    }

    #[test]
    fn what_is_said_of_servers_is_what_the_adapters_do() {
        for known in KNOWN_AGENTS {
            assert_eq!(known.takes_mcp_servers, crate::takes(known.adapter, "mcp_servers"), "{}", known.name);
        }
    }

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
            assert_eq!(profiles[known.name].adapter(), known.adapter);
            assert_eq!(profiles[known.name].loop_enabled, None);
            assert_eq!(known.keeps_alive, crate::keeps_alive(&profiles[known.name]));
        }
        assert_eq!(KnownAgent::of(AdapterKind::Command), None);
    }
}
