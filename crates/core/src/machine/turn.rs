//! A turn: while it runs, and once it has ended.

use jiff::Timestamp;

use super::event::{Interrupt, SessionUse};
use crate::agent::TurnReport;
use crate::ids::TurnKey;
use crate::usage::UsageByModel;

#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    pub key: TurnKey,
    pub started_at: Timestamp,
    pub session: SessionUse,
    /// The turn goes on with what an earlier attempt left.
    pub recovery: bool,
    pub interrupt: Option<Interrupt>,
    /// The loop moved while it ran, so its tree is lost, whatever it came to.
    pub moved: bool,
    /// What the agent reported so far, and when that was journalled.
    pub usage: UsageByModel,
    pub usage_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EndedTurn {
    pub key: TurnKey,
    pub report: TurnReport,
    pub interrupt: Option<Interrupt>,
    /// It came to no end of its own, so the same iteration tries again.
    pub again: bool,
}
