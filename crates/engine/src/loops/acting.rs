//! What an agent does in its turn, through the driver of its loop.

use std::time::Duration;

use uuid::Uuid;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::Act;

use crate::command::{Answer, Command};
use crate::engine::{Engine, EngineError};
use crate::journal;
use windlass_store::InboxItem;

impl Engine {
    /// Posts what an agent does in its turn and waits for the answer of the driver in this process, at most for
    /// `patience`. It goes the way of every command, so that a crash loses or doubles nothing.
    pub async fn act(&self, id: &LoopId, turn: TurnKey, act: Act, patience: Duration) -> Result<Answer, EngineError> {
        match tokio::time::timeout(patience, self.act_through_driver(id, turn, act)).await {
            Ok(answer) => answer,
            Err(_) => Err(EngineError::Unanswered { seconds: patience.as_secs() }),
        }
    }

    async fn act_through_driver(&self, id: &LoopId, turn: TurnKey, act: Act) -> Result<Answer, EngineError> {
        // The driver would refuse it too, but not where nobody drives any more.
        let state = journal::load(self.store.as_ref(), id).await?;
        if state.turn().is_none_or(|running| running.key != turn) {
            return Err(EngineError::TurnOver { turn });
        }
        let mut news = {
            let line = self.hub()?.line(&id.0).ok_or(EngineError::NoAnswer)?;
            line.news.subscribe()
            // `line` is dropped here: the driver's end closes the channel.
        };
        let item = Uuid::now_v7().to_string();
        let command = Command::Act { turn, act };
        let body = serde_json::to_string(&command).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        let body = self.own_secrets().text(&body);
        self.store.post(&id.0, InboxItem { id: item.clone(), at: self.clock.now(), body }).await?;
        if let Some(line) = self.hub()?.line(&id.0) {
            line.wake.notify_one();
        }
        loop {
            if let Some(answer) = self.answer(&item).await? {
                return Ok(answer);
            }
            if news.changed().await.is_err() {
                return self.answer(&item).await?.ok_or(EngineError::NoAnswer);
            }
        }
    }
}
