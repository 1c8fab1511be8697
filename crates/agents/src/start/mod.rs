//! What adapters are made of: what each has to say, and the words it starts its agent with.

mod injected;
mod words;

use std::fmt;

use windlass_core::profile::AgentProfile;

pub(crate) use injected::{Injected, keys_of};
pub(crate) use words::{Words, session_id};

pub use injected::OWN_MCP_SERVER;

use crate::turn::{Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

/// How one kind of agent is started and how its output is read.
pub(crate) trait Adapter: Sync + fmt::Debug {
    fn launch(
        &self,
        request: &TurnRequest<'_>,
        facts: &LaunchFacts,
        injected: &Injected,
    ) -> Result<Launch, LaunchError>;

    /// A reader for one turn's output.
    fn session(&self, profile: &AgentProfile, facts: &SessionFacts) -> Box<dyn Session>;

    /// Keys of a profile that it has no way for in one session, without a change to the user's own configuration.
    fn refuses(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the caller chooses the ID of a new session.
    fn lets_session_be_chosen(&self) -> bool {
        false
    }

    /// Whether one process takes turn after turn.
    fn keeps_alive(&self) -> bool {
        false
    }

    /// Whether even a single turn is a conversation through standard input.
    fn always_converses(&self) -> bool {
        false
    }

    /// A reader that also makes the input for the agent, where it converses.
    fn conversation(
        &self,
        request: &TurnRequest<'_>,
        _launch: &LaunchFacts,
        _injected: Injected,
        facts: &SessionFacts,
        _has_session: bool,
    ) -> Box<dyn Session> {
        self.session(&request.agent.profile, facts)
    }

    /// The file beside the prompt in which it leaves its usage, if that is not in its output.
    fn usage_file(&self) -> Option<&'static str> {
        None
    }
}
