//! What an agent does through its loop's driver, from within its own process tree.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use uuid::Uuid;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::Act;

use crate::command::{Answer, Command};
use crate::engine::{Engine, EngineError, LOOK_AGAIN};
use crate::journal;
use crate::socket::Listening;
use crate::store::InboxItem;

impl Engine {
    /// Posts what an agent does in its turn and waits for the driver's answer, at most for `patience`.
    ///
    /// The caller may be in the agent's PID namespace, where the driver's pid means nothing. So nothing here asks
    /// whether the driver lives, and the lease is never taken: who does not answer has not answered.
    pub async fn act(&self, id: &LoopId, turn: TurnKey, act: Act, patience: Duration) -> Result<Answer, EngineError> {
        match tokio::time::timeout(patience, self.act_through_driver(id, turn, act)).await {
            Ok(answer) => answer,
            Err(_) => Err(EngineError::Unanswered { seconds: patience.as_secs() }),
        }
    }

    async fn act_through_driver(&self, id: &LoopId, turn: TurnKey, act: Act) -> Result<Answer, EngineError> {
        // The driver would refuse it too, but not where nobody drives any more.
        let state = journal::load(self.store.as_ref(), id).await?;
        if state.turn.as_ref().is_none_or(|running| running.key != turn) {
            return Err(EngineError::TurnOver { turn });
        }
        let item = Uuid::now_v7().to_string();
        let command = Command::Act { turn, act };
        let body = serde_json::to_string(&command).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        self.store.post(&id.0, InboxItem { id: item.clone(), at: self.clock.now(), body }).await?;
        let mut left = None;
        while let Some(holder) = self.store.holder(&id.0).await?.filter(|holder| left.as_ref() != Some(&holder.token)) {
            if let Some(answer) = self.listen_for(&holder.socket, id, &item).await? {
                return Ok(answer);
            }
            left = Some(holder.token);
        }
        self.answer(&item).await?.ok_or(EngineError::NoAnswer)
    }

    /// Wakes whoever listens there and waits for the answer; `None` when they are gone without one.
    async fn listen_for(&self, socket: &Path, id: &LoopId, item: &str) -> Result<Option<Answer>, EngineError> {
        let mut listening = loop {
            match Listening::to(socket, &id.0).await {
                Ok(listening) => break listening,
                // Nobody listens there any more.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                    return self.answer(item).await;
                }
                // Too many at once.
                Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
            }
        };
        while listening.news().await {
            if let Some(answer) = self.answer(item).await? {
                return Ok(Some(answer));
            }
        }
        self.answer(item).await
    }
}
