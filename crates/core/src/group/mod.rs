//! Groups: small machines beside the loop's, for what concerns several loops at once.
//!
//! A group has the same three functions as a loop: `decide` turns an input into events, `evolve` folds an event into the
//! state, `effects` says what should be under way. Its journal, lease and inbox are those of the store, under a kind of its
//! own. A group never reaches into a loop: it starts and stops loops, and sees of them what their catalogue row says
//! ([`LoopReport`]).
//!
//! To add a kind: a folder here with a state that implements [`Group`], a variant of [`GroupKind`], and in
//! `engine::groups` a `Kind` that performs its effects. The driver, the journal and commands come with that.

mod member;
pub mod merges;
pub mod queue;
pub mod tries;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use thiserror::Error;

use crate::ids::LoopId;
use crate::stop::End;

pub use crate::ids::{GroupId, GroupKind, Membership};
pub use member::{DiffSize, HiddenGates, LoopReport, Standing};

/// How a group stands. As with a loop, `interrupted` is what readers see when its driver is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStatus {
    Running,
    /// Goes on when somebody resumes it.
    Paused,
    Ended(End),
}

impl GroupStatus {
    pub fn name(self) -> &'static str {
        match self {
            GroupStatus::Running => "running",
            GroupStatus::Paused => "paused",
            GroupStatus::Ended(end) => end.name(),
        }
    }

    pub fn is_open(self) -> bool {
        match self {
            GroupStatus::Running | GroupStatus::Paused => true,
            GroupStatus::Ended(_) => false,
        }
    }
}

/// What the catalogue shows of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    pub id: GroupId,
    pub project: String,
    pub name: String,
    pub goal: String,
    pub status: GroupStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

/// Why an input changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupRefusal {
    #[error("stale result ignored")]
    Stale,
    #[error("the group has ended: {}", .end.name())]
    Ended { end: End },
    #[error("the group is already running")]
    UnderWay,
    #[error("already requested")]
    AlreadyAsked,
    #[error("the loop is not waiting in the queue")]
    NotWaiting,
    #[error("goal {number} is not in the queue")]
    NoGoal { number: u32 },
    #[error("the goals depend on each other in a circle")]
    Cycle,
    #[error("goal {number} has already started")]
    Started { number: u32 },
    #[error("goal {by} depends on goal {number}")]
    NeededBy { number: u32, by: u32 },
}

/// The state of one kind of group, with its three functions.
pub trait Group: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    const KIND: GroupKind;
    type Input: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;
    type Event: Clone + PartialEq + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Effects that compare equal are the same effect: it is performed once at a time.
    type Effect: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// The state after the first event of a journal; `None` if no group starts with that.
    fn created(at: Timestamp, first: &Self::Event) -> Option<Self>;

    fn decide(&self, input: &Self::Input, now: Timestamp) -> Result<Vec<Self::Event>, GroupRefusal>;

    #[must_use]
    fn evolve(self, at: Timestamp, event: &Self::Event) -> Self;

    fn effects(&self) -> Vec<Self::Effect>;

    /// The `type` of an event.
    fn event_name(event: &Self::Event) -> &'static str;

    fn row(&self) -> GroupRow;

    /// The loops whose changes concern the group.
    fn loops(&self) -> Vec<LoopId>;
}

/// The state after a whole journal; `None` if it is not one of such a group.
pub fn replay<G: Group>(events: impl IntoIterator<Item = (Timestamp, G::Event)>) -> Option<G> {
    let mut events = events.into_iter();
    let (at, first) = events.next()?;
    let begun = G::created(at, &first)?;
    Some(events.fold(begun, |state, (at, event)| state.evolve(at, &event)))
}
