//! A machine that is one of several: its loops come from elsewhere and may continue elsewhere.
//!
//! Without a station, loops belong to this machine, and nothing here is used. The journal has the paths of the machine that
//! wrote them; a loop that is held has those of this one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_store::{Seat, StoreError};
use windlass_workspace::{Snapshot, Workspace, WorkspaceError};

use crate::failure::{DriveError, EngineError};
use crate::outside::{FleetQueue, Transcripts, WorkerView};
use crate::socket::Listening;

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

    /// How often the files of a running turn are saved for other machines. None if they are not.
    fn snapshot_every(&self) -> Option<Duration>;

    /// Publishes the files of a running turn. They are no commit of the loop: who takes it over continues with them.
    async fn publish_snapshot(
        &self,
        state: &LoopState,
        workspace: &Workspace,
        snapshot: &Snapshot,
    ) -> Result<(), DriveError>;

    /// Removes the loop's snapshots, since a published commit has what they had.
    async fn remove_snapshots(&self, state: &LoopState, workspace: &Workspace) -> Result<(), DriveError>;

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
