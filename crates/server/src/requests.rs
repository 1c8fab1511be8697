//! What is asked for and answered, beside what the engine's own types say. Fields are only ever added.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::findings::Finding;
use windlass_core::plan::Plan;
use windlass_engine::feed::FeedItem;
use windlass_engine::trust::Demand;
use windlass_engine::view::{LoopView, SectionView};

use crate::reports::{MilestoneReport, SandboxReport};

/// A new loop.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
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
    /// Consent to what the project's own files make run, as `preview` shows it.
    #[serde(default)]
    pub trust: bool,
}

/// What a loop would be; nothing is made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Preview {
    pub name: String,
    /// What will happen, line by line: what it is about, and the words.
    pub lines: Vec<PreviewLine>,
    /// What the user should know before the start.
    pub notes: Vec<String>,
    pub settings: Vec<SettingView>,
    /// Set where a person's consent is needed first: what the project's own files make run.
    pub trust: Option<Vec<Demand>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PreviewLine {
    /// `goal`, `agent`, `review`, `where`, `branch`, `limits`, `gate`, `done`, …
    pub label: String,
    pub text: String,
}

/// A setting with where its value came from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SettingView {
    pub key: String,
    /// `null` where there is none; then `unset` says what that means.
    pub value: serde_json::Value,
    pub unset: String,
    /// `default`, `user`, `project`, `environment` or `request`.
    pub layer: String,
    /// The file with its line, the variable, or the flag.
    pub origin: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SettingsView {
    pub settings: Vec<SettingView>,
    pub warnings: Vec<String>,
    /// The files, whether they are there or not.
    pub user_file: String,
    pub project_file: Option<String>,
}

/// Keys of the configuration with their new value; `null` takes a key out of the file. `agents` holds profiles by name,
/// in which single fields may be given, or taken out with `null`.
pub type SettingsChange = BTreeMap<String, serde_json::Value>;

/// Pause after the current turn, or now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseLoop {
    pub now: bool,
}

/// Limits raised by so much when a loop goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenLoop {
    pub raise: RaiseLimits,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RaiseLimits {
    pub max_iterations: u32,
    pub duration_ms: u64,
    pub budget_usd: f64,
    pub max_tokens: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerLoop {
    pub message: String,
    /// Interrupt the turn that is at work, and go on in its session with the message.
    #[serde(default)]
    pub now: bool,
}

/// A person's word; rejecting needs a reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleLoop {
    pub reason: Option<String>,
}

impl RuleLoop {
    /// The reason, if anything is said.
    pub fn said(self) -> Option<String> {
        self.reason.filter(|reason| !reason.trim().is_empty())
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackLoop {
    /// The iteration to go back to; 0 is where it began.
    pub to: u32,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MergeLoop {
    pub into: Option<String>,
    pub squash: bool,
    pub message: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoop {
    /// Delete the branch too, if it is merged.
    pub branch: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// Which workspaces are cleared away.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoops {
    /// Only of loops of this project; of every project if left out.
    pub project: Option<String>,
    /// Delete merged branches too.
    pub branches: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// One tiny call to each installed agent, which its provider may charge.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallAgents {
    pub project: Option<String>,
    /// How long a call may take; two minutes if not said.
    pub timeout_ms: Option<u64>,
}

/// A repository whose own files somebody agrees to, or no longer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    pub project: String,
    /// The revision that loops will start from; what is checked out is looked at as well.
    #[serde(default)]
    pub base: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Revoked {
    /// Whether there was anything to take back.
    pub revoked: bool,
}

/// One row of the list: the loop as `status --json` shows it, without its history, and how lively it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoopSummary {
    #[serde(flatten)]
    pub view: LoopView,
    /// Bytes of output in each of the last intervals of 30 s, oldest first.
    pub activity: Vec<u64>,
    pub last_activity_at: Timestamp,
    /// Whether somebody drives it now.
    pub driven: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoopList {
    pub loops: Vec<LoopSummary>,
    /// What `after` is to be for the next page.
    pub next: Option<String>,
    /// How many there are in all, by status.
    pub counts: BTreeMap<String, usize>,
}

/// Which loops.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListQuery {
    /// Only of this project.
    pub project: Option<String>,
    /// Only with one of these statuses, separated by commas; `open` stands for all that have not ended.
    pub status: Option<String>,
    /// Words that have to be in the name, the goal or the project.
    pub q: Option<String>,
    /// At most so many, 100 if not said, 1000 at most.
    pub limit: Option<usize>,
    /// The id of the last loop of the page before.
    pub after: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectView {
    pub path: String,
    pub name: String,
    pub loops: usize,
    pub open: usize,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProjectQuery {
    /// The project's directory.
    pub project: Option<String>,
}

/// One item of a feed with its place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FeedEntry {
    /// Its place: what `Last-Event-ID`, `after` and `before` take. In a stream it is the event's id.
    pub cursor: String,
    #[serde(flatten)]
    pub item: FeedItem,
}

/// Items of the past, oldest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FeedPage {
    pub items: Vec<FeedEntry>,
    /// What `before` is to be for the page before; `null` at the loop's beginning.
    pub before: Option<String>,
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

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiffQuery {
    /// Only what this iteration changed.
    pub iteration: Option<u32>,
    /// What lies in the workspace now, committed or not.
    pub worktree: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffView {
    pub from: String,
    /// The last commit; where the workspace was asked for, there may be more.
    pub to: String,
    pub files: Vec<FileDiff>,
    /// Files that are not shown because the diff is too long.
    pub files_left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FileDiff {
    pub path: String,
    /// Where it was before, if it was moved or copied.
    pub old_path: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed`, `copied`.
    pub status: String,
    pub added: u64,
    pub removed: u64,
    pub binary: bool,
    /// The hunks as git writes them.
    pub patch: String,
    /// The patch is longer than what is shown.
    pub cut: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingsView {
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlanView {
    pub plan: Option<Plan>,
    pub sections: Vec<SectionView>,
    /// The text that the loop was given, where nobody has split it.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawQuery {
    pub offset: u64,
    /// At most so many bytes, 256 KiB if not said, 4 MiB at most.
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    pub version: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ServerView {
    pub version: String,
    pub data_dir: String,
    pub address: String,
    pub started_at: Timestamp,
    /// The directory that `serve` was started in, if it is a project.
    pub project: Option<String>,
    pub loops: usize,
    pub open: usize,
    /// Loops that this server drives now.
    pub driving: usize,
    pub subscribers: usize,
    /// What the agents are kept in.
    pub sandbox: Option<SandboxReport>,
    /// Whether the dashboard is in this binary.
    pub dashboard: bool,
}

/// A milestone to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilestoneOrder {
    pub project: String,
    /// All ids of the project in the order in which they are to be built.
    pub ids: Vec<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartMilestone {
    pub project: String,
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub trust: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MilestoneBoard {
    pub milestones: Vec<MilestoneReport>,
    /// Files that cannot be read, and why.
    pub broken: Vec<String>,
}
