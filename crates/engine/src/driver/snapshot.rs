//! The files of a running turn, saved for other machines.
//!
//! Invariant: a snapshot is no checkpoint. No gate sees it, no branch comes to it, and a turn that begins with one ends with a
//! commit of its own. A failure costs the snapshot alone.

use std::convert::Infallible;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{LoopState, Restore, RestoredSnapshot};
use windlass_workspace::{Reopen, SnapshotRequest, Workspace};

use super::DriveError;
use super::performing::Context;
use crate::engine::{Engine, workspace_of};

/// The last snapshot of a turn that did not finish may take so long, and so long if somebody waits for the loop to stop.
const LAST: Duration = Duration::from_secs(20);
const LAST_IN_A_HURRY: Duration = Duration::from_secs(1);

/// Takes them until the turn is over, which drops this.
pub(super) async fn keep_taking(engine: &Engine, state: &LoopState, turn: TurnKey) -> Infallible {
    let Some((_, every)) = engine.saves(state, turn) else { return std::future::pending().await };
    let every = SignedDuration::try_from(every).unwrap_or(SignedDuration::MAX);
    loop {
        let next = engine.clock.now().checked_add(every).unwrap_or(Timestamp::MAX);
        engine.clock.sleep_until(next).await;
        report(state, turn, take(engine, state, turn).await);
    }
}

/// What a turn left that is tried again, maybe elsewhere.
pub(super) async fn take_last(context: &Context, state: &LoopState, turn: TurnKey) {
    let most = if *context.hurry.borrow() { LAST_IN_A_HURRY } else { LAST };
    if let Ok(taken) = tokio::time::timeout(most, take(&context.engine, state, turn)).await {
        report(state, turn, taken);
    }
}

fn report(state: &LoopState, turn: TurnKey, taken: Result<Option<u64>, DriveError>) {
    match taken {
        Ok(Some(files)) => tracing::info!(loop_id = %state.id, %turn, files, "saved the files of the turn"),
        Ok(None) => {}
        Err(error) => tracing::warn!(loop_id = %state.id, %turn, %error, "cannot save the files of the turn"),
    }
}

async fn take(engine: &Engine, state: &LoopState, turn: TurnKey) -> Result<Option<u64>, DriveError> {
    let Some((station, _)) = engine.saves(state, turn) else { return Ok(None) };
    let workspace = workspace_of(state)?;
    let request = SnapshotRequest {
        head: state.head_commit().unwrap_or(&workspace.base_commit).to_owned(),
        turn: turn.to_string(),
        never_commit: state.spec.workspace.copy.clone(),
        unwanted: engine.unwanted(state),
    };
    let Some(snapshot) = engine.workspaces.snapshot(&workspace, &request).await? else { return Ok(None) };
    station.publish_snapshot(state, &workspace, &snapshot).await?;
    engine.workspaces.keep_snapshot(&workspace, &snapshot).await?;
    Ok(Some(snapshot.files_changed))
}

/// Puts the last saved files of a turn into its workspace, if the turn was lost with its machine.
pub(super) async fn restore(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
    restore: &Restore,
    reset: &Reopen,
) -> Result<Option<RestoredSnapshot>, DriveError> {
    let Restore::Reset { commit, cut_turn, moved: true } = restore else { return Ok(None) };
    let own = engine.workspaces.snapshot_of(workspace, &cut_turn.to_string()).await?;
    // An attempt that began with a snapshot may be lost before its own first one.
    let before =
        || state.workspace.as_ref().and_then(|known| known.snapshot.as_ref()).map(|known| known.commit.clone());
    let Some(snapshot) = own.or_else(before) else { return Ok(None) };
    match engine.workspaces.restore_snapshot(workspace, commit, &snapshot).await {
        Ok(restored) => Ok(restored.map(|files| RestoredSnapshot {
            commit: files.commit,
            taken_at: Timestamp::try_from(files.taken_at).unwrap_or_default(),
            files_changed: files.files_changed,
        })),
        Err(error) => {
            tracing::warn!(loop_id = %state.id, %snapshot, %error, "cannot restore the files of the lost turn");
            engine.workspaces.reopen(workspace, reset).await?;
            Ok(None)
        }
    }
}

/// For the notes of the opening.
pub(super) fn words(restored: &RestoredSnapshot) -> String {
    let files = if restored.files_changed == 1 { "file" } else { "files" };
    format!("restored {} changed {files} of the lost turn, as of {}", restored.files_changed, restored.taken_at)
}
