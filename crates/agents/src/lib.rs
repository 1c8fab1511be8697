//! How each coding agent is started and what its output means.
//!
//! Adapters do no I/O: `launch` says what to start, a `Session` eats the bytes that came out and yields neutral
//! events, and at the end says how the turn went. The same session reads a live agent and a stored transcript.

mod command;
mod lines;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use thiserror::Error;
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::command::CommandSpec;
use windlass_core::profile::AgentProfile;
use windlass_core::spec::AgentChoice;

pub use command::check_patterns;

/// One turn to be started.
#[derive(Debug, Clone)]
pub struct TurnRequest<'a> {
    pub agent: &'a AgentChoice,
    pub prompt: &'a str,
    /// The same prompt as a file, for agents that read it from there.
    pub prompt_file: PathBuf,
    /// The agent's own session to go on in.
    pub session: Option<&'a str>,
    pub cwd: PathBuf,
    /// The environment to start from.
    pub env: BTreeMap<String, String>,
    /// What `{self}` stands for: this very program.
    pub own_program: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum LaunchError {
    #[error("the agent `{agent}` has no command to start")]
    NoCommand { agent: String },
    #[error("the prompt is too long for an argument of `{agent}`: {bytes} bytes")]
    PromptTooLong { agent: String, bytes: usize },
    #[error("the prompt holds a NUL character, which no argument can carry")]
    PromptHasNul,
}

impl LaunchError {
    pub fn hint(&self) -> &'static str {
        match self {
            LaunchError::NoCommand { .. } => "give it one: `command = [\"program\", \"argument\"]` in its profile",
            LaunchError::PromptTooLong { .. } | LaunchError::PromptHasNul => {
                "use {prompt_file} in its command, or leave {prompt} out so that the prompt comes on stdin"
            }
        }
    }
}

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

/// Reads one turn's output. Chunks may be cut anywhere; what comes out does not depend on where.
pub trait Session: Send + fmt::Debug {
    fn stdout(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>);
    fn stderr(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>);
    /// The output is at its end.
    fn finish(&mut self, events: &mut Vec<AgentEvent>);
    /// How the turn went, once the output is at its end.
    fn outcome(&self, exit: Exit, now: Timestamp) -> TurnOutcome;
}

/// What to start for a turn.
pub fn launch(request: &TurnRequest<'_>) -> Result<CommandSpec, LaunchError> {
    command::launch(request)
}

/// A text without terminal escapes.
pub fn plain_text(text: &str) -> String {
    let mut plain = String::new();
    text::TextDecoder::default().push(text.as_bytes(), &mut plain);
    plain
}

/// A reader for one turn's output.
pub fn session(profile: &AgentProfile) -> Box<dyn Session> {
    Box::new(command::CommandSession::new(profile))
}
