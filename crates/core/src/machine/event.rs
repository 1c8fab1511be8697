//! What was decided: the journal's vocabulary. Past participles, and never changed once released.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::activity::Phase;
use super::input::{CheckpointReport, GateKey, GateReport, Raise, SummaryReport, WorkspaceOpening};
use super::outcome::{Merge, RefusedMerge, Smaller};
use super::question::AnsweredBy;
use super::review::ReviewEvent;
use super::state::GateMark;
use crate::agent::{AccountWindow, TurnReport};
use crate::ids::{LoopId, Role, TurnKey};
use crate::residue::Leftover;
use crate::spec::LoopSpec;
use crate::stop::{End, Outcome, PauseReason, StopReason, WaitReason};
use crate::trouble::{Step, Trouble};
use crate::usage::{Usage, UsageByModel};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    LoopCreated {
        id: LoopId,
        name: String,
        project: String,
        spec: Box<LoopSpec>,
    },
    /// A stretch begins: the first, or another one after an end or a pause.
    LoopOpened {
        by: Opener,
        raise: Raise,
        /// What a completed loop is continued for, if that is not the same goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// The branch that is merged in then, if that is not the one the loop started from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// So many loops run already: nothing of this one runs until a place is free.
    LoopQueued {
        max_running: u32,
    },
    /// A place is free, or whoever waited for one gave up.
    QueueLeft {
        /// The turn under way had begun before.
        turn_began: bool,
    },
    /// A driver took over. Of the time since the last event, only what something of the loop ran counts as the loop's.
    DriverAttached {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alive_until: Option<Timestamp>,
    },
    /// The loop goes on without the files it had. What no commit holds is lost, and the agents' sessions with it: a turn
    /// that was not committed is due again.
    LoopMoved {
        /// Where they were, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        to: String,
    },
    /// Something that is not a turn could not be tried, so many times in a row.
    NotTried {
        step: Step,
        #[serde(flatten)]
        trouble: Trouble,
        times: u32,
    },
    PhaseEntered {
        phase: Phase,
        iteration: u32,
    },
    WorkspaceOpened {
        opening: WorkspaceOpening,
    },
    IterationStarted {
        iteration: u32,
    },
    TurnStarted {
        turn: TurnKey,
        turn_id: String,
        /// The agent's place in the role's list; the one that was appointed is 0.
        #[serde(default, skip_serializing_if = "is_first")]
        agent: usize,
        session: SessionUse,
        steering: Vec<String>,
        /// Questions whose answers the prompt has.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
        recovery: bool,
    },
    SessionFound {
        turn: TurnKey,
        session: String,
    },
    /// What a turn under way has used so far; its end names the final figures.
    UsageReported {
        turn: TurnKey,
        usage: UsageByModel,
    },
    /// How much of its account the coder's agent reports as used.
    AccountReported {
        turn: TurnKey,
        windows: Vec<AccountWindow>,
    },
    TurnInterrupted {
        turn: TurnKey,
        why: Interrupt,
    },
    TurnEnded {
        turn: TurnKey,
        report: TurnReport,
        /// It came to no end of its own, and the same iteration tries again. For the fold; the API does not promise it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[schemars(skip)]
        again: bool,
        /// Which of the things in a row it is one more of. For the fold too.
        #[serde(default, skip_serializing_if = "Counted::is_nothing")]
        #[schemars(skip)]
        counts_as: Counted,
    },
    /// The agent lost its session, or it is full: the next turn starts a new one.
    SessionLost {
        turn: TurnKey,
        message: String,
    },
    /// An agent failed for good, and the next one in the role's list takes over in the same workspace.
    AgentChanged {
        role: Role,
        from: String,
        to: String,
        /// Its place in the list; the one that was appointed is 0.
        index: usize,
        why: String,
    },
    WorkspaceSetUp,
    Summarised {
        turn: TurnKey,
        summary: SummaryReport,
    },
    Checkpointed {
        turn: TurnKey,
        checkpoint: CheckpointReport,
        /// The summary of the turn; none for a turn that is not an iteration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    GateEnded {
        gate: GateKey,
        report: GateReport,
        /// The verdict stands. A gate that is known to be flaky runs again before its failure does.
        counts: bool,
    },
    IterationJudged {
        iteration: u32,
        claim: bool,
        failing: Vec<String>,
        /// In the gates' order.
        gates: Vec<GateMark>,
        /// Iterations in a row in which nothing changed, this one included; none where that is not watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same: Option<u32>,
    },
    ClaimRefused {
        iteration: u32,
        because: RefusedBecause,
    },
    ProgressStalled {
        iterations: u32,
        step: StallStep,
    },
    WaitStarted {
        until: Timestamp,
        why: WaitReason,
    },
    WaitEnded,
    PauseRequested {
        now: bool,
    },
    LoopPaused {
        why: PauseReason,
    },
    StopRequested,
    SteeringQueued {
        id: String,
        text: String,
    },
    /// The coder asks the user.
    QuestionAsked {
        id: String,
        turn: TurnKey,
        question: String,
        /// What it does if nobody answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
        /// When the default is taken; none if nobody is waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    QuestionAnswered {
        id: String,
        by: AnsweredBy,
        /// None if nobody answered and there is no default: the agent uses its own judgment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// The tool that asked returned it, so no prompt has to.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        told: bool,
    },
    /// Tree and branch are back at an earlier checkpoint; 0 is the base. What was undone is at `saved`.
    RolledBack {
        to_iteration: u32,
        commit: String,
        /// Empty where nobody knows it.
        #[serde(default)]
        tree: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
    },
    LoopStopped {
        status: End,
        stop_reason: StopReason,
        /// Of a completed loop.
        #[serde(default)]
        outcome: Option<Outcome>,
        /// The outcome is `verified`.
        verified: bool,
        iterations: u32,
        head_commit: Option<String>,
        usage: Usage,
    },
    /// Windlass merged the loop's work.
    Merged {
        #[serde(flatten)]
        merge: Merge,
    },
    /// Windlass tried to merge the loop's work; a gate failed on the result, or both sides changed the same.
    MergeRefused {
        #[serde(flatten)]
        refused: RefusedMerge,
    },
    /// A smaller tree that gates passed on is on the loop's branch.
    Minimised {
        #[serde(flatten)]
        smaller: Smaller,
    },
    /// A host was asked for that is not on the loop's list: the first time, the tenth, the hundredth …
    NetworkDenied {
        host: String,
        why: String,
        count: u64,
    },
    /// What is left of a loop that rests. It follows the end that it is about, and is no item of the feed.
    ResidueChecked {
        left: Vec<Leftover>,
    },
    /// What happens around a review, under names of its own.
    #[serde(untagged)]
    Review(ReviewEvent),
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_first(index: &usize) -> bool {
    *index == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opener {
    Start,
    Resume,
    Restart,
    /// A completed loop goes on: a new stretch on the same branch, with as many iterations and as much time again.
    Continue,
}

/// What a turn that ended is one more of, in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    #[default]
    Nothing,
    /// It went well, which ends every row.
    Finished,
    CutOff,
    Stall,
    /// By the agent's own fault.
    Failure,
    RateLimit,
    NoAnswer,
    SessionLost,
    NotTried,
}

impl Counted {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_nothing(&self) -> bool {
        *self == Counted::Nothing
    }
}

/// Which agent session a turn uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionUse {
    Fresh,
    Resume {
        session: String,
    },
    /// The policy is to resume, but no session id is known.
    FreshInstead,
}

/// Why the engine ended a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Interrupt {
    Stop,
    Pause,
    /// The driver was interrupted; the loop continues when resumed.
    Shutdown,
    Stall,
    /// A message is not to wait for the turn's end; the turn goes on in its session, with it.
    Steer,
    TurnTimeout,
    Limit {
        limit: StopReason,
    },
    /// The loop takes more disk than it may, or too little is free.
    Disk {
        message: String,
    },
}

/// What happens to the tree before a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Restore {
    Keep,
    /// Back to the checkpoint; what lies there is saved under a ref that names the turn.
    Reset {
        commit: String,
        cut_turn: TurnKey,
        /// The tree was lost with its machine: if there is a snapshot of it, that is restored on top.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        moved: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RefusedBecause {
    Gates {
        failing: Vec<String>,
    },
    /// Files whose changes are in no commit, because they hold a secret, each with what it is.
    HeldBack {
        files: Vec<String>,
    },
    /// A person's message has not reached the agent yet.
    SteeringPending,
}

/// What the engine does about a loop that does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallStep {
    Nudge,
    FreshSession,
    Stop,
}

impl Event {
    /// The tag, as the feed shows it.
    pub fn name(&self) -> &'static str {
        match self {
            Event::LoopCreated { .. } => "loop_created",
            Event::LoopOpened { .. } => "loop_opened",
            Event::LoopQueued { .. } => "loop_queued",
            Event::QueueLeft { .. } => "queue_left",
            Event::DriverAttached { .. } => "driver_attached",
            Event::LoopMoved { .. } => "loop_moved",
            Event::NotTried { .. } => "not_tried",
            Event::PhaseEntered { .. } => "phase_entered",
            Event::WorkspaceOpened { .. } => "workspace_opened",
            Event::IterationStarted { .. } => "iteration_started",
            Event::TurnStarted { .. } => "turn_started",
            Event::SessionFound { .. } => "session_found",
            Event::UsageReported { .. } => "usage_reported",
            Event::AccountReported { .. } => "account_reported",
            Event::TurnInterrupted { .. } => "turn_interrupted",
            Event::TurnEnded { .. } => "turn_ended",
            Event::SessionLost { .. } => "session_lost",
            Event::AgentChanged { .. } => "agent_changed",
            Event::WorkspaceSetUp => "workspace_set_up",
            Event::Summarised { .. } => "summarised",
            Event::Checkpointed { .. } => "checkpointed",
            Event::GateEnded { .. } => "gate_ended",
            Event::IterationJudged { .. } => "iteration_judged",
            Event::ClaimRefused { .. } => "claim_refused",
            Event::ProgressStalled { .. } => "progress_stalled",
            Event::Review(event) => event.name(),
            Event::WaitStarted { .. } => "wait_started",
            Event::WaitEnded => "wait_ended",
            Event::PauseRequested { .. } => "pause_requested",
            Event::LoopPaused { .. } => "loop_paused",
            Event::StopRequested => "stop_requested",
            Event::SteeringQueued { .. } => "steering_queued",
            Event::QuestionAsked { .. } => "question_asked",
            Event::QuestionAnswered { .. } => "question_answered",
            Event::RolledBack { .. } => "rolled_back",
            Event::LoopStopped { .. } => "loop_stopped",
            Event::Merged { .. } => "merged",
            Event::MergeRefused { .. } => "merge_refused",
            Event::Minimised { .. } => "minimised",
            Event::NetworkDenied { .. } => "network_denied",
            Event::ResidueChecked { .. } => "residue_checked",
        }
    }
}
