//! What is done with whole loops: made, given an input, driven, asked, and cleared of what they left behind.
//!
//! Here a held loop and its driver come together; the driver itself knows nothing of this module.

mod acting;
mod asking;
mod creating;
mod leftovers;
mod making;

use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::machine::{Input, Refusal, decide, evolve};
use windlass_core::stop::Status;
use windlass_store::Append;
use windlass_workspace::Kind;

use crate::copilot_loop;
use crate::data::rubbish;
use crate::driver::{Driver, Left, Queueing, Tidying};
use crate::engine::{Engine, EngineError, Held, workspace_of};
use crate::failure::DriveError;
use crate::journal;
use crate::loop_log;
use crate::notify;
use crate::view::catalogue_entry;

pub use making::NewLoop;

/// A loop that this process drives.
#[derive(Debug)]
pub struct Driving {
    /// Changes whenever there is something new to read.
    pub news: watch::Receiver<u64>,
    ended: tokio::task::JoinHandle<Result<Left, EngineError>>,
}

impl Driving {
    /// How the driver left its loop.
    pub async fn ended(self) -> Result<Left, EngineError> {
        match self.ended.await {
            Ok(left) => left,
            Err(panic) => Err(DriveError::Lost(panic.to_string()).into()),
        }
    }
}

impl Engine {
    /// One input to a loop that is held and not driven.
    pub async fn apply(self: &Arc<Self>, held: &mut Held, input: &Input) -> Result<(), EngineError> {
        let now = self.clock.now();
        let events = self.secrets(&held.state).clean(decide(&held.state, input, now)?);
        let mut next = held.state.clone();
        for event in &events {
            next = evolve(next, now, event);
        }
        self.store
            .append(Append {
                loop_id: held.state.id.0.clone(),
                expected_seq: held.state.seq,
                events: events.iter().map(|event| journal::encode(now, event)).collect(),
                entry: catalogue_entry(&next),
                token: held.token.clone(),
                consumed: Vec::new(),
                answers: Vec::new(),
            })
            .await?;
        copilot_loop::log(&held.state, &events);
        loop_log::append(&self.data, &held.state, now, &events);
        held.state = next;
        notify::tell(self, &held.state, now, &events).await;
        Ok(())
    }

    /// Refuses to open a loop that cannot go on, because its workspace and branch are gone or its checkout is another
    /// loop's: nothing of it changes then.
    pub async fn can_open(&self, held: &Held) -> Result<(), EngineError> {
        match workspace_of(&held.state) {
            Ok(workspace) if !held.state.is_external() => Ok(self.workspaces.can_open(&workspace).await?),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Refuses to continue a loop whose commits or whose merge target are gone: nothing of it changes then.
    pub async fn can_continue(&self, held: &Held, target: Option<&str>) -> Result<(), EngineError> {
        match (workspace_of(&held.state), held.state.head_commit()) {
            (Ok(workspace), Some(head)) if workspace.kind == Kind::Clone => {
                Ok(self.workspaces.can_continue(&workspace, head, target).await?)
            }
            (Ok(_), _) | (Err(_), _) => self.can_open(held).await,
        }
    }

    /// Takes over a loop that was cut off. What it ran until then counts as its time, what passed since does not.
    pub async fn attach(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        let alive_until = self.data.last_written(&held.state.id);
        self.apply(held, &Input::Attach { alive_until }).await
    }

    /// Takes a loop that nobody drives out of the queue, to be opened from there.
    pub async fn unqueue(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        let input = self.leaving_queue(&held.state);
        self.apply(held, &input).await
    }

    /// Brings a loop that was cut off to a pause: what became of its turn is journalled, nothing new is started.
    pub async fn settle(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        // A commit that was under way comes first, so a second look may be needed.
        for _ in 0..2 {
            if let Status::Running | Status::Waiting { .. } = held.state.status() {
                match self.apply(held, &Input::Pause { now: true }).await {
                    Ok(()) | Err(EngineError::Refused(Refusal::AlreadyAsked)) => {}
                    Err(error) => return Err(error),
                }
                let (_keep, leave) = watch::channel(true);
                let line = self.hub()?.open_line(&held.state.id.0);
                Driver::new(Arc::clone(self), held.state.clone(), held.token.clone(), line, leave).run().await?;
                held.state = journal::load(self.store.as_ref(), &held.state.id).await?;
                self.settle_in(&mut held.state, &held.token).await?;
            }
        }
        Ok(())
    }

    /// Drives a loop until it pauses or ends, or the process is interrupted. Releases the lease at the end.
    pub fn drive(self: &Arc<Self>, held: Held, shutdown: watch::Receiver<bool>) -> Result<Driving, EngineError> {
        self.drive_as(held, shutdown, Queueing::Background, Tidying::Waits)
    }

    /// The same for a followed loop: a loop that is queued when the process is interrupted is interrupted too.
    pub fn drive_watched(
        self: &Arc<Self>,
        held: Held,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Driving, EngineError> {
        self.drive_as(held, shutdown, Queueing::Watched, Tidying::Waits)
    }

    fn drive_as(
        self: &Arc<Self>,
        held: Held,
        shutdown: watch::Receiver<bool>,
        queueing: Queueing,
        tidying: Tidying,
    ) -> Result<Driving, EngineError> {
        let line = self.hub()?.open_line(&held.state.id.0);
        let news = line.news.subscribe();
        let engine = Arc::clone(self);
        let ended = tokio::spawn(async move {
            let Held { state, token } = held;
            let id = state.id.0.clone();
            let driver = Driver::new(Arc::clone(&engine), state, token.clone(), line, shutdown).queueing(queueing);
            let notifier = driver.notifier();
            engine.remove_stale_placeholders().await;
            let left = driver.run().await;
            // Taken out first, so that who takes the loop next opens a line of its own.
            let line = engine.hub()?.close_line(&id);
            let released = engine.store.release(&id, &token).await;
            drop(line);
            // The loop is free already: what is slow to be told holds nobody up but this process.
            notifier.finish().await;
            if engine.outside.is_none() {
                let data = engine.data.clone();
                let removal = std::thread::spawn(move || rubbish::remove(&data));
                if tidying == Tidying::Waits {
                    let _ = tokio::task::spawn_blocking(move || removal.join()).await;
                }
            }
            let left = left?;
            released?;
            Ok(left)
        });
        Ok(Driving { news, ended })
    }
}
