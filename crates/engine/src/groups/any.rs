//! A group of any kind that this process holds.

use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::group::merges::Merges;
use windlass_core::group::tries::Tries;
use windlass_core::group::{Group, GroupId, GroupKind, GroupRow};

use super::{DrivingGroup, HeldGroup, MergesKind, TriesKind};
use crate::engine::{Engine, EngineError};

#[derive(Debug)]
pub enum AnyGroup {
    Tries(Box<HeldGroup<Tries>>),
    Merges(Box<HeldGroup<Merges>>),
}

impl AnyGroup {
    /// Takes the lease of a group that nobody living holds. `None` for the queue of goals, which has limits to read first.
    pub async fn take(engine: &Engine, kind: GroupKind, id: &GroupId) -> Result<Option<Self>, EngineError> {
        Ok(match kind {
            GroupKind::Tries => Some(AnyGroup::Tries(Box::new(engine.take_group(id).await?))),
            GroupKind::Merges => Some(AnyGroup::Merges(Box::new(engine.take_group(id).await?))),
            GroupKind::Queue => None,
        })
    }

    pub fn row(&self) -> GroupRow {
        match self {
            AnyGroup::Tries(held) => held.state.row(),
            AnyGroup::Merges(held) => held.state.row(),
        }
    }

    pub fn drive(self, engine: &Arc<Engine>, shutdown: watch::Receiver<bool>) -> Result<DrivingGroup, EngineError> {
        match self {
            AnyGroup::Tries(held) => engine.drive_group(Arc::new(TriesKind), *held, shutdown),
            AnyGroup::Merges(held) => engine.drive_group(Arc::new(MergesKind), *held, shutdown),
        }
    }

    pub async fn release(self, engine: &Engine) -> Result<(), EngineError> {
        match self {
            AnyGroup::Tries(held) => engine.release_group(*held).await,
            AnyGroup::Merges(held) => engine.release_group(*held).await,
        }
    }
}
