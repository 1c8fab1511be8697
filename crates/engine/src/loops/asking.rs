//! Asks the driver of a loop, whichever process it is in, and acts in its place where nobody drives.

use std::sync::Arc;

use tokio::sync::watch;
use uuid::Uuid;
use windlass_core::ids::LoopId;
use windlass_core::stop::Status;
use windlass_store::{Held as Lease, InboxItem};

use crate::command::{Answer, Command};
use crate::driver::{Queueing, Tidying};
use crate::engine::{Engine, EngineError, Held};
use crate::journal;

/// How long a holder that cannot be reached is given before it is looked at again.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);

impl Engine {
    /// Asks the loop's driver for something, or does it itself where nobody drives.
    pub async fn command(self: &Arc<Self>, id: &LoopId, command: &Command) -> Result<Answer, EngineError> {
        let item = Uuid::now_v7().to_string();
        let body = serde_json::to_string(command).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        let body = self.own_secrets().text(&body);
        self.store.post(&id.0, InboxItem { id: item.clone(), at: self.clock.now(), body }).await?;
        loop {
            if let Some(answer) = self.ask_driver(id, &item).await? {
                return Ok(answer);
            }
            // Nobody drives: whoever gets the lease answers, and that may be somebody else.
            match self.take(id).await {
                Ok(held) => return self.answer_alone(held, &item).await,
                // It was just starting or leaving.
                Err(EngineError::Driven { .. }) => tokio::time::sleep(LOOK_AGAIN).await,
                Err(error) => return Err(error),
            }
            if let Some(answer) = self.answer(&item).await? {
                return Ok(answer);
            }
        }
    }

    /// Does what is asked of a loop that nobody drives, without starting anything.
    async fn answer_alone(self: &Arc<Self>, mut held: Held, item: &str) -> Result<Answer, EngineError> {
        let id = held.state.id.clone();
        if let Status::Running | Status::Waiting { .. } = held.state.status() {
            // Or the time without a driver would count as the loop's.
            self.attach(&mut held).await?;
        }
        let (_keep, leave) = watch::channel(true);
        self.drive_as(held, leave, Queueing::Background, Tidying::GoesOn)?.ended().await?;
        match self.answer(item).await? {
            Some(answer) => Ok(answer),
            // An earlier driver took it and was killed before it could say so; now it is done.
            None => Ok(Answer::done(&journal::load(self.store.as_ref(), &id).await?)),
        }
    }

    /// Wakes the driver and waits for its answer; `None` when nobody living drives the loop.
    async fn ask_driver(&self, id: &LoopId, item: &str) -> Result<Option<Answer>, EngineError> {
        let Some(lease) = self.store.holder(&id.0).await?.filter(Lease::drives) else { return Ok(None) };
        let Ok(mut listening) = self.listen(&lease.holder.seat, &id.0).await else {
            return self.answer(item).await;
        };
        while listening.news().await {
            match self.answer(item).await? {
                // Where it is done the driver is about to leave: who asked shall find the loop free.
                None | Some(Answer::Done { .. }) => {}
                answer @ Some(Answer::Accepted { .. } | Answer::Refused { .. }) => return Ok(answer),
            }
        }
        self.answer(item).await
    }
}
