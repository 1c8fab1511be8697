//! How a user enters an agent's session.

use windlass_core::profile::{AdapterKind, AgentProfile};

/// The command that opens the session for a user in the workspace; none if unknown.
pub fn takeover(profile: &AgentProfile, session: &str) -> Option<Vec<String>> {
    let program = profile.command.first()?.clone();
    let args = match profile.adapter() {
        AdapterKind::Claude | AdapterKind::Gemini | AdapterKind::Qwen => {
            vec!["--resume".to_owned(), session.to_owned()]
        }
        AdapterKind::Codex => vec!["resume".to_owned(), session.to_owned()],
        AdapterKind::Copilot => vec![format!("--resume={session}")],
        AdapterKind::Opencode => vec!["--session".to_owned(), session.to_owned()],
        // The profile says how a turn resumes, which may be without a terminal. Of an ACP agent only the side that speaks the protocol is known.
        AdapterKind::Command | AdapterKind::Acp => return None,
    };
    Some([vec![program], args].concat())
}
