//! Best of N: the same goal several times from the same base, of which the best is picked by declared rules.
//!
//! Every try is an ordinary loop with its own verdict. The group starts them, adds up what they spend, stops the others
//! when one is verified (`first`) or the common budget is used up, and picks when all have come to rest.

mod decide;
mod evolve;
mod rank;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{DiffSize, Group, GroupId, GroupKind, GroupRefusal, GroupRow, GroupStatus, LoopReport};
use crate::ids::LoopId;
use crate::spec::LoopSpec;
use crate::stop::End;

pub use rank::{Ranking, Rule};

/// What the group does, frozen when it is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TriesSpec {
    pub goal: String,
    /// Counted from 1.
    pub tries: Vec<TrySpec>,
    /// Stop the others when one is verified.
    pub first: bool,
    pub losers: Losers,
    /// Over all tries together.
    pub budget_usd: Option<f64>,
    pub max_tokens: Option<u64>,
}

/// One try: a loop whose id is known before it exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrySpec {
    pub loop_id: LoopId,
    pub name: String,
    pub spec: Box<LoopSpec>,
}

/// What becomes of the workspaces of tries that were not picked. Their branches stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Losers {
    #[default]
    Keep,
    Drop,
}

impl Losers {
    pub fn name(self) -> &'static str {
        match self {
            Losers::Keep => "keep",
            Losers::Drop => "drop",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TriesEvent {
    TriesCreated {
        id: GroupId,
        name: String,
        project: String,
        spec: Box<TriesSpec>,
    },
    /// Somebody resumed a paused group: tries that wait for a person are opened again.
    TriesOpened,
    TryChanged {
        number: u32,
        report: LoopReport,
    },
    /// The loop of a try could not be made or is gone.
    TryFailed {
        number: u32,
        message: String,
    },
    /// What a try at rest changed; nothing if it has no commit.
    TryMeasured {
        number: u32,
        diff: Option<DiffSize>,
    },
    OthersStopped {
        why: StoppedBecause,
    },
    WinnerPicked {
        #[serde(flatten)]
        ranking: Ranking,
    },
    LoserDropped {
        number: u32,
        /// Refs that hold what no branch has.
        saved: Vec<String>,
    },
    /// A person is needed before there can be a winner.
    TriesPaused,
    TriesEnded {
        end: End,
    },
}

/// Why tries that still run are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StoppedBecause {
    /// This one is verified.
    First {
        number: u32,
    },
    /// The cost of all has reached the budget.
    Budget,
    /// The tokens of all have reached the limit.
    Tokens,
    Person,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TriesInput {
    /// The loop of a try changed.
    Seen {
        loop_id: LoopId,
        report: LoopReport,
    },
    /// Nobody drives it any more.
    Ran {
        number: u32,
        report: LoopReport,
    },
    /// It could not be made, or is gone.
    Failed {
        number: u32,
        message: String,
    },
    Measured {
        number: u32,
        diff: Option<DiffSize>,
    },
    Dropped {
        number: u32,
        saved: Vec<String>,
    },
    Stop,
    Resume,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriesEffect {
    /// Create the loop if it does not exist, and drive it until it rests.
    RunTry {
        number: u32,
    },
    StopTry {
        number: u32,
    },
    Measure {
        number: u32,
    },
    /// Remove the workspace.
    Drop {
        number: u32,
    },
}

/// How one try stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Try {
    /// What was last seen of its loop.
    pub report: Option<LoopReport>,
    pub failed: Option<String>,
    pub measured: bool,
    pub diff: Option<DiffSize>,
    pub dropped: bool,
    /// Paused, and to be opened again.
    pub reopened: bool,
}

impl Try {
    pub fn is_verified(&self) -> bool {
        self.report.as_ref().is_some_and(LoopReport::is_verified)
    }

    fn is_completed(&self) -> bool {
        self.report.as_ref().is_some_and(LoopReport::is_completed)
    }

    fn is_over(&self) -> bool {
        self.failed.is_some() || self.report.as_ref().is_some_and(LoopReport::has_ended)
    }

    /// Nothing of it runs or should.
    fn rests(&self) -> bool {
        self.is_over() || (!self.reopened && self.report.as_ref().is_some_and(LoopReport::rests))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tries {
    pub id: GroupId,
    pub name: String,
    pub project: String,
    pub spec: TriesSpec,
    pub tries: Vec<Try>,
    pub stopped: Option<StoppedBecause>,
    pub ranking: Option<Ranking>,
    pub status: GroupStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

impl Tries {
    /// Each try with its number and what it was to be.
    pub fn each(&self) -> impl Iterator<Item = (u32, &TrySpec, &Try)> {
        (1..).zip(&self.spec.tries).zip(&self.tries).map(|((number, spec), state)| (number, spec, state))
    }

    pub fn try_spec(&self, number: u32) -> Option<&TrySpec> {
        self.each().find(|(each, ..)| *each == number).map(|(_, spec, _)| spec)
    }

    fn number_of(&self, loop_id: &LoopId) -> Option<u32> {
        self.each().find(|(_, spec, _)| spec.loop_id == *loop_id).map(|(number, ..)| number)
    }

    /// What all tries cost together; `None` if a part of it is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        let spent = self.tries.iter().filter_map(|each| each.report.as_ref()).filter(|report| report.tokens > 0);
        spent.map(|report| report.cost_usd).sum()
    }

    pub fn tokens(&self) -> u64 {
        let reports = self.tries.iter().filter_map(|each| each.report.as_ref());
        reports.fold(0, |sum, report| sum.saturating_add(report.tokens))
    }

    fn has_budget(&self) -> bool {
        self.spec.budget_usd.is_some() || self.spec.max_tokens.is_some()
    }
}

impl Group for Tries {
    const KIND: GroupKind = GroupKind::Tries;
    type Input = TriesInput;
    type Event = TriesEvent;
    type Effect = TriesEffect;

    fn created(at: Timestamp, first: &TriesEvent) -> Option<Self> {
        evolve::created(at, first)
    }

    fn decide(&self, input: &TriesInput, now: Timestamp) -> Result<Vec<TriesEvent>, GroupRefusal> {
        decide::decide(self, input, now)
    }

    fn evolve(self, at: Timestamp, event: &TriesEvent) -> Self {
        evolve::evolve(self, at, event)
    }

    fn effects(&self) -> Vec<TriesEffect> {
        if self.status != GroupStatus::Running {
            return Vec::new();
        }
        let drops = self.ranking.is_some() && self.spec.losers == Losers::Drop;
        let winner = self.ranking.as_ref().and_then(|ranking| ranking.winner);
        let mut wanted = Vec::new();
        for (number, _, each) in self.each() {
            // A try that is to stop is not driven on; one without a loop says that it will have none.
            if !each.rests() && (self.stopped.is_none() || each.report.is_none()) {
                wanted.push(TriesEffect::RunTry { number });
            }
            if self.stopped.is_some() && !each.is_over() && each.report.is_some() {
                wanted.push(TriesEffect::StopTry { number });
            }
            if each.rests() && !each.measured {
                wanted.push(TriesEffect::Measure { number });
            }
            if drops && winner != Some(number) && !each.dropped && each.is_over() && each.failed.is_none() {
                wanted.push(TriesEffect::Drop { number });
            }
        }
        wanted
    }

    fn event_name(event: &TriesEvent) -> &'static str {
        match event {
            TriesEvent::TriesCreated { .. } => "tries_created",
            TriesEvent::TriesOpened => "tries_opened",
            TriesEvent::TryChanged { .. } => "try_changed",
            TriesEvent::TryFailed { .. } => "try_failed",
            TriesEvent::TryMeasured { .. } => "try_measured",
            TriesEvent::OthersStopped { .. } => "others_stopped",
            TriesEvent::WinnerPicked { .. } => "winner_picked",
            TriesEvent::LoserDropped { .. } => "loser_dropped",
            TriesEvent::TriesPaused => "tries_paused",
            TriesEvent::TriesEnded { .. } => "tries_ended",
        }
    }

    fn row(&self) -> GroupRow {
        GroupRow {
            id: self.id.clone(),
            project: self.project.clone(),
            name: self.name.clone(),
            goal: self.spec.goal.clone(),
            status: self.status,
            created_at: self.created_at,
            updated_at: self.updated_at,
            stopped_at: self.stopped_at,
        }
    }

    fn loops(&self) -> Vec<LoopId> {
        self.spec.tries.iter().map(|each| each.loop_id.clone()).collect()
    }
}
