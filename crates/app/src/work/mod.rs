//! The work of a loop: merged, reverted, cleared away.

mod clean;
mod clean_groups;
mod merge;
mod merge_queue;
mod residue;
mod rollback;

pub use merge_queue::{BroughtIn, MergesReport, OpenedMerges, QueueMerges, ShowMerges, StopMerges, WorkMerges};

use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;
use windlass_core::stop::Status;
use windlass_engine::engine::Engine;

use crate::problem::Problem;

/// Refuses a loop that still works on its branch.
pub(crate) fn at_rest(state: &LoopState) -> Result<(), Problem> {
    let name = &state.name;
    match state.status() {
        Status::Queued | Status::Running | Status::Waiting { .. } => Err(Problem::refused(
            format!("{name}: the loop is still active, so its branch can change"),
            format!(
                "stop it with `windlass stop {name}`, or resume it with `windlass resume {name}` if it was interrupted"
            ),
        )),
        Status::Paused { .. } | Status::Ended { .. } => Ok(()),
    }
}

/// Refuses what needs a person's checkout, or the files of the loop, where other machines have them.
pub(crate) fn not_at_a_desk(engine: &Engine, state: &LoopState, what: &str) -> Result<(), Problem> {
    if !engine.is_one_of_several() {
        return Ok(());
    }
    let branch =
        state.workspace.as_ref().and_then(|known| known.branch.as_ref()).unwrap_or(&state.spec.workspace.branch);
    Err(Problem::refused(
        format!("{}: {what} is not available for loops of a fleet", state.name),
        format!("its work is on the branch {branch} of the hub; fetch it and use git"),
    ))
}

/// Whether the loop has its own directory.
fn has_own_workspace(state: &LoopState) -> bool {
    match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.workspace.is_some(),
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    }
}
