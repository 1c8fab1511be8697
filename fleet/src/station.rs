//! This machine as one of a fleet: its mirrors, the hub, and whose files are current.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_core::machine::LoopState;
use windlass_engine::data::DataDir;
use windlass_engine::driver::DriveError;
use windlass_engine::engine::EngineError;
use windlass_engine::outside::Station;
use windlass_engine::socket::Listening;
use windlass_store::{Held, Seat, Store, StoreError};
use windlass_workspace::{Pushed, Workspace, WorkspaceError, Workspaces};

use crate::store::{NEWS, PgStore, Worker};

/// Looks again for a holder that died, which nobody tells.
const LOOK: Duration = Duration::from_secs(1);
/// A branch that other machines keep moving is left for the next try.
const MOST_PUSHES: u32 = 3;

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
    tokens: Mutex<HashMap<String, String>>,
    mirrors: tokio::sync::Mutex<()>,
}

impl FleetStation {
    pub fn new(store: PgStore, worker: Worker, data: DataDir, workspaces: Workspaces, hub: String) -> Self {
        let (tokens, mirrors) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { store, worker, data, workspaces, hub, project: None, tokens, mirrors }
    }

    /// The same for a process that submits loops of this project.
    #[must_use]
    pub fn of_project(self, project: Option<String>) -> Self {
        Self { project, ..self }
    }

    /// The repository of a project on the hub.
    fn on_hub(&self, key: &str) -> String {
        format!("{}/{}.git", self.hub.trim_end_matches('/'), key.trim_start_matches("git:"))
    }

    /// The token with which this process holds a loop.
    pub(crate) fn token(&self, loop_id: &str) -> Option<String> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(loop_id).cloned()
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
        let root = self.data.root().canonicalize().map_err(data_error)?;
        let mirror = root.join("mirrors").join(state.project.trim_start_matches("git:"));
        let stretch = self.stretch_file(id);
        let before = self.store.token_before(id).await?;
        let known = std::fs::read_to_string(&stretch).ok();
        // This stretch, if the loop is looked at again, or the one before it.
        let is_current = known.as_ref().is_some_and(|known| known == token || Some(known) == before.as_ref());
        if !is_current || !mirror.exists() {
            if !is_current {
                // Another machine worked on the loop since: what lies here is older than the journal.
                self.workspaces.set_stale_aside(&self.data.worktrees(), id, &self.data.rubbish())?;
            }
            let making = self.mirrors.lock().await;
            self.workspaces.make_mirror(&mirror).await?;
            drop(making);
            let branch = state.workspace.as_ref().and_then(|known| known.branch.as_deref());
            let branch = branch.unwrap_or(&state.spec.workspace.branch);
            self.workspaces.fetch_loop(&mirror, &self.on_hub(&state.project), id, branch).await?;
        }
        std::fs::create_dir_all(self.data.root().join("stretches")).map_err(data_error)?;
        // Whole or not at all: a part of a token would fit no stretch, which costs a turn and no truth.
        std::fs::write(&stretch, token).map_err(data_error)?;
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), token.to_owned());
        Ok(mirror)
    }

    async fn publish(&self, state: &LoopState, workspace: &Workspace) -> Result<(), DriveError> {
        let id = &state.id.0;
        let Some(tip) = self.workspaces.branch_tip(workspace).await? else { return Ok(()) };
        let expected = state.head_commit().unwrap_or(&workspace.base_commit).to_owned();
        if tip == expected {
            return Ok(());
        }
        let key = workspace.home.checkout.file_name().map(|name| name.to_string_lossy().into_owned());
        let hub = self.on_hub(&key.unwrap_or_default());
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

    async fn listen(&self, _: &Seat, loop_id: &str) -> io::Result<Listening> {
        let mut news = self.store.listener(&[NEWS]).await.map_err(io::Error::other)?;
        let (store, id) = (self.store.clone(), loop_id.to_owned());
        let (tell, told) = watch::channel(0_u64);
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            loop {
                tokio::select! {
                    () = tell.closed() => return,
                    heard = news.recv() => if !heard.is_ok_and(|heard| heard.payload() == id) { continue },
                    _ = look.tick() => {}
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
