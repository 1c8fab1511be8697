//! The two workflows. They hold IDs only; goals, prompts and secrets stay in the journal.
//!
//! Invariant: a change here must replay every history in `tests/histories`, or be guarded with `patched`.
#![allow(missing_debug_implementations, reason = "the macros make types")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowResult,
};
use temporalio_workflow::RetryPolicy;

use super::hands::Hands;

/// Workflow tasks, and `bury`.
pub(super) const FLOW: &str = "windlass";
/// Loops that any worker may take.
pub(super) const STRETCH: &str = "windlass/stretch/default";
/// A history is cut after so many answers.
const MOST_ANSWERS: u32 = 200;
/// A worker that says nothing for so long is asked about in PostgreSQL.
const SILENT: Duration = Duration::from_secs(2);
/// How long a worker's own queue is tried before any worker may take the loop.
const OWN: Duration = Duration::from_secs(3);
/// A worker that is frozen may be given one more loop by a poll that it began before: nobody sees that by its lease.
const BACKSTOP: Duration = Duration::from_secs(15);
const BURIAL: Duration = Duration::from_secs(60);
const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const PAUSE: Duration = Duration::from_secs(1);

/// The queue that only this worker serves.
pub(super) fn own(worker: &str) -> String {
    format!("windlass/own/{worker}")
}

/// Why a stretch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    Ended,
    /// Paused. Whoever resumes the loop has it placed again.
    Rests,
    /// Nobody drives it, and it is worth trying again after these seconds.
    Parked {
        seconds: u64,
    },
    /// It waits for a time. The worker that has its files shall take it then, if it can.
    Waits {
        seconds: u64,
        worker: String,
    },
    /// Its worker leaves.
    Drained,
    /// A living worker drives it.
    HeldBy {
        worker: String,
    },
}

/// What became of a worker that was silent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Buried {
    /// PostgreSQL saw it since.
    Seen,
    Gone,
}

/// Places one loop, from its start until it rests. The same ID is used again when the loop is resumed.
#[workflow]
#[derive(Debug, Default)]
pub struct LoopFlow {
    deaths: u32,
}

#[workflow_methods]
impl LoopFlow {
    #[run(name = "windlass.Loop")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, loop_id: String) -> WorkflowResult<()> {
        let mut holder: Option<String> = None;
        for _ in 0..MOST_ANSWERS {
            let deaths = ctx.state(|state| state.deaths);
            let given_up = ctx.cancellation_token().child_token();
            let options = ActivityOptions::with_start_to_close_timeout(YEARS)
                .heartbeat_timeout(BACKSTOP)
                .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
                .cancellation_token(given_up.clone())
                .task_queue(holder.as_deref().map_or_else(|| STRETCH.to_owned(), own))
                .maybe_schedule_to_start_timeout(holder.as_ref().map(|_| OWN))
                .build();
            let was_own = holder.take().is_some();
            let answer = select! {
                answer = ctx.execute_activity(Hands::stretch, loop_id.clone(), options) => Some(answer),
                told = ctx.wait_condition(|state| state.deaths > deaths) => { told?; None }
            };
            match answer {
                // Its worker died: any other may take it, at once.
                None => given_up.cancel_with_reason("the worker is gone"),
                Some(Ok(Answer::Ended | Answer::Rests)) => return Ok(()),
                Some(Ok(Answer::Drained)) => {}
                Some(Ok(Answer::HeldBy { worker })) => holder = Some(worker),
                Some(Ok(Answer::Waits { seconds, worker })) => {
                    ctx.timer(Duration::from_secs(seconds)).await;
                    holder = Some(worker);
                }
                Some(Ok(Answer::Parked { seconds })) => {
                    ctx.timer(Duration::from_secs(seconds)).await;
                }
                Some(Err(ActivityExecutionError::Cancelled(_))) => return Ok(()),
                Some(Err(_)) if was_own => {}
                Some(Err(_)) => {
                    ctx.timer(PAUSE).await;
                }
            }
        }
        ctx.continue_as_new(loop_id, ContinueAsNewOptions::default())?;
        Ok(())
    }

    /// The loop's worker is gone.
    #[signal]
    pub fn gone(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _worker: String) {
        self.deaths += 1;
    }
}

/// Notices that a worker is gone.
#[workflow]
#[derive(Debug, Default)]
pub struct PresenceFlow;

#[workflow_methods]
impl PresenceFlow {
    #[run(name = "windlass.Presence")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, worker: String) -> WorkflowResult<()> {
        for _ in 0..MOST_ANSWERS {
            let present = ActivityOptions::with_start_to_close_timeout(YEARS)
                .heartbeat_timeout(SILENT)
                .schedule_to_start_timeout(OWN)
                .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
                .task_queue(own(&worker))
                .build();
            match ctx.execute_activity(Hands::present, worker.clone(), present).await {
                // It left in order, after its loops.
                Ok(()) | Err(ActivityExecutionError::Cancelled(_)) => return Ok(()),
                Err(_) => {}
            }
            let bury = ActivityOptions::start_to_close_timeout(BURIAL);
            match ctx.execute_activity(Hands::bury, worker.clone(), bury).await? {
                Buried::Gone => return Ok(()),
                Buried::Seen => {}
            }
        }
        ctx.continue_as_new(worker, ContinueAsNewOptions::default())?;
        Ok(())
    }
}
