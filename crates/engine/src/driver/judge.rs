//! Where the work is judged: by gates in the judge's checkout of the recorded commit, by reviewers in one beside it, or in
//! place if the loop has no commits.

use std::path::PathBuf;

use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{ChangedFile, GateKey, GateOn, LoopState};
use windlass_core::spec::{CommitPolicy, Verify, WorkspaceKind};
use windlass_core::trouble::{Trouble, TroubleKind};
use windlass_workspace::{Judge, Keep, Save, Workspace, WorkspaceError};

use super::performing::Context;
use super::setup::Stage;
use super::{DriveError, setup, workspace};
use crate::engine::{Engine, workspace_of};
use crate::sandbox::{settle_caches, writable_by_agents};

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
            Some(judge) => {
                settle(judge)?;
                Ok(judge.save(Save::Builds).await?)
            }
            None => Ok(()),
        }
    }
}

/// Makes the caches of the judge fit to be saved.
pub(super) fn settle(judge: &Judge) -> Result<(), DriveError> {
    let Some(caches) = judge.caches() else { return Ok(()) };
    settle_caches(&caches).map_err(|source| WorkspaceError::File { action: "clean", path: caches, source }.into())
}

/// Whether the loop's work is judged in a checkout that its agent cannot write.
pub(super) fn has_checkout(state: &LoopState) -> bool {
    let own = match state.spec.workspace.kind {
        WorkspaceKind::Clone => true,
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    };
    own && state.spec.commit != CommitPolicy::Off
}

/// Whether builds go from loop to loop: without a sandbox an agent could write what the next loop compiles from.
fn hands_builds_on(state: &LoopState) -> bool {
    !state.spec.sandbox.is_off() && state.spec.workspace.baseline && has_checkout(state)
}

/// Keeps what gates built on the base for the next loop of the project; this one is over.
pub(super) fn hand_on(engine: &Engine, state: &LoopState) -> Result<(), WorkspaceError> {
    match hands_builds_on(state) {
        true => engine.workspaces.hand_on(&engine.data.judge(&state.id.0), &engine.data.builds(&state.project)),
        false => Ok(()),
    }
}

/// Keeps what the agent may write outside the workspace as it is before the first turn; gates see that. Says of what there is no copy.
pub(super) async fn keep_before_agents(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
) -> Result<Option<String>, WorkspaceError> {
    if !has_checkout(state) || state.spec.sandbox.is_off() || state.spec.gates.is_empty() {
        return Ok(None);
    }
    let left_out = engine
        .workspaces
        .keep_before_agents(workspace, writable_by_agents(&engine.command_environment(state), state))
        .await?;
    let names = left_out.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    Ok((!left_out.is_empty()).then(|| {
        format!("gates start with empty copies of these sandbox_writable paths, which are too large or cannot be read: {names}")
    }))
}

/// Where the workspace was removed, the copies went with it. New ones would have what the agent wrote there, so there are none.
pub(super) fn copies_lost(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
) -> Result<Option<String>, WorkspaceError> {
    let needed = has_checkout(state) && !state.spec.sandbox.is_off() && !state.spec.gates.is_empty();
    if !needed
        || writable_by_agents(&engine.command_environment(state), state).is_empty()
        || !workspace.lose_before_agents()?
    {
        return Ok(None);
    }
    Ok(Some(
        "the copies of the sandbox_writable paths from before the first turn were removed with the workspace, so gates \
         start with empty ones; a new loop copies them again"
            .to_owned(),
    ))
}

/// Links in the commit that would have gates and reviewers read files that are in no commit. They block a claim.
pub(super) async fn links_out(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
) -> Result<Vec<String>, WorkspaceError> {
    if !has_checkout(state) {
        return Ok(Vec::new());
    }
    let known = state.workspace.as_ref().and_then(|known| known.base_commit.as_deref());
    let tops = [workspace.dir.clone(), engine.data.judge(&state.id.0).join("tree"), workspace.home.checkout.clone()];
    engine.workspaces.links_out(workspace, known.unwrap_or(&workspace.base_commit), &tops).await
}

/// Reports a claim without a sandbox whose files name the workspace: gates could read it. In a sandbox, they do not see it.
pub(super) async fn names_workspace(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
    commit: &str,
) -> Result<Option<String>, WorkspaceError> {
    if !has_checkout(state) || !state.spec.sandbox.is_off() || !state.claims_done() {
        return Ok(None);
    }
    let files = engine.workspaces.files_naming(workspace, commit, &workspace.dir).await?;
    let names = files.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if files.len() > 5 { " …" } else { "" };
    Ok((!files.is_empty()).then(|| {
        format!(
            "committed files contain the path of this workspace, so without a sandbox gates may read it: {names}{more}"
        )
    }))
}

async fn open(engine: &Engine, state: &LoopState) -> Result<Judge, DriveError> {
    let root = engine.data.judge(&state.id.0);
    Ok(engine.workspaces.judge(&workspace_of(state)?, &root).await?)
}

/// Runs the set-up on the base, once. The inner error is the user's.
pub(super) async fn set_up(context: &mut Context, state: &LoopState) -> Result<Result<Judge, String>, DriveError> {
    let judge = open(&context.engine, state).await?;
    let spec = &state.spec.workspace;
    if !judge.is_set_up() && (!spec.setup.is_empty() || !spec.copy.is_empty()) {
        let base = workspace_of(state)?.base_commit;
        judge.reset("set-up", &base, Keep::Nothing).await?;
        if let Err(message) = setup::prepare(context, state, &Place::of(judge.clone()), Stage::Base).await? {
            return Ok(Err(message));
        }
        settle(&judge)?;
        judge.set_up().await?;
    }
    if hands_builds_on(state) {
        judge.take_builds(&context.engine.data.builds(&state.project)).await?;
    }
    Ok(Ok(judge))
}

/// Whether a turn of this role reads a checkout of the recorded commit instead of the workspace.
fn reads_checkout(state: &LoopState, role: Role) -> bool {
    role.reviews() && has_checkout(state) && state.head_commit().is_some()
}

/// The checkout for reviewers. Its path is always the same, because agents know their sessions by it.
async fn for_reviewers(engine: &Engine, state: &LoopState) -> Result<Judge, DriveError> {
    let root = engine.data.judge(&state.id.0);
    Ok(engine.workspaces.reviewers_judge(&workspace_of(state)?, &root).await?)
}

/// Where the agent of a turn works. A reviewer finds exactly the commit under review and what the set-up made.
pub(super) async fn place_of_turn(
    context: &mut Context,
    state: &LoopState,
    turn: TurnKey,
) -> Result<Place, DriveError> {
    let Some(commit) = state.head_commit().filter(|_| reads_checkout(state, turn.role)) else {
        return Ok(Place::workspace(&context.engine, state));
    };
    if let Err(message) = set_up(context, state).await? {
        let message = format!("the set-up of the reviewer's checkout failed: {message}");
        return Err(DriveError::NotTried(Trouble { kind: TroubleKind::Files, message }));
    }
    let judge = for_reviewers(&context.engine, state).await?;
    judge.reset(&state.turn_id(turn), commit, Keep::Nothing).await?;
    let again = wants_set_up_again(&judge, state, commit).await?;
    let place = Place::of(judge);
    if again && let Err(message) = setup::prepare(context, state, &place, Stage::Later).await? {
        // Gates judge that; whoever reads can read all the same.
        tracing::warn!(loop_id = %state.id, %message, "the set-up failed on the commit under review");
    }
    Ok(place)
}

/// Undoes what an agent that only reads did to files, and reports it.
pub(super) async fn put_back_after(
    context: &Context,
    state: &LoopState,
    role: Role,
) -> Result<Vec<ChangedFile>, DriveError> {
    let mut changed = Vec::new();
    let own = reads_checkout(state, role);
    if own {
        let judge = for_reviewers(&context.engine, state).await?;
        if judge.is_checked_out() {
            changed = Place::of(judge).put_back(context, state).await?;
        }
    }
    // In a sandbox it does not see the workspace.
    if !own || state.spec.sandbox.is_off() {
        changed.extend(workspace::put_back(context, state).await?);
    }
    if let Some(places) = &state.agent(role).profile.places {
        // What the agent always writes for itself is put back like the rest, but is no news.
        changed.retain(|file| !places.is_own(&file.path));
    }
    Ok(changed)
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
    let judgement = format!("{} {commit}", gate.on.number());
    // Later gates need what those before them built; one that runs again must not find what its own failed run left.
    if gate.index > 0 && gate.attempt == 1 && judge.is_at(&judgement) {
        return Ok(Ok(place));
    }
    let claim = gate.on != GateOn::Base && state.claims_done();
    let hidden = state.spec.gates.get(gate.index).is_some_and(|spec| spec.hidden);
    let set_up_again = match state.spec.workspace.verify {
        Verify::Clean if claim && hidden => {
            judge.reset_without_builds(&judgement, commit).await?;
            wants_set_up_again(&judge, state, commit).await?
        }
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
    if set_up_again && let Err(message) = setup::prepare(context, state, &place, Stage::Later).await? {
        return Ok(Err(NotReady::Commit(message)));
    }
    Ok(Ok(place))
}

/// Whether this gate is the last of a claim's that the agent knows, all passed before it, and they found what gates built on
/// the base.
pub(super) fn relied_on_builds(state: &LoopState, gate: &GateKey, place: &Place) -> bool {
    let clean = match state.spec.workspace.verify {
        Verify::Clean => true,
        // The user chose to have builds count, or they did not.
        Verify::Warm | Verify::Cold => false,
    };
    let claim = clean && gate.on != GateOn::Base && state.claims_done();
    let passed = |index: usize| state.gates.get(&index).is_some_and(|report| report.verdict.passed());
    let mut gates = state.spec.gates.iter().enumerate();
    claim
        && place.judge.as_ref().is_some_and(Judge::has_builds)
        && gates.all(|(index, spec)| if index == gate.index { !spec.hidden } else { spec.hidden || passed(index) })
}

/// The same place without what gates built on the base.
pub(super) async fn place_without_builds(
    context: &mut Context,
    state: &LoopState,
    gate: &GateKey,
    place: &Place,
) -> Result<Result<(), String>, DriveError> {
    let (Some(judge), Some(commit)) = (&place.judge, state.head_commit()) else { return Ok(Ok(())) };
    judge.reset_without_builds(&format!("{} {commit}", gate.on.number()), commit).await?;
    match wants_set_up_again(judge, state, commit).await? {
        true => setup::prepare(context, state, place, Stage::Later).await,
        false => Ok(Ok(())),
    }
}

/// Whether the commit changed what the set-up installs.
pub(super) async fn wants_set_up_again(judge: &Judge, state: &LoopState, commit: &str) -> Result<bool, DriveError> {
    Ok(!state.spec.workspace.setup.is_empty() && !judge.changed_inputs(commit).await?.is_empty())
}
