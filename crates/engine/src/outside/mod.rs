//! Everything that a driver reaches besides the store and the clock: processes, git, files, slots, sockets.
//!
//! An engine reaches the machine that it runs on. `windlass-simulate` puts a simulated machine here instead, so that the
//! driver, the drivers of groups, leases and commands run unchanged on one thread with simulated time.

mod fleet;
mod station;
mod transcripts;

use std::any::Any;
use std::fmt;
use std::io;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Effect, Input, LoopState};
use windlass_core::residue::Leftover;
use windlass_store::Seat;

use crate::failure::DriveError;
use crate::socket::Listening;
pub use fleet::{FleetQueue, LimitView, QueuedView, WaitsFor, WorkerView};
pub use station::{Station, Wait};
pub use transcripts::Transcripts;

/// A machine that is not this one.
#[async_trait]
pub trait Outside: fmt::Debug + Send + Sync {
    /// Performs an effect to its end, or until `told` says that it is no longer wanted.
    async fn perform(&self, told: Told, state: &LoopState, effect: Effect) -> Result<Input, DriveError>;

    /// Whether the loop's files are gone, with more than its commits hold.
    async fn files_are_lost(&self, state: &LoopState) -> bool;

    /// Makes a workspace that was removed meanwhile again; says if it cannot.
    async fn ensure_workspace(&self, state: &LoopState) -> Result<Option<Input>, DriveError>;

    /// What is left of a loop that rests.
    async fn residue(&self, state: &LoopState) -> Vec<Leftover>;

    /// Whether a process of the turn may have run.
    fn turn_began(&self, state: &LoopState, turn: TurnKey) -> bool;

    /// Where this process is.
    fn seat(&self) -> Seat;

    /// Connects to the holder of a loop, which wakes its driver.
    async fn listen(&self, seat: &Seat, loop_id: &str) -> io::Result<Listening>;

    /// Changes after each write to the store.
    fn changes(&self) -> watch::Receiver<u64>;

    /// A slot, if one is free; dropping it frees it.
    fn take_place(&self) -> Option<Box<dyn Any + Send + Sync>>;

    /// A slot, once one is free.
    async fn wait_for_place(&self) -> Box<dyn Any + Send + Sync>;
}

/// What an effect hears and says while it is performed.
pub struct Told {
    tell: Box<dyn Fn(Input) + Send + Sync>,
    end: watch::Receiver<bool>,
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told").finish_non_exhaustive()
    }
}

impl Told {
    pub(crate) fn new(tell: impl Fn(Input) + Send + Sync + 'static, end: watch::Receiver<bool>) -> Self {
        Self { tell: Box::new(tell), end }
    }

    /// Reports something on the way.
    pub fn tell(&self, input: Input) {
        (self.tell)(input);
    }

    /// Returns once the effect has to come to an end.
    pub async fn ended(&mut self) {
        // A sender that is dropped means the same.
        let _ = self.end.wait_for(|end| *end).await;
    }
}
