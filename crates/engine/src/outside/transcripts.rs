//! The output of turns, where machines share it.
//!
//! Without a station, transcripts are on this machine's disk alone. With one, the machine that drives a loop ships them, and
//! those that only read keep copies: the same files in the same places, so every reader is the same everywhere.

use std::fmt;

use async_trait::async_trait;
use windlass_core::ids::{LoopId, TurnKey};

use crate::failure::DriveError;

/// How transcripts reach other machines, and come from them.
#[async_trait]
pub trait Transcripts: fmt::Debug + Send + Sync {
    /// A turn of a loop that this process drives has files now, and they grow.
    fn begin(&self, id: &LoopId, turn: TurnKey);

    /// Returns when others find everything that the turn wrote. The journal reports the turn's end only after that.
    async fn flush(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError>;

    /// Brings what was shipped of a turn to this machine. Costs little if it is here already.
    async fn fetch(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError>;
}
