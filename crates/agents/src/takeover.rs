//! How a user enters an agent's session.

use windlass_core::agent::is_session_name;
use windlass_core::profile::{AdapterKind, AgentProfile};

/// The command that opens the session for a user in the workspace; none if unknown.
pub fn takeover(profile: &AgentProfile, session: &str) -> Option<Vec<String>> {
    // The agent chose it, and the user runs the command without a sandbox.
    if !is_session_name(session) {
        return None;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_that_would_be_an_option_is_not_offered() {
        let adapters = [AdapterKind::Claude, AdapterKind::Codex, AdapterKind::Copilot, AdapterKind::Opencode];
        for adapter in adapters {
            let profile =
                AgentProfile { command: vec!["agent".into()], adapter: Some(adapter), ..AgentProfile::default() };
            assert!(takeover(&profile, "0199a213-81c0").is_some());
            assert_eq!(takeover(&profile, "--settings=evil.json"), None);
        }
    }
}
