//! The loops of a group: driven, stopped and looked at.

use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::group::{DiffSize, HiddenGates, LoopReport, Standing};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, Opener, Raise, Refusal, Verdict};
use windlass_core::stop::{End, Status, WaitReason};

use crate::command::Command;
use crate::engine::{Engine, EngineError, Held};
use crate::journal;
use crate::places::Leave;
use crate::view::LoopView;
use crate::work::span;
use windlass_store::{Listed, StoreError};
use windlass_workspace::DiffTo;

/// How long a holder that cannot be reached is given before it is looked at again.
pub(super) const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);

/// What a group sees of a loop; `None` if the row cannot be read.
pub fn report_of(row: &Listed) -> Option<LoopReport> {
    let view: LoopView = serde_json::from_str(&row.entry.summary).ok()?;
    let standing = match view.status.as_str() {
        "queued" => Standing::Queued,
        "waiting" => {
            let rate_limit = matches!(view.wait, Some(WaitReason::RateLimit { .. }));
            Standing::Waiting { until: view.waiting_until, rate_limit }
        }
        "paused" | "awaiting_review" => Standing::Paused,
        "completed" => Standing::Ended { end: End::Completed },
        "exhausted" => Standing::Ended { end: End::Exhausted },
        "cancelled" => Standing::Ended { end: End::Cancelled },
        "stalled" => Standing::Ended { end: End::Stalled },
        "errored" => Standing::Ended { end: End::Errored },
        _ => Standing::Running,
    };
    let hidden: Vec<Option<Verdict>> = view.gates.iter().filter(|gate| gate.hidden).map(|gate| gate.verdict).collect();
    let hidden_gates = match &hidden[..] {
        [] => HiddenGates::NotJudged,
        all if all.iter().all(|verdict| verdict.is_some_and(Verdict::passed)) => HiddenGates::Passed,
        some if some.iter().any(|verdict| verdict.is_some_and(|verdict| !verdict.passed())) => HiddenGates::Failed,
        _ => HiddenGates::NotJudged,
    };
    Some(LoopReport {
        standing,
        outcome: view.outcome,
        hidden_gates,
        findings_open: view.review.as_ref().map_or(0, |review| review.findings_open as u64),
        cost_usd: view.usage.total.cost_usd,
        tokens: view.usage.total.tokens(),
        account: view.account,
        elapsed_ms: view.elapsed_ms,
        iterations: view.iterations,
        head_commit: view.head_commit,
    })
}

/// What a group sees of a loop now; `None` if it does not exist.
pub async fn report(engine: &Engine, id: &LoopId) -> Result<Option<LoopReport>, EngineError> {
    Ok(engine.store.get(&id.0).await?.as_ref().and_then(report_of))
}

/// Drives a loop until it rests or the process is interrupted. One that another process drives is waited for.
/// `reopen` resumes a loop that is paused.
pub async fn drive(
    engine: &Arc<Engine>,
    id: &LoopId,
    reopen: bool,
    shutdown: watch::Receiver<bool>,
) -> Result<(), EngineError> {
    loop {
        if engine.drain.leave(&shutdown) != Leave::Stay {
            return Ok(());
        }
        match engine.take(id).await {
            Ok(held) => return drive_held(engine, held, reopen, shutdown).await,
            Err(EngineError::Driven { .. }) => {}
            Err(error) => return Err(error),
        }
        tokio::select! {
            left = others_driver_left(engine, id, shutdown.clone()) => left?,
            () = engine.drain.told_to_leave(shutdown.clone()) => return Ok(()),
        };
        let rests = report(engine, id).await?.is_none_or(|report| report.rests());
        if rests {
            return Ok(());
        }
    }
}

/// Drives a loop that this process holds.
pub(crate) async fn drive_held(
    engine: &Arc<Engine>,
    mut held: Held,
    reopen: bool,
    shutdown: watch::Receiver<bool>,
) -> Result<(), EngineError> {
    let opened = open(engine, &mut held, reopen).await;
    match opened {
        Ok(true) => {}
        Ok(false) => return engine.release(held).await,
        Err(error) => {
            engine.release(held).await?;
            return Err(error);
        }
    }
    engine.drive_watched(held, shutdown)?.ended().await.map(drop)
}

/// Opens a loop from wherever it was left; says whether there is anything to drive.
async fn open(engine: &Arc<Engine>, held: &mut Held, reopen: bool) -> Result<bool, EngineError> {
    if held.state.awaits_place() {
        engine.unqueue(held).await?;
    }
    match held.state.status() {
        Status::Running | Status::Waiting { .. } => {
            // A loop that was just made has not been left by anybody.
            if held.state.started_at.is_some() {
                engine.attach(held).await?;
            }
            Ok(true)
        }
        Status::Queued | Status::Paused { .. } if reopen => {
            engine.can_open(held).await?;
            match engine.apply(held, &Input::Open { by: Opener::Resume, raise: Raise::default() }).await {
                Ok(()) => Ok(true),
                // Such as one that waits for an approval: it stays as it is.
                Err(EngineError::Refused(_)) => Ok(false),
                Err(error) => Err(error),
            }
        }
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } => Ok(false),
    }
}

/// Waits until nobody else drives the loop or group; `false` if this process is interrupted before.
pub(super) async fn others_driver_left(
    engine: &Engine,
    id: &LoopId,
    mut shutdown: watch::Receiver<bool>,
) -> Result<bool, EngineError> {
    let Some(lease) = engine.store.holder(&id.0).await?.filter(windlass_store::Held::drives) else { return Ok(true) };
    let Ok(mut listening) = engine.listen(&lease.holder.seat, &id.0).await else {
        // It is just starting or leaving.
        tokio::time::sleep(LOOK_AGAIN).await;
        return Ok(true);
    };
    let left = async { while listening.news().await {} };
    tokio::select! {
        biased;
        () = left => Ok(true),
        Ok(()) | Err(()) = async { shutdown.wait_for(|leave| *leave).await.map(drop).map_err(drop) } => Ok(false),
    }
}

/// Stops a loop, whoever drives it. One that has ended or does not exist is left alone.
pub async fn stop(engine: &Arc<Engine>, id: &LoopId) -> Result<(), EngineError> {
    match engine.command(id, &Command::Stop).await {
        Ok(_) | Err(EngineError::Store(StoreError::UnknownLoop { .. })) => Ok(()),
        Err(EngineError::Refused(Refusal::Ended { .. } | Refusal::Completed | Refusal::AlreadyAsked)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// How much a loop changed; `None` if it has no commits to compare.
pub async fn measure(engine: &Engine, id: &LoopId) -> Result<Option<DiffSize>, EngineError> {
    let state = journal::load(engine.store.as_ref(), id).await?;
    let Ok(span) = span(&state, None) else { return Ok(None) };
    let workspace = engine.workspace(&state)?;
    let patch = engine.workspaces.diff(&workspace, &span.from, &DiffTo::Commit(span.to)).await?;
    Ok(Some(DiffSize::of_patch(&patch)))
}

/// Removes the workspace of a loop that has ended. Its branch stays, and what no branch has is saved under refs, which are
/// returned.
pub(crate) async fn drop_workspace(engine: &Arc<Engine>, id: &LoopId) -> Result<Vec<String>, EngineError> {
    let (_keep, shutdown) = watch::channel(false);
    let held = loop {
        match engine.take(id).await {
            Ok(held) => break held,
            // The end is written before its driver leaves.
            Err(EngineError::Driven { .. }) => {
                others_driver_left(engine, id, shutdown.clone()).await?;
            }
            Err(error) => return Err(error),
        }
    };
    let removed = match engine.workspace(&held.state) {
        Ok(_) => engine.clean(&held, None).await.map(|removed| removed.saved),
        Err(error) => Err(error),
    };
    engine.release(held).await?;
    Ok(removed?.into_iter().map(|saved| saved.name).collect())
}
