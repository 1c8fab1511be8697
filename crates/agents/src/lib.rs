//! How each coding agent is started and what its output means.
//!
//! Adapters do no I/O: `launch` describes what to start, a `Session` reads the output and yields neutral
//! events, and finally the outcome of the turn. The same session reads a live agent and a stored transcript.
//!
//! `known` has a folder for each agent, with everything about it; `generic` the adapters for programs that a profile or a
//! protocol describes. `start` and `output` are what adapters are made of.

mod generic;
mod known;
mod output;
mod start;
mod turn;

use std::path::{Path, PathBuf};

use windlass_core::agent::is_session_name;
use windlass_core::profile::{AdapterKind, AgentProfile};

use output::text::TextDecoder;
use start::{Adapter, Injected};

pub use generic::check_patterns;
pub use known::facts::{Facts, VersionFit, version_args};
pub use known::places::{OwnPlace, PlaceKind, own_places};
pub use known::traps::{Place, ReadTrap, Trap, traps};
pub use known::{
    ADAPTERS, Counts, DESCRIBED_AGENTS, DescribedAgent, KNOWN_AGENTS, KnownAgent, TEMPLATES, built_in_profiles, known,
    model_hosts, own_variables,
};
pub use output::prices::{Prices, prices_as_of};
pub use start::OWN_MCP_SERVER;
pub use turn::{Exit, Launch, LaunchError, LaunchFacts, PrivateFile, Progress, Session, SessionFacts, TurnRequest};

/// The adapter of a kind of agent.
fn adapter(kind: AdapterKind) -> &'static dyn Adapter {
    match KnownAgent::of(kind) {
        Some(known) => known.adapter,
        None => generic::adapter(kind),
    }
}

/// What to start for a turn, with nothing else known.
pub fn launch(request: &TurnRequest<'_>) -> Result<Launch, LaunchError> {
    launch_with(request, &LaunchFacts::default())
}

/// What to start for a turn.
pub fn launch_with(request: &TurnRequest<'_>, facts: &LaunchFacts) -> Result<Launch, LaunchError> {
    let injected = injected(request, facts)?;
    adapter(request.agent.profile.adapter()).launch(request, facts, &injected)
}

fn injected(request: &TurnRequest<'_>, facts: &LaunchFacts) -> Result<Injected, LaunchError> {
    let injected = Injected::of(request.agent, facts)?;
    let profile = &request.agent.profile;
    // What the adapter has no way for; silence would be worse than an error.
    let refused = injected.keys().find(|key| !profile_takes(profile, key));
    match refused {
        Some(key) => Err(LaunchError::NoWay { agent: request.agent.name.clone(), key }),
        None => Ok(injected),
    }
}

/// Whether an agent of this kind supports the profile's key for one session, without a change to the user's own
/// configuration.
pub fn takes(kind: AdapterKind, key: &str) -> bool {
    !adapter(kind).refuses().contains(&key)
}

/// A command takes what its profile has arguments for.
fn profile_takes(profile: &AgentProfile, key: &str) -> bool {
    let by_arguments = key == "system_prompt" && !profile.system_prompt_args.is_empty();
    takes(profile.adapter(), key) || profile.adapter() == AdapterKind::Command && by_arguments
}

/// The first key of a profile that its agent cannot be given.
pub fn not_taken(profile: &AgentProfile) -> Option<&'static str> {
    start::keys_of(profile).find(|key| !profile_takes(profile, key))
}

/// The session ID of a fresh turn, if the agent lets the caller choose it.
pub fn chosen_session(profile: &AgentProfile, turn_id: &str) -> Option<String> {
    let chosen = adapter(profile.adapter()).lets_session_be_chosen();
    chosen.then(|| start::session_id(turn_id)).flatten()
}

/// Whether one process of the agent takes turn after turn.
pub fn keeps_alive(profile: &AgentProfile) -> bool {
    adapter(profile.adapter()).keeps_alive()
}

/// Whether a turn is a conversation: prompt and answers go through the agent's standard input while it runs.
pub fn converses(profile: &AgentProfile, keep_alive: bool) -> bool {
    let adapter = adapter(profile.adapter());
    adapter.always_converses() || keep_alive && adapter.keeps_alive()
}

/// A reader for the output of a turn that `converses`, which also produces the input for the agent. In a process
/// that `has_session`, only the prompt is left to send.
pub fn conversation(
    request: &TurnRequest<'_>,
    launch: &LaunchFacts,
    facts: &SessionFacts,
    has_session: bool,
) -> Result<Box<dyn Session>, LaunchError> {
    let injected = injected(request, launch)?;
    Ok(adapter(request.agent.profile.adapter()).conversation(request, launch, injected, facts, has_session))
}

/// The file in which the agent leaves its usage, if it does so outside its output: for `Session::usage_file`.
pub fn usage_file(profile: &AgentProfile, prompt_file: &Path) -> Option<PathBuf> {
    adapter(profile.adapter()).usage_file().map(|name| prompt_file.with_file_name(name))
}

/// The command that opens the session for a user in the workspace; none if unknown.
pub fn takeover(profile: &AgentProfile, session: &str) -> Option<Vec<String>> {
    // The agent chose it, and the user runs the command without a sandbox.
    if !is_session_name(session) {
        return None;
    }
    // A profile says how a turn resumes, which may be without a terminal. Of an ACP agent only the side that speaks the
    // protocol is known.
    let known = KnownAgent::of(profile.adapter())?;
    let args = known.takeover.iter().map(|word| word.replace("{session}", session));
    Some(profile.command.first().cloned().into_iter().chain(args).collect())
}

/// A text without terminal escapes.
pub fn plain_text(text: &str) -> String {
    let mut plain = String::new();
    TextDecoder::default().push(text.as_bytes(), &mut plain);
    plain
}

/// A reader for one turn's output, with nothing known of its agent session.
pub fn session(profile: &AgentProfile) -> Box<dyn Session> {
    session_with(profile, &SessionFacts::default())
}

/// A reader for one turn's output.
pub fn session_with(profile: &AgentProfile, facts: &SessionFacts) -> Box<dyn Session> {
    adapter(profile.adapter()).session(profile, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_that_would_be_an_option_is_not_offered() {
        for known in KNOWN_AGENTS {
            let profile = &built_in_profiles()[known.name];
            assert!(takeover(profile, "0199a213-81c0").is_some_and(|words| words.len() > 1));
            assert_eq!(takeover(profile, "--settings=evil.json"), None);
        }
        assert_eq!(takeover(&AgentProfile::of_command(vec!["my-agent".into()]), "0199a213-81c0"), None);
    }
}
