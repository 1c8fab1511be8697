//! The slot of a running loop: taken before its first effect, awaited in the queue, given up while the loop waits.
//!
//! Invariant: a loop that holds no slot starts nothing.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::machine::{Effect, Input, Wish};
use windlass_core::stop::{Status, WaitReason};

use super::{DriveError, Driver};
use crate::outside::Wait;
use crate::places::{Leave, Place};

/// What happens to a queued loop when its process is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queueing {
    /// It is interrupted, as any loop is that somebody watched.
    Watched,
    /// It stays queued, and starts when a server finds it.
    Background,
}

impl Driver {
    #[must_use]
    pub(crate) fn queueing(mut self, queueing: Queueing) -> Self {
        self.queueing = queueing;
        self
    }

    /// Takes the slot that a running loop needs. Returns `false` if the process was interrupted before one was free.
    pub(super) async fn take_place(&mut self) -> Result<bool, DriveError> {
        let wants = match self.state.status() {
            // It only has to end.
            Status::Running if self.state.wish == Some(Wish::Stop) => false,
            Status::Running | Status::Queued => self.place.is_none() && self.leave_as() == Leave::Stay,
            Status::Waiting { .. } => {
                // Others run meanwhile.
                self.place = None;
                false
            }
            Status::Paused { .. } | Status::Ended { .. } => false,
        };
        if !wants {
            return Ok(true);
        }
        self.place = match &self.engine.outside {
            Some(outside) => outside.take_place().map(Place::of),
            None => self.engine.places.take().map_err(DriveError::Places)?,
        };
        if self.place.is_some() {
            self.leave_queue().await?;
            return Ok(true);
        }
        if self.state.status() == Status::Running {
            self.tell(&Input::Queue { max_running: self.engine.places.max() }).await?;
        }
        self.wait_for_place().await
    }

    async fn wait_for_place(&mut self) -> Result<bool, DriveError> {
        let engine = Arc::clone(&self.engine);
        let place = async {
            match &engine.outside {
                Some(outside) => Ok(Place::of(outside.wait_for_place().await)),
                None => engine.places.wait().await,
            }
        };
        tokio::pin!(place);
        while self.state.status() == Status::Queued {
            tokio::select! {
                biased;
                place = &mut place => {
                    self.place = Some(place.map_err(DriveError::Places)?);
                    self.leave_queue().await?;
                }
                () = self.line.wake.notified() => self.take_commands().await?,
                changed = self.shutdown.changed() => {
                    // A sender that is gone cannot ask for anything any more.
                    if changed.is_err() || *self.shutdown.borrow() {
                        self.leaving = true;
                        if self.queueing == Queueing::Watched {
                            self.leave_queue().await?;
                        }
                        return Ok(false);
                    }
                }
                () = engine.drain.begins() => {
                    if self.queueing == Queueing::Watched {
                        self.leave_queue().await?;
                    }
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether the loop waits for so long that its machine gives it back, to be taken again when the time has come.
    pub(super) async fn parks(&self, wanted: &[Effect]) -> Result<bool, DriveError> {
        let (Some(station), Status::Waiting { why, .. }) = (&self.engine.station, self.state.status()) else {
            return Ok(false);
        };
        let times = wanted.iter().filter_map(|effect| match effect {
            Effect::SetTimer { timer } => Some(timer.at),
            Effect::OpenWorkspace { .. }
            | Effect::SetUpWorkspace
            | Effect::RunTurn { .. }
            | Effect::EndTurn { .. }
            | Effect::Summarise { .. }
            | Effect::Checkpoint { .. }
            | Effect::RunGate { .. }
            | Effect::Seal { .. }
            | Effect::Undo { .. } => None,
        });
        let Some(at) = times.min() else { return Ok(false) };
        let time = Duration::try_from(self.engine.clock.now().duration_until(at)).unwrap_or_default();
        let limited = matches!(why, WaitReason::RateLimit { .. });
        Ok(station.park(&self.state.id, &self.token, Wait { time, limited }).await?)
    }

    async fn leave_queue(&mut self) -> Result<(), DriveError> {
        if self.state.status() != Status::Queued {
            return Ok(());
        }
        self.tell(&self.engine.leaving_queue(&self.state)).await
    }

    async fn tell(&mut self, input: &Input) -> Result<(), DriveError> {
        match self.decide(input) {
            Ok(decided) => self.append(decided, Vec::new(), Vec::new()).await,
            Err(refusal) => Err(DriveError::Lost(refusal.to_string())),
        }
    }
}
