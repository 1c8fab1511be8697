//! Claude Code: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, PlaceKind, Places};
use super::traps::{Trap, anything, below, file, front_matter, keys, servers};
use super::{Counts, KnownAgent};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Claude,
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
    counts: Counts::OncePriced,
    names_cost: true,
    takeover: &["--resume", "{session}"],
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const OWN: Own = Own {
    // And the workspace's directory in `projects`.
    login: &[".credentials.json"],
    copied: &["settings.json", "settings.local.json", "CLAUDE.md", ".claude.json", "keybindings.json"],
    shown: &["agents", "commands", "skills", "plugins", "output-styles", "hooks", "rules", "local"],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    let dir = found.named("CLAUDE_CONFIG_DIR", ".claude");
    found.below(&dir, &OWN);
    let sessions = sessions(&found.cwd.to_string_lossy());
    found.put(sessions.map_or_else(|| dir.join("projects"), |name| dir.join("projects").join(name)), PlaceKind::Kept);
    if found.said("CLAUDE_CONFIG_DIR").is_none() {
        found.put(found.home.join(".claude.json"), PlaceKind::Copied);
    }
}

/// What it calls its directory of sessions for this working directory; none for a long one, which it shortens.
fn sessions(cwd: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    (name.len() <= LONGEST && cwd.is_ascii()).then_some(name)
}

const TRAPS: &[Trap] = &[
    file(".mcp.json", servers),
    file(".claude/settings.json", settings),
    file(".claude/settings.local.json", settings),
    below(".claude/agents", ".md", front_matter),
    below(".claude/commands", ".md", front_matter),
    below(".claude/skills", ".md", front_matter),
    below(".claude/plugins", "", anything),
];

pub(super) fn settings(text: &str) -> Vec<String> {
    let named = [
        "hooks",
        "apiKeyHelper",
        "awsAuthRefresh",
        "awsCredentialExport",
        "otelHeadersHelper",
        "statusLine",
        "fileSuggestion",
        "env",
        "mcpServers",
        "enableAllProjectMcpServers",
        "enabledMcpjsonServers",
        "enabledPlugins",
        "extraKnownMarketplaces",
    ];
    keys(text, &named)
}

#[derive(Debug)]
struct Cli;

impl Adapter for Cli {
    fn launch(
        &self,
        request: &TurnRequest<'_>,
        facts: &LaunchFacts,
        injected: &Injected,
    ) -> Result<Launch, LaunchError> {
        adapter::launch(request, facts, injected)
    }

    fn session(&self, profile: &AgentProfile, facts: &SessionFacts) -> Box<dyn Session> {
        Box::new(JsonSession::new(adapter::Claude::new(profile, facts)))
    }

    fn lets_session_be_chosen(&self) -> bool {
        true
    }

    fn keeps_alive(&self) -> bool {
        true
    }

    fn conversation(
        &self,
        request: &TurnRequest<'_>,
        launch: &LaunchFacts,
        _injected: Injected,
        facts: &SessionFacts,
        _has_session: bool,
    ) -> Box<dyn Session> {
        let reader = adapter::Claude::new(&request.agent.profile, facts);
        Box::new(JsonSession::new(reader.talking(request.prompt, &launch.turn_id)))
    }
}
