//! This machine as one of a fleet: its mirrors, the hub, and whose files are current.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OnceCell, watch};
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::LoopState;
use windlass_engine::data::{DataDir, TurnFiles};
use windlass_engine::driver::DriveError;
use windlass_engine::engine::EngineError;
use windlass_engine::outside::{FleetQueue, Station, Transcripts, Wait, WorkerView};
use windlass_engine::socket::Listening;
use windlass_store::{Held, Seat, Store, StoreError};
use windlass_workspace::{Pushed, Snapshot, Workspace, WorkspaceError, Workspaces};

use crate::metrics::Counts;
use crate::output::{Replica, Shipper, Wire};
use crate::store::{PgStore, Worker};

/// Looks again for a holder that died, which nobody tells.
const LOOK: Duration = Duration::from_secs(1);
/// Every so many looks, the workers hear that somebody still watches.
const LOOKS_PER_WORD: u32 = 5;
/// A branch that other machines keep moving is left for the next try.
const MOST_PUSHES: u32 = 3;

/// How a worker treats the loops that it drives.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// A loop that waits longer is given back meanwhile.
    pub park_after: Duration,
    /// How often the files of a running turn are saved for other workers.
    pub snapshot_every: Option<Duration>,
}

#[derive(Debug)]
pub struct FleetStation {
    pub(crate) store: PgStore,
    pub(crate) worker: Worker,
    data: DataDir,
    workspaces: Workspaces,
    /// A directory of bare repositories, or an address in front of `/<project>.git`.
    hub: String,
    /// The name of the project that this process submits loops of.
    project: Option<String>,
    /// None where nothing is driven.
    habits: Option<Habits>,
    tokens: Arc<Mutex<HashMap<String, String>>>,
    mirrors: tokio::sync::Mutex<()>,
    pub(crate) shipper: Shipper,
    pub(crate) counts: Arc<Counts>,
    pub(crate) replica: Arc<Replica>,
    wire: OnceCell<Arc<Wire>>,
}

impl FleetStation {
    pub fn new(store: PgStore, worker: Worker, data: DataDir, workspaces: Workspaces, hub: String) -> Self {
        let tokens: Arc<Mutex<HashMap<String, String>>> = Arc::default();
        let counts = Arc::new(Counts::default());
        let shipper = Shipper::new(store.clone(), data.clone(), Arc::clone(&tokens), Arc::clone(&counts));
        let replica = Arc::new(Replica::new(store.clone(), data.clone()));
        let (mirrors, wire) = (tokio::sync::Mutex::default(), OnceCell::new());
        let (project, habits) = (None, None);
        Self { store, worker, data, workspaces, hub, project, habits, tokens, mirrors, shipper, counts, replica, wire }
    }

    /// The same for a worker.
    #[must_use]
    pub fn with_habits(self, habits: Option<Habits>) -> Self {
        Self { habits, ..self }
    }

    /// The same for a process that submits loops of this project.
    #[must_use]
    pub fn of_project(self, project: Option<String>) -> Self {
        Self { project, ..self }
    }

    /// The files of a turn on this machine.
    pub(crate) fn turn_files(&self, id: &LoopId, turn: TurnKey) -> TurnFiles {
        self.data.turn(id, turn)
    }

    /// The repository of a project on the hub.
    fn on_hub(&self, key: &str) -> String {
        format!("{}/{}.git", self.hub.trim_end_matches('/'), key.trim_start_matches("git:"))
    }

    /// The same of the project that a workspace's mirror is of.
    fn hub_of(&self, workspace: &Workspace) -> String {
        let key = workspace.home.checkout.file_name().map(|name| name.to_string_lossy().into_owned());
        self.on_hub(&key.unwrap_or_default())
    }

    /// The token with which this process holds a loop.
    pub(crate) fn token(&self, loop_id: &str) -> Option<String> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(loop_id).cloned()
    }

    /// What the database tells this process.
    pub(crate) async fn wire(&self) -> Result<&Arc<Wire>, StoreError> {
        self.wire.get_or_try_init(|| Wire::open(&self.store, Arc::clone(&self.replica))).await
    }

    fn mirror_of(&self, state: &LoopState) -> Result<PathBuf, EngineError> {
        let root = self.data.root().canonicalize().map_err(data_error)?;
        Ok(root.join("mirrors").join(state.project.trim_start_matches("git:")))
    }

    /// Brings the loop's commits into its project's mirror.
    async fn fetch_commits(&self, state: &LoopState, mirror: &Path) -> Result<(), WorkspaceError> {
        let making = self.mirrors.lock().await;
        self.workspaces.make_mirror(mirror).await?;
        drop(making);
        let branch = state.workspace.as_ref().and_then(|known| known.branch.as_deref());
        let branch = branch.unwrap_or(&state.spec.workspace.branch);
        self.workspaces.fetch_loop(mirror, &self.on_hub(&state.project), &state.id.0, branch).await
    }

    /// Notes whose files are here now. Whole or not at all: a part of a token would fit no stretch, which costs a turn and no
    /// truth.
    fn note_stretch(&self, loop_id: &str, token: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.data.root().join("stretches"))?;
        std::fs::write(self.stretch_file(loop_id), token)
    }

    fn set_stale_aside(&self, loop_id: &str) -> Result<(), WorkspaceError> {
        self.workspaces.set_stale_aside(&self.data.worktrees(), loop_id, &self.data.rubbish())
    }

    fn keep_token(&self, loop_id: &str, token: &str) {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(loop_id.to_owned(), token.to_owned());
    }

    /// Says which stretch the files of a loop on this machine are of.
    fn stretch_file(&self, loop_id: &str) -> PathBuf {
        self.data.root().join("stretches").join(loop_id)
    }

    async fn holds(&self, loop_id: &str) -> Result<bool, StoreError> {
        let held = self.store.holder(loop_id).await?;
        Ok(held.map(|held| held.holder.token) == self.token(loop_id))
    }
}

fn data_error(error: io::Error) -> EngineError {
    EngineError::Data(error)
}

#[async_trait]
impl Station for FleetStation {
    fn seat(&self) -> Seat {
        Seat::Worker { id: self.worker.id.clone(), name: self.worker.name.clone() }
    }

    fn project_key(&self, dir: &Path) -> Result<String, WorkspaceError> {
        let name = self.project.clone().or_else(|| Some(dir.file_name()?.to_string_lossy().into_owned()));
        let name = name.unwrap_or_else(|| "project".to_owned());
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
        Ok(format!("git:{}", name.trim_start_matches('.').chars().map(plain).collect::<String>()))
    }

    async fn submit(&self, state: &LoopState, dir: &Path) -> Result<String, WorkspaceError> {
        let hub = self.on_hub(&state.project);
        let here = Path::new(&hub);
        if here.is_absolute() && !here.join("HEAD").is_file() {
            self.workspaces.make_bare(here).await?;
        }
        let spec = &state.spec.workspace;
        self.workspaces.submit_base(dir, &hub, &state.id.0, &spec.branch, spec.base.as_deref()).await
    }

    async fn bring(&self, state: &LoopState, token: &str) -> Result<PathBuf, EngineError> {
        let id = &state.id.0;
        let mirror = self.mirror_of(state)?;
        if self.worker.is_desk {
            // What is asked of a desk rarely needs files, and `use_files` looks at them then.
            if state.workspace.is_some()
                && let Err(error) = self.fetch_commits(state, &mirror).await
            {
                tracing::warn!(loop_id = id, %error, "cannot fetch the loop's commits from the hub");
            }
            self.keep_token(id, token);
            return Ok(mirror);
        }
        let before = self.store.token_before(id).await?;
        let known = std::fs::read_to_string(self.stretch_file(id)).ok();
        // This stretch, if the loop is looked at again, or the one before it.
        let is_current = known.as_ref().is_some_and(|known| known == token || Some(known) == before.as_ref());
        if !is_current || !mirror.exists() {
            if !is_current {
                // Another machine worked on the loop since: what lies here is older than the journal.
                self.set_stale_aside(id)?;
            }
            self.fetch_commits(state, &mirror).await?;
        }
        self.note_stretch(id, token).map_err(data_error)?;
        self.keep_token(id, token);
        Ok(mirror)
    }

    async fn use_files(&self, state: &LoopState, token: &str) -> Result<(), DriveError> {
        if !self.worker.is_desk {
            return Ok(());
        }
        let id = &state.id.0;
        let known = std::fs::read_to_string(self.stretch_file(id)).ok();
        let before = self.store.use_files(id, token).await?;
        if known.as_deref() != Some(token) && known != before {
            self.set_stale_aside(id)?;
        }
        let noted = self.note_stretch(id, token);
        noted.map_err(|error| DriveError::Lost(format!("cannot write to the data directory: {error}")))
    }

    async fn look(&self, state: &LoopState) -> Result<PathBuf, EngineError> {
        let mirror = self.mirror_of(state)?;
        self.fetch_commits(state, &mirror).await?;
        Ok(mirror)
    }

    async fn publish(&self, state: &LoopState, workspace: &Workspace) -> Result<(), DriveError> {
        let id = &state.id.0;
        let Some(tip) = self.workspaces.branch_tip(workspace).await? else { return Ok(()) };
        let expected = state.head_commit().unwrap_or(&workspace.base_commit).to_owned();
        if tip == expected {
            return Ok(());
        }
        let hub = self.hub_of(workspace);
        let mut pushed = Pushed::Elsewhere { found: Some(expected.clone()) };
        for attempt in 0..MOST_PUSHES {
            if !self.holds(id).await? {
                return Err(StoreError::LeaseLost { loop_id: id.clone() }.into());
            }
            pushed = match &pushed {
                Pushed::Moved => break,
                Pushed::Elsewhere { .. } if attempt == 0 => {
                    self.workspaces.push_branch(workspace, &hub, &tip, &expected).await?
                }
                Pushed::Elsewhere { found } => {
                    tracing::warn!(
                        loop_id = id,
                        ?found,
                        "a machine that lost the loop moved its branch; keeping that commit"
                    );
                    self.workspaces.push_over(workspace, &hub, &tip, found.as_deref()).await?
                }
            };
        }
        match pushed {
            Pushed::Moved => Ok(()),
            Pushed::Elsewhere { .. } => {
                Err(DriveError::Lost("other machines keep moving the loop's branch".to_owned()))
            }
        }
    }

    fn snapshot_every(&self) -> Option<Duration> {
        self.habits?.snapshot_every
    }

    async fn publish_snapshot(
        &self,
        state: &LoopState,
        workspace: &Workspace,
        snapshot: &Snapshot,
    ) -> Result<(), DriveError> {
        let id = &state.id.0;
        if !self.holds(id).await? {
            return Err(StoreError::LeaseLost { loop_id: id.clone() }.into());
        }
        self.workspaces.push_snapshot(workspace, &self.hub_of(workspace), snapshot).await?;
        Counts::one(&self.counts.snapshots);
        Ok(())
    }

    async fn remove_snapshots(&self, _: &LoopState, workspace: &Workspace) -> Result<(), DriveError> {
        Ok(self.workspaces.remove_snapshots(workspace, &self.hub_of(workspace)).await?)
    }

    async fn workers(&self) -> Result<Vec<WorkerView>, StoreError> {
        self.store.workers().await
    }

    async fn queue(&self) -> Result<FleetQueue, StoreError> {
        self.store.queue().await
    }

    async fn park(&self, id: &LoopId, token: &str, wait: Wait) -> Result<bool, StoreError> {
        let Some(most) = self.habits.map(|habits| habits.park_after).filter(|most| wait.time > *most) else {
            return Ok(false);
        };
        tracing::info!(loop_id = %id, seconds = wait.time.as_secs(), ?most, "parks the loop until its wait is over");
        self.store.park(&id.0, token, wait).await?;
        Counts::one(&self.counts.parked);
        Ok(true)
    }

    async fn drain(&self, worker: &str) -> Result<Vec<String>, StoreError> {
        self.store.drain(worker).await
    }

    async fn listen(&self, _: &Seat, loop_id: &str) -> io::Result<Listening> {
        let mut news = self.wire().await.map_err(io::Error::other)?.of(loop_id);
        let (store, id) = (self.store.clone(), loop_id.to_owned());
        let (tell, told) = watch::channel(0_u64);
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            let mut looks = 0_u32;
            loop {
                tokio::select! {
                    () = tell.closed() => return,
                    heard = news.changed() => if heard.is_err() { return },
                    _ = look.tick() => {
                        if looks.is_multiple_of(LOOKS_PER_WORD) && store.watch(&id).await.is_err() {
                            return;
                        }
                        looks = looks.wrapping_add(1);
                    }
                }
                // Dropping the sender says that nobody drives the loop any more.
                match store.holder(&id).await {
                    Ok(Some(held)) if Held::drives(&held) => tell.send_modify(|count| *count += 1),
                    Ok(_) | Err(_) => return,
                }
            }
        });
        Ok(Listening::here(told))
    }
}

#[async_trait]
impl Transcripts for FleetStation {
    fn begin(&self, id: &LoopId, turn: TurnKey) {
        self.shipper.begin(id, turn);
    }

    async fn flush(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError> {
        self.shipper.flush(id, turn).await
    }

    async fn fetch(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError> {
        if self.shipper.writes(id, turn) { Ok(()) } else { self.replica.fetch(id, turn).await }
    }
}
