//! Performs what the queue of goals wants.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use windlass_core::group::queue::{GoalSpec, Merging, NewGoal, Position, Queue, QueueEffect, QueueEvent, QueueInput};
use windlass_core::group::{GroupId, GroupKind, LoopReport, Standing};
use windlass_core::ids::LoopId;

use super::driver::told;
use super::queue_view::QueueView;
use super::{Kind, Performance, member};
use crate::engine::{Engine, EngineError};
use crate::loops::NewLoop;
use windlass_faults as faults;
use windlass_store::StoreError;

/// What people ask of the queue from another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum QueueCommand {
    Add { goals: Vec<NewGoal> },
    Move { number: u32, to: Position },
    Remove { number: u32 },
}

/// Makes of a goal a loop that can be made, with the settings of now.
#[async_trait]
pub trait PreparesGoals: fmt::Debug + Send + Sync {
    /// Why there is none, for people, otherwise.
    async fn prepare(&self, goal: &GoalSpec) -> Result<NewLoop, String>;

    /// Has the merge queue merge the loop of a goal. `Open` if the process is interrupted before.
    async fn merge(&self, goal: &GoalSpec, shutdown: watch::Receiver<bool>) -> Merging;
}

#[derive(Debug, Clone)]
pub struct QueueKind {
    pub prepares: Arc<dyn PreparesGoals>,
    /// Wait for further goals when nothing is left to do.
    pub stays: bool,
}

impl QueueKind {
    /// There is one queue in a data directory.
    pub fn id() -> GroupId {
        GroupId(GroupKind::Queue.name().to_owned())
    }

    /// Creates the queue if there is none.
    pub async fn ensure(&self, engine: &Engine) -> Result<(), EngineError> {
        if engine.store.get(&Self::id().0).await?.is_some() {
            return Ok(());
        }
        match engine.create_group(self, &QueueEvent::QueueCreated { id: Self::id() }).await {
            Ok(held) => engine.release_group(held).await,
            // Another process was faster.
            Err(EngineError::Store(StoreError::IdTaken { .. } | StoreError::NameTaken { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes the loop of a goal if it is not there: its id was decided before.
    async fn make(&self, engine: &Arc<Engine>, goal: &GoalSpec) -> Result<Result<(), String>, EngineError> {
        if engine.store.get(&goal.loop_id.0).await?.is_some() {
            return Ok(Ok(()));
        }
        faults::point("queue.start");
        let new = match self.prepares.prepare(goal).await {
            Ok(new) => NewLoop { id: Some(goal.loop_id.clone()), ..new },
            Err(message) => return Ok(Err(message)),
        };
        let _alone = engine.making.lock().await;
        match engine.create(new).await {
            Ok(held) => {
                engine.release(held).await?;
                faults::point("queue.made");
                Ok(Ok(()))
            }
            Err(EngineError::Store(StoreError::IdTaken { .. })) => Ok(Ok(())),
            // Wrong use, such as a branch that exists, is of this goal alone.
            Err(EngineError::Workspace(error)) => Ok(Err(error.to_string())),
            Err(EngineError::Store(error @ StoreError::NameTaken { .. })) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// Drives a loop until it rests, waits for a rate limit, or the process is interrupted. A loop that waits for a rate
/// limit is left, so that its place is free for others.
async fn drive(at: &Performance<'_, Queue>, id: &LoopId) -> Result<(), EngineError> {
    let (leave, leaving) = watch::channel(*at.shutdown.borrow());
    let driven = member::drive(at.engine, id, false, leaving);
    tokio::pin!(driven);
    let (mut shutdown, mut changes) = (at.shutdown.clone(), at.changes.clone());
    let mut watches = true;
    loop {
        tokio::select! {
            done = &mut driven => return done,
            () = told(&mut shutdown) => break,
            changed = changes.changed(), if watches => match changed {
                Ok(()) if is_limited(at.engine, id).await? => break,
                Ok(()) => {}
                Err(_) => watches = false,
            },
        }
    }
    leave.send_replace(true);
    driven.await
}

/// Whether the loop waits for a time that has not come.
async fn is_limited(engine: &Engine, id: &LoopId) -> Result<bool, EngineError> {
    let Some(row) = engine.store.get(&id.0).await?.filter(|row| row.entry.status == "waiting") else {
        return Ok(false);
    };
    let now = engine.clock.now();
    Ok(member::report_of(&row).is_some_and(|report| match report.standing {
        Standing::Waiting { until, rate_limit } => rate_limit && until.is_none_or(|until| until > now),
        Standing::Queued | Standing::Running | Standing::Paused | Standing::Ended { .. } => false,
    }))
}

#[async_trait]
impl Kind for QueueKind {
    type Group = Queue;

    async fn perform(&self, at: Performance<'_, Queue>, effect: QueueEffect) -> Result<QueueInput, EngineError> {
        match effect {
            QueueEffect::Admit { number } => Ok(QueueInput::Admit { number }),
            QueueEffect::RunGoal { number } => {
                let failed = |message: String| QueueInput::Failed { number, message };
                let Some(goal) = at.state.goal(number) else { return Ok(failed("no such goal".into())) };
                if let Err(message) = self.make(at.engine, &goal.spec).await? {
                    return Ok(failed(message));
                }
                let id = &goal.spec.loop_id;
                drive(&at, id).await?;
                let report = member::report(at.engine, id).await?;
                Ok(report
                    .map_or_else(|| failed("its loop was removed".into()), |report| QueueInput::Ran { number, report }))
            }
            QueueEffect::MergeGoal { number } => {
                let refused = |message: String| QueueInput::NotMerged { number, message };
                let Some(goal) = at.state.goal(number) else { return Ok(refused("no such goal".into())) };
                faults::point("queue.merge");
                let merging = self.prepares.merge(&goal.spec, at.shutdown.clone()).await;
                Ok(match merging {
                    Merging::Merged => QueueInput::Merged { number },
                    Merging::Refused { message } => refused(message),
                    // The next process that works on the queue does it.
                    Merging::Open => QueueInput::Admit { number },
                })
            }
            QueueEffect::WaitUntil { account, until } => {
                at.engine.clock.sleep_until(until).await;
                Ok(QueueInput::Woke { account })
            }
        }
    }

    fn is_cancelled_unwanted(&self, effect: &QueueEffect) -> bool {
        match effect {
            QueueEffect::WaitUntil { .. } => true,
            QueueEffect::Admit { .. } | QueueEffect::RunGoal { .. } | QueueEffect::MergeGoal { .. } => false,
        }
    }

    fn stays(&self) -> bool {
        self.stays
    }

    fn seen(&self, loop_id: LoopId, report: LoopReport) -> QueueInput {
        QueueInput::Seen { loop_id, report }
    }

    fn command(&self, body: &str) -> Result<QueueInput, serde_json::Error> {
        Ok(match serde_json::from_str(body)? {
            QueueCommand::Add { goals } => QueueInput::Add { goals },
            QueueCommand::Move { number, to } => QueueInput::Move { number, to },
            QueueCommand::Remove { number } => QueueInput::Remove { number },
        })
    }

    fn summary(&self, state: &Queue) -> String {
        serde_json::to_string(&QueueView::of(state))
            .unwrap_or_else(|error| unreachable!("a view is plain data: {error}"))
    }
}
