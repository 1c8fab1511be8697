//! What workflows have done by workers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use temporalio_client::WorkflowSignalOptions;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::{mpsc, oneshot, watch};
use windlass_store::{Seat, Store};

use super::flow::{Answer, Buried, LoopFlow};
use super::{Leaving, until_over};
use crate::store::{PgStore, Worker};

/// A stretch says so often that its worker lives, and looks whether the loop is still driven here.
const LOOK: Duration = Duration::from_secs(5);
/// A worker says so often to Temporal that it lives.
pub(super) const BEAT: Duration = Duration::from_millis(400);
/// A loop that could not be taken is tried again after so many seconds.
const AGAIN: u64 = 5;

pub struct Hands {
    pub(super) store: PgStore,
    pub(super) worker: Worker,
    pub(super) offers: mpsc::UnboundedSender<String>,
    pub(super) stretches: Stretches,
    pub(super) leaving: watch::Receiver<Leaving>,
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands").field("worker", &self.worker).finish_non_exhaustive()
    }
}

/// The stretches that wait for a loop to be left.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretches(Arc<Mutex<HashMap<String, Vec<oneshot::Sender<()>>>>>);

impl Stretches {
    fn wait_for(&self, loop_id: &str) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(loop_id.to_owned()).or_default().push(tell);
        told
    }

    pub fn left(&self, loop_id: &str) {
        // Dropping the senders tells.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(loop_id);
    }

    /// Whether a stretch still wants the loop.
    pub fn wants(&self, loop_id: &str) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.get(loop_id).is_some_and(|stretches| stretches.iter().any(|stretch| !stretch.is_closed()))
    }
}

#[activities]
impl Hands {
    /// Sees to it that the loop is driven here, and returns when it rests. Safe to repeat.
    #[activity(name = "windlass.stretch")]
    pub async fn stretch(self: Arc<Self>, ctx: ActivityContext, loop_id: String) -> Result<Answer, ActivityError> {
        let mut left = self.stretches.wait_for(&loop_id);
        match self.seen(&loop_id).await? {
            // Somebody has it, or nobody needs it.
            Some(answer) => return Ok(answer),
            // A driver of this worker runs already, or takes it now.
            None => {
                let _ = self.offers.send(loop_id.clone());
            }
        }
        let mut look = tokio::time::interval(LOOK);
        look.tick().await;
        loop {
            tokio::select! {
                _ = &mut left => return self.answer(&loop_id).await,
                () = ctx.cancelled() => return Err(ActivityError::cancelled()),
                _ = look.tick() => {
                    ctx.record_heartbeat(()).await?;
                    if !self.drives(&loop_id).await? {
                        return self.answer(&loop_id).await;
                    }
                }
            }
        }
    }

    /// The first witness: runs as long as the worker does.
    #[activity(name = "windlass.present")]
    pub async fn present(self: Arc<Self>, ctx: ActivityContext, _worker: String) -> Result<(), ActivityError> {
        let mut leaving = self.leaving.clone();
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                () = until_over(&mut leaving) => return Ok(()),
                () = ctx.cancelled() => return Err(ActivityError::cancelled()),
                _ = beat.tick() => ctx.record_heartbeat(()).await?,
            }
        }
    }

    /// Waits for the second witness, PostgreSQL. If both say that the worker is gone, its loops are placed again.
    #[activity(name = "windlass.bury")]
    pub async fn bury(self: Arc<Self>, ctx: ActivityContext, worker: String) -> Result<Buried, ActivityError> {
        let before = self.store.sight(&worker).await?;
        loop {
            let now = self.store.sight(&worker).await?;
            if now.gone {
                break;
            }
            if now.seen_at != before.seen_at {
                tracing::info!(worker, "Temporal did not hear of the worker, but PostgreSQL did");
                return Ok(Buried::Seen);
            }
            tokio::time::sleep(BEAT / 4).await;
        }
        let held = self.store.tokens_of(&worker).await?;
        tracing::warn!(worker, loops = held.len(), "the worker is gone; its loops are placed again");
        let client = ctx.client();
        for loop_id in held.into_keys() {
            let handle = client.get_workflow_handle::<LoopFlow>(super::loop_workflow(&loop_id));
            // Without a workflow, the next sweep starts one.
            if let Err(error) = handle.signal(LoopFlow::gone, worker.clone(), WorkflowSignalOptions::default()).await {
                tracing::warn!(loop_id, %error, "cannot tell the loop's workflow that its worker is gone");
            }
        }
        Ok(Buried::Gone)
    }
}

impl Hands {
    /// An answer that is known without driving the loop.
    async fn seen(&self, loop_id: &str) -> Result<Option<Answer>, ActivityError> {
        let Some(listed) = self.store.get(loop_id).await? else { return Ok(Some(Answer::Ended)) };
        if !listed.entry.open {
            return Ok(Some(Answer::Ended));
        }
        if let Some(held) = listed.holder.filter(windlass_store::Held::drives)
            && let Seat::Worker { id, .. } = held.holder.seat
            && id != self.worker.id
        {
            return Ok(Some(Answer::HeldBy { worker: id }));
        }
        if listed.is_parked
            && let Some((seconds, Some(worker))) = self.store.parked(loop_id).await?
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a wait")]
            return Ok(Some(Answer::Waits { seconds: seconds.ceil() as u64, worker }));
        }
        let is_wanted = ["queued", "running", "waiting"].contains(&listed.entry.status.as_str());
        Ok((!is_wanted).then_some(Answer::Rests))
    }

    async fn drives(&self, loop_id: &str) -> Result<bool, ActivityError> {
        let held = self.store.holder(loop_id).await?;
        Ok(held.is_some_and(|held| matches!(held.holder.seat, Seat::Worker { id, .. } if id == self.worker.id)))
    }

    /// After this worker left the loop, or could not take it.
    async fn answer(&self, loop_id: &str) -> Result<Answer, ActivityError> {
        Ok(match self.seen(loop_id).await? {
            Some(answer) => answer,
            // A limit holds it back. Whoever sees that there is room has it placed again.
            None if !self.store.waiting().await?.iter().any(|one| one.id == loop_id) => Answer::Rests,
            None if *self.leaving.borrow() == Leaving::Working => Answer::Parked { seconds: AGAIN },
            None => Answer::Drained,
        })
    }
}
