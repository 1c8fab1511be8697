//! GitHub Copilot CLI: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, PlaceKind, Places};
use super::traps::{Trap, anything, below, file, servers};
use super::{Counts, KnownAgent, claude};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Copilot,
    name: "copilot",
    display_name: "Copilot",
    known_good: ("1.0.102", "1.1.0"),
    login: "copilot login",
    key_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    own_variables: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
    config_variable: "COPILOT_HOME",
    npm_package: "@github/copilot",
    counts: Counts::AtTheEnd,
    names_cost: false,
    takeover: &["--resume={session}"],
    hosts: &["api.github.com", "*.githubcopilot.com"],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const OWN: Own = Own {
    kept: &["session-state"],
    copied: &[
        "config.json",
        "settings.json",
        "mcp-config.json",
        "lsp-config.json",
        "permissions-config.json",
        "providers.json",
        "copilot-instructions.md",
    ],
    shown: &["agents", "skills", "hooks", "installed-plugins"],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    found.below(&found.named("COPILOT_HOME", ".copilot"), &OWN);
    // The program unpacks itself there and runs from there.
    found.put(found.cache("copilot"), PlaceKind::Layered);
}

const TRAPS: &[Trap] = &[
    // It also reads those of Claude Code.
    file(".mcp.json", servers),
    file(".claude/settings.json", claude::settings),
    file(".claude/settings.local.json", claude::settings),
    file(".vscode/mcp.json", servers),
    file(".github/mcp.json", servers),
    file(".copilot/mcp-config.json", servers),
    below(".github/copilot", ".json", claude::settings),
    below(".github/hooks", ".json", anything),
];

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
        Box::new(JsonSession::new(adapter::Copilot::new(profile, facts)))
    }

    /// Its settings are one file, which also contains its login.
    fn refuses(&self) -> &'static [&'static str] {
        &["settings"]
    }

    fn lets_session_be_chosen(&self) -> bool {
        true
    }

    fn usage_file(&self) -> Option<&'static str> {
        Some(adapter::USAGE_FILE)
    }
}
