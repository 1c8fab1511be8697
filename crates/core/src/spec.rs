//! A loop's specification: the goal plus orthogonal policies, resolved once and frozen in the journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{LoopId, Membership, Role};
use crate::milestone::Milestone;
use crate::profile::AgentProfile;
use crate::resources::ResourceSpec;
use crate::sandbox::SandboxSpec;
use crate::summary::SummariserSettings;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopSpec {
    pub goal: String,
    /// Name of the recipe that the defaults came from.
    pub recipe: String,
    pub agent: AgentChoice,
    /// Agents to fall back to, in this order, if the coder's model or agent fails permanently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<AgentChoice>,
    /// Who sums up where an agent does that, if not the coder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summing_up: Option<AgentChoice>,
    /// Who judges the work besides the gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewSpec>,
    pub session: SessionPolicy,
    pub commit: CommitPolicy,
    pub done: Done,
    pub gates: Vec<GateSpec>,
    pub limits: Limits,
    pub on_limit: OnLimit,
    #[serde(default)]
    pub on_rate_limit: OnRateLimit,
    pub on_failure: OnFailure,
    /// How long a question of the coder waits for a user before its default is taken; 0 never waits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub question_wait_ms: u64,
    pub time: TimeLimits,
    pub workspace: WorkspaceSpec,
    /// Paths that the agent may not change, as git pathspec globs; what it changes there is put back.
    #[serde(default)]
    pub protect: Vec<String>,
    /// Paths, as git pathspec globs, that may hold what looks like a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets_allow: Vec<String>,
    /// Variables of the engine's environment that agents and commands get besides the ordinary ones: names, or
    /// beginnings of names with a `*` behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_pass: Vec<String>,
    #[serde(default)]
    pub summariser: SummariserSettings,
    /// The sandbox of the loop's processes.
    #[serde(default, skip_serializing_if = "SandboxSpec::is_off")]
    pub sandbox: SandboxSpec,
    /// How much of the machine the loop's processes may take.
    #[serde(default, skip_serializing_if = "ResourceSpec::is_none")]
    pub resources: ResourceSpec,
    #[serde(default)]
    pub context: ContextSpec,
    /// The word that ends a follow-up prompt.
    pub follow_up: String,
    /// The group that the loop was made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Membership>,
    /// Texts of prompts that the recipe replaces, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, String>,
    /// The loop that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// Where a fork started: an iteration's checkpoint of another loop. The work is compared with the parent's base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Parent {
    pub id: LoopId,
    /// Its name when the fork was made.
    pub name: String,
    /// 0 is where the parent started.
    pub iteration: u32,
    /// The checkpoint.
    pub commit: String,
    /// The parent's agent, with its model where one is named.
    pub agent: String,
    /// The branch that the parent merges into, which is the fork's too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LoopSpec {
    /// A plain loop: one agent, one turn after another, in a tree of its own, with nothing checked or limited but time.
    pub fn of(goal: String, agent: AgentChoice) -> Self {
        const MINUTE_MS: u64 = 60_000;
        Self {
            goal,
            recipe: String::new(),
            agent,
            fallbacks: Vec::new(),
            summing_up: None,
            review: None,
            session: SessionPolicy::Resume,
            commit: CommitPolicy::Off,
            done: Done::Promise { promise: None },
            gates: Vec::new(),
            limits: Limits::default(),
            on_limit: OnLimit::Stop,
            on_rate_limit: OnRateLimit::default(),
            on_failure: OnFailure::Stop,
            question_wait_ms: 0,
            time: TimeLimits { turn_timeout_ms: 60 * MINUTE_MS, stall_timeout_ms: 5 * MINUTE_MS, max_stalls: 3 },
            workspace: WorkspaceSpec {
                kind: WorkspaceKind::External,
                branch: String::new(),
                base: None,
                allow_dirty: true,
                setup: Vec::new(),
                setup_credentials: false,
                copy: Vec::new(),
                baseline: false,
                verify: Verify::default(),
                subdir: None,
            },
            protect: Vec::new(),
            secrets_allow: Vec::new(),
            env_pass: Vec::new(),
            summariser: SummariserSettings::default(),
            sandbox: SandboxSpec::default(),
            resources: ResourceSpec::default(),
            context: ContextSpec::default(),
            follow_up: String::new(),
            group: None,
            prompts: BTreeMap::new(),
            parent: None,
        }
    }

    /// The agents of a role: the one that was appointed, then those that take over.
    pub fn agents(&self, role: Role) -> (&AgentChoice, &[AgentChoice]) {
        let coder = (&self.agent, &self.fallbacks[..]);
        match role {
            Role::Auditor | Role::Acceptor => {
                self.review.as_ref().map_or(coder, |review| (&review.reviewer, &review.fallbacks))
            }
            Role::Summariser => self.summing_up.as_ref().map_or(coder, |agent| (agent, &[])),
            Role::Coder | Role::Planner | Role::Finisher => coder,
        }
    }

    /// The agent at a place in the role's list.
    pub fn agent_of(&self, role: Role, index: usize) -> &AgentChoice {
        let (first, fallbacks) = self.agents(role);
        match index {
            0 => first,
            index => fallbacks.get(index - 1).unwrap_or(first),
        }
    }
}

/// An agent as resolved when the loop was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentChoice {
    pub name: String,
    pub profile: AgentProfile,
}

impl AgentChoice {
    /// Its name, with the model where one is named.
    pub fn label(&self) -> String {
        match &self.profile.model {
            Some(model) => format!("{}:{model}", self.name),
            None => self.name.clone(),
        }
    }

    pub fn display_name(&self) -> &str {
        self.profile.display_name.as_deref().unwrap_or(&self.name)
    }
}

/// The review of a loop in which one agent works and another judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewSpec {
    pub kind: ReviewKind,
    pub reviewer: AgentChoice,
    /// Who takes the reviewer's place, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<AgentChoice>,
    /// What the reviewer alone may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Whether open warnings block as bugs do.
    #[serde(default)]
    pub warnings_block: bool,
    /// The coder's agent writes the plan first.
    #[serde(default)]
    pub planning: bool,
    /// So many rejections in a row, and a person is asked.
    pub max_rejections: u32,
    /// Whether a user must approve before the loop completes.
    #[serde(default)]
    pub human_review: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_action: Option<PostAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<Milestone>,
    /// What everybody in the loop has to know: vision, rules, memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Document>,
}

impl ReviewSpec {
    /// Rejections in a row before a person is asked, where a recipe says nothing.
    pub const DEFAULT_REJECTIONS: u32 = 3;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewKind {
    /// An auditor writes findings; done is when none is left that blocks.
    Audit,
    /// An acceptor says accepted or rejected, feature by feature and then of the whole.
    Acceptance,
}

impl ReviewKind {
    pub fn role(self) -> Role {
        match self {
            ReviewKind::Audit => Role::Auditor,
            ReviewKind::Acceptance => Role::Acceptor,
        }
    }
}

/// What the coder's agent does once after the work was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PostAction {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A skill that the agent has, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
}

/// A text of the project, as it was when the loop began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Document {
    pub title: String,
    pub text: String,
}

/// What the agent remembers from turn to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    /// The same agent session, where its id is known.
    Resume,
    /// A new session each turn, with the history in the prompt.
    Fresh,
    /// The same agent session, in one process that lives from turn to turn.
    KeepAlive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitPolicy {
    Engine,
    Agent,
    Off,
}

/// What counts as the agent's claim to be done. Gates always come on top.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// The reviewer's acceptance.
    Review,
}

impl Done {
    pub fn promise(&self) -> Option<&str> {
        match self {
            Done::Promise { promise } => promise.as_deref().filter(|text| !text.is_empty()),
            Done::Gates | Done::Count { .. } | Done::Duration { .. } | Done::Review => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateSpec {
    pub command: String,
    pub timeout_ms: u64,
    #[serde(default)]
    pub when: GateWhen,
    /// It judges claims after every other gate passed; agents and reviewers learn only that one failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// What gates start from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// The commit and what the set-up made.
    #[default]
    Clean,
    /// The same, and what earlier gates left in known build directories.
    Warm,
    /// For a claim nothing but the commit, with the set-up run again; otherwise as `Clean`.
    Cold,
}

impl Verify {
    pub fn name(self) -> &'static str {
        match self {
            Verify::Clean => "clean",
            Verify::Warm => "warm",
            Verify::Cold => "cold",
        }
    }
}

/// When a gate runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateWhen {
    /// After every turn.
    #[default]
    Turn,
    /// Only when the agent claims to be done.
    Claim,
}

/// What the next prompt carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    Stop,
    Pause,
}

/// What a rate or usage limit of the provider does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnRateLimit {
    /// The loop waits, however often.
    #[default]
    Wait,
    /// The next agent takes over; the last one waits.
    Fallback,
    Pause,
}

/// What follows a failed turn. Rate limits are never a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OnFailure {
    Stop,
    /// The next iteration, after a growing pause.
    Continue,
    /// The same as `Continue`, but only so many failures in a row.
    Retry {
        times: u32,
    },
    /// The same as `Continue`, and the reviewer need not say that the work is not accepted.
    CountAsRejection,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimeLimits {
    pub turn_timeout_ms: u64,
    /// No output for so long is a stall.
    pub stall_timeout_ms: u64,
    /// So many stalls in a row end the loop.
    pub max_stalls: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkspaceSpec {
    pub kind: WorkspaceKind,
    pub branch: String,
    /// The revision the branch starts from; the checkout's HEAD if unset.
    pub base: Option<String>,
    pub allow_dirty: bool,
    /// Commands that install what the project needs, by the user's shell.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The set-up on the base may use the user's logins for package registries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub setup_credentials: bool,
    /// Files of the checkout that git does not have and the work needs, such as `.env`; never committed.
    #[serde(default)]
    pub copy: Vec<String>,
    /// Whether the gates run on the base before the first turn.
    #[serde(default)]
    pub baseline: bool,
    #[serde(default)]
    pub verify: Verify,
    /// The directory of the repository that agents, gates and set-up run in; its top if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdir: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// A clone of its own, which borrows the user's objects and pushes nowhere.
    #[serde(alias = "worktree")]
    Clone,
    /// The user's checkout.
    InPlace,
    /// Somebody else's: the engine neither opens nor commits anything.
    External,
}
