//! Codex: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, PlaceKind, Places};
use super::traps::{Trap, anything, file, toml_settings};
use super::{Counts, KnownAgent};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Codex,
    name: "codex",
    display_name: "Codex",
    known_good: ("0.166.0", "0.167.0"),
    login: "codex login",
    key_variables: &["CODEX_API_KEY"],
    own_variables: &["CODEX_*", "OPENAI_*"],
    config_variable: "CODEX_HOME",
    npm_package: "@openai/codex",
    counts: Counts::AtTheEnd,
    names_cost: false,
    takeover: &["resume", "{session}"],
    hosts: &["api.openai.com", "auth.openai.com", "chatgpt.com", "*.openai.azure.com"],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const OWN: Own = Own {
    kept: &["sessions"],
    login: &["auth.json"],
    copied: &[
        "config.toml",
        "AGENTS.md",
        "AGENTS.override.md",
        "hooks.json",
        "prompts",
        "rules",
        "skills",
        "agents",
        "hooks",
    ],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    found.below(&found.named("CODEX_HOME", ".codex"), &OWN);
    found.put(found.home.join(".agents/skills"), PlaceKind::Shown);
}

const TRAPS: &[Trap] = &[file(".codex/config.toml", toml_settings), file(".codex/hooks.json", anything)];

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
        Box::new(JsonSession::new(adapter::Codex::new(profile, facts)))
    }

    /// Its rules are files in its directory.
    fn refuses(&self) -> &'static [&'static str] {
        &["denied_tools"]
    }
}
