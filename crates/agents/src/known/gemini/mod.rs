//! Gemini CLI: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, Places};
use super::traps::{Trap, anything, below, file, keys};
use super::{Counts, KnownAgent};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Gemini,
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
    counts: Counts::AtTheEnd,
    names_cost: false,
    takeover: &["--resume", "{session}"],
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "aiplatform.googleapis.com",
        "oauth2.googleapis.com",
    ],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const OWN: Own = Own {
    kept: &["tmp"],
    login: &["oauth_creds.json", "gemini-credentials.json", "mcp-oauth-tokens.json"],
    copied: &[
        "settings.json",
        "GEMINI.md",
        ".env",
        "google_accounts.json",
        "installation_id",
        "trustedFolders.json",
        "trusted_hooks.json",
        "projects.json",
        "policies",
        "commands",
        "agents",
    ],
    shown: &["extensions", "skills"],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    let dir = found.said("GEMINI_CLI_HOME").unwrap_or_else(|| found.home.clone()).join(".gemini");
    found.below(&dir, &OWN);
}

const TRAPS: &[Trap] = &[
    file(".gemini/settings.json", settings),
    file(".gemini/.env", anything),
    below(".gemini/extensions", ".json", anything),
];

pub(super) fn settings(text: &str) -> Vec<String> {
    let named = [
        "mcpServers",
        "hooks",
        "tools",
        "toolDiscoveryCommand",
        "toolCallCommand",
        "mcpServerCommand",
        "env",
        "telemetry",
        "modelProviders",
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

    fn session(&self, profile: &AgentProfile, _facts: &SessionFacts) -> Box<dyn Session> {
        Box::new(JsonSession::new(adapter::Gemini::new(profile)))
    }

    /// It takes settings only from the user's files, the workspace's, and those that belong to root.
    fn refuses(&self) -> &'static [&'static str] {
        &["mcp_servers", "settings"]
    }

    fn lets_session_be_chosen(&self) -> bool {
        true
    }
}
