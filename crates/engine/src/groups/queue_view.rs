//! The queue of goals as people and scripts see it.

use serde::{Deserialize, Serialize};
use windlass_core::group::queue::{Goal, Merging, Queue, QueueLimits, Stage, Why};
use windlass_core::group::{LoopReport, Standing};

/// The queue as `queue list --json` prints it. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueueView {
    /// In the order in which they start.
    pub goals: Vec<GoalView>,
    /// As the last driver read them.
    pub limits: QueueLimits,
    /// Some process works it off. Put in by readers.
    #[serde(default)]
    pub driven: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GoalView {
    pub number: u32,
    /// The loop's id, which is known before the loop exists.
    pub id: String,
    /// The loop's name; before it has started the one that was asked for.
    pub name: Option<String>,
    pub project: String,
    pub goal: String,
    /// The agent whose account it uses.
    pub account: String,
    /// Numbers of the goals that it depends on.
    pub after: Vec<u32>,
    /// `waiting`, `blocked`, `rate_limited`, `failed`, or that of its loop.
    pub status: String,
    pub verified: bool,
    /// Why it has not started.
    pub why: Option<Why>,
    /// The merge queue merged it.
    #[serde(default)]
    pub merged: bool,
    /// Why its loop could not be made or merged.
    pub failed: Option<String>,
}

impl QueueView {
    pub fn of(queue: &Queue) -> Self {
        Self { goals: queue.goals.iter().map(|goal| line(queue, goal)).collect(), limits: queue.limits, driven: false }
    }
}

fn line(queue: &Queue, goal: &Goal) -> GoalView {
    let why = queue.why(goal);
    let standing = goal.report.as_ref().map(|report| report.standing);
    let (status, failed) = match &goal.stage {
        Stage::Waiting if matches!(why, Some(Why::Blocked { .. } | Why::Unmerged { .. })) => ("blocked", None),
        Stage::Waiting => ("waiting", None),
        Stage::Parked => ("rate_limited", None),
        Stage::AtWork | Stage::Rests => (standing.map_or("running", Standing::name), None),
        Stage::Failed { message } => ("failed", Some(message.clone())),
    };
    GoalView {
        number: goal.number,
        id: goal.spec.loop_id.0.clone(),
        name: goal.spec.name.clone(),
        project: goal.spec.project.clone(),
        goal: goal.spec.goal.clone(),
        account: goal.spec.account.clone(),
        after: goal.after.clone(),
        status: status.to_owned(),
        verified: goal.report.as_ref().is_some_and(LoopReport::is_verified),
        why,
        merged: goal.merging == Merging::Merged,
        failed: match &goal.merging {
            Merging::Refused { message } if queue.merge => Some(format!("not merged: {message}")),
            Merging::Refused { .. } | Merging::Open | Merging::Merged => failed,
        },
    }
}
