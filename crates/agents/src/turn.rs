//! One turn: what an adapter is told, what it makes of it, and the reader of its output.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::profile::McpServer;
use windlass_core::spec::AgentChoice;
use windlass_core::usage::UsageByModel;
use windlass_process::CommandSpec;

/// One turn to be started.
#[derive(Debug, Clone)]
pub struct TurnRequest<'a> {
    pub agent: &'a AgentChoice,
    pub prompt: &'a str,
    /// The same prompt as a file, for agents that read it from there.
    pub prompt_file: PathBuf,
    /// The agent's own session to continue in.
    pub session: Option<&'a str>,
    pub cwd: PathBuf,
    /// The environment to start from.
    pub env: BTreeMap<String, String>,
    /// What replaces `{self}`: the path of this program.
    pub own_program: PathBuf,
}

/// Extra input for an adapter of a built-in agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchFacts {
    /// Names the turn among those of all loops. Agents that let their session id be chosen get one made of it; empty
    /// means that they choose.
    pub turn_id: String,
    /// The agent will run as root.
    pub as_root: bool,
    /// Put behind the agent's own system prompt and that of its profile.
    pub system_prompt: Option<String>,
    /// MCP servers, by name, in addition to those of the profile.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Tools denied on top of those of the profile, in the agent's own notation.
    pub denied_tools: Vec<String>,
    /// A read-only turn: instructs the agent not to change files, if it supports that. Advice only.
    pub read_only: bool,
    /// The process runs in Windlass's sandbox, which enforces what may be written. An agent's own sandbox inside it
    /// cannot start its commands, so it is switched off.
    pub confined: bool,
    /// Settings of the agent, in its own format, on top of those of the profile.
    pub settings: Map<String, Value>,
    /// Leave out the agent's own rule against `git push`, which is only advice to it anyway.
    pub allow_push: bool,
    /// The process is to take this turn and those to come through its standard input.
    pub keep_alive: bool,
}

/// What to start, and what to write before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub command: CommandSpec,
    /// Beside the prompt; the files and their directories are for the owner only.
    pub files: Vec<PrivateFile>,
}

/// A file for the agent's eyes only, to be written for its owner alone before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    pub path: PathBuf,
    pub content: String,
}

/// What a reader of a turn's output must know about the agent session it ran in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFacts {
    /// The session the turn resumed, or the one chosen for it (`chosen_session`).
    pub session: Option<String>,
    /// What the earlier turns of that session used, as reported for them. Several agents give only figures for the
    /// whole life of a session; without this a resumed turn of theirs counts everything again.
    pub usage_before: UsageByModel,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum LaunchError {
    #[error("the agent `{agent}` has no command to start")]
    NoCommand { agent: String },
    #[error("the prompt is too long for an argument of `{agent}`: {bytes} bytes")]
    PromptTooLong { agent: String, bytes: usize },
    #[error("the prompt contains a NUL character, which cannot be passed as an argument")]
    PromptHasNul,
    #[error("the agent `{agent}` does not support `{key}`")]
    NoWay { agent: String, key: &'static str },
    #[error("`{agent}` would have two MCP servers named `{server}`: one from its profile and one from Windlass")]
    ServerTwice { agent: String, server: String },
    #[error("Windlass needs to set the environment variable {variable} for `{agent}`, but it is already set")]
    VariableTaken { agent: String, variable: &'static str },
    #[error("the environment variable {variable} of `{agent}` is not a JSON object, so Windlass cannot extend it")]
    VariableNotJson { agent: String, variable: &'static str },
}

impl LaunchError {
    pub fn hint(&self) -> &'static str {
        match self {
            LaunchError::NoCommand { .. } => "add `command = [\"program\", \"argument\"]` to its profile",
            LaunchError::PromptTooLong { .. } | LaunchError::PromptHasNul => {
                "use {prompt_file} in its command, or remove {prompt} to pass the prompt on standard input"
            }
            LaunchError::NoWay { .. } => "remove it from the profile, or use an agent that supports it",
            LaunchError::ServerTwice { .. } => "rename the server in the profile",
            LaunchError::VariableTaken { .. } => {
                "unset the variable, and move its content to `settings` in the profile"
            }
            LaunchError::VariableNotJson { .. } => "fix the variable, or unset it",
        }
    }
}

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It did not: it ended its turn and waits for the next.
    Waits,
}

impl Exit {
    /// Whether nothing contradicts the agent's own report of the turn.
    pub(crate) fn is_clean(self) -> bool {
        match self {
            Exit::Code(code) => code == 0,
            Exit::Signal(_) => false,
            Exit::Waits => true,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}"),
            Exit::Waits => f.write_str("still running"),
        }
    }
}

/// Reads one turn's output. Chunks may be cut anywhere; what comes out does not depend on where.
pub trait Session: Send + fmt::Debug {
    fn stdout(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>);
    fn stderr(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>);
    /// The content of the file named by `usage_file`, before `finish`.
    fn usage_file(&mut self, _bytes: &[u8], _events: &mut Vec<AgentEvent>) {}
    /// The output is at its end.
    fn finish(&mut self, events: &mut Vec<AgentEvent>);
    /// How the turn went, once the output is at its end.
    fn outcome(&self, exit: Exit, now: Timestamp) -> TurnOutcome;

    /// Whether something came since this was last asked that is more than a sign of life. Only such a thing shows that
    /// the agent is not stalled.
    fn took_a_step(&mut self) -> bool {
        true
    }

    /// Why the agent will never end this turn: it keeps repeating the same error, or the same few steps.
    fn spins(&self) -> Option<(ErrorKind, String)> {
        None
    }

    /// Bytes for the agent's standard input, if it stays open; each is returned once.
    fn input(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// The progress of the turn as the agent reports it. Without reports, the turn ends with the process.
    fn progress(&self) -> Progress {
        Progress::Working
    }

    /// Asks the agent through `input` to end its turn. Returns false if that is not supported and its process must be killed.
    fn interrupt(&mut self) -> bool {
        false
    }
}

/// How far a turn is whose process may live on after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Working,
    /// The agent has sent its last message, but background work may make it continue.
    Lingering,
    /// The agent waits for the next prompt.
    Over,
}
