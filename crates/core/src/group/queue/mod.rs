//! The queue of goals: goals of all projects, worked off within limits and in the order of their dependencies.
//!
//! Every goal becomes an ordinary loop, whose id is known before the loop exists. The queue decides which goal starts
//! next ([`Queue::next`]), and says of every other one why it waits ([`Queue::why`]). Only a driver admits goals, so
//! adding one to a queue that nobody works off starts nothing.

mod decide;
mod evolve;
mod list;
mod pick;
mod spent;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Group, GroupId, GroupKind, GroupRefusal, GroupRow, GroupStatus, LoopReport, Standing};
use crate::ids::LoopId;

use spent::Spent;

pub use list::goals_in;
pub use pick::Why;

/// A goal as it was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GoalSpec {
    pub loop_id: LoopId,
    pub project: String,
    pub goal: String,
    /// The name that was asked for.
    pub name: Option<String>,
    /// The agent whose account it uses.
    pub account: String,
    /// What was asked for, in the form of a request for a new loop. Settings are read when the goal starts.
    pub request: serde_json::Value,
}

/// Another goal that a new one depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum After {
    /// One that is in the queue.
    Goal { number: u32 },
    /// One that is added at the same time, counted from 0.
    New { index: u32 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewGoal {
    pub after: Vec<After>,
    pub spec: GoalSpec,
}

/// Loops at once, and what an account may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueueLimits {
    pub per_project: u32,
    pub per_account: u32,
    /// Of the whole machine.
    pub machine: u32,
    /// The share of the queue in an account's tokens, without what is kept for the person.
    #[serde(default)]
    pub tokens_per_hour: Option<u64>,
    /// The same in US dollars.
    #[serde(default)]
    pub usd_per_hour: Option<f64>,
    /// The share of the queue in the windows that an agent reports, in percent.
    #[serde(default)]
    pub window_percent: Option<u32>,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            per_project: 2,
            per_account: 2,
            machine: 8,
            tokens_per_hour: None,
            usd_per_hour: None,
            window_percent: None,
        }
    }
}

/// Where a goal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Position {
    First,
    Last,
    Before { number: u32 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum QueueEvent {
    QueueCreated {
        id: GroupId,
    },
    /// A driver has begun to work it off. Goals that could not be started are tried again.
    QueueOpened {
        limits: QueueLimits,
        /// Verified goals go to the merge queue.
        #[serde(default)]
        merge: bool,
    },
    GoalAdded {
        number: u32,
        after: Vec<u32>,
        spec: Box<GoalSpec>,
    },
    GoalMoved {
        number: u32,
        /// The goal that now follows; none if it is the last.
        before: Option<u32>,
    },
    GoalRemoved {
        number: u32,
    },
    /// Its loop is driven from now on.
    GoalStarted {
        number: u32,
    },
    GoalChanged {
        number: u32,
        report: LoopReport,
    },
    /// Its loop waits for a rate limit and is left alone until the account is free.
    GoalParked {
        number: u32,
    },
    /// Its loop has come to rest: it ended, or needs a person.
    GoalRested {
        number: u32,
    },
    /// The merge queue merged its work.
    GoalMerged {
        number: u32,
    },
    /// It did not.
    GoalNotMerged {
        number: u32,
        message: String,
    },
    /// Its loop could not be made or is gone.
    GoalFailed {
        number: u32,
        message: String,
    },
    AccountLimited {
        account: String,
        until: Timestamp,
    },
    AccountFreed {
        account: String,
    },
    /// The queue's share of the account is used up.
    AccountUsedUp {
        account: String,
        until: Timestamp,
    },
    AccountRenewed {
        account: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueueInput {
    /// A driver begins.
    Open {
        limits: QueueLimits,
        merge: bool,
    },
    Add {
        goals: Vec<NewGoal>,
    },
    Move {
        number: u32,
        to: Position,
    },
    Remove {
        number: u32,
    },
    /// Start this goal, if it is the next one.
    Admit {
        number: u32,
    },
    /// The loop of a goal changed.
    Seen {
        loop_id: LoopId,
        report: LoopReport,
    },
    /// Nobody drives it any more.
    Ran {
        number: u32,
        report: LoopReport,
    },
    Failed {
        number: u32,
        message: String,
    },
    Merged {
        number: u32,
    },
    NotMerged {
        number: u32,
        message: String,
    },
    /// That time has come.
    Woke {
        account: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueEffect {
    Admit {
        number: u32,
    },
    /// Create the loop if it does not exist, and drive it until it rests or waits for a rate limit.
    RunGoal {
        number: u32,
    },
    /// Hand the branch to the merge queue, and work that off.
    MergeGoal {
        number: u32,
    },
    WaitUntil {
        account: String,
        until: Timestamp,
    },
}

/// What became of the branch of a verified goal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Merging {
    #[default]
    Open,
    Merged,
    Refused {
        message: String,
    },
}

/// How far a goal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Has no loop yet.
    Waiting,
    AtWork,
    /// Its loop waits for a rate limit; it starts again like a new one, but before those of its project.
    Parked,
    /// Its loop ended or needs a person.
    Rests,
    Failed {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub number: u32,
    pub after: Vec<u32>,
    pub spec: GoalSpec,
    pub stage: Stage,
    /// What was last seen of its loop.
    pub report: Option<LoopReport>,
    pub merging: Merging,
}

impl Goal {
    pub fn is_verified(&self) -> bool {
        self.stage == Stage::Rests && self.report.as_ref().is_some_and(LoopReport::is_verified)
    }

    pub fn is_at_work(&self) -> bool {
        self.stage == Stage::AtWork
    }

    /// Its loop waits for something else than a rate limit, such as the answer of a person.
    fn waits(&self) -> bool {
        let standing = self.report.as_ref().map(|report| report.standing);
        matches!(standing, Some(Standing::Waiting { rate_limit: false, .. }))
    }

    /// It ended, or could not be started, and there is nothing to build on.
    fn ended_unverified(&self) -> bool {
        let ended = self.stage == Stage::Rests && self.report.as_ref().is_some_and(LoopReport::has_ended);
        matches!(self.stage, Stage::Failed { .. }) || (ended && !self.is_verified())
    }

    /// It starts once nothing holds it back.
    fn is_candidate(&self) -> bool {
        match self.stage {
            Stage::Waiting | Stage::Parked => true,
            Stage::AtWork | Stage::Rests | Stage::Failed { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    pub id: GroupId,
    /// In the order in which they start.
    pub goals: Vec<Goal>,
    pub limits: QueueLimits,
    /// Verified goals go to the merge queue, and others build on them only then.
    pub merge: bool,
    /// Accounts at a limit of their provider, and until when.
    pub limited: BTreeMap<String, Timestamp>,
    /// Accounts of which the queue has used its share, and until when.
    pub used_up: BTreeMap<String, Timestamp>,
    spent: BTreeMap<String, Spent>,
    /// The last number that was given to a goal.
    last_number: u32,
    /// When each project last had its turn, counted in starts.
    turns: BTreeMap<String, u64>,
    starts: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Queue {
    pub fn goal(&self, number: u32) -> Option<&Goal> {
        self.goals.iter().find(|goal| goal.number == number)
    }

    fn goal_mut(&mut self, number: u32) -> Option<&mut Goal> {
        self.goals.iter_mut().find(|goal| goal.number == number)
    }

    fn is_to_merge(&self, goal: &Goal) -> bool {
        self.merge && goal.is_verified() && goal.merging == Merging::Open
    }

    /// Others can build on it.
    fn is_done(&self, goal: &Goal) -> bool {
        goal.is_verified() && (!self.merge || goal.merging == Merging::Merged)
    }

    /// Goals that start only once this one is verified and have not started yet.
    fn dependent(&self, number: u32) -> Option<u32> {
        let waiting = self.goals.iter().filter(|goal| goal.stage == Stage::Waiting);
        waiting.into_iter().find(|goal| goal.after.contains(&number)).map(|goal| goal.number)
    }
}

/// Whether the loop waits until its agent's account is free.
fn limited_until(report: &LoopReport) -> Option<Option<Timestamp>> {
    match report.standing {
        Standing::Waiting { until, rate_limit: true } => Some(until),
        Standing::Waiting { rate_limit: false, .. }
        | Standing::Queued
        | Standing::Running
        | Standing::Paused
        | Standing::Ended { .. } => None,
    }
}

impl Group for Queue {
    const KIND: GroupKind = GroupKind::Queue;
    type Input = QueueInput;
    type Event = QueueEvent;
    type Effect = QueueEffect;

    fn created(at: Timestamp, first: &QueueEvent) -> Option<Self> {
        evolve::created(at, first)
    }

    fn decide(&self, input: &QueueInput, now: Timestamp) -> Result<Vec<QueueEvent>, GroupRefusal> {
        decide::decide(self, input, now)
    }

    fn evolve(self, at: Timestamp, event: &QueueEvent) -> Self {
        evolve::evolve(self, at, event)
    }

    fn effects(&self) -> Vec<QueueEffect> {
        let at_work = self.goals.iter().filter(|goal| goal.is_at_work());
        let mut wanted: Vec<QueueEffect> = at_work.map(|goal| QueueEffect::RunGoal { number: goal.number }).collect();
        wanted.extend(self.next().map(|number| QueueEffect::Admit { number }));
        let unmerged = self.goals.iter().filter(|goal| self.is_to_merge(goal));
        wanted.extend(unmerged.map(|goal| QueueEffect::MergeGoal { number: goal.number }));
        for goal in &self.goals {
            let waits = match self.why(goal) {
                Some(Why::AccountLimited { account, until } | Why::AccountUsedUp { account, until }) => {
                    QueueEffect::WaitUntil { account, until }
                }
                Some(
                    Why::Blocked { .. }
                    | Why::Unmerged { .. }
                    | Why::After { .. }
                    | Why::Account { .. }
                    | Why::Project { .. }
                    | Why::Machine { .. },
                )
                | None => continue,
            };
            if !wanted.contains(&waits) {
                wanted.push(waits);
            }
        }
        wanted
    }

    fn event_name(event: &QueueEvent) -> &'static str {
        match event {
            QueueEvent::QueueCreated { .. } => "queue_created",
            QueueEvent::QueueOpened { .. } => "queue_opened",
            QueueEvent::GoalAdded { .. } => "goal_added",
            QueueEvent::GoalMoved { .. } => "goal_moved",
            QueueEvent::GoalRemoved { .. } => "goal_removed",
            QueueEvent::GoalStarted { .. } => "goal_started",
            QueueEvent::GoalChanged { .. } => "goal_changed",
            QueueEvent::GoalParked { .. } => "goal_parked",
            QueueEvent::GoalRested { .. } => "goal_rested",
            QueueEvent::GoalMerged { .. } => "goal_merged",
            QueueEvent::GoalNotMerged { .. } => "goal_not_merged",
            QueueEvent::GoalFailed { .. } => "goal_failed",
            QueueEvent::AccountLimited { .. } => "account_limited",
            QueueEvent::AccountFreed { .. } => "account_freed",
            QueueEvent::AccountUsedUp { .. } => "account_used_up",
            QueueEvent::AccountRenewed { .. } => "account_renewed",
        }
    }

    /// The queue belongs to no project and never ends.
    fn row(&self) -> GroupRow {
        GroupRow {
            id: self.id.clone(),
            project: String::new(),
            name: GroupKind::Queue.name().to_owned(),
            goal: String::new(),
            status: GroupStatus::Running,
            created_at: self.created_at,
            updated_at: self.updated_at,
            stopped_at: None,
        }
    }

    /// A verified goal is final; all others may change, by a person's hand too.
    fn loops(&self) -> Vec<LoopId> {
        let begun = self.goals.iter().filter(|goal| match goal.stage {
            Stage::AtWork | Stage::Parked | Stage::Rests => !goal.is_verified(),
            Stage::Waiting | Stage::Failed { .. } => false,
        });
        begun.map(|goal| goal.spec.loop_id.clone()).collect()
    }
}
