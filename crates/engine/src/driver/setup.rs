//! Making a new workspace ready: files that git does not have, then the user's set-up commands.

use std::path::Path;

use crate::engine::workspace_of;
use windlass_core::machine::{Input, LoopState, WorkspaceFailure};

use super::judge::{self, Place};
use super::performing::Context;
use super::{DriveError, shell, workspace};
use windlass_workspace::copy_into_checkout;
use windlass_workspace::git::Change;

/// One set-up command may take so long: it may fetch and build everything the project needs.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;
/// More than this is a folder that should be ignored, and too much to name at every commit.
const MOST_MADE: usize = 1_000;

pub(super) async fn run(mut context: Context, state: &LoopState) -> Result<Input, DriveError> {
    // Copied files are the user's: neither a commit nor a reset may take them.
    workspace::leave_out(&context, state)?;
    let place = Place::workspace(&context.engine, state);
    // The judge's checkout comes first, before any agent can touch what the set-up makes.
    let judged = !state.spec.gates.is_empty() || state.review.is_some();
    let made = if judge::has_checkout(state) && judged {
        match judge::set_up(&mut context, state).await? {
            Ok(judge) => Ok(judge.copy_saved_to(&place.dir).await?),
            Err(message) => Err(message),
        }
    } else {
        let base = if state.last_turn.is_none() { Stage::Base } else { Stage::Later };
        prepare(&mut context, state, &place, base).await?
    };
    Ok(match made {
        Ok(()) => {
            leave_out_made(&context, state).await?;
            context.engine.workspaces.note_present(&workspace_of(state)?).await?;
            Input::SetUp
        }
        Err(message) => Input::WorkspaceFailed { failure: WorkspaceFailure::Setup { message } },
    })
}

/// What the set-up made is neither the agent's work nor a gate's litter: it stays, and is in no commit.
async fn leave_out_made(context: &Context, state: &LoopState) -> Result<(), DriveError> {
    // Files of a lost turn were there before.
    let snapshot = state.workspace.as_ref().and_then(|known| known.snapshot.as_ref());
    let before = snapshot.map(|snapshot| snapshot.commit.as_str()).or_else(|| state.head_commit());
    let Some(before) = before.filter(|_| !state.spec.workspace.setup.is_empty()) else { return Ok(()) };
    let workspaces = &context.engine.workspaces;
    let workspace = workspace_of(state)?;
    let changed = workspaces.changed_since(&workspace, before, &[]).await?;
    let made: Vec<String> = changed
        .iter()
        .filter(|file| file.change == Change::Added)
        .map(|file| file.path.as_glob())
        .take(MOST_MADE)
        .collect();
    if changed.len() > MOST_MADE {
        tracing::warn!(loop_id = %state.id, files = changed.len(), "the set-up creates many files that git does not ignore");
    }
    Ok(workspaces.leave_out(&workspace, &made)?)
}

/// What a set-up runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The base commit, in a checkout that no agent has written to.
    Base,
    /// A commit of the loop.
    Later,
}

/// Prepares a checkout; the inner error is the user's, and says which file or command it was.
pub(super) async fn prepare(
    context: &mut Context,
    state: &LoopState,
    place: &Place,
    stage: Stage,
) -> Result<Result<(), String>, DriveError> {
    let credentials = state.spec.workspace.setup_credentials && stage == Stage::Base;
    for file in &state.spec.workspace.copy {
        let (from, to, name) = (Path::new(&state.project).to_owned(), place.dir.clone(), file.clone());
        let copied = tokio::task::spawn_blocking(move || copy(&from, &to, &name)).await;
        if let Err(message) = copied.unwrap_or_else(|error| Err(error.to_string())) {
            return Ok(Err(message));
        }
    }
    for (index, command) in state.spec.workspace.setup.iter().enumerate() {
        let files = context.engine.data.new_run(&state.id, &format!("setup-{}", index + 1));
        let files =
            files.map_err(|source| super::transcript_error(&context.engine.data.transcripts(&state.id), source))?;
        let line = shell::Line { command, timeout_ms: TIMEOUT_MS, hidden: false, credentials, gate: false };
        let ran = shell::run(context, state, line, place, &files).await?;
        if !ran.verdict.passed() {
            let how = ran.exit_code.map_or("failed".to_owned(), |code| format!("exit code {code}"));
            let last = ran.output_tail.lines().last().unwrap_or_default().to_owned();
            return Ok(Err(format!("{command}: {how}: {last}")));
        }
    }
    Ok(Ok(()))
}

/// Copies one named file or directory from the user's checkout. A path that points outside it is refused.
fn copy(from: &Path, to: &Path, name: &str) -> Result<(), String> {
    let relative = Path::new(name);
    let stays = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !stays || name.is_empty() {
        return Err(format!("cannot copy {name}: not a path inside the repository"));
    }
    copy_into_checkout(from, to, relative).map_err(|error| format!("cannot copy {name}: {error}"))
}
