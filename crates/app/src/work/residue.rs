//! What loops left behind, cleared away by `clean`.

use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_engine::engine::{Engine, EngineError};
use windlass_engine::journal;
use windlass_store::Listed;

use crate::problem::Problem;
use crate::reports::Residue;

/// `None` where nothing is left, or somebody drives the loop.
pub(super) async fn remove(engine: &Arc<Engine>, one: &Listed, dry_run: bool) -> Result<Option<Residue>, Problem> {
    if one.is_driven() {
        return Ok(None);
    }
    let id = LoopId(one.entry.id.clone());
    let found = engine.residue(&journal::load(engine.store.as_ref(), &id).await?).await;
    if found.is_empty() {
        return Ok(None);
    }
    let left = if dry_run {
        found.clone()
    } else {
        match engine.remove_residue(&id).await {
            Ok(left) => left,
            Err(EngineError::Driven { .. } | EngineError::Unseen { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    Ok(Some(Residue { id: id.0, name: one.entry.name.clone(), found, left }))
}
