//! The work of a loop: merged, reverted, cleared away.

mod clean;
mod merge;
mod residue;
mod rollback;

use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;

/// Whether the loop has its own directory.
fn has_own_workspace(state: &LoopState) -> bool {
    match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.workspace.is_some(),
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    }
}
