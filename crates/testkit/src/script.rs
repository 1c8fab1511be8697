//! The script that the scripted agent plays: turns, each a list of steps. The format is described by example in
//! the crate's README.
//!
//! Invariant: a script either parses whole or is refused with the turn and step at fault; there is no step that
//! is silently skipped.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::neutral::NeutralEvent;

/// Everything one scripted agent will do over all its turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub select: Select,
    pub protocol: Protocol,
    pub acp: AcpAbilities,
    pub turns: Vec<Turn>,
}

/// How the agent is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One prompt, plain output, and the end of the process.
    #[default]
    Plain,
    /// Turn after turn over stdin and stdout, in the lines of `claude --input-format stream-json`.
    Claude,
    /// The Agent Client Protocol.
    Acp,
}

/// What the agent says of itself in an ACP handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AcpAbilities {
    /// Sessions can be loaded; what was said in them is then said again.
    pub load: bool,
    /// Sessions can be resumed in silence.
    pub resume: bool,
    /// Nobody is logged in.
    pub logged_out: bool,
}

/// How the turn to play is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// The n-th start plays the n-th turn.
    #[default]
    Count,
    /// The iteration in `WINDLASS_TURN` decides, so that a turn which was cut off is played again.
    Iteration,
}

/// One turn. The last one repeats when the script runs out.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub stdin: Stdin,
    pub steps: Vec<Step>,
}

/// What the agent does with its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Read it to the end; it is the prompt unless an argument is.
    #[default]
    Read,
    /// Never read it, as an agent that takes its prompt elsewhere.
    Ignore,
}

/// One thing the agent does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Say(String),
    Print(String),
    Stderr(String),
    Bytes(Encoded),
    ShiftJis(String),
    EchoPrompt(EchoPrompt),
    Split(Split),
    Flood(Flood),
    Event(NeutralEvent),
    Json(Value),
    Write(Content),
    Append(Content),
    Delete(String),
    Rename(Rename),
    Chmod(Chmod),
    Symlink(Symlink),
    Run(Command),
    GitCommit(String),
    SleepMs(u64),
    Hang(Hang),
    IgnoreSignals(SignalList),
    WaitFor(String),
    Touch(String),
    Leave(Leave),
    PrintEnv(NameList),
    CheckEnv(CheckEnv),
    Ask(String),
    WaitCancel(Nothing),
    EndTurn(EndTurn),
    /// Exits with 9 once the file is there; until then `<file>.alive` is locked.
    DieWhen(String),
    Exit(i32),
    KillSelf(SignalName),
    Crash(Nothing),
}

/// How a turn over a protocol ends; without this step it ends well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EndTurn {
    /// ACP: instead of `end_turn`.
    pub stop_reason: Option<String>,
    /// A failure with this message.
    pub error: Option<String>,
}

/// A step without settings: `"crash"` or `{ crash = {} }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Bytes that need not be text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Encoded {
    Hex(String),
    Base64(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoPrompt {
    #[serde(default)]
    pub style: EchoStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoStyle {
    #[default]
    Plain,
    /// Each line after `> `.
    Quoted,
    /// Each line after four spaces.
    Indented,
}

/// Chunks that reach the pipe by one `write` each.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    pub chunks: Vec<Chunk>,
    /// `gates[i]` must exist before `chunks[i + 1]` is written.
    #[serde(default)]
    pub gates: Vec<String>,
    /// Real time between two chunks.
    #[serde(default)]
    pub pause_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Chunk {
    Text(String),
    Encoded(Encoded),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    pub bytes: u64,
    /// Length of a line with its newline; 0 is one line without any newline.
    #[serde(default)]
    pub line: u64,
    #[serde(default)]
    pub stream: FloodStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloodStream {
    #[default]
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub path: String,
    #[serde(default)]
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chmod {
    pub path: String,
    /// Octal, as a string: `"755"`.
    pub mode: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symlink {
    pub path: String,
    pub target: String,
}

/// A line for `sh -c`, or the words of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Command {
    Shell(String),
    Words(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// Also ignore TERM, INT and HUP.
    #[serde(default)]
    pub ignore_signals: bool,
    /// Touch this file once the signals are ignored.
    #[serde(default)]
    pub touch: Option<String>,
}

/// Signals by name; none named means TERM, INT and HUP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum SignalList {
    Named(Vec<SignalName>),
    Default(Nothing),
}

/// `"TERM"`, `"SIGTERM"` or 15.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum SignalName {
    Number(i32),
    Name(String),
}

/// Names of environment variables; none named means all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum NameList {
    Named(Vec<String>),
    All(Nothing),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckEnv {
    pub name: String,
    /// The value it must have; without one it must be unset.
    #[serde(default)]
    pub is: Option<String>,
}

/// A child that stays when the agent goes. All of them die by themselves, see [`Leave::life_ms`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leave {
    pub kind: LeaveKind,
    /// When it dies by itself, at most [`Leave::MAX_LIFE_MS`] (a hopper: [`Leave::MAX_HOPPER_LIFE_MS`]).
    #[serde(default)]
    pub life_ms: Option<u64>,
    #[serde(default)]
    pub ignore_signals: bool,
    /// Say this on stdout (once `wait_for` exists, if given) and then end.
    #[serde(default)]
    pub say: Option<String>,
    #[serde(default)]
    pub wait_for: Option<String>,
    /// Hopper only: how often it forks, at most [`Leave::MAX_HOPS`].
    #[serde(default)]
    pub hops: Option<u32>,
    /// Hopper only: how long each hop lives.
    #[serde(default)]
    pub every_ms: Option<u64>,
}

impl Leave {
    pub const MAX_LIFE_MS: u64 = 60_000;
    pub const MAX_HOPPER_LIFE_MS: u64 = 20_000;
    pub const MAX_HOPS: u32 = 200;

    /// The life it really gets: a script cannot request more than the cap.
    pub fn capped_life_ms(&self) -> u64 {
        let cap = match self.kind {
            LeaveKind::Hopper => Self::MAX_HOPPER_LIFE_MS,
            LeaveKind::HoldsStdout | LeaveKind::DoubleFork | LeaveKind::Setsid | LeaveKind::SetsidBare => {
                Self::MAX_LIFE_MS
            }
        };
        self.life_ms.unwrap_or(cap).clamp(1, cap)
    }

    /// The hops it really makes.
    pub fn capped_hops(&self) -> u32 {
        self.hops.unwrap_or(Self::MAX_HOPS).min(Self::MAX_HOPS)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveKind {
    /// A plain background child with the agent's stdout and stderr.
    HoldsStdout,
    /// A grandchild whose parent is gone, in the agent's process group.
    DoubleFork,
    /// A grandchild in its own session.
    Setsid,
    /// The same with an empty environment, no open file and `/` as directory: nothing leads back to the agent.
    SetsidBare,
    /// Forks and exits over and over, so that its pid changes faster than one can look.
    Hopper,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    #[serde(default)]
    select: Select,
    #[serde(default)]
    stdin: Stdin,
    #[serde(default)]
    protocol: Protocol,
    #[serde(default)]
    acp: AcpAbilities,
    turn: Vec<RawTurn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    stdin: Option<Stdin>,
    #[serde(default)]
    steps: Vec<Value>,
}

impl Script {
    /// Reads a script file: JSON if its name ends in `.json`, else TOML.
    pub fn read(path: &Path) -> Result<Script, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read script {}: {e}", path.display()))?;
        let parsed = if path.extension().is_some_and(|e| e == "json") {
            Script::from_json(&text)
        } else {
            Script::from_toml(&text)
        };
        parsed.map_err(|e| format!("script {}: {e}", path.display()))
    }

    pub fn from_toml(text: &str) -> Result<Script, String> {
        let raw: RawScript = toml::from_str(text).map_err(|e| e.to_string())?;
        Script::from_raw(raw)
    }

    pub fn from_json(text: &str) -> Result<Script, String> {
        let raw: RawScript = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Script::from_raw(raw)
    }

    fn from_raw(raw: RawScript) -> Result<Script, String> {
        if raw.turn.is_empty() {
            return Err("a script needs at least one [[turn]]".to_owned());
        }
        let mut turns = Vec::with_capacity(raw.turn.len());
        for (t, raw_turn) in raw.turn.into_iter().enumerate() {
            let mut steps = Vec::with_capacity(raw_turn.steps.len());
            for (s, value) in raw_turn.steps.into_iter().enumerate() {
                let step = step(value).map_err(|e| format!("turn {}, step {}: {e}", t + 1, s + 1))?;
                steps.push(step);
            }
            let stdin = raw_turn.stdin.unwrap_or(raw.stdin);
            turns.push(Turn { stdin, steps });
        }
        Ok(Script { select: raw.select, protocol: raw.protocol, acp: raw.acp, turns })
    }

    /// The turn for the `index`-th pass (from 0); the last one repeats.
    pub fn turn(&self, index: usize) -> &Turn {
        &self.turns[index.min(self.turns.len() - 1)]
    }
}

/// A bare word stands for the step without settings: `"hang"` is `{ hang = {} }`.
fn step(mut value: Value) -> Result<Step, String> {
    if let Value::String(word) = &value {
        let settings = Value::Object(serde_json::Map::new());
        value = Value::Object([(word.clone(), settings)].into_iter().collect());
    }
    serde_json::from_value(value).map_err(|e| e.to_string())
}

/// Fills `{{name}}` in a text of the script; what is not known stays as it is.
pub fn fill(text: &str, values: &BTreeMap<&str, String>) -> String {
    let mut filled = text.to_owned();
    for (name, value) in values {
        filled = filled.replace(&format!("{{{{{name}}}}}"), value);
    }
    filled
}
