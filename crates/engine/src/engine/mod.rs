//! The engine: what a process has to create, drive, follow and command loops with, and the loops that it holds.

mod reach;
mod secrets;
mod sharing;
pub mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState, decide};
use windlass_store::{Holder, Listed, Presence, Store, StoreError};
use windlass_supervise::Launcher;
use windlass_workspace::{Workspace, Workspaces};

use crate::clock::Clock;
use crate::command::Answer;
use crate::data::DataDir;
use crate::failure::DriveError;
use crate::journal;
use crate::outside::{Outside, Station};
use crate::places::{Drain, Places};
use crate::ports::Ports;
use crate::socket::Hub;
use secrets::LastSecrets;
use tools::ToolServer;

pub use crate::failure::EngineError;
pub(crate) use sharing::Submission;

#[derive(Debug)]
pub struct Engine {
    pub store: Arc<dyn Store>,
    pub data: DataDir,
    pub clock: Arc<dyn Clock>,
    pub launcher: Launcher,
    pub workspaces: Workspaces,
    /// The process's own environment; `environment` says what agents and gates get of it.
    pub env: BTreeMap<String, String>,
    /// What `{self}` in a profile stands for.
    pub own_program: PathBuf,
    pub(crate) hub: OnceLock<Hub>,
    tool_server: OnceLock<Arc<dyn ToolServer>>,
    pub(crate) ports: Ports,
    /// Who may run now.
    pub places: Places,
    /// Whether this process lets go of its loops.
    pub drain: Drain,
    pub(crate) last_secrets: LastSecrets,
    /// Loops with an id that was decided before are made one after the other: what a killed process left of one is removed first.
    pub(crate) making: tokio::sync::Mutex<()>,
    /// A simulated machine instead of this one.
    pub(crate) outside: Option<Arc<dyn Outside>>,
    /// What this machine shares with others, if it is one of several.
    pub(crate) station: Option<Arc<dyn Station>>,
}

/// A loop that this process holds the lease of.
#[derive(Debug)]
pub struct Held {
    pub state: LoopState,
    pub(crate) token: String,
}

impl Engine {
    pub fn new(
        store: Arc<dyn Store>,
        data: DataDir,
        clock: Arc<dyn Clock>,
        launcher: Launcher,
        workspaces: Workspaces,
        env: BTreeMap<String, String>,
        own_program: PathBuf,
    ) -> Self {
        Self {
            places: Places::in_dir(data.places()),
            store,
            data,
            clock,
            launcher,
            workspaces,
            env,
            own_program,
            hub: OnceLock::new(),
            tool_server: OnceLock::new(),
            ports: Ports::default(),
            drain: Drain::default(),
            last_secrets: LastSecrets::default(),
            making: tokio::sync::Mutex::default(),
            outside: None,
            station: None,
        }
    }

    /// The same on a simulated machine.
    #[must_use]
    pub fn on(self, outside: Arc<dyn Outside>) -> Self {
        Self { outside: Some(outside), ..self }
    }

    /// Who speaks with the agents of reviewed loops that this process drives.
    pub fn offer_tools(&self, server: Arc<dyn ToolServer>) {
        // Once is enough: all of them say the same.
        let _ = self.tool_server.set(server);
    }

    pub(crate) fn tool_server(&self) -> Option<Arc<dyn ToolServer>> {
        self.tool_server.get().cloned()
    }

    /// Takes the lease of a loop that nobody living holds. What cannot be known is not taken.
    pub async fn take(&self, id: &LoopId) -> Result<Held, EngineError> {
        let dead = self.dead_holder(&id.0).await?;
        self.take_from(id, dead).await
    }

    /// The token of a holder that is gone. Refused if it lives, or if nobody knows.
    pub(crate) async fn dead_holder(&self, id: &str) -> Result<Option<String>, EngineError> {
        let Some(lease) = self.store.holder(id).await? else { return Ok(None) };
        match lease.presence {
            Presence::Alive => Err(driven(&lease.holder)),
            Presence::Unknown => Err(EngineError::Unseen { by: lease.holder.seat.to_string() }),
            Presence::Gone => Ok(Some(lease.holder.token)),
        }
    }

    /// The same if a person vouches that a holder whose process cannot be seen from here is gone. Whoever lost the lease
    /// can write no more.
    pub async fn take_over(&self, id: &LoopId) -> Result<Held, EngineError> {
        match self.store.holder(&id.0).await? {
            Some(lease) if lease.presence == Presence::Alive => Err(driven(&lease.holder)),
            lease => self.take_from(id, lease.map(|lease| lease.holder.token)).await,
        }
    }

    async fn take_from(&self, id: &LoopId, dead: Option<String>) -> Result<Held, EngineError> {
        let holder = self.holder()?;
        let token = holder.token.clone();
        match self.store.acquire(&id.0, holder, dead.as_deref()).await {
            Ok(()) => {}
            Err(StoreError::Held(other)) => return Err(driven(&other)),
            Err(error) => return Err(error.into()),
        }
        self.hub()?.open_line(&id.0);
        let loaded = async {
            let mut state = journal::load(self.store.as_ref(), id).await?;
            self.settle_in(&mut state, &token).await?;
            Ok(state)
        };
        match loaded.await {
            Ok(state) => Ok(Held { state, token }),
            Err(error) => {
                self.give_back(&id.0, &token).await;
                Err(error)
            }
        }
    }

    pub async fn release(&self, held: Held) -> Result<(), EngineError> {
        let _line = self.hub()?.close_line(&held.state.id.0);
        Ok(self.store.release(&held.state.id.0, &held.token).await?)
    }

    pub(crate) async fn remove_record(&self, held: &Held) -> Result<(), EngineError> {
        let _line = self.hub()?.close_line(&held.state.id.0);
        Ok(self.store.remove(&held.state.id.0, &held.token).await?)
    }

    /// Asks the machine, and changes nothing.
    pub fn would_accept(&self, held: &Held, input: &Input) -> Result<(), EngineError> {
        decide(&held.state, input, self.clock.now())?;
        Ok(())
    }

    pub(crate) fn leaving_queue(&self, state: &LoopState) -> Input {
        let began = |turn| match &self.outside {
            Some(outside) => outside.turn_began(state, turn),
            None => self.data.turn(&state.id, turn).have_begun(),
        };
        Input::LeaveQueue { turn_began: state.turn().is_some_and(|running| began(running.key)) }
    }

    pub(crate) async fn answer(&self, item: &str) -> Result<Option<Answer>, EngineError> {
        let answer = self.store.answer(item).await?.flatten();
        Ok(answer.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// The top of the checkout that the loop's agent works in.
    pub(crate) fn work_dir(&self, state: &LoopState) -> PathBuf {
        state.workspace.as_ref().map_or_else(|| PathBuf::from(&state.project), |known| PathBuf::from(&known.dir))
    }

    /// The directory of a checkout that the loop's processes start in.
    pub(crate) fn start_dir(&self, state: &LoopState, checkout: &Path) -> PathBuf {
        match &state.spec.workspace.subdir {
            Some(subdir) => checkout.join(subdir),
            None => checkout.to_owned(),
        }
    }

    /// The user's own shell, which is what a gate is written for.
    pub(crate) fn shell(&self) -> String {
        let runs = |shell: &&String| {
            use std::os::unix::fs::PermissionsExt;
            let path = Path::new(shell.as_str());
            path.is_absolute()
                && path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        self.env.get("SHELL").filter(runs).map_or("/bin/sh".into(), Clone::clone)
    }
}

/// What the journal remembers of a loop's workspace.
pub(crate) fn workspace_of(state: &LoopState) -> Result<Workspace, DriveError> {
    let known = state.workspace.as_ref().ok_or_else(|| DriveError::Lost("the loop has no workspace".into()))?;
    serde_json::from_value(known.handle.clone())
        .map(Workspace::of_this_version)
        .map_err(|error| DriveError::Lost(format!("cannot read the workspace's record: {error}")))
}

pub(crate) fn driven(holder: &Holder) -> EngineError {
    EngineError::Driven { by: holder.seat.to_string() }
}

/// How a loop stands for a reader: `interrupted` if it should be under way and nobody drives it, `queued` if a worker will.
pub fn status_word(listed: &Listed) -> &str {
    let stored = listed.entry.status.as_str();
    match stored {
        "waiting" if listed.is_parked => "waiting",
        "running" | "waiting" | "queued" if !listed.is_driven() && listed.has_workers => "queued",
        "running" | "waiting" | "queued" if !listed.is_driven() => "interrupted",
        _ => stored,
    }
}
