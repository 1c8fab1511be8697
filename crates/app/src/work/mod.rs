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

/// Whether the loop has its own directory.
fn has_own_workspace(state: &LoopState) -> bool {
    match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.workspace.is_some(),
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    }
}
