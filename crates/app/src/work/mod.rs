//! The work of a loop: merged, taken back, cleared away.

mod clean;
mod merge;
mod residue;
mod rollback;

use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;
use windlass_core::stop::Status;

use crate::problem::Problem;

/// Refuses a loop that still works on its branch.
pub(crate) fn at_rest(state: &LoopState) -> Result<(), Problem> {
    let name = &state.name;
    match state.status() {
        Status::Queued | Status::Running | Status::Waiting { .. } => Err(Problem::refused(
            format!("{name} has not ended: its branch can still change"),
            format!("`windlass resume {name}` continues it if it was interrupted, `windlass stop {name}` ends it"),
        )),
        Status::Paused { .. } | Status::Ended { .. } => Ok(()),
    }
}

/// Whether the loop has a directory of its own.
fn has_own_workspace(state: &LoopState) -> bool {
    match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.workspace.is_some(),
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    }
}
