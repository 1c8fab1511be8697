//! One commit after another, judged by the loop's gates in a checkout of their own.
//!
//! Invariant: as with the judge's checkout, every commit starts from what the set-up made on the base; with `--verify warm` also
//! from what earlier gates left in build directories.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use windlass_core::machine::LoopState;
use windlass_core::spec::Verify;
use windlass_workspace::{Judge, Keep};

use super::super::judge::{Place, settle, wants_set_up_again};
use super::super::performing::Context;
use super::super::{DriveError, setup, shell, transcript_error, way_out};
use super::{RedGate, unwatched};
use crate::engine::{Engine, workspace_of};
use crate::proxy::Proxy;

const PURPOSE: &str = "minimise";

/// A checkout in which commits are judged. It stays until `close`, so that a call that was cut off goes on in it.
pub struct Candidates {
    context: Context,
    judge: Judge,
    end: watch::Sender<bool>,
    _way_out: Option<Proxy>,
}

impl std::fmt::Debug for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidates").field("judge", &self.judge).finish_non_exhaustive()
    }
}

impl Candidates {
    /// Makes the checkout and runs the set-up on the base. The inner error is the user's.
    pub async fn open(engine: &Arc<Engine>, state: &LoopState) -> Result<Result<Self, String>, DriveError> {
        let workspace = workspace_of(state)?;
        let judge = engine.workspaces.judge(&workspace, &root(engine, state)).await?;
        let (end, ended) = watch::channel(false);
        // The loop has ended, and its driver's way out with it.
        let mut all = Self { context: unwatched(engine, ended), judge, end, _way_out: way_out(engine, state, |_| {})? };
        let spec = &state.spec.workspace;
        let nothing = spec.setup.is_empty() && spec.copy.is_empty();
        if !nothing && !all.judge.is_set_up() {
            all.judge.reset("set-up", &workspace.base_commit, Keep::Nothing).await?;
            let place = Place::of(all.judge.clone());
            if let Err(message) = setup::prepare(&mut all.context, state, &place, setup::Stage::Base).await? {
                all.close(state)?;
                return Ok(Err(message));
            }
            settle(&all.judge)?;
            all.judge.set_up().await?;
        }
        Ok(Ok(all))
    }

    /// Judges a commit: the first gate that does not pass, if any. `None` if the time was over first.
    pub async fn judge(
        &mut self,
        state: &LoopState,
        commit: &str,
        time: Duration,
    ) -> Result<Option<Option<RedGate>>, DriveError> {
        let end = self.end.clone();
        let mut judged = std::pin::pin!(self.judge_in_full(state, commit));
        tokio::select! {
            red = &mut judged => red.map(Some),
            () = tokio::time::sleep(time) => {
                end.send_replace(true);
                // What was cut off is no verdict.
                judged.await?;
                Ok(None)
            }
        }
    }

    async fn judge_in_full(&mut self, state: &LoopState, commit: &str) -> Result<Option<RedGate>, DriveError> {
        let keep = match state.spec.workspace.verify {
            Verify::Clean | Verify::Cold => Keep::Nothing,
            Verify::Warm => Keep::Builds,
        };
        self.judge.reset(&format!("{PURPOSE} {commit}"), commit, keep).await?;
        let place = Place::of(self.judge.clone());
        if wants_set_up_again(&self.judge, state, commit).await?
            && let Err(message) = setup::prepare(&mut self.context, state, &place, setup::Stage::Later).await?
        {
            return Ok(Some(RedGate { command: "the set-up".to_owned(), output_tail: message }));
        }
        let engine = Arc::clone(&self.context.engine);
        for (index, gate) in state.spec.gates.iter().enumerate() {
            let files = engine.data.new_run(&state.id, &format!("{PURPOSE}.gate-{}", index + 1));
            let files = files.map_err(|source| transcript_error(&engine.data.transcripts(&state.id), source))?;
            let ran = shell::run(&mut self.context, state, shell::Line::of(gate), &place, &files).await?;
            // There may be hundreds of them.
            engine.workspaces.remove_own(&files.dir)?;
            if !ran.verdict.passed() {
                return Ok(Some(RedGate { command: gate.command.clone(), output_tail: ran.output_tail }));
            }
            place.put_back(&self.context, state).await?;
        }
        Ok(None)
    }

    /// Removes the checkout.
    pub fn close(self, state: &LoopState) -> Result<(), DriveError> {
        let engine = &self.context.engine;
        Ok(engine.workspaces.remove_own(&root(engine, state))?)
    }
}

fn root(engine: &Engine, state: &LoopState) -> std::path::PathBuf {
    engine.data.judge(&format!("{}-{PURPOSE}", state.id))
}
