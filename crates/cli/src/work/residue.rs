//! What loops left behind, cleared away by `clean`.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_engine::engine::{Engine, EngineError, is_alive};
use windlass_server::Residue;
use windlass_store::Listed;

use crate::failure::Failure;
use crate::{follow, loops};

/// `None` where nothing is left, or somebody drives the loop.
pub async fn remove(engine: &Arc<Engine>, one: &Listed, dry_run: bool) -> Result<Option<Residue>, Failure> {
    if one.holder.as_ref().is_some_and(is_alive) {
        return Ok(None);
    }
    let id = loops::id(one);
    let found = engine.residue(&follow::state(engine, &id).await?).await;
    if found.is_empty() {
        return Ok(None);
    }
    let left = if dry_run {
        found.clone()
    } else {
        match engine.remove_residue(&id).await {
            Ok(left) => left,
            Err(EngineError::Driven { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    Ok(Some(Residue { id: id.0, name: one.entry.name.clone(), found, left }))
}

pub fn words(residue: &[Residue], dry_run: bool) -> String {
    let mut text = String::new();
    for Residue { name, found, left, .. } in residue {
        for one in found {
            let what = format!("{name}: {} {}", one.kind.name(), one.what);
            let _ = if dry_run {
                writeln!(text, "would go  {what}")
            } else if left.contains(one) {
                writeln!(text, "stays     {what} (to do: {})", one.fix)
            } else {
                writeln!(text, "removed   {what}")
            };
        }
    }
    text
}
