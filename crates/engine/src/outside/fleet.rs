//! What a fleet shows of itself: its machines, the loops that wait for one, and the limits.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine as the others see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerView {
    pub id: String,
    pub name: String,
    /// It answers people and drives no loops.
    pub is_desk: bool,
    /// How many loops it takes.
    pub slots: Option<u32>,
    /// How many it holds.
    pub loops: u64,
    pub version: Option<String>,
    /// It takes no new loops, and exits when it has left those it has.
    pub is_draining: bool,
    pub is_alive: bool,
    pub seen_s_ago: f64,
}

/// The loops that no machine has, in the order in which they are taken, and the limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetQueue {
    pub loops: Vec<QueuedView>,
    pub limits: Vec<LimitView>,
}

/// A loop that no living machine has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedView {
    pub id: String,
    pub name: String,
    pub project: String,
    /// From 1, which is taken first, to 5.
    pub priority: u8,
    /// The login of an agent that it counts for.
    pub account: Option<String>,
    /// As in its journal: `queued`, `running`, or `waiting`.
    pub status: String,
    pub waits_for: WaitsFor,
}

/// What holds a loop back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WaitsFor {
    /// A worker with a free slot.
    Slot,
    /// So many loops of its project or account run already.
    Limit { pool: String, max_running: u32 },
    /// The account is over its provider's limit.
    Account { account: String, until: Timestamp },
    /// It continues by itself then.
    Time { until: Timestamp },
    /// The worker that has its files may take it before all others.
    Machine { worker: String },
}

/// How many loops of a project or an account may run at once, and how many do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitView {
    /// `project:NAME` or `account:NAME`.
    pub name: String,
    pub max_running: Option<u32>,
    pub running: u32,
    /// How many loops it holds back.
    pub waiting: u32,
    /// The provider takes nothing of this account until then.
    pub limited_until: Option<Timestamp>,
}
