//! The engine: everything a process needs to create, drive, follow and command loops.

mod acting;
mod asking;
mod creating;
mod secrets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use thiserror::Error;
use tokio::sync::watch;
use uuid::Uuid;
use windlass_core::group::GroupRefusal;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::{Event, Input, LoopState, Opener, Raise, Refusal, decide, evolve};
use windlass_core::spec::{LoopSpec, WorkspaceKind};
use windlass_core::stop::Status;
use windlass_supervise::Launcher;

use crate::clock::Clock;
use crate::copilot_loop;
use crate::data::{DataDir, rubbish};
use crate::driver::{DriveError, Driver, Left, Queueing, Tidying};
use crate::journal::{self, JournalError};
use crate::loop_log;
use crate::notify;
use crate::outside::{Outside, Station, Submission};
use crate::places::{Drain, Places};
use crate::ports::Ports;
use crate::socket::Hub;
use crate::tools::ToolServer;
use crate::trust::Consent;
use crate::view::catalogue_entry;
use creating::Creating;
use secrets::LastSecrets;
use windlass_faults as faults;
use windlass_store::{Append, Create, Holder, Listed, Presence, Store, StoreError};
use windlass_workspace::{Kind, WorkspaceError, Workspaces};

#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error("{by} is running this loop")]
    Driven { by: String },
    #[error("{by} of another machine or container holds this loop, and it is unknown whether it still runs")]
    Unseen { by: String },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    GroupRefused(#[from] GroupRefusal),
    #[error("cannot create the socket for other processes")]
    Socket(#[source] std::io::Error),
    #[error("cannot write to the data directory")]
    Data(#[source] std::io::Error),
    #[error("the loop's driver exited before it responded")]
    NoAnswer,
    #[error("the loop's driver did not respond within {seconds} s; the request may still take effect")]
    Unanswered { seconds: u64 },
    #[error("turn {turn} has ended or has not started")]
    TurnOver { turn: TurnKey },
    #[error("cannot identify processes on this system")]
    Identity,
}

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

/// A loop that this process drives.
#[derive(Debug)]
pub struct Driving {
    /// Changes whenever there is something new to read.
    pub news: watch::Receiver<u64>,
    ended: tokio::task::JoinHandle<Result<Left, EngineError>>,
}

impl Driving {
    /// How the driver left its loop.
    pub async fn ended(self) -> Result<Left, EngineError> {
        match self.ended.await {
            Ok(left) => left,
            Err(panic) => Err(DriveError::Lost(panic.to_string()).into()),
        }
    }
}

/// A new loop.
#[derive(Debug, Clone)]
pub struct NewLoop {
    /// Decided by the group that makes the loop; a new one otherwise.
    pub id: Option<LoopId>,
    pub project: PathBuf,
    /// With `numbered`, `-2`, `-3` … is put behind it when it is taken.
    pub name: String,
    pub numbered: bool,
    pub spec: LoopSpec,
    /// Where `{name}` stands in the branch, the name is put.
    pub branch_template: String,
    /// Whoever wants the loop agrees to what the repository's own files run.
    pub consent: Consent,
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

    /// Creates a loop with its workspace and holds it. Nothing is left behind when that fails.
    pub async fn create(self: &Arc<Self>, mut new: NewLoop) -> Result<Held, EngineError> {
        creating::sweep(&self.data, self.store.as_ref(), &self.workspaces).await;
        let wanted = new.name.clone();
        let own_branch = new.spec.workspace.kind != WorkspaceKind::InPlace;
        let mut number = 1;
        loop {
            new.name = self.free_name(&new, &wanted, &mut number).await?;
            if own_branch {
                new.spec.workspace.branch = new.branch_template.replace("{name}", &new.name);
            }
            match self.create_named(new.clone()).await {
                // Taken by another process since, or the branch is there without a loop.
                Err(
                    EngineError::Store(StoreError::NameTaken { .. })
                    | EngineError::Workspace(WorkspaceError::BranchExists { .. }),
                ) if new.numbered && new.branch_template.contains("{name}") => number += 1,
                created => return created,
            }
        }
    }

    async fn create_named(self: &Arc<Self>, mut new: NewLoop) -> Result<Held, EngineError> {
        self.copy_dependencies(&mut new).await?;
        let secrets = self.secrets_of(&new.spec, &new.project);
        secrets.clean_spec(&mut new.spec);
        let project = self.project_name(&new.project)?;
        let holder = self.holder()?;
        let token = holder.token.clone();
        let id = new.id.unwrap_or_else(|| LoopId(Uuid::now_v7().to_string()));
        let now = self.clock.now();
        let created = Event::LoopCreated { id: id.clone(), name: new.name.clone(), project, spec: Box::new(new.spec) };
        let mut state = LoopState::created(now, &created).unwrap_or_else(|| unreachable!("a loop begins with that"));
        let mut events = vec![created];
        let mut take = |state: &mut LoopState, input: &Input| -> Result<(), Refusal> {
            for event in secrets.clean(decide(state, input, now)?) {
                *state = evolve(state.clone(), now, &event);
                events.push(event);
            }
            Ok(())
        };
        take(&mut state, &Input::Open { by: Opener::Start, raise: Raise::default() })?;
        if let Some(station) = &self.station {
            take(&mut state, &Input::Queue { max_running: self.places.max() })?;
            return self.submit(station.as_ref(), Submission { dir: &new.project, state, events, holder }).await;
        }
        let request = crate::driver::workspace_request(self, &state);
        let creating = Creating::begin(&self.data, &request).map_err(EngineError::Data)?;
        let opened = match self.workspaces.create(&request).await {
            Ok(opened) => opened,
            Err(error) => {
                // Wrong use is found before anything is made.
                if error.is_wrong_use() {
                    creating.done();
                }
                return Err(error.into());
            }
        };
        let (workspace, start) = (opened.workspace.clone(), opened.head_commit.clone());
        faults::point("create.before");
        let opening = crate::driver::workspace_opening(self, &state, opened).await?;
        take(&mut state, &Input::WorkspaceOpened { opening })?;
        let written = self
            .store
            .create(Create {
                entry: catalogue_entry(&state),
                events: events.iter().map(|event| journal::encode(now, event)).collect(),
                holder: Some(holder),
            })
            .await;
        if let Err(error) = written {
            // Nobody has worked there yet.
            match self.workspaces.remove(&workspace, Some(&start)).await {
                Ok(_) => creating.done(),
                Err(error) => tracing::warn!(%error, "cannot remove the workspace of a loop that was not created"),
            }
            return Err(error.into());
        }
        faults::point("create.after");
        creating.done();
        self.hub()?.open_line(&state.id.0);
        copilot_loop::log(&state, &events);
        loop_log::append(&self.data, &state, now, &events);
        Ok(Held { state, token })
    }

    /// Without a set-up, packages that are installed in the user's checkout are copied.
    async fn copy_dependencies(&self, new: &mut NewLoop) -> Result<(), EngineError> {
        let spec = &mut new.spec.workspace;
        match spec.kind {
            WorkspaceKind::InPlace | WorkspaceKind::External => return Ok(()),
            WorkspaceKind::Clone => {}
        }
        if spec.setup.is_empty() && self.station.is_none() {
            let found = self.workspaces.dependencies(&new.project).await?;
            let known = |dir: &String| spec.copy.iter().any(|path| Path::new(dir).starts_with(path));
            let more: Vec<String> = found.into_iter().filter(|dir| !known(dir)).collect();
            spec.copy.extend(more);
        }
        Ok(())
    }

    /// The wanted name, or that with the first number from `number` on that makes it free.
    async fn free_name(&self, new: &NewLoop, wanted: &str, number: &mut u32) -> Result<String, EngineError> {
        let project = self.project_name(&new.project)?;
        loop {
            let name = if *number == 1 { wanted.to_owned() } else { format!("{wanted}-{number}") };
            if self.store.find(&project, &name).await?.is_none() {
                return Ok(name);
            }
            if !new.numbered {
                return Err(StoreError::NameTaken { name }.into());
            }
            *number += 1;
        }
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

    /// One input to a loop that is held and not driven.
    pub async fn apply(self: &Arc<Self>, held: &mut Held, input: &Input) -> Result<(), EngineError> {
        let now = self.clock.now();
        let events = self.secrets(&held.state).clean(decide(&held.state, input, now)?);
        let mut next = held.state.clone();
        for event in &events {
            next = evolve(next, now, event);
        }
        self.store
            .append(Append {
                loop_id: held.state.id.0.clone(),
                expected_seq: held.state.seq,
                events: events.iter().map(|event| journal::encode(now, event)).collect(),
                entry: catalogue_entry(&next),
                token: held.token.clone(),
                consumed: Vec::new(),
                answers: Vec::new(),
            })
            .await?;
        copilot_loop::log(&held.state, &events);
        loop_log::append(&self.data, &held.state, now, &events);
        held.state = next;
        notify::tell(self, &held.state, now, &events).await;
        Ok(())
    }

    /// Refuses to open a loop that cannot go on, because its workspace and branch are gone or its checkout is another
    /// loop's: nothing of it changes then.
    pub async fn can_open(&self, held: &Held) -> Result<(), EngineError> {
        match crate::driver::workspace_handle(&held.state) {
            Ok(workspace) if !held.state.is_external() => Ok(self.workspaces.can_open(&workspace).await?),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Asks the machine, and changes nothing.
    pub fn would_accept(&self, held: &Held, input: &Input) -> Result<(), EngineError> {
        decide(&held.state, input, self.clock.now())?;
        Ok(())
    }

    /// Refuses to continue a loop whose commits or whose merge target are gone: nothing of it changes then.
    pub async fn can_continue(&self, held: &Held, target: Option<&str>) -> Result<(), EngineError> {
        match (crate::driver::workspace_handle(&held.state), held.state.head_commit()) {
            (Ok(workspace), Some(head)) if workspace.kind == Kind::Clone => {
                Ok(self.workspaces.can_continue(&workspace, head, target).await?)
            }
            (Ok(_), _) | (Err(_), _) => self.can_open(held).await,
        }
    }

    /// Takes over a loop that was cut off. What it ran until then counts as its time, what passed since does not.
    pub async fn attach(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        let alive_until = self.data.last_written(&held.state.id);
        self.apply(held, &Input::Attach { alive_until }).await
    }

    /// Takes a loop that nobody drives out of the queue, to be opened from there.
    pub async fn unqueue(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        let input = self.leaving_queue(&held.state);
        self.apply(held, &input).await
    }

    pub(crate) fn leaving_queue(&self, state: &LoopState) -> Input {
        let began = |turn| match &self.outside {
            Some(outside) => outside.turn_began(state, turn),
            None => self.data.turn(&state.id, turn).have_begun(),
        };
        Input::LeaveQueue { turn_began: state.turn().is_some_and(|running| began(running.key)) }
    }

    /// Brings a loop that was cut off to a pause: what became of its turn is journalled, nothing new is started.
    pub async fn settle(self: &Arc<Self>, held: &mut Held) -> Result<(), EngineError> {
        // A commit that was under way comes first, so a second look may be needed.
        for _ in 0..2 {
            if let Status::Running | Status::Waiting { .. } = held.state.status() {
                match self.apply(held, &Input::Pause { now: true }).await {
                    Ok(()) | Err(EngineError::Refused(Refusal::AlreadyAsked)) => {}
                    Err(error) => return Err(error),
                }
                let (_keep, leave) = watch::channel(true);
                let line = self.hub()?.open_line(&held.state.id.0);
                Driver::new(Arc::clone(self), held.state.clone(), held.token.clone(), line, leave).run().await?;
                held.state = journal::load(self.store.as_ref(), &held.state.id).await?;
                self.settle_in(&mut held.state, &held.token).await?;
            }
        }
        Ok(())
    }

    /// Drives a loop until it pauses or ends, or the process is interrupted. Releases the lease at the end.
    pub fn drive(self: &Arc<Self>, held: Held, shutdown: watch::Receiver<bool>) -> Result<Driving, EngineError> {
        self.drive_as(held, shutdown, Queueing::Background, Tidying::Waits)
    }

    /// The same for a followed loop: a loop that is queued when the process is interrupted is interrupted too.
    pub fn drive_watched(
        self: &Arc<Self>,
        held: Held,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Driving, EngineError> {
        self.drive_as(held, shutdown, Queueing::Watched, Tidying::Waits)
    }

    fn drive_as(
        self: &Arc<Self>,
        held: Held,
        shutdown: watch::Receiver<bool>,
        queueing: Queueing,
        tidying: Tidying,
    ) -> Result<Driving, EngineError> {
        let line = self.hub()?.open_line(&held.state.id.0);
        let news = line.news.subscribe();
        let engine = Arc::clone(self);
        let ended = tokio::spawn(async move {
            let Held { state, token } = held;
            let id = state.id.0.clone();
            let driver = Driver::new(Arc::clone(&engine), state, token.clone(), line, shutdown).queueing(queueing);
            let notifier = driver.notifier();
            engine.remove_stale_placeholders().await;
            let left = driver.run().await;
            // Taken out first, so that who takes the loop next opens a line of its own.
            let line = engine.hub()?.close_line(&id);
            let released = engine.store.release(&id, &token).await;
            drop(line);
            // The loop is free already: what is slow to be told holds nobody up but this process.
            notifier.finish().await;
            if engine.outside.is_none() {
                let data = engine.data.clone();
                let removal = std::thread::spawn(move || rubbish::remove(&data));
                if tidying == Tidying::Waits {
                    let _ = tokio::task::spawn_blocking(move || removal.join()).await;
                }
            }
            let left = left?;
            released?;
            Ok(left)
        });
        Ok(Driving { news, ended })
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
