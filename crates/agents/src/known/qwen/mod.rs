//! Qwen Code: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, Places};
use super::traps::{Trap, anything, below, file};
use super::{Counts, KnownAgent, gemini};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Qwen,
    name: "qwen",
    display_name: "Qwen Code",
    known_good: ("0.24.4", "0.25.0"),
    login: "qwen",
    key_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    own_variables: &["QWEN_*", "OPENAI_*", "DASHSCOPE_*"],
    config_variable: "QWEN_HOME",
    npm_package: "@qwen-code/qwen-code",
    counts: Counts::AsItGoes,
    names_cost: false,
    takeover: &["--resume", "{session}"],
    hosts: &["chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const OWN: Own = Own {
    kept: &["projects"],
    login: &["oauth_creds.json"],
    copied: &[
        "settings.json",
        "QWEN.md",
        ".env",
        "output-language.md",
        "installation_id",
        "trustedFolders.json",
        "agents",
        "commands",
        "skills",
    ],
    shown: &["extensions"],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    found.below(&found.named("QWEN_HOME", ".qwen"), &OWN);
}

const TRAPS: &[Trap] = &[
    file(".qwen/settings.json", gemini::settings),
    file(".qwen/.env", anything),
    below(".qwen/extensions", ".json", anything),
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
        Box::new(JsonSession::new(adapter::Qwen::new(profile, facts)))
    }

    fn lets_session_be_chosen(&self) -> bool {
        true
    }
}
