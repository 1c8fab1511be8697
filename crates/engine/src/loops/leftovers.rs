//! What loops that nobody drives left behind: found for all of them, and removed.

use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState};
use windlass_core::residue::Leftover;
use windlass_core::stop::Status;
use windlass_store::ListFilter;

use crate::engine::{Engine, EngineError};
use crate::journal;
use crate::residue::{look, remove};
use crate::sandbox::{has_placeholders, remove_placeholders};

impl Engine {
    /// Loops that nobody drives and of which something is left, each with what it is.
    pub async fn all_residue(&self) -> Result<Vec<(LoopState, Vec<Leftover>)>, EngineError> {
        let mut found = Vec::new();
        for listed in self.store.list(ListFilter::default()).await? {
            if listed.is_driven() {
                continue;
            }
            let state = journal::load(self.store.as_ref(), &LoopId(listed.entry.id.clone())).await?;
            let left = self.residue(&state).await;
            if !left.is_empty() {
                found.push((state, left));
            }
        }
        Ok(found)
    }

    /// Ends and removes what is left of a loop that nobody drives; what could not be is returned, and journalled.
    pub async fn remove_residue(self: &Arc<Self>, id: &LoopId) -> Result<Vec<Leftover>, EngineError> {
        let mut held = self.take(id).await?;
        let places = self.places_of(&held.state);
        let left = tokio::task::spawn_blocking(move || {
            remove(&places);
            look(&places)
        });
        let left = left.await.unwrap_or_default();
        if let Status::Ended { .. } | Status::Paused { .. } = held.state.status() {
            self.apply(&mut held, &Input::ResidueChecked { left: left.clone() }).await?;
        }
        self.release(held).await?;
        Ok(left)
    }

    /// Removes what killed drivers left in users' checkouts: names that sandboxes sealed while they did not exist.
    pub(crate) async fn remove_stale_placeholders(&self) {
        for entry in std::fs::read_dir(self.data.root().join("tmp")).into_iter().flatten().flatten() {
            let temp = entry.path();
            let id = entry.file_name().to_string_lossy().into_owned();
            if !has_placeholders(&temp) {
                continue;
            }
            // What cannot be read may be in use.
            let Ok(holder) = self.store.holder(&id).await else { continue };
            if !holder.is_some_and(|lease| lease.drives()) {
                remove_placeholders(&temp);
            }
        }
    }
}
