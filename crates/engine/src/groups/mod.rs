//! Groups of loops: who holds, drives and commands them.
//!
//! The driver is the same for every kind. It is the only writer of its group (lease), appends every decision before it acts on
//! it, performs what the state wants, and is woken by commands and by every write to the database, so it never polls. A
//! kind says how its effects are performed ([`Kind`]); all of them can use `member` to drive, stop and look at loops.
//!
//! How to add a kind:
//!
//! 1. The machine, in `windlass_core::group`: state, input, event, effect, and `Group` for the state.
//! 2. A file here with a `Kind`. Every effect ends with an input that names what it answers. An effect may be started again
//!    after a crash, so it first looks whether it is done already: the id of a loop is in an event before it is made.
//! 3. Create it with `create_group`, take it with `take_group`, and pass both to `drive_group`; commands of other
//!    processes go through `command_group`, as JSON that `Kind::command` reads.
//! 4. A variant of [`AnyGroup`], by which servers and drivers in the background take it.
//! 5. A fault point where something happens between two durable writes, and its line in the crash sweep.

mod any;
mod driver;
mod held;
pub mod member;
mod merges;
mod queue;
mod queue_view;
mod tries;
mod view;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_core::group::{Group, LoopReport};
use windlass_core::ids::LoopId;

use crate::engine::{Engine, EngineError};
use crate::notify::GroupNews;

pub use any::AnyGroup;
pub use driver::DrivingGroup;
pub use held::{HeldGroup, load_group};
pub use merges::{MergesCommand, MergesEntryView, MergesKind, MergesOf, MergesView};
pub use queue::{PreparesGoals, QueueCommand, QueueKind};
pub use queue_view::{GoalView, QueueView};
pub use tries::{TriesCommand, TriesKind};
pub use view::{TriesView, TryView};

/// How the effects of one kind of group are performed.
#[async_trait]
pub trait Kind: fmt::Debug + Send + Sync + 'static {
    type Group: Group;

    /// Performs an effect to its end. An error is of the machine that Windlass runs on: the driver gives up, and the
    /// group can be resumed.
    async fn perform(
        &self,
        at: Performance<'_, Self::Group>,
        effect: <Self::Group as Group>::Effect,
    ) -> Result<<Self::Group as Group>::Input, EngineError>;

    /// Whether an effect ends when it is no longer wanted, as a timer does. Others are brought to their end.
    fn is_cancelled_unwanted(&self, _effect: &<Self::Group as Group>::Effect) -> bool {
        false
    }

    /// Whether its driver waits for commands when nothing is left to do.
    fn stays(&self) -> bool {
        false
    }

    /// What the change of a loop means.
    fn seen(&self, loop_id: LoopId, report: LoopReport) -> <Self::Group as Group>::Input;

    /// What somebody left in the inbox.
    fn command(&self, body: &str) -> Result<<Self::Group as Group>::Input, serde_json::Error>;

    /// The whole group as JSON text, for the catalogue.
    fn summary(&self, state: &Self::Group) -> String;

    /// What people are notified of when the group pauses or ends; nothing by default.
    fn news(&self, _state: &Self::Group) -> Option<GroupNews> {
        None
    }
}

/// Where an effect is performed.
#[derive(Debug)]
pub struct Performance<'a, G> {
    pub engine: &'a Arc<Engine>,
    /// The state that wanted the effect.
    pub state: &'a G,
    /// Some process wrote to the database.
    pub changes: watch::Receiver<u64>,
    /// The process is about to leave.
    pub shutdown: watch::Receiver<bool>,
}
