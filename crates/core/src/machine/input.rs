//! What is reported to the machine: outcomes of effects, timers, and what people ask for.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::continuing::MergedTarget;
use super::effect::{Effect, TimerKind};
use super::event::Opener;
use super::outcome::{Merge, RefusedMerge, Smaller};
use super::review::Opinion;
use crate::agent::{AccountWindow, ChangedFile, TurnReport};
use crate::findings::NewFinding;
use crate::ids::TurnKey;
use crate::milestone::Milestone;
use crate::residue::Leftover;
use crate::review::Report;
use crate::trouble::Trouble;
use crate::usage::UsageByModel;

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Begin, or begin again.
    Open {
        by: Opener,
        raise: Raise,
    },
    /// Go on with a completed loop, for the same goal or another.
    Continue {
        goal: Option<String>,
        /// The branch to merge in; the one that the loop started from if not said.
        target: Option<String>,
        raise: Raise,
    },
    /// So many loops run already.
    Queue {
        max_running: u32,
    },
    /// The loop no longer waits for a place.
    LeaveQueue {
        /// The turn under way had begun before.
        turn_began: bool,
    },
    /// A driver took the lease of a loop that is under way.
    Attach {
        /// The last sign of life of what the earlier driver ran.
        alive_until: Option<Timestamp>,
    },
    /// The loop's files are not where its driver is: another machine had them, or somebody removed them.
    Moved {
        /// Where they were, if that is known.
        from: Option<String>,
        to: String,
    },
    /// What is wanted could not be tried.
    NotTried {
        effect: Effect,
        trouble: Trouble,
    },
    /// The driver is interrupted.
    Shutdown,
    WorkspaceOpened {
        opening: WorkspaceOpening,
    },
    WorkspaceFailed {
        failure: WorkspaceFailure,
    },
    SessionSeen {
        turn: TurnKey,
        session: String,
    },
    /// What the turn has used so far.
    UsageSeen {
        turn: TurnKey,
        usage: UsageByModel,
    },
    /// How much of its account the agent reports as used.
    AccountSeen {
        turn: TurnKey,
        windows: Vec<AccountWindow>,
    },
    /// No output for as long as the loop allows.
    Stalled {
        turn: TurnKey,
    },
    /// The loop takes more disk than it may, or too little is free.
    DiskShort {
        turn: TurnKey,
        message: String,
    },
    TurnEnded {
        turn: TurnKey,
        report: TurnReport,
        answer: Answer,
    },
    /// The workspace's files and set-up commands are in place.
    SetUp,
    /// What the turn did, in words.
    Summarised {
        turn: TurnKey,
        summary: SummaryReport,
    },
    Checkpointed {
        turn: TurnKey,
        checkpoint: CheckpointReport,
    },
    /// The commit that closes a section is made.
    Sealed {
        section: u32,
        checkpoint: CheckpointReport,
    },
    /// The tree is back where it was before the post-action.
    Undone {
        commit: String,
        tree: String,
        saved: Option<String>,
    },
    /// Something an agent does through the engine while its turn is under way.
    Acted {
        turn: TurnKey,
        act: Act,
    },
    GateEnded {
        gate: GateKey,
        report: GateReport,
    },
    TimerFired {
        timer: TimerKind,
    },
    Stop,
    Pause {
        now: bool,
    },
    Steer {
        id: String,
        text: String,
        /// Whether the coder's turn is interrupted for it.
        now: bool,
    },
    /// A person answers a question; the only open one if it is not named.
    Answer {
        question: Option<String>,
        text: String,
    },
    /// The milestone's file was edited; only a loop at rest takes it.
    AmendMilestone {
        milestone: Box<Milestone>,
    },
    /// A person agrees to what a loop asks. The reason is for the journal.
    Approve {
        reason: Option<String>,
    },
    Reject {
        reason: String,
    },
    /// A process of the loop asked for a host that is not on its list, so many times by now.
    NetworkDenied {
        host: String,
        why: String,
        count: u64,
    },
    /// What is left of the loop on the machine, looked for when it rests.
    ResidueChecked {
        left: Vec<Leftover>,
    },
    /// Windlass merged the loop's work.
    Merged {
        merge: Merge,
    },
    /// Windlass tried to merge the loop's work and did not.
    MergeRefused {
        refused: RefusedMerge,
    },
    /// Somebody put a smaller tree that gates passed on onto the loop's branch.
    Minimised {
        smaller: Smaller,
    },
    /// A person took the work back to an earlier checkpoint; 0 is the base.
    RolledBack {
        to_iteration: u32,
        commit: String,
        tree: String,
        saved: Option<String>,
    },
}

impl Input {
    /// The end of a turn, with its answer read.
    pub fn turn_ended(turn: TurnKey, report: TurnReport) -> Self {
        let answer = Answer::read(turn.role, &report);
        Input::TurnEnded { turn, report, answer }
    }
}

/// What agents do through the engine, each by its role's right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Act {
    WriteFinding {
        finding: NewFinding,
    },
    /// By id, or by `file:line`.
    ResolveFinding {
        id: String,
    },
    AdjustPlan {
        section: u32,
        body: String,
        rationale: String,
    },
    Say {
        verdict: Opinion,
    },
    Report {
        report: Box<Report>,
    },
    Ask {
        question: String,
        #[serde(default)]
        default: Option<String>,
    },
}

/// Limits raised when a loop is opened again; each is added to what stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Raise {
    #[serde(default)]
    pub max_iterations: u32,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default)]
    pub budget_usd: f64,
    #[serde(default)]
    pub max_tokens: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disk_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkspaceOpening {
    pub dir: String,
    pub branch: Option<String>,
    pub base_commit: Option<String>,
    pub head_commit: Option<String>,
    /// The tree of the head commit, empty where it is not known.
    #[serde(default)]
    pub tree: String,
    /// The tree of the base commit, if the branch does not start there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_tree: Option<String>,
    /// Where the tree of a cut-off turn was saved before it was reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What was restored of a cut-off turn whose tree was lost with its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<RestoredSnapshot>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The directory had to be made again, so it has to be set up again.
    #[serde(default)]
    pub recreated: bool,
    /// The merge target, where it was merged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<MergedTarget>,
    /// What only the workspace module understands, to open the same workspace again.
    pub handle: serde_json::Value,
}

/// The files of a running turn as they were saved for other machines. No branch has them, and nothing judges them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RestoredSnapshot {
    pub commit: String,
    pub taken_at: Timestamp,
    pub files_changed: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WorkspaceFailure {
    Missing { message: String },
    Setup { message: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckpointReport {
    /// The commit that closes the turn; the previous one if nothing changed; none with `commit = off`.
    pub commit: Option<String>,
    /// Empty where nothing needs the tree's hash.
    pub tree: String,
    /// The first files that changed; `files_changed` counts all.
    pub files: Vec<ChangedFile>,
    pub files_changed: u64,
    /// The engine made a new commit for this turn.
    pub created: bool,
    /// Protected paths that the agent changed; they were put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<ChangedFile>,
    /// Files that keep the work from being accepted, each with the reason: it holds a secret, git cannot store it, or a
    /// conflict is not resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Commits that the agent made by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_commits: Vec<String>,
    /// New files that git ignores and that are in no commit, the first of them; `ignored_new_count` counts all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_new: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ignored_new_count: u64,
    /// Refs that moved in the user's repository during the turn, without a sandbox; Windlass left them where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_refs: Vec<MovedRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A ref of the user's repository that is not where it was before a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MovedRef {
    pub name: String,
    /// Where it was; nothing if it is new.
    pub from: Option<String>,
    /// Where it is; nothing if it is gone.
    pub to: Option<String>,
}

/// The summary of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SummaryReport {
    pub summary: String,
    /// The message of the checkpoint; one is composed where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
    /// Why the words are not the summariser's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "UsageByModel::is_empty")]
    pub usage: UsageByModel,
}

/// One run of one gate. A verdict belongs to the commit (or, without commits, to the tree) that it judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateKey {
    /// 0 for the runs on the base, before the first turn.
    #[serde(rename = "iteration")]
    #[schemars(with = "u32")]
    pub on: GateOn,
    pub index: usize,
    /// Counts from 1; a flaky gate gets more than one.
    pub attempt: u32,
}

/// What a gate judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub enum GateOn {
    Base,
    /// The checkpoint of this iteration.
    Iteration(u32),
}

impl GateOn {
    /// As journals and transcripts write it: iterations count from 1, and the base comes before them.
    pub fn number(self) -> u32 {
        match self {
            GateOn::Base => 0,
            GateOn::Iteration(iteration) => iteration,
        }
    }
}

impl From<u32> for GateOn {
    fn from(number: u32) -> Self {
        if number == 0 { GateOn::Base } else { GateOn::Iteration(number) }
    }
}

impl From<GateOn> for u32 {
    fn from(on: GateOn) -> Self {
        on.number()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateReport {
    pub command: String,
    /// Agents and reviewers are not told about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    pub verdict: Verdict,
    pub exit_code: Option<i32>,
    pub commit: Option<String>,
    pub tree: String,
    pub duration_ms: u64,
    /// The end of what the gate printed, bounded.
    pub output_tail: String,
    /// SHA-256 of what the gate printed, as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<String>,
    /// Files the gate changed; they were put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    Fail,
    TimedOut,
    /// The gate could not be started.
    NotStarted,
}

impl Verdict {
    pub fn passed(self) -> bool {
        self == Verdict::Pass
    }
}
