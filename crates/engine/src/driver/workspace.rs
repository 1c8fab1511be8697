//! The workspace's part in a loop: opened before a turn, committed after it, put back after gates.

use std::path::Path;

use windlass_agents::PrivateFile;
use windlass_core::ids::TurnKey;
use windlass_core::machine::{
    Activity, ChangedFile, CheckpointReport, Doing, Input, LoopState, MergeIn, MergedTarget, Restore, WorkspaceFailure,
    WorkspaceOpening,
};
use windlass_core::profile::ProfilePlaces;
use windlass_core::spec::{CommitPolicy, SessionPolicy, WorkspaceKind};

use super::performing::Context;
use super::{DriveError, judge, snapshot};
use crate::data::TurnFiles;
use crate::engine::{Engine, workspace_of};
use windlass_faults as faults;
use windlass_workspace::git::{Change, MovedRef, RefsSeen};
use windlass_workspace::{
    Checkpoint, CheckpointRequest, CommitMode, ForkRequest, GitSettings, Kind, MergeInRequest, Opened, PutBack, Reopen,
    Reopened, RestoreRequest, TargetMerged, Workspace, WorkspaceError, WorkspaceRequest,
};

/// Files named in the journal for each checkpoint; all are counted.
pub(super) const NAMED_FILES: usize = 100;
/// Refs that moved are named up to so many.
const NAMED_REFS: usize = 20;

/// What workspace a loop asks for.
pub(crate) fn request(engine: &Engine, state: &LoopState) -> WorkspaceRequest {
    let spec = &state.spec.workspace;
    WorkspaceRequest {
        project: Path::new(&state.project).to_owned(),
        loop_id: state.id.0.clone(),
        loop_name: state.name.clone(),
        kind: match spec.kind {
            WorkspaceKind::Clone => Kind::Clone,
            WorkspaceKind::InPlace | WorkspaceKind::External => Kind::InPlace,
        },
        branch: spec.branch.clone(),
        base: spec.base.clone(),
        root: engine.data.worktrees(),
        allow_dirty: spec.allow_dirty,
        fork: state
            .spec
            .parent
            .as_ref()
            .map(|parent| ForkRequest { commit: parent.commit.clone(), target: parent.target.clone() }),
    }
}

/// A new workspace as the journal has it.
pub(crate) async fn opening(
    engine: &Engine,
    state: &LoopState,
    opened: Opened,
) -> Result<WorkspaceOpening, WorkspaceError> {
    let mut notes = opened.notes;
    notes.extend(judge::keep_before_agents(engine, state, &opened.workspace).await?);
    if state.spec.sandbox.is_off() && opened.workspace.kind == Kind::Clone {
        notes.extend(leads_back(engine, state, &opened.workspace));
    }
    if opened.uncommitted_left_out > 0 {
        let files = if opened.uncommitted_left_out == 1 { "file is" } else { "files are" };
        notes.push(format!("{} uncommitted {files} not included", opened.uncommitted_left_out));
    }
    let base_commit = Some(opened.workspace.base_commit.clone());
    let head_commit = Some(opened.head_commit);
    let base_tree = (head_commit != base_commit).then_some(opened.base_tree);
    Ok(WorkspaceOpening {
        dir: opened.workspace.dir.to_string_lossy().into_owned(),
        branch: Some(opened.workspace.branch.clone()),
        head_commit,
        base_commit,
        base_tree,
        tree: opened.head_tree,
        saved: None,
        snapshot: None,
        notes,
        recreated: false,
        target: None,
        handle: serde_json::to_value(&opened.workspace).unwrap_or_default(),
    })
}

/// What makes gates without a sandbox read the user's checkout instead of the judged one.
fn leads_back(engine: &Engine, state: &LoopState, workspace: &Workspace) -> Option<String> {
    let checkout = &workspace.home.checkout;
    let copied = state.spec.workspace.copy.iter().map(|name| checkout.join(name));
    let dirs: Vec<_> = copied.chain(engine.env.get("VIRTUAL_ENV").map(Into::into)).collect();
    let found = windlass_workspace::leads_back(checkout, &dirs);
    let names = found.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if found.len() > 5 { " …" } else { "" };
    (!found.is_empty()).then(|| {
        format!(
            "installed packages refer to your checkout by path, so without a sandbox gates may read your files instead \
             of the committed ones: {names}{more}"
        )
    })
}

pub(super) async fn open(context: Context, state: &LoopState, restore: Restore) -> Result<Input, DriveError> {
    faults::point("workspace.before_open");
    let Some(known) = &state.workspace else {
        let opened = context.engine.workspaces.create(&request(&context.engine, state)).await?;
        return Ok(Input::WorkspaceOpened { opening: opening(&context.engine, state, opened).await? });
    };
    let workspace = workspace_of(state)?;
    let how = match &restore {
        Restore::Keep => Reopen::Keep,
        Restore::Reset { commit, cut_turn, moved: _ } => {
            Reopen::ResetTo { commit: commit.clone(), save_as: workspace.keep_ref("cut", &cut_turn.to_string()) }
        }
    };
    let opened = match (&state.continued.due, state.head_commit()) {
        (Some(due), Some(head)) => merge_in(&context.engine, state, &workspace, due, head).await,
        (Some(_), None) | (None, _) => {
            context.engine.workspaces.reopen(&workspace, &how).await.map(|reopened| (reopened, None))
        }
    };
    match opened {
        Ok((mut reopened, target)) => {
            reopened.notes.extend(judge::copies_lost(&context.engine, state, &workspace)?);
            let snapshot = snapshot::restore(&context.engine, state, &workspace, &restore, &how).await?;
            reopened.notes.extend(snapshot.as_ref().map(snapshot::words));
            Ok(Input::WorkspaceOpened {
                opening: WorkspaceOpening {
                    dir: known.dir.clone(),
                    branch: known.branch.clone(),
                    base_commit: known.base_commit.clone(),
                    head_commit: known.head_commit.clone(),
                    tree: known.tree.clone().unwrap_or_default(),
                    base_tree: None,
                    saved: reopened.saved.map(|saved| saved.name),
                    snapshot,
                    notes: reopened.notes,
                    recreated: reopened.recreated,
                    target: target.map(merged_target),
                    handle: known.handle.clone(),
                },
            })
        }
        Err(error) => missing(error).map(|failure| Input::WorkspaceFailed { failure }),
    }
}

/// Opens the workspace of a continued loop, with the merge target on its branch.
async fn merge_in(
    engine: &Engine,
    state: &LoopState,
    workspace: &Workspace,
    due: &MergeIn,
    head: &str,
) -> Result<(Reopened, Option<TargetMerged>), WorkspaceError> {
    let request = MergeInRequest {
        target: due.target.clone(),
        loop_name: state.name.clone(),
        head: head.to_owned(),
        stretch: format!("{}.{}", state.id, state.continued.iterations),
        never_commit: state.spec.workspace.copy.clone(),
    };
    engine.workspaces.merge_in(workspace, &request).await
}

fn merged_target(merged: TargetMerged) -> MergedTarget {
    let TargetMerged { branch, commit, tree, head, head_tree, news, conflicts } = merged;
    MergedTarget { branch, commit, tree, head, head_tree, news, conflicts }
}

fn missing(error: WorkspaceError) -> Result<WorkspaceFailure, DriveError> {
    if let WorkspaceError::WorkspaceMissing { .. } | WorkspaceError::RepositoryMissing { .. } = &error {
        Ok(WorkspaceFailure::Missing { message: error.to_string() })
    } else {
        Err(error.into())
    }
}

/// Whether the loop's files are gone, with more than its commits hold: another machine has them, or somebody removed
/// them. Then the loop moved, which is journalled before the workspace is made again.
pub(super) async fn is_lost(engine: &Engine, state: &LoopState) -> bool {
    let (Ok(workspace), true) = (workspace_of(state), state.can_move()) else { return false };
    if workspace.dir.exists() {
        return false;
    }
    let Activity::Running(Doing::Summarise { turn } | Doing::Checkpoint { turn, .. }) = &state.activity else {
        return true;
    };
    let head = state.head_commit().unwrap_or(&workspace.base_commit);
    // Without the repository nothing is known, and opening the workspace says so.
    !engine.workspaces.has_committed(&workspace, &state.turn_id(turn.key), head).await.unwrap_or(false)
}

/// Makes a workspace that was removed meanwhile again, before a commit or a gate needs it; says if it cannot.
pub(super) async fn ensure(engine: &Engine, state: &LoopState) -> Result<Option<Input>, DriveError> {
    let Activity::Running(doing) = &state.activity else { return Ok(None) };
    let closes = match doing {
        Doing::OpenWorkspace { .. } => return Ok(None),
        Doing::Summarise { turn } | Doing::Checkpoint { turn, .. } => Some(turn.key),
        Doing::SetUp { .. }
        | Doing::Baseline { .. }
        | Doing::Turn(_)
        | Doing::Gates
        | Doing::Seal { .. }
        | Doing::Undo { .. } => None,
    };
    if state.workspace.is_none() || state.is_external() {
        return Ok(None);
    }
    let workspace = workspace_of(state)?;
    let reopened = match engine.workspaces.reopen(&workspace, &Reopen::Keep).await {
        Ok(reopened) => reopened,
        Err(error) => return missing(error).map(|failure| Some(Input::WorkspaceFailed { failure })),
    };
    // The commit of a loop that can move is there, or the loop moved.
    if let Some(turn) = closes.filter(|_| reopened.recreated && !state.can_move()) {
        engine.workspaces.mark_lost(&workspace, &state.turn_id(turn))?;
    }
    Ok(None)
}

/// Commits what the turn left on disk.
pub(super) async fn checkpoint(context: Context, state: &LoopState, turn: TurnKey) -> Result<Input, DriveError> {
    let workspace = workspace_of(state)?;
    let known = state.workspace.as_ref();
    let request = CheckpointRequest {
        loop_name: state.name.clone(),
        iteration: turn.iteration,
        turn_id: state.turn_id(turn),
        previous_head: state.head_commit().unwrap_or(&workspace.base_commit).to_owned(),
        base: known.and_then(|known| known.base_commit.clone()),
        previous_tree: known.and_then(|known| known.tree.clone()),
        message: state.summary().and_then(|said| said.commit_message.clone()).unwrap_or_else(|| state.commit_message()),
        mode: mode(state),
        section: None,
        never_commit: state.spec.workspace.copy.clone(),
        unwanted: context.engine.unwanted(state),
    };
    let mut notes = match context.engine.workspaces.mend(&workspace, &request.turn_id).await {
        Ok(notes) => notes,
        Err(error) => return missing(error).map(|failure| Input::WorkspaceFailed { failure }),
    };
    let refs_before = refs_before(&context.engine.data.turn(&state.id, turn));
    let mut moved = refs_before.as_ref().map(RefsSeen::moved).unwrap_or_default();
    moved.truncate(NAMED_REFS);
    let words = |one: &MovedRef| {
        format!("refs of your repository changed during the turn and were left as they are: {}", one.words())
    };
    notes.extend(moved.iter().map(words));
    let protect = &state.spec.protect;
    let restored = context
        .engine
        .workspaces
        .restore_protected(&workspace, &request.previous_head, protect, &request.turn_id, &mut notes)
        .await?;
    faults::point("checkpoint.before");
    let mut made = context.engine.workspaces.checkpoint(&workspace, &request).await?;
    faults::point("checkpoint.after");
    notes.append(&mut made.notes);
    made.notes = notes;
    if let Some(before) = refs_before {
        let anywhere = before.moved_by_anybody();
        let found = context.engine.workspaces.refs_with_secrets(&workspace, &anywhere, &request.unwanted).await?;
        made.held_back.extend(found);
    }
    if context.engine.workspaces.is_lost(&workspace, &request.turn_id) {
        // It blocks a claim, which there is nothing to judge for.
        made.held_back.push("the changes of this turn (the workspace was removed)".to_owned());
    }
    if let Some(commit) = &made.commit {
        let conflicts = &state.continued.conflicts;
        let unresolved = context.engine.workspaces.conflict_markers(&workspace, commit, conflicts).await?;
        made.held_back.extend(unresolved.iter().map(|file| format!("{file} (has conflict markers)")));
        made.held_back.extend(judge::links_out(&context.engine, state, &workspace).await?);
        made.notes.extend(judge::names_workspace(&context.engine, state, &workspace, commit).await?);
    }
    let mut checkpoint = checkpoint_report(made, &restored);
    checkpoint.moved_refs = moved.into_iter().map(journalled).collect();
    Ok(Input::Checkpointed { turn, checkpoint })
}

pub(super) fn mode(state: &LoopState) -> CommitMode {
    match state.spec.commit {
        CommitPolicy::Engine => CommitMode::Engine,
        CommitPolicy::Agent => CommitMode::Agent,
        CommitPolicy::Off => CommitMode::Off,
    }
}

/// A checkpoint as the journal has it.
pub(super) fn checkpoint_report(
    made: Checkpoint,
    restored: &[windlass_workspace::git::ChangedFile],
) -> CheckpointReport {
    CheckpointReport {
        files_changed: made.files.len() as u64,
        files: made.files.iter().take(NAMED_FILES).map(named).collect(),
        restored: restored.iter().take(NAMED_FILES).map(named).collect(),
        commit: made.commit,
        tree: made.tree,
        created: made.created,
        held_back: made.held_back,
        agent_commits: made.agent_commits,
        ignored_new: made.ignored_new,
        ignored_new_count: made.ignored_new_count,
        moved_refs: Vec::new(),
        notes: made.notes,
    }
}

/// Returns the tree to the commit that was judged, and says what had changed.
pub(super) async fn put_back(context: &Context, state: &LoopState) -> Result<Vec<ChangedFile>, DriveError> {
    let commits = state.spec.commit != CommitPolicy::Off && !state.is_external();
    let Some(commit) = state.head_commit().filter(|_| commits) else { return Ok(Vec::new()) };
    let request = RestoreRequest {
        commit: commit.to_owned(),
        tree: state.workspace.as_ref().and_then(|known| known.tree.clone()),
        save_as: None,
        never_commit: state.spec.workspace.copy.clone(),
    };
    let restored = context.engine.workspaces.restore_to(&workspace_of(state)?, &request).await?;
    Ok(restored.changed.iter().take(NAMED_FILES).map(named).collect())
}

/// What git would run or follow, to be remembered through a turn that could change it; where the refs of the user's repository
/// can be written, they are too.
pub(super) async fn before_turn(
    context: &mut Context,
    state: &LoopState,
    turn: TurnKey,
    files: &TurnFiles,
) -> Result<Vec<PrivateFile>, DriveError> {
    let sandboxed = !state.spec.sandbox.is_off();
    if sandboxed && turn.role.only_reads() || state.workspace.is_none() || state.is_external() {
        return Ok(Vec::new());
    }
    let workspace = workspace_of(state)?;
    let own = state.agent(turn.role).profile.places.as_ref().map(ProfilePlaces::own_globs).unwrap_or_default();
    if !own.is_empty() {
        context.engine.workspaces.leave_out(&workspace, &own)?;
    }
    let mut remembered = vec![git_settings(context, &workspace, sandboxed, files).await?];
    let reaches_refs = !sandboxed || workspace.kind == Kind::InPlace;
    if reaches_refs && let Some(refs) = RefsSeen::of(&workspace) {
        let content = serde_json::to_string(&refs).map_err(|error| unread_settings(&error))?;
        remembered.push(PrivateFile { path: files.refs_before(), content });
    }
    Ok(remembered)
}

/// The same for a command that runs what the agent wrote, in the workspace itself.
pub(super) async fn before_command(
    context: &mut Context,
    state: &LoopState,
    files: &TurnFiles,
) -> Result<Vec<PrivateFile>, DriveError> {
    if state.workspace.is_none() || state.is_external() {
        return Ok(Vec::new());
    }
    let sandboxed = !state.spec.sandbox.is_off();
    Ok(vec![git_settings(context, &workspace_of(state)?, sandboxed, files).await?])
}

async fn git_settings(
    context: &mut Context,
    workspace: &Workspace,
    sandboxed: bool,
    files: &TurnFiles,
) -> Result<PrivateFile, DriveError> {
    let looked = workspace.clone();
    let settings =
        windlass_workspace::blocking_until(context.ended(), move || GitSettings::of(&looked, sandboxed)).await;
    let settings = settings.map_err(|error| unread_settings(&error))?.map_err(|error| unread_settings(&error))?;
    let content = serde_json::to_string(&settings).map_err(|error| unread_settings(&error))?;
    Ok(PrivateFile { path: files.git_settings(), content })
}

fn unread_settings(error: &dyn std::fmt::Display) -> DriveError {
    DriveError::Lost(format!("cannot read git's settings: {error}"))
}

fn journalled(moved: MovedRef) -> windlass_core::machine::MovedRef {
    windlass_core::machine::MovedRef { name: moved.name, from: moved.from, to: moved.to }
}

/// Where the refs of the user's repository were before the turn.
fn refs_before(files: &TurnFiles) -> Option<RefsSeen> {
    let remembered = std::fs::read_to_string(files.refs_before()).ok()?;
    serde_json::from_str(&remembered).ok()
}

/// Puts back what a turn changed of it, makes repositories in the workspace inert, and says what that was.
pub(super) async fn put_back_git_settings(files: TurnFiles, enough: impl Future<Output = ()>) -> Vec<ChangedFile> {
    windlass_workspace::blocking_until(enough, move || settle_git(&files)).await.unwrap_or_default()
}

/// Repeats it when nothing of the loop runs, because a long-lived process had time since.
pub(super) async fn leave(engine: &Engine, state: &LoopState) {
    crate::sandbox::remove_placeholders(&engine.data.loop_temp(&state.id.0));
    if let Some(last) = state.last_turn.as_ref().filter(|_| state.spec.session == SessionPolicy::KeepAlive) {
        let changed = put_back_git_settings(engine.data.turn(&state.id, last.key), std::future::pending()).await;
        if !changed.is_empty() {
            tracing::warn!(loop_id = %state.id, ?changed, "an agent changed git's own files between turns");
        }
    }
}

fn settle_git(files: &TurnFiles) -> Vec<ChangedFile> {
    let remembered = std::fs::read_to_string(files.git_settings()).ok();
    let Some(before) = remembered.and_then(|text| serde_json::from_str::<GitSettings>(&text).ok()) else {
        return Vec::new();
    };
    let done = before
        .put_back(&files.planted())
        .unwrap_or_else(|error| PutBack { failed: vec![(files.git_settings(), error)], ..PutBack::default() });
    let failed = done.failed.iter().map(|(path, error)| ChangedFile {
        path: format!(".git/ ({}: {error})", path.display()),
        change: "not_undone".to_owned(),
    });
    done.changed.iter().take(NAMED_FILES).map(named).chain(failed).collect()
}

/// Keeps git's hands off the files that are copied into the workspace.
pub(super) fn leave_out(context: &Context, state: &LoopState) -> Result<(), DriveError> {
    let copied = &state.spec.workspace.copy;
    if copied.is_empty() {
        return Ok(());
    }
    Ok(context.engine.workspaces.leave_out(&workspace_of(state)?, copied)?)
}

/// The files that differ from the last checkpoint, by name.
pub(super) async fn changed(context: &Context, state: &LoopState) -> Result<Vec<String>, DriveError> {
    let workspace = workspace_of(state)?;
    let since = state.head_commit().unwrap_or(&workspace.base_commit).to_owned();
    let copied = &state.spec.workspace.copy;
    let files = context.engine.workspaces.changed_since(&workspace, &since, copied).await?;
    Ok(files.iter().take(NAMED_FILES).map(|file| file.path.to_string()).collect())
}

pub(super) fn named(file: &windlass_workspace::git::ChangedFile) -> ChangedFile {
    let change = match file.change {
        Change::Added => "added",
        Change::Modified => "modified",
        Change::Deleted => "deleted",
        Change::Renamed => "renamed",
        Change::TypeChanged => "type_changed",
    };
    ChangedFile { path: file.path.to_string(), change: change.to_owned() }
}
