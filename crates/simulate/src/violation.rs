//! What a run holds the engine to, by name, and where it was not so.

use windlass_core::machine::LoopState;
use windlass_store::NewEvent;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    NothingLost,
    NothingDoubled,
    OneDriver,
    LimitsHeld,
    DoneOnlyIfJudged,
    StopEnds,
    Progress,
    ReplayEqualsLive,
}

impl Invariant {
    pub const ALL: [Invariant; 8] = [
        Invariant::NothingLost,
        Invariant::NothingDoubled,
        Invariant::OneDriver,
        Invariant::LimitsHeld,
        Invariant::DoneOnlyIfJudged,
        Invariant::StopEnds,
        Invariant::Progress,
        Invariant::ReplayEqualsLive,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Invariant::NothingLost => "nothing lost",
            Invariant::NothingDoubled => "nothing doubled",
            Invariant::OneDriver => "one driver",
            Invariant::LimitsHeld => "limits held",
            Invariant::DoneOnlyIfJudged => "done only if judged",
            Invariant::StopEnds => "stop ends every state",
            Invariant::Progress => "progress when faults end",
            Invariant::ReplayEqualsLive => "replay equals live",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub what: String,
}

/// A journal as it was acknowledged.
#[derive(Debug)]
pub struct Shadow {
    pub events: Vec<NewEvent>,
    /// Of a loop; a group has none.
    pub state: Option<LoopState>,
}
