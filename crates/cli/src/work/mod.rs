//! Commands about a loop's work: `diff`, `rollback`, `merge`, `clean`.

mod clean;
mod diff;
mod merge;
mod residue;
mod rollback;

use std::sync::Arc;

use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::work::NoSuchPoint;

pub use clean::{clean, look_at_all as clean_these, report as clean_report, retention_days, shown as show_cleaned};
pub use diff::{diff, shown as show_diff};
pub use merge::{bring_home, merge, shown as show_merge};
pub use rollback::{rollback, shown as rollback_shown, take_back};

use crate::context::Context;
use crate::failure::Failure;
use crate::loops;

/// The loop of this name, held so that nobody starts it meanwhile. It has to be released.
async fn hold(context: &Context, name: &str) -> Result<(Arc<Engine>, Held), Failure> {
    let engine = context.engine().await?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), name).await?;
    let held = engine.take(&loops::id(&listed)).await?;
    Ok((engine, held))
}

fn no_such_point(error: &NoSuchPoint, name: &str) -> Failure {
    let hint = match error {
        NoSuchPoint::NoWorkspace => "the loop has not made anything yet".to_owned(),
        NoSuchPoint::NoIteration { last: 0, .. } => format!("it has none yet: `windlass status {name}`"),
        NoSuchPoint::NoIteration { last, .. } => format!("it has 1 to {last}; `windlass status {name}` lists them"),
        NoSuchPoint::NotCommitted { .. } => {
            "the loop runs with --commit off, so that there is only one state".to_owned()
        }
    };
    Failure::usage(format!("{name}: {error}"), hint)
}

/// Whether the loop has a directory of its own.
fn has_own_workspace(state: &LoopState) -> bool {
    match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.workspace.is_some(),
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    }
}
