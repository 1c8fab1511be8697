//! A loop reverted to an iteration.

use std::sync::Arc;

use windlass_engine::engine::{Engine, Held};
use windlass_engine::work;

use super::not_at_a_desk;
use crate::diff::no_such_point;
use crate::local::Local;
use crate::problem::Problem;
use crate::reports::RollbackReport;
use crate::request::Request;
use crate::requests::RollbackLoop;

impl Request for RollbackLoop {
    type Report = RollbackReport;
    const NAME: &'static str = "rollback";

    async fn perform(self, here: &Local) -> Result<RollbackReport, Problem> {
        here.held(&self.id, async |engine, held| take_back(engine, held, self.to).await).await
    }
}

/// Takes a held loop back to an iteration.
async fn take_back(engine: &Arc<Engine>, held: &mut Held, to: u32) -> Result<RollbackReport, Problem> {
    not_at_a_desk(engine, &held.state, "rollback")?;
    let to = work::point(&held.state, to).map_err(|error| no_such_point(&error, &held.state.name))?;
    let restored = engine.rollback(held, &to).await?;
    let files: Vec<String> = restored.changed.iter().map(|file| file.path.to_string()).collect();
    Ok(RollbackReport {
        name: held.state.name.clone(),
        to_iteration: to.iteration,
        commit: to.commit,
        saved: restored.saved.map(|saved| saved.name),
        files_changed: files.len(),
        files,
        notes: restored.notes,
    })
}
