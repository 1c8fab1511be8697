//! A machine that is one of several: its loops come from elsewhere and may continue elsewhere.
//!
//! Without a station, loops belong to this machine, and nothing here is used. The journal has the paths of the machine that
//! wrote them; a loop that is held has those of this one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};
use windlass_store::{Create, Holder, Seat, StoreError};
use windlass_workspace::{Workspace, WorkspaceError};

use crate::driver::{DriveError, workspace_handle};
use crate::engine::{Engine, EngineError, Held};
use crate::journal;
use crate::outside::{FleetQueue, Transcripts, WorkerView};
use crate::socket::Listening;
use crate::view::catalogue_entry;

/// How long a loop waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    pub time: Duration,
    /// Its agent's account is over its limit until then.
    pub limited: bool,
}

/// What a machine shares with the others.
#[async_trait]
pub trait Station: Transcripts {
    /// Who this process is to the others.
    fn seat(&self) -> Seat;

    /// The name by which all machines know the project in this directory.
    fn project_key(&self, dir: &Path) -> Result<String, WorkspaceError>;

    /// Publishes the commit that a new loop of the project in `dir` starts from, and returns it.
    async fn submit(&self, state: &LoopState, dir: &Path) -> Result<String, WorkspaceError>;

    /// Called when this process took the loop: fetches its commits, moves files away that are older than its journal, and
    /// returns the project's repository on this machine.
    async fn bring(&self, state: &LoopState, token: &str) -> Result<PathBuf, EngineError>;

    /// Called before files of a held loop are used. What lies here may be of an older stretch.
    async fn use_files(&self, state: &LoopState, token: &str) -> Result<(), DriveError>;

    /// Fetches the commits of a loop that is only looked at, and returns the project's repository on this machine.
    async fn look(&self, state: &LoopState) -> Result<PathBuf, EngineError>;

    /// Publishes the loop's branch. The journal names a commit only after that.
    async fn publish(&self, state: &LoopState, workspace: &Workspace) -> Result<(), DriveError>;

    /// The machines that were seen in the last minute.
    async fn workers(&self) -> Result<Vec<WorkerView>, StoreError>;

    /// Asks living workers of this name or ID to drain; returns their names.
    async fn drain(&self, worker: &str) -> Result<Vec<String>, StoreError>;

    /// The loops that no machine has, and the limits.
    async fn queue(&self) -> Result<FleetQueue, StoreError>;

    /// Notes that the held loop is to be taken again after this time. Says whether it may be released until then.
    async fn park(&self, id: &LoopId, token: &str, wait: Wait) -> Result<bool, StoreError>;

    /// Connects to the holder of a loop, which wakes its driver.
    async fn listen(&self, seat: &Seat, loop_id: &str) -> io::Result<Listening>;
}

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
        let recorded = workspace_handle(state)?;
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
        station.publish(state, &workspace_handle(state)?).await
    }
}
