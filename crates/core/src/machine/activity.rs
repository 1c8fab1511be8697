//! What a loop is doing: one enum, whose variants carry what each step needs. `status` and `phase` are read from it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::input::SummaryReport;
use super::shared::Shared;
use super::state::LoopState;
use super::turn::{EndedTurn, RunningTurn};
use crate::ids::Role;
use crate::stop::{Outcome, PauseReason, Status, StopReason, WaitReason};

#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// Created, and never opened.
    Created,
    /// Opened, but too many loops run: nothing of this one runs until a place is free.
    Queued {
        then: Doing,
    },
    Running(Doing),
    /// A decision is being made. It is a state between two events of a decision, and no decision ends in it.
    Deciding(Next),
    /// Continues by itself at a known time.
    Waiting {
        until: Timestamp,
        why: WaitReason,
        then: Next,
    },
    /// Continues when a person says so.
    Paused {
        why: PauseReason,
        then: Next,
    },
    /// Reached its goal. Only `continue` opens it again.
    Completed {
        outcome: Outcome,
    },
    /// Ended before it reached its goal, and can be opened again.
    Stopped {
        reason: StopReason,
        then: Next,
    },
}

/// What is under way. Each of them wants an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Doing {
    OpenWorkspace {
        then: Then,
    },
    /// Files are copied into a new workspace and its set-up commands run.
    SetUp {
        then: Then,
    },
    /// The gates run on the base, so that what fails already is known.
    Baseline {
        then: Then,
    },
    /// An agent works: the coder, or the planner, a reviewer, the finisher.
    Turn(RunningTurn),
    /// A summarizer puts into words what the turn did.
    Summarise {
        turn: Shared<EndedTurn>,
    },
    /// A commit closes the turn.
    Checkpoint {
        turn: Shared<EndedTurn>,
        summary: Option<SummaryReport>,
    },
    /// The gates judge the last checkpoint.
    Gates,
    /// A commit closes a section.
    Seal {
        section: u32,
    },
    /// What the finisher did is taken back.
    Undo {
        commit: String,
        tree: Option<String>,
    },
}

/// Where a loop that rests continues.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// With what was under way, as it was.
    Same(Doing),
    /// With opening the workspace, which is done before every turn that does not follow another directly.
    Reopen(Then),
    /// In the workspace as it is.
    Proceed(Then),
}

/// What comes once the workspace is ready.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// The turn came to no end of its own, and is tried again in the same iteration.
    Retry(Shared<EndedTurn>),
    /// The planner's turn.
    Plan,
    /// The coder's turn, in a new iteration.
    Work,
    /// A review of the last checkpoint.
    Review,
    /// The finisher's turn.
    PostAction,
    /// A person has to agree to the whole.
    AskPerson,
}

/// Step of an iteration, as people and scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The workspace is opened.
    Prepare,
    /// Files are copied into a new workspace and its set-up commands run.
    Setup,
    /// The gates run on the base, so that what fails already is known.
    Baseline,
    /// The coder's turn.
    Work,
    /// What the turn did is put into words.
    Summarise,
    Checkpoint,
    Gates,
    /// All facts of the iteration are in; what follows is decided.
    Decide,
    /// The planner's turn, before the first iteration.
    Plan,
    /// The reviewer's turn.
    Review,
    /// The commit that closes a section.
    Seal,
    /// The finisher's turn.
    PostAction,
    /// What the finisher did is taken back.
    Undo,
}

impl Phase {
    pub const ALL: [Phase; 13] = [
        Phase::Prepare,
        Phase::Setup,
        Phase::Baseline,
        Phase::Work,
        Phase::Summarise,
        Phase::Checkpoint,
        Phase::Gates,
        Phase::Decide,
        Phase::Plan,
        Phase::Review,
        Phase::Seal,
        Phase::PostAction,
        Phase::Undo,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Phase::Prepare => "prepare",
            Phase::Setup => "setup",
            Phase::Baseline => "baseline",
            Phase::Work => "work",
            Phase::Summarise => "summarise",
            Phase::Checkpoint => "checkpoint",
            Phase::Gates => "gates",
            Phase::Decide => "decide",
            Phase::Plan => "plan",
            Phase::Review => "review",
            Phase::Seal => "seal",
            Phase::PostAction => "post_action",
            Phase::Undo => "undo",
        }
    }

    /// The phase in which a role has its turn.
    pub fn of_role(role: Role) -> Self {
        match role {
            Role::Coder => Phase::Work,
            Role::Auditor | Role::Acceptor => Phase::Review,
            Role::Summariser => Phase::Summarise,
            Role::Planner => Phase::Plan,
            Role::Finisher => Phase::PostAction,
        }
    }
}

impl Activity {
    pub fn phase(&self) -> Phase {
        match self {
            Activity::Created | Activity::Completed { .. } => Phase::Prepare,
            Activity::Queued { then: step } | Activity::Running(step) => step.phase(),
            Activity::Deciding(next)
            | Activity::Waiting { then: next, .. }
            | Activity::Paused { then: next, .. }
            | Activity::Stopped { then: next, .. } => next.phase(),
        }
    }

    /// What comes once the workspace is ready, if that is what the loop is about.
    pub(super) fn then(&self) -> Option<&Then> {
        match self {
            Activity::Created | Activity::Completed { .. } => None,
            Activity::Queued { then: step } | Activity::Running(step) => step.then(),
            Activity::Deciding(next)
            | Activity::Waiting { then: next, .. }
            | Activity::Paused { then: next, .. }
            | Activity::Stopped { then: next, .. } => next.then(),
        }
    }

    /// What is under way, also while the loop is queued.
    fn step(&self) -> Option<&Doing> {
        match self {
            Activity::Queued { then: step } | Activity::Running(step) => Some(step),
            Activity::Created
            | Activity::Deciding(_)
            | Activity::Waiting { .. }
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => None,
        }
    }

    pub(super) fn turn_mut(&mut self) -> Option<&mut RunningTurn> {
        match self {
            Activity::Queued { then: Doing::Turn(turn) } | Activity::Running(Doing::Turn(turn)) => Some(turn),
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Running(_)
            | Activity::Deciding(_)
            | Activity::Waiting { .. }
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => None,
        }
    }
}

impl Doing {
    pub fn phase(&self) -> Phase {
        match self {
            Doing::OpenWorkspace { .. } => Phase::Prepare,
            Doing::SetUp { .. } => Phase::Setup,
            Doing::Baseline { .. } => Phase::Baseline,
            Doing::Turn(turn) => Phase::of_role(turn.key.role),
            Doing::Summarise { .. } => Phase::Summarise,
            Doing::Checkpoint { .. } => Phase::Checkpoint,
            Doing::Gates => Phase::Gates,
            Doing::Seal { .. } => Phase::Seal,
            Doing::Undo { .. } => Phase::Undo,
        }
    }

    fn then(&self) -> Option<&Then> {
        match self {
            Doing::OpenWorkspace { then } | Doing::SetUp { then } | Doing::Baseline { then } => Some(then),
            Doing::Turn(_)
            | Doing::Summarise { .. }
            | Doing::Checkpoint { .. }
            | Doing::Gates
            | Doing::Seal { .. }
            | Doing::Undo { .. } => None,
        }
    }
}

impl Next {
    fn phase(&self) -> Phase {
        match self {
            Next::Same(step) => step.phase(),
            Next::Reopen(_) => Phase::Prepare,
            Next::Proceed(_) => Phase::Decide,
        }
    }

    fn then(&self) -> Option<&Then> {
        match self {
            Next::Same(step) => step.then(),
            Next::Reopen(then) | Next::Proceed(then) => Some(then),
        }
    }

    /// Whether it records or undoes work that is done, which no limit cuts short.
    pub(super) fn closes_work(&self) -> bool {
        match self {
            Next::Same(
                Doing::Summarise { .. } | Doing::Checkpoint { .. } | Doing::Seal { .. } | Doing::Undo { .. },
            ) => true,
            Next::Same(
                Doing::OpenWorkspace { .. }
                | Doing::SetUp { .. }
                | Doing::Baseline { .. }
                | Doing::Turn(_)
                | Doing::Gates,
            )
            | Next::Reopen(_)
            | Next::Proceed(_) => false,
        }
    }
}

impl Then {
    /// What is due once a turn of the role has come to its end, unless that end says otherwise.
    pub(super) fn after(role: Role) -> Self {
        match role {
            Role::Coder | Role::Summariser => Then::Work,
            Role::Auditor | Role::Acceptor => Then::Review,
            Role::Planner => Then::Plan,
            Role::Finisher => Then::PostAction,
        }
    }
}

impl LoopState {
    /// How the loop stands.
    pub fn status(&self) -> Status {
        match &self.activity {
            Activity::Created | Activity::Queued { .. } => Status::Queued,
            Activity::Running(_) | Activity::Deciding(_) => Status::Running,
            Activity::Waiting { until, why, .. } => Status::Waiting { until: *until, why: why.clone() },
            Activity::Paused { why, .. } => Status::Paused { why: why.clone() },
            Activity::Completed { .. } => Status::Ended { end: StopReason::Completed.end() },
            Activity::Stopped { reason, .. } => Status::Ended { end: reason.end() },
        }
    }

    /// The step of a loop that runs, or the one with which a loop that rests continues.
    pub fn phase(&self) -> Phase {
        self.activity.phase()
    }

    /// Why the last stretch ended; none while a stretch is open.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match &self.activity {
            Activity::Completed { .. } => Some(StopReason::Completed),
            Activity::Stopped { reason, .. } => Some(reason.clone()),
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Running(_)
            | Activity::Deciding(_)
            | Activity::Waiting { .. }
            | Activity::Paused { .. } => None,
        }
    }

    /// What a completed loop amounts to.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.activity {
            Activity::Completed { outcome } => Some(*outcome),
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Running(_)
            | Activity::Deciding(_)
            | Activity::Waiting { .. }
            | Activity::Paused { .. }
            | Activity::Stopped { .. } => None,
        }
    }

    /// Whether the loop has not ended.
    pub fn is_open(&self) -> bool {
        self.stop_reason().is_none()
    }

    /// Whether something of it runs or will by itself.
    pub fn is_under_way(&self) -> bool {
        match &self.activity {
            Activity::Running(_) | Activity::Deciding(_) | Activity::Waiting { .. } => true,
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => false,
        }
    }

    /// Whether the loop is opened and waits until fewer loops run.
    pub fn awaits_place(&self) -> bool {
        matches!(self.activity, Activity::Queued { .. })
    }

    /// The turn under way.
    pub fn turn(&self) -> Option<&RunningTurn> {
        match self.activity.step()? {
            Doing::Turn(turn) => Some(turn),
            Doing::OpenWorkspace { .. }
            | Doing::SetUp { .. }
            | Doing::Baseline { .. }
            | Doing::Summarise { .. }
            | Doing::Checkpoint { .. }
            | Doing::Gates
            | Doing::Seal { .. }
            | Doing::Undo { .. } => None,
        }
    }

    /// What the summarizer said of the turn that is being closed.
    pub fn summary(&self) -> Option<&SummaryReport> {
        match self.activity.step()? {
            Doing::Checkpoint { summary, .. } => summary.as_ref(),
            Doing::OpenWorkspace { .. }
            | Doing::SetUp { .. }
            | Doing::Baseline { .. }
            | Doing::Turn(_)
            | Doing::Summarise { .. }
            | Doing::Gates
            | Doing::Seal { .. }
            | Doing::Undo { .. } => None,
        }
    }

    /// What is under way in a loop that runs.
    pub(super) fn running(&self) -> Option<&Doing> {
        self.activity.step().filter(|_| !self.awaits_place())
    }

    /// The turn that is tried again next.
    pub(super) fn retry(&self) -> Option<&Shared<EndedTurn>> {
        match self.activity.then()? {
            Then::Retry(turn) => Some(turn),
            Then::Plan | Then::Work | Then::Review | Then::PostAction | Then::AskPerson => None,
        }
    }
}
