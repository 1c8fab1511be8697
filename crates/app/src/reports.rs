//! What commands report with `--json`: the command line prints these very types, and the API answers with them.

use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::ids::Role;
use windlass_core::milestone::{Criterion, Feature};
use windlass_core::residue::Leftover;
use windlass_engine::call::Called;
use windlass_engine::trust::Demand;
use windlass_engine::view::LoopView;
use windlass_workspace::{DiffSize, MergeOutcome};

/// An agent as this machine has it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentReport {
    pub name: String,
    pub display_name: String,
    pub program: String,
    pub installed: bool,
    /// Part of this program: it costs nothing and needs no login.
    pub built_in: bool,
    /// What a loop gets if neither the settings nor anybody else name an agent.
    #[serde(default)]
    pub usual: bool,
    pub path: Option<PathBuf>,
    pub version: Option<String>,
    /// The versions it was tried with.
    pub known_good: Option<KnownGood>,
    /// What logs it in.
    pub login: Option<String>,
    /// It is installed, but was never used by this user, and no key is in the environment.
    #[serde(default)]
    pub logged_out: bool,
    pub problem: Option<String>,
    /// What became of the call, if one was requested.
    pub call: Option<Called>,
}

/// From the one version on, and below the other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KnownGood {
    pub from: String,
    pub below: String,
}

/// What a loop needs on this machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// Whether a loop can run.
    pub ok: bool,
    pub findings: Vec<Diagnosis>,
}

/// One thing that was checked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    pub what: String,
    pub state: Condition,
    pub detail: String,
    pub fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Ok,
    Warning,
    Problem,
}

/// What the agents are kept in on this machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SandboxReport {
    pub works: bool,
    /// What makes it, where it works.
    pub backend: Option<String>,
    /// Why it does not work, and what to do.
    pub reason: Option<String>,
    pub fix: Option<String>,
}

/// What came of a merge.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergeReport {
    pub name: String,
    /// The loop's branch.
    pub branch: String,
    #[serde(flatten)]
    pub outcome: MergeOutcome,
    /// What the user should know of what was merged.
    pub warnings: Vec<String>,
    /// The command that has the agent resolve conflicts.
    #[serde(default)]
    pub next: Option<String>,
}

/// What a merge would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergePreviewReport {
    pub name: String,
    /// The loop's branch.
    pub branch: String,
    pub into: String,
    /// Commits that the target does not have; with 0 there is nothing to merge.
    pub commits: u64,
    /// Commits of the target since the branch left it.
    pub behind: u64,
    /// What the target would gain.
    #[serde(flatten)]
    pub size: DiffSize,
    /// Files that both sides changed, so that the merge would be refused.
    pub conflicts: Vec<String>,
    /// The checkout whose files would move along.
    pub checkout: Option<PathBuf>,
    /// Uncommitted files in that checkout that the merge would overwrite, so that it would be refused.
    pub in_the_way: Vec<String>,
    /// The gates of the merged result.
    pub gates: Vec<String>,
    /// They passed on exactly this result already; otherwise they run on it before the target moves.
    pub gates_passed: bool,
    /// What the user should know of what would be merged.
    pub warnings: Vec<String>,
    /// The command that has the agent resolve conflicts.
    pub next: Option<String>,
}

/// What came of a rollback.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RollbackReport {
    pub name: String,
    pub to_iteration: u32,
    pub commit: String,
    /// The ref that holds what was undone.
    pub saved: Option<String>,
    pub files_changed: usize,
    pub files: Vec<String>,
    pub notes: Vec<String>,
}

/// What went, and what stays.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CleanReport {
    pub dry_run: bool,
    /// How long workspaces stay after their work is merged.
    pub retention_days: u32,
    pub freed_bytes: u64,
    pub kept_bytes: u64,
    pub removed: Vec<CleanedLoop>,
    pub kept: Vec<CleanedLoop>,
    /// Ended groups that were removed because none of their loops is left.
    #[serde(default)]
    pub groups: Vec<CleanedGroup>,
    pub residue: Vec<Residue>,
    /// Loops that could not be checked, and why.
    pub warnings: Vec<String>,
}

/// What became of one loop's workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CleanedLoop {
    pub id: String,
    pub name: String,
    pub project: String,
    pub worktree: String,
    pub branch: Option<String>,
    pub bytes: u64,
    pub files: u64,
    pub merged_into: Option<String>,
    pub removed: bool,
    /// Why it stays, or why it goes.
    pub why: String,
    pub branch_deleted: bool,
    /// The loop is no longer known.
    #[serde(default)]
    pub record_removed: bool,
    pub saved: Vec<String>,
    pub ignored_files: u64,
    pub notes: Vec<String>,
}

/// A group whose record is removed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CleanedGroup {
    pub id: String,
    pub name: String,
    pub project: String,
}

/// What was left behind of one loop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Residue {
    pub id: String,
    pub name: String,
    pub found: Vec<Leftover>,
    /// What stays all the same.
    pub left: Vec<Leftover>,
}

/// A milestone with its loop, if it was ever started.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MilestoneReport {
    pub id: String,
    pub title: String,
    pub file: PathBuf,
    /// `pending`, else the status of its loop.
    pub status: String,
    pub requires_human_review: bool,
    pub order: Option<i64>,
    pub created_at: Timestamp,
    pub features: Vec<Feature>,
    pub acceptance_criteria: Vec<Criterion>,
    pub branch: String,
    pub r#loop: Option<LoopView>,
}

/// A milestone in full.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MilestoneView {
    #[serde(flatten)]
    pub milestone: MilestoneReport,
    /// Its file was changed since it was started: a restart takes the new text.
    pub edited: bool,
}

/// How a user enters the place of a loop, of which nothing runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TakeoverReport {
    pub name: String,
    pub status: String,
    /// Where its files are.
    pub dir: String,
    pub sessions: Vec<SessionToEnter>,
}

/// The command that continues with an agent's session by hand.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SessionToEnter {
    pub role: Role,
    pub command: String,
}

/// What a repository's own files would run, and whether somebody agreed to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TrustReport {
    pub project: PathBuf,
    pub trusted: bool,
    pub files: Vec<Demand>,
}
