//! What is answered, beside what the engine's own types and the commands' reports say. Fields are only ever added.

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

/// What a loop would be; nothing is made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PreviewLine {
    /// `goal`, `agent`, `review`, `where`, `branch`, `limits`, `gate`, `done`, …
    pub label: String,
    pub text: String,
}

/// A setting with where its value came from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SettingView {
    pub key: String,
    /// `null` where there is none; then `unset` says what that means.
    pub value: serde_json::Value,
    pub unset: String,
    /// `default`, `recipe`, `user`, `project`, `environment` or `request`.
    pub layer: String,
    /// The file with its line, the variable, or the flag.
    pub origin: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SettingsView {
    pub settings: Vec<SettingView>,
    pub warnings: Vec<String>,
    /// The files, whether they are there or not.
    pub user_file: String,
    pub project_file: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
    /// The last line that its agent said, while the loop is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoopList {
    pub loops: Vec<LoopSummary>,
    /// What `after` is to be for the next page.
    pub next: Option<String>,
    /// How many match the filters, on all pages; `null` with a filter by agent or outcome.
    #[serde(default)]
    pub total: Option<usize>,
    /// How many there are in all, by status.
    pub counts: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    pub path: String,
    pub name: String,
    pub loops: usize,
    pub open: usize,
}

/// One item of a feed with its place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FeedEntry {
    /// Its place: what `Last-Event-ID`, `after` and `before` take. In a stream it is the event's id.
    pub cursor: String,
    #[serde(flatten)]
    pub item: FeedItem,
}

/// Items of the past, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FeedPage {
    pub items: Vec<FeedEntry>,
    /// What `before` is to be for the page before; `null` at the loop's beginning.
    pub before: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiffView {
    pub from: String,
    /// The last commit; where the workspace was asked for, there may be more.
    pub to: String,
    pub files: Vec<FileDiff>,
    /// Files that are not shown because the diff is too long.
    pub files_left_out: usize,
}

/// All that a loop changed, as `diff --json` prints it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PatchView {
    pub name: String,
    pub iteration: Option<u32>,
    pub from: String,
    /// `null` where what lies in the workspace was asked for.
    pub to: Option<String>,
    /// As git writes it.
    pub patch: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FindingsView {
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    pub plan: Option<Plan>,
    pub sections: Vec<SectionView>,
    /// The text that the loop was given, where nobody has split it.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    pub version: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MilestoneBoard {
    pub milestones: Vec<MilestoneReport>,
    /// Files that cannot be read, and why.
    pub broken: Vec<String>,
}
