//! OpenCode: everything about it but how it is started and read, which is in `adapter.rs`.

mod adapter;

use windlass_core::profile::{AdapterKind, AgentProfile};

use super::places::{NOTHING, Own, PlaceKind, Places};
use super::traps::{Trap, anything, below, file, keys};
use super::{Counts, KnownAgent};
use crate::output::jsonl::JsonSession;
use crate::start::{Adapter, Injected};
use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

pub(super) const AGENT: KnownAgent = KnownAgent {
    kind: AdapterKind::Opencode,
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
    counts: Counts::AsItGoes,
    names_cost: true,
    takeover: &["--session", "{session}"],
    hosts: &[
        "opencode.ai",
        "models.dev",
        "openrouter.ai",
        "api.mistral.ai",
        "api.deepseek.com",
        "api.moonshot.ai",
        "api.x.ai",
    ],
    places,
    traps: TRAPS,
    adapter: &Cli,
};

const DATA: Own = Own {
    // Its database needs the directory, not the file alone.
    kept: &[""],
    fresh: &["snapshot", "log", "repos", "bin"],
    ..NOTHING
};

const SETTINGS: Own = Own {
    copied: &["opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "package.json", ".gitignore", "themes"],
    shown: &[
        "plugin",
        "plugins",
        "tool",
        "tools",
        "command",
        "commands",
        "agent",
        "agents",
        "mode",
        "modes",
        "skill",
        "skills",
        "node_modules",
    ],
    ..NOTHING
};

fn places(found: &mut Places<'_>) {
    let xdg = |found: &Places<'_>, variable: &str, below: &str| found.named(variable, below).join("opencode");
    found.below(&xdg(found, "XDG_DATA_HOME", ".local/share"), &DATA);
    found.put(xdg(found, "XDG_STATE_HOME", ".local/state"), PlaceKind::Root);
    let settings = found.said("OPENCODE_CONFIG_DIR").unwrap_or_else(|| xdg(found, "XDG_CONFIG_HOME", ".config"));
    found.below(&settings, &SETTINGS);
    found.put(found.cache("opencode"), PlaceKind::Layered);
}

const TRAPS: &[Trap] = &[
    file("opencode.json", settings),
    file("opencode.jsonc", settings),
    file(".opencode/opencode.json", settings),
    file(".opencode/opencode.jsonc", settings),
    below(".opencode/plugin", "", anything),
    below(".opencode/plugins", "", anything),
    below(".opencode/tool", "", anything),
    below(".opencode/tools", "", anything),
];

fn settings(text: &str) -> Vec<String> {
    keys(text, &["mcp", "plugin", "formatter", "lsp", "provider", "experimental", "tools", "command"])
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
        Box::new(JsonSession::new(adapter::Opencode::new(profile)))
    }
}
