//! The loop's gates on a commit, in a checkout that is made for it and removed: before a merge moves any ref, and when
//! somebody checks a proof.

mod candidates;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use windlass_core::machine::{LoopState, Verdict};

use super::judge::Place;
use super::live::LiveAgents;
use super::performing::Context;
use super::{DriveError, setup, shell};
use crate::engine::{Engine, workspace_of};
use crate::socket::Line;

pub use candidates::Candidates;

/// A gate that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedGate {
    pub command: String,
    /// The end of what it printed.
    pub output_tail: String,
}

/// One run of a gate in a fresh checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshRun {
    pub command: String,
    /// Nobody is told its command or its output.
    pub hidden: bool,
    pub verdict: Verdict,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub output_sha256: Option<String>,
    pub output_tail: String,
}

/// The command of a run that stands for the set-up.
pub(crate) const SET_UP: &str = "the set-up";

/// Runs the set-up and every gate in a fresh checkout of the commit; the first gate that fails, if one does.
pub(crate) async fn judge_merge(
    engine: &Arc<Engine>,
    state: &LoopState,
    commit: &str,
) -> Result<Option<RedGate>, DriveError> {
    let red = |run: &FreshRun| !run.verdict.passed();
    let runs = judge_afresh(engine, state, commit, "merge", red).await?;
    let last = runs.into_iter().next_back().filter(|run| !run.verdict.passed());
    Ok(last.map(|run| RedGate { command: run.command, output_tail: run.output_tail }))
}

/// Runs the set-up and the gates in a fresh checkout of the commit, until `enough` says so of one. A set-up that fails is
/// a run too, and the last.
pub(crate) async fn judge_afresh(
    engine: &Arc<Engine>,
    state: &LoopState,
    commit: &str,
    purpose: &str,
    enough: impl Fn(&FreshRun) -> bool,
) -> Result<Vec<FreshRun>, DriveError> {
    if state.spec.gates.is_empty() {
        return Ok(Vec::new());
    }
    let root = engine.data.judge(&format!("{}-{purpose}", state.id));
    engine.workspaces.remove_own(&root)?;
    let cut_off = CutOff { engine, root: &root };
    // The loop has ended, and its driver's way out with it.
    let way_out = super::way_out(engine, state, |_| {})?;
    let judged = judge(engine, state, commit, purpose, &root, enough).await;
    drop((way_out, cut_off));
    engine.workspaces.remove_own(&root)?;
    judged
}

/// Removes the checkout also if the judgement is cut off, as far as its processes allow.
struct CutOff<'a> {
    engine: &'a Engine,
    root: &'a Path,
}

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        let _ = self.engine.workspaces.remove_own(self.root);
    }
}

/// What a command needs to know that runs for nobody's loop. It comes to an end when `end` says so.
fn unwatched(engine: &Arc<Engine>, end: watch::Receiver<bool>) -> Context {
    // Nobody reads it.
    let (reports, _) = mpsc::unbounded_channel();
    let line = Arc::new(Line { wake: Notify::new(), news: watch::channel(0).0 });
    let hurry = end.clone();
    Context { engine: Arc::clone(engine), reports, line, live: LiveAgents::default(), end, hurry }
}

async fn judge(
    engine: &Arc<Engine>,
    state: &LoopState,
    commit: &str,
    purpose: &str,
    root: &Path,
    enough: impl Fn(&FreshRun) -> bool,
) -> Result<Vec<FreshRun>, DriveError> {
    let judge = engine.workspaces.judge(&workspace_of(state)?, root).await?;
    judge.reset_to_nothing(purpose, commit).await?;
    let place = Place::of(judge);
    let (_keep, end) = watch::channel(false);
    let mut context = unwatched(engine, end);
    if let Err(message) = setup::prepare(&mut context, state, &place, setup::Stage::Later).await? {
        return Ok(vec![FreshRun {
            command: SET_UP.to_owned(),
            hidden: false,
            verdict: Verdict::Fail,
            exit_code: None,
            duration_ms: 0,
            output_sha256: None,
            output_tail: message,
        }]);
    }
    let mut runs = Vec::new();
    for (index, gate) in state.spec.gates.iter().enumerate() {
        let files = engine.data.new_run(&state.id, &format!("{purpose}.gate-{}", index + 1));
        let files = files.map_err(|source| super::transcript_error(&engine.data.transcripts(&state.id), source))?;
        let ran = shell::run(&mut context, state, shell::Line::of(gate), &place, &files).await?;
        let run = FreshRun {
            command: gate.command.clone(),
            hidden: gate.hidden,
            verdict: ran.verdict,
            exit_code: ran.exit_code,
            duration_ms: ran.duration_ms,
            output_sha256: ran.output_sha256,
            output_tail: ran.output_tail,
        };
        let over = enough(&run);
        runs.push(run);
        if over {
            break;
        }
        place.put_back(&context, state).await?;
    }
    Ok(runs)
}
