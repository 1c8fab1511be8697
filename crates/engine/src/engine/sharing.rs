//! An engine on a machine that is one of several: what it brings, publishes and ships.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::{Event, LoopState};
use windlass_store::{Create, Holder, StoreError};

use super::{Engine, Held, workspace_of};
use crate::failure::{DriveError, EngineError};
use crate::journal;
use crate::outside::{FleetQueue, Station, WorkerView};
use crate::view::catalogue_entry;

/// A new loop with what led to it.
pub(crate) struct Submission<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) state: LoopState,
    pub(crate) events: Vec<Event>,
    pub(crate) holder: Holder,
}

impl Engine {
    /// The name by which the store knows the project in a directory.
    pub(crate) fn project_name(&self, dir: &Path) -> Result<String, EngineError> {
        match &self.station {
            Some(station) => Ok(station.project_key(dir)?),
            None => Ok(dir.to_string_lossy().into_owned()),
        }
    }

    /// Writes a loop that the next free machine makes the workspace of.
    pub(crate) async fn submit(&self, station: &dyn Station, new: Submission<'_>) -> Result<Held, EngineError> {
        let Submission { dir, mut state, mut events, holder } = new;
        let (token, now) = (holder.token.clone(), self.clock.now());
        let base = station.submit(&state, dir).await?;
        state.spec.workspace.base = Some(base.clone());
        if let Some(Event::LoopCreated { spec, .. }) = events.first_mut() {
            spec.workspace.base = Some(base);
        }
        let entry = catalogue_entry(&state);
        let events = events.iter().map(|event| journal::encode(now, event)).collect();
        self.store.create(Create { entry, events, holder: Some(holder) }).await?;
        self.hub()?.open_line(&state.id.0);
        Ok(Held { state, token })
    }

    /// The same as one machine of several.
    #[must_use]
    pub fn at_station(mut self, station: Arc<dyn Station>) -> Self {
        self.station = Some(station);
        self
    }

    /// Gives a loop that this process just took the paths of this machine.
    pub(crate) async fn settle_in(&self, state: &mut LoopState, token: &str) -> Result<(), EngineError> {
        let Some(station) = &self.station else { return Ok(()) };
        let mirror = station.bring(state, token).await?;
        self.give_paths(state, &mirror).await?;
        Ok(())
    }

    /// Whether other machines may drive the loops of this store.
    pub fn is_one_of_several(&self) -> bool {
        self.station.is_some()
    }

    /// The machines that drive loops of this store, or serve them. None if this one is alone.
    pub async fn workers(&self) -> Result<Vec<WorkerView>, StoreError> {
        match &self.station {
            Some(station) => station.workers().await,
            None => Ok(Vec::new()),
        }
    }

    /// The loops that no machine has, and the limits. None if this one is alone.
    pub async fn fleet_queue(&self) -> Result<FleetQueue, StoreError> {
        match &self.station {
            Some(station) => station.queue().await,
            None => Ok(FleetQueue::default()),
        }
    }

    /// Asks living workers of this name or ID to drain; returns their names.
    pub async fn drain_worker(&self, worker: &str) -> Result<Vec<String>, StoreError> {
        match &self.station {
            Some(station) => station.drain(worker).await,
            None => Ok(Vec::new()),
        }
    }

    /// A loop that is only looked at, with the paths of this machine.
    pub async fn at_hand(&self, mut state: LoopState) -> Result<LoopState, EngineError> {
        if let Some(station) = &self.station {
            let mirror = station.look(&state).await?;
            self.give_paths(&mut state, &mirror).await?;
        }
        Ok(state)
    }

    pub(crate) async fn use_files(&self, state: &LoopState, token: &str) -> Result<(), DriveError> {
        match &self.station {
            Some(station) => station.use_files(state, token).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn give_paths(&self, state: &mut LoopState, mirror: &Path) -> Result<(), DriveError> {
        state.project = mirror.to_string_lossy().into_owned();
        if state.workspace.is_none() {
            return Ok(());
        }
        let recorded = workspace_of(state)?;
        let here = self.workspaces.on_this_machine(recorded, &self.data.worktrees(), mirror).await?;
        if let Some(known) = &mut state.workspace {
            known.dir = here.dir.to_string_lossy().into_owned();
            known.handle = serde_json::to_value(&here).unwrap_or_default();
        }
        Ok(())
    }

    /// Publishes what an effect committed.
    pub(crate) async fn publish(&self, state: &LoopState) -> Result<(), DriveError> {
        let (Some(station), true) = (&self.station, state.workspace.is_some()) else { return Ok(()) };
        station.publish(state, &workspace_of(state)?).await
    }

    /// The machine's station and how often it wants the files of this turn, if other machines may continue it.
    pub(crate) fn saves(&self, state: &LoopState, turn: TurnKey) -> Option<(&dyn Station, Duration)> {
        let station = self.station.as_deref().filter(|_| state.can_move() && !turn.role.only_reads())?;
        Some((station, station.snapshot_every()?))
    }

    /// After a commit, nobody continues with an older state of the files.
    pub(crate) async fn remove_snapshots(&self, state: &LoopState) {
        let (Some(station), Ok(workspace)) = (&self.station, workspace_of(state)) else { return };
        if let Err(error) = station.remove_snapshots(state, &workspace).await {
            tracing::warn!(loop_id = %state.id, %error, "cannot remove the snapshots of a turn");
        }
    }

    pub(crate) fn begin_shipping(&self, state: &LoopState, turn: TurnKey) {
        if let Some(station) = &self.station {
            station.begin(&state.id, turn);
        }
    }

    pub(crate) async fn flush_turn(&self, state: &LoopState, turn: TurnKey) -> Result<(), DriveError> {
        match &self.station {
            Some(station) => station.flush(&state.id, turn).await,
            None => Ok(()),
        }
    }

    /// Brings the files of a turn to this machine, if another one has them.
    pub async fn fetch_turn(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError> {
        match &self.station {
            Some(station) => station.fetch(id, turn).await,
            None => Ok(()),
        }
    }
}
