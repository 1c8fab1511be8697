//! The loop's gates on the result of a merge, before any ref moves.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use windlass_core::machine::LoopState;

use super::judge::Place;
use super::live::LiveAgents;
use super::performing::Context;
use super::{DriveError, setup, shell, workspace};
use crate::engine::Engine;
use crate::socket::Line;

/// A gate that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedGate {
    pub command: String,
    /// The end of what it printed.
    pub output_tail: String,
}

/// Runs the set-up and every gate in a fresh checkout of the commit; the first gate that fails, if one does.
pub(crate) async fn judge_merge(
    engine: &Arc<Engine>,
    state: &LoopState,
    commit: &str,
) -> Result<Option<RedGate>, DriveError> {
    if state.spec.gates.is_empty() {
        return Ok(None);
    }
    let root = engine.data.judge(&format!("{}-merge", state.id));
    engine.workspaces.remove_own(&root)?;
    // The loop has ended, and its driver's way out with it.
    let way_out = super::way_out(engine, state, |_| {})?;
    let judged = judge(engine, state, commit, &root).await;
    drop(way_out);
    engine.workspaces.remove_own(&root)?;
    judged
}

async fn judge(
    engine: &Arc<Engine>,
    state: &LoopState,
    commit: &str,
    root: &std::path::Path,
) -> Result<Option<RedGate>, DriveError> {
    let judge = engine.workspaces.judge(&workspace::handle(state)?, root).await?;
    judge.reset_to_nothing("merge", commit).await?;
    let place = Place::of(judge);
    let (reports, _unread) = mpsc::unbounded_channel();
    let (_keep, end) = watch::channel(false);
    let line = Arc::new(Line { wake: Notify::new(), news: watch::channel(0).0 });
    let hurry = end.clone();
    let mut context = Context { engine: Arc::clone(engine), reports, line, live: LiveAgents::default(), end, hurry };
    if let Err(message) = setup::prepare(&mut context, state, &place).await? {
        return Ok(Some(RedGate { command: "the set-up".to_owned(), output_tail: message }));
    }
    for (index, gate) in state.spec.gates.iter().enumerate() {
        let files = engine.data.new_run(&state.id, &format!("merge.gate-{}", index + 1));
        let files = files.map_err(|source| super::transcript_error(&engine.data.transcripts(&state.id), source))?;
        let ran = shell::run(&mut context, state, shell::Line::of(gate), &place, &files).await?;
        if !ran.verdict.passed() {
            return Ok(Some(RedGate { command: gate.command.clone(), output_tail: ran.output_tail }));
        }
        place.put_back(&context, state).await?;
    }
    Ok(None)
}
