//! Where the work is judged: in the judge's checkout of the recorded commit, or in place if the loop has no commits.

use std::path::PathBuf;

use windlass_core::machine::{ChangedFile, GateKey, LoopState};
use windlass_core::spec::{CommitPolicy, Verify, WorkspaceKind};
use windlass_workspace::{Judge, Keep, Save};

use super::performing::Context;
use super::{DriveError, setup, workspace};
use crate::engine::Engine;

/// Where a command of the user's runs.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The checkout.
    pub(super) dir: PathBuf,
    pub(super) judge: Option<Judge>,
}

impl Place {
    /// The workspace itself.
    pub(super) fn workspace(engine: &Engine, state: &LoopState) -> Self {
        Self { dir: engine.work_dir(state), judge: None }
    }

    pub(super) fn of(judge: Judge) -> Self {
        Self { dir: judge.tree(), judge: Some(judge) }
    }

    /// Undoes what a gate did to files of the commit, and reports it.
    pub(super) async fn put_back(&self, context: &Context, state: &LoopState) -> Result<Vec<ChangedFile>, DriveError> {
        let Some(judge) = &self.judge else { return workspace::put_back(context, state).await };
        let changed = judge.put_back().await?;
        Ok(changed.iter().take(workspace::NAMED_FILES).map(workspace::named).collect())
    }

    /// What gates built on the base is kept: no agent's code has run yet.
    pub(super) async fn keep_build(&self) -> Result<(), DriveError> {
        match &self.judge {
            Some(judge) => Ok(judge.save(Save::Builds).await?),
            None => Ok(()),
        }
    }
}

/// Whether the loop's work is judged in a checkout that its agent cannot write.
pub(super) fn has_checkout(state: &LoopState) -> bool {
    let own = match state.spec.workspace.kind {
        WorkspaceKind::Clone => true,
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    };
    own && state.spec.commit != CommitPolicy::Off
}

async fn open(engine: &Engine, state: &LoopState) -> Result<Judge, DriveError> {
    let root = engine.data.judge(&state.id.0);
    Ok(engine.workspaces.judge(&workspace::handle(state)?, &root).await?)
}

/// Runs the set-up on the base, once. The inner error is the user's.
pub(super) async fn set_up(context: &mut Context, state: &LoopState) -> Result<Result<Judge, String>, DriveError> {
    let judge = open(&context.engine, state).await?;
    let spec = &state.spec.workspace;
    if judge.is_set_up() || (spec.setup.is_empty() && spec.copy.is_empty()) {
        return Ok(Ok(judge));
    }
    let base = workspace::handle(state)?.base_commit;
    judge.reset("set-up", &base, Keep::Nothing).await?;
    if let Err(message) = setup::prepare(context, state, &Place::of(judge.clone())).await? {
        return Ok(Err(message));
    }
    judge.set_up().await?;
    Ok(Ok(judge))
}

/// Why a gate has no place to run in.
#[derive(Debug)]
pub(super) enum NotReady {
    /// The set-up failed on the base.
    Base(String),
    /// The set-up failed on the commit that is to be judged, which is a verdict on it.
    Commit(String),
}

/// Where a gate runs. The first gate of a judgement finds exactly the commit and what the set-up made.
pub(super) async fn place(
    context: &mut Context,
    state: &LoopState,
    gate: &GateKey,
) -> Result<Result<Place, NotReady>, DriveError> {
    let Some(commit) = state.head_commit().filter(|_| has_checkout(state)) else {
        return Ok(Ok(Place::workspace(&context.engine, state)));
    };
    let judge = match set_up(context, state).await? {
        Ok(judge) => judge,
        Err(message) => return Ok(Err(NotReady::Base(message))),
    };
    let place = Place::of(judge.clone());
    let judgement = format!("{} {commit}", gate.iteration);
    let first = gate.index == 0 && gate.attempt == 1;
    if !first && judge.is_at(&judgement) {
        return Ok(Ok(place));
    }
    let claim = gate.iteration > 0 && state.claims_done();
    let set_up_again = match state.spec.workspace.verify {
        Verify::Cold if claim => {
            judge.reset_to_nothing(&judgement, commit).await?;
            true
        }
        Verify::Clean | Verify::Cold => {
            judge.reset(&judgement, commit, Keep::Nothing).await?;
            wants_set_up_again(&judge, state, commit).await?
        }
        Verify::Warm => {
            judge.reset(&judgement, commit, Keep::Builds).await?;
            wants_set_up_again(&judge, state, commit).await?
        }
    };
    if set_up_again && let Err(message) = setup::prepare(context, state, &place).await? {
        return Ok(Err(NotReady::Commit(message)));
    }
    Ok(Ok(place))
}

/// Whether the commit changed what the set-up installs.
async fn wants_set_up_again(judge: &Judge, state: &LoopState, commit: &str) -> Result<bool, DriveError> {
    Ok(!state.spec.workspace.setup.is_empty() && !judge.changed_inputs(commit).await?.is_empty())
}
