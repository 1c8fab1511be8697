//! What is asked for. Fields are only ever added.
//!
//! The `id` of a request about a loop is in the path of its route, so that bodies and their schemas do without it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_engine::trust::Seen;

/// A new loop.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartLoop {
    /// The project's directory, or one in it.
    pub project: String,
    pub goal: String,
    /// The loop's name; made from the goal if left out.
    #[serde(default)]
    pub name: Option<String>,
    /// Settings under the very keys of the configuration; they win over every file.
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// A one-off agent, as with --agent-command.
    #[serde(default)]
    pub agent_command: Option<String>,
    #[serde(default)]
    pub reviewer_command: Option<String>,
    /// The commit to start from.
    #[serde(default)]
    pub base: Option<String>,
    #[serde(default)]
    pub allow_dirty: bool,
    /// One turn, then the gates.
    #[serde(default)]
    pub no_loop: bool,
    /// Refine: so many iterations.
    #[serde(default)]
    pub iter: Option<String>,
    /// Refine: as many iterations as fit into this time, such as 90m.
    #[serde(default)]
    pub time: Option<String>,
    /// Consent to what the project's own files make run: the files that `preview` showed, as they were then.
    #[serde(default)]
    pub trust: Option<Vec<Seen>>,
}

/// What a loop would be, asked for like the loop itself; nothing is made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PreviewLoop(pub StartLoop);

/// Keys of the configuration with their new value; `null` takes a key out of the file. `agents` holds profiles by name,
/// in which single fields may be given, or taken out with `null`.
pub type SettingsChange = BTreeMap<String, serde_json::Value>;

/// Pause after the current turn, or now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseLoop {
    #[schemars(skip)]
    pub id: String,
    pub now: bool,
}

/// Go on with a loop, its limits raised by so much.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResumeLoop {
    #[schemars(skip)]
    pub id: String,
    pub raise: RaiseLimits,
    /// Take the loop from a driver on another machine or in another container that is known to be gone.
    pub take_over: bool,
}

/// Go on with a fresh agent session, the limits raised by so much.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestartLoop {
    #[schemars(skip)]
    pub id: String,
    pub raise: RaiseLimits,
}

/// Continue a completed loop: a new stretch on the same branch, with the merge target merged in.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContinueLoop {
    #[schemars(skip)]
    pub id: String,
    /// What the new stretch is for; the same goal if left out.
    pub goal: Option<String>,
    /// The branch to merge in; the one the loop started from if left out.
    pub into: Option<String>,
    pub raise: RaiseLimits,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RaiseLimits {
    pub max_iterations: u32,
    pub duration_ms: u64,
    pub budget_usd: f64,
    pub max_tokens: u64,
    pub disk_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerLoop {
    #[serde(default)]
    #[schemars(skip)]
    pub id: String,
    pub message: String,
    /// Interrupt the turn that is at work, and go on in its session with the message.
    #[serde(default)]
    pub now: bool,
}

/// Answer a question of the agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerLoop {
    #[serde(default)]
    #[schemars(skip)]
    pub id: String,
    pub text: String,
    /// Which question, such as `q2`; the only open one if left out.
    #[serde(default)]
    pub question: Option<String>,
}

/// A person agrees to the work.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApproveLoop {
    #[schemars(skip)]
    pub id: String,
    /// Why, for the journal.
    pub reason: Option<String>,
}

/// A person sends the work back; that needs a reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RejectLoop {
    #[schemars(skip)]
    pub id: String,
    /// What is to be done differently.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackLoop {
    #[serde(default)]
    #[schemars(skip)]
    pub id: String,
    /// The iteration to go back to; 0 is where it began.
    pub to: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MergeLoop {
    #[schemars(skip)]
    pub id: String,
    pub into: Option<String>,
    pub squash: bool,
    /// Do not run the loop's gates on the merged result.
    pub no_gates: bool,
    pub message: Option<String>,
}

/// What a merge would do; it changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PreviewMerge {
    #[schemars(skip)]
    pub id: String,
    /// The branch to merge into; the one that the loop started from if left out.
    pub into: Option<String>,
    pub squash: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoop {
    #[schemars(skip)]
    pub id: String,
    /// Delete the branch too, if it is merged.
    pub branch: bool,
    /// Remove the loop's record too: journal, transcripts, log.
    pub records: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// Which loops are cleared away.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoops {
    /// Only of loops of this project; of every project if left out.
    pub project: Option<String>,
    /// Delete merged branches too.
    pub branches: bool,
    /// Remove the loops' records too: journals, transcripts, logs.
    pub records: bool,
    /// Every loop that ended longer ago than this, merged or not; without it the retention rule decides. Branches that
    /// are not merged stay.
    pub older_than_ms: Option<u64>,
    /// Only loops of `windlass demo`, however old.
    pub demo: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// One tiny call to each installed agent, which its provider may charge.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallAgents {
    pub project: Option<String>,
    /// How long a call may take; two minutes if not said.
    pub timeout_ms: Option<u64>,
}

/// Consent to a repository's own files, as they were shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agree {
    pub project: String,
    #[serde(default)]
    pub base: Option<String>,
    /// What `GET /api/trust` told. If a file is another now, nothing is agreed to.
    pub files: Vec<Seen>,
}

/// What a repository's own files would run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustOf {
    pub project: String,
    /// The revision that loops will start from; what is checked out is looked at as well.
    #[serde(default)]
    pub base: Option<String>,
}

/// Agree to nothing of a repository any more.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeTrust {
    pub project: String,
    /// The revision that loops will start from; what is checked out is looked at as well.
    #[serde(default)]
    pub base: Option<String>,
}

/// The loop of a name or id, or the latest one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FindLoop {
    /// Look in this project first; in every project if left out.
    pub project: Option<String>,
    /// A name, an id, or the start of a name if only one loop matches. The latest loop if left out.
    pub name: Option<String>,
}

/// Which loops.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListLoops {
    /// Only of this project.
    pub project: Option<String>,
    /// Only with one of these statuses or outcomes, separated by commas; `open` stands for all that have not ended.
    pub status: Option<String>,
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only created since then.
    pub since: Option<jiff::Timestamp>,
    /// Words that have to be in the name, the goal or the project.
    pub q: Option<String>,
    /// At most so many, 100 if not said, 1000 at most.
    pub limit: Option<usize>,
    /// The id of the last loop of the page before.
    pub after: Option<String>,
    /// With the history of each.
    pub history: bool,
}

/// The agents of this machine, with the settings of a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentsOf {
    /// The project's directory.
    pub project: Option<String>,
    /// The name of the last agent of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// What a loop needs on this machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Doctor {
    /// The project's directory.
    pub project: Option<String>,
}

/// Every setting, of the user or as it is in a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SettingsOf {
    /// The project's directory.
    pub project: Option<String>,
}

/// Changes to the settings of the user or of a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSettings {
    /// `user` or `project`.
    pub layer: String,
    /// The project's directory.
    #[serde(default)]
    pub project: Option<String>,
    #[serde(flatten)]
    pub change: SettingsChange,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FeedQuery {
    /// Only what comes after this item. The header `Last-Event-ID` wins.
    pub after: Option<String>,
    /// Begin so many KiB of output before the end, at the start of a line.
    pub tail: Option<u64>,
    /// When the stream of a loop ends by itself; never if left out.
    pub until: Option<Until>,
}

/// The end of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// When all is sent that there is.
    Now,
    /// When nobody drives the loop any more.
    Rest,
}

impl Until {
    /// As a query says it.
    pub fn word(self) -> &'static str {
        match self {
            Until::Now => "now",
            Until::Rest => "rest",
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PageQuery {
    /// Where the page ends; the feed's end if left out.
    pub before: Option<String>,
    /// About so many KiB of output, 64 if not said, 1024 at most.
    pub limit: Option<u64>,
}

/// What a loop changed, file by file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiffLoop {
    #[schemars(skip)]
    pub id: String,
    /// Only what this iteration changed.
    pub iteration: Option<u32>,
    /// What lies in the workspace now, committed or not.
    pub worktree: bool,
    /// From the checkpoint of this iteration on instead; 0 is the base commit.
    pub since: Option<u32>,
    /// From where the branch left its merge target on instead.
    pub target: bool,
}

/// The same in one piece.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PatchLoop {
    #[schemars(skip)]
    pub id: String,
    /// Only what this iteration changed.
    pub iteration: Option<u32>,
    /// What lies in the workspace now, committed or not.
    pub worktree: bool,
    /// From the checkpoint of this iteration on instead; 0 is the base commit.
    pub since: Option<u32>,
    /// From where the branch left its merge target on instead.
    pub target: bool,
    /// Painted for a terminal.
    pub color: bool,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawQuery {
    pub offset: u64,
    /// At most so many bytes, 256 KiB if not said, 4 MiB at most.
    pub limit: Option<u64>,
}

/// Which run of a gate; the last one if not said.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateLogQuery {
    /// The run that printed this, as `output_sha256` in its report.
    pub sha256: Option<String>,
    pub offset: u64,
    /// At most so many bytes, 256 KiB if not said, 4 MiB at most.
    pub limit: Option<u64>,
}

/// A milestone to be made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMilestone {
    pub project: String,
    pub id: String,
    pub title: String,
    pub goal: String,
    /// `F1: words`, or words.
    pub features: Vec<String>,
    pub criteria: Vec<String>,
    #[serde(default)]
    pub constraints: String,
    #[serde(default)]
    pub human_review: bool,
    #[serde(default)]
    pub order: Option<i64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilestoneOrder {
    pub project: String,
    /// All ids of the project in the order in which they are to be built.
    pub ids: Vec<String>,
}

/// Work on a milestone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartMilestone {
    #[serde(default)]
    #[schemars(skip)]
    pub id: String,
    pub project: String,
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// One-off agents, as with --agent-command and --reviewer-command.
    #[serde(default)]
    pub agent_command: Option<String>,
    #[serde(default)]
    pub reviewer_command: Option<String>,
    /// As for any loop.
    #[serde(default)]
    pub trust: Option<Vec<Seen>>,
}

/// A project's milestones in their order.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct MilestonesOf {
    /// The project's directory.
    pub project: String,
    /// The ID of the last milestone of the page before.
    #[serde(default)]
    pub after: Option<String>,
    /// At most so many; all if not said.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MilestoneOf {
    #[serde(default)]
    #[schemars(skip)]
    pub id: String,
    /// The project's directory.
    pub project: String,
}
