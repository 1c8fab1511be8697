//! A loop's specification: the goal plus orthogonal policies, resolved once and frozen in the journal.

use serde::{Deserialize, Serialize};

use crate::profile::AgentProfile;
use crate::summary::SummariserSettings;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopSpec {
    pub goal: String,
    /// Name of the recipe that the defaults came from.
    pub recipe: String,
    pub agent: AgentChoice,
    pub session: SessionPolicy,
    pub commit: CommitPolicy,
    pub done: Done,
    pub gates: Vec<GateSpec>,
    pub limits: Limits,
    pub on_limit: OnLimit,
    pub on_failure: OnFailure,
    pub time: TimeLimits,
    pub workspace: WorkspaceSpec,
    /// Paths that the agent may not change, as git pathspec globs; what it changes there is put back.
    #[serde(default)]
    pub protect: Vec<String>,
    #[serde(default)]
    pub summariser: SummariserSettings,
    #[serde(default)]
    pub context: ContextSpec,
    /// The word that ends a follow-up prompt.
    pub follow_up: String,
}

/// An agent as resolved when the loop was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentChoice {
    pub name: String,
    pub profile: AgentProfile,
}

impl AgentChoice {
    pub fn display_name(&self) -> &str {
        self.profile.display_name.as_deref().unwrap_or(&self.name)
    }
}

/// What the agent remembers from turn to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    /// The same agent session, where its id is known.
    Resume,
    /// A new session each turn, with the history in the prompt.
    Fresh,
    /// The same agent session, in one process that lives from turn to turn.
    KeepAlive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitPolicy {
    Engine,
    Agent,
    Off,
}

/// What counts as the agent's claim to be done. Gates always come on top.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Done {
    /// The promise in the assistant's text. `None` (or an empty one) means that only a limit ends the loop.
    Promise { promise: Option<String> },
    /// The end of each turn is the claim.
    Gates,
    /// So many iterations.
    Count { iterations: u32 },
    /// So much time.
    Duration { ms: u64 },
}

impl Done {
    pub fn promise(&self) -> Option<&str> {
        match self {
            Done::Promise { promise } => promise.as_deref().filter(|text| !text.is_empty()),
            Done::Gates | Done::Count { .. } | Done::Duration { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateSpec {
    pub command: String,
    pub timeout_ms: u64,
    #[serde(default)]
    pub when: GateWhen,
    /// A claim is judged in a pristine checkout, where no ignored file can turn the gate green.
    #[serde(default)]
    pub clean: bool,
}

/// When a gate runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateWhen {
    /// After every turn.
    #[default]
    Turn,
    /// Only when the agent claims to be done.
    Claim,
}

/// What the next prompt carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextSpec {
    /// The plan, as it was when the loop began.
    #[serde(default)]
    pub plan: Option<String>,
    /// How long the task-context block may be, in tokens.
    pub max_tokens: usize,
}

impl Default for ContextSpec {
    fn default() -> Self {
        Self { plan: None, max_tokens: 8_000 }
    }
}

/// Bounds over the loop's lifetime, restarts included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Runs of the coder, the first included.
    pub max_iterations: Option<u32>,
    pub duration_ms: Option<u64>,
    pub budget_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

impl Limits {
    pub fn is_unbounded(&self) -> bool {
        self.max_iterations.is_none()
            && self.duration_ms.is_none()
            && self.budget_usd.is_none()
            && self.max_tokens.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    Stop,
    Pause,
}

/// What follows a failed turn. Rate limits are never a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OnFailure {
    Stop,
    /// The next iteration, after a growing pause.
    Continue,
    /// The same as `Continue`, but only so many failures in a row.
    Retry {
        times: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimeLimits {
    pub turn_timeout_ms: u64,
    /// No output for so long is a stall.
    pub stall_timeout_ms: u64,
    /// So many stalls in a row end the loop.
    pub max_stalls: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceSpec {
    pub kind: WorkspaceKind,
    pub branch: String,
    /// The revision the branch starts from; the checkout's HEAD if unset.
    pub base: Option<String>,
    pub allow_dirty: bool,
    /// Commands that make a new workspace ready, by the user's shell.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Files of the checkout that git does not have and the work needs, such as `.env`; never committed.
    #[serde(default)]
    pub copy: Vec<String>,
    /// Whether the gates run on the base before the first turn.
    #[serde(default)]
    pub baseline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// A linked worktree of its own.
    Worktree,
    /// A shared clone of its own.
    Clone,
    /// The user's checkout.
    InPlace,
    /// Somebody else's: the engine neither opens nor commits anything.
    External,
}
