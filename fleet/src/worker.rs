//! A worker: takes loops that wait, drives them with the engine's own driver, and leaves them at a boundary.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;
use windlass_core::ids::LoopId;
use windlass_core::machine::Input;
use windlass_core::stop::Status;
use windlass_engine::clock::SystemClock;
use windlass_engine::data::DataDir;
use windlass_engine::engine::{Engine, EngineError};
use windlass_store::{Store, StoreError};
use windlass_supervise::Launcher;
use windlass_workspace::Workspaces;

use crate::archive::{self, Archive, Keeper};
use crate::dispatch::{Dispatch, PgDispatch};
use crate::metrics::{self, Counts};
use crate::station::{FleetStation, Habits};
use crate::store::{INBOX, LEASE, PgStore, WATCH, Worker};
use crate::temporal::{self, TemporalDispatch};

/// So often a worker says that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// A loop that could not be taken is left to others for so long.
const COOL_DOWN: Duration = Duration::from_secs(5);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Clone)]
pub struct Options {
    pub database: String,
    pub hub: String,
    pub slots: u32,
    pub data: PathBuf,
    pub name: String,
    /// Places loops; without it, the workers do it by the database alone.
    pub temporal: Option<temporal::Address>,
    pub habits: Habits,
    /// Where the output of ended loops goes. Without it, it stays in the database.
    pub archive: Option<Archive>,
    /// Where a monitor may ask for numbers.
    pub metrics: Option<SocketAddr>,
}

/// What a process is to the fleet.
#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    Worker {
        name: &'a str,
        slots: u32,
        habits: Habits,
    },
    Desk {
        name: &'a str,
    },
    /// Creates loops.
    Client,
}

impl Who<'_> {
    fn worker(self) -> Worker {
        let id = Uuid::now_v7().to_string();
        match self {
            Who::Worker { name, slots, .. } => Worker { id, name: name.to_owned(), is_desk: false, slots: Some(slots) },
            Who::Desk { name } => Worker { id, name: name.to_owned(), is_desk: true, slots: None },
            Who::Client => Worker { id, name: "submit".to_owned(), is_desk: false, slots: None },
        }
    }
}

/// Says once a second that this process lives, until it ends; drains if it is asked to.
pub fn keep_alive(engine: Arc<Engine>, station: Arc<FleetStation>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            match station.store.seen(&station.worker).await {
                Ok(true) if !engine.drain.has_begun() => {
                    tracing::info!("asked to drain");
                    engine.drain.begin();
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "cannot say that this process lives"),
            }
        }
    })
}

/// A loop that waits longer gives its slot to others, unless somebody says another time.
pub const PARK_AFTER: Duration = Duration::from_secs(30);
/// So often the files of a running turn are saved for other workers, unless somebody says otherwise.
pub const SNAPSHOT_EVERY: Duration = Duration::from_secs(300);

/// An engine over the fleet's store, for this process.
pub async fn engine(
    store: PgStore,
    data: &Path,
    hub: &str,
    who: Who<'_>,
    project: Option<String>,
) -> Result<(Arc<Engine>, Arc<FleetStation>), Failure> {
    windlass_engine::data::private_dir(data)?;
    let data = DataDir::at(data.canonicalize()?);
    let worker = who.worker();
    // Before the first lease, or nobody could know whether its holder lives.
    store.seen(&worker).await?;
    let workspaces = Workspaces::from_env()?;
    let station = FleetStation::new(store.clone(), worker, data.clone(), workspaces.clone(), hub.to_owned());
    let habits = if let Who::Worker { habits, .. } = who { Some(habits) } else { None };
    let station = Arc::new(station.of_project(project).with_habits(habits));
    let mut env: std::collections::BTreeMap<String, String> = std::env::vars().collect();
    // Whoever can write to the database can run commands on every worker.
    env.remove("WINDLASS_FLEET_DATABASE");
    env.remove("WINDLASS_FLEET_TEMPORAL_API_KEY");
    // Nor does an agent need the archive, with what other loops wrote.
    archive::LOGIN.iter().for_each(|name| drop(env.remove(*name)));
    let program = std::env::current_exe()?;
    let engine =
        Engine::new(Arc::new(store), data, Arc::new(SystemClock), Launcher::current()?, workspaces, env, program)
            .at_station(station.clone());
    Ok((Arc::new(engine), station))
}

/// Works until the process is asked to leave: SIGTERM leaves each loop at its next boundary, a second one at once.
pub async fn work(options: Options) -> Result<(), Failure> {
    let store = PgStore::connect(&options.database).await?;
    let who = Who::Worker { name: &options.name, slots: options.slots, habits: options.habits };
    let (engine, station) = engine(store.clone(), &options.data, &options.hub, who, None).await?;
    engine.places.limit(options.slots);
    let counts = Arc::clone(&station.counts);
    counts.slots.store(options.slots.into(), Ordering::Relaxed);
    if let Some(at) = options.metrics {
        let bound =
            metrics::serve(at, Arc::clone(&counts)).await.map_err(|error| format!("--metrics {at}: {error}"))?;
        tracing::info!("metrics at http://{bound}/metrics");
    }
    let mut dispatch: Box<dyn Dispatch> = match options.temporal {
        Some(at) => Box::new(TemporalDispatch::new(at, store.clone(), station.worker.clone(), options.slots)?),
        None => Box::new(PgDispatch::new(store.clone(), station.worker.id.clone()).await?),
    };
    let mut told = store.listener(&[INBOX, LEASE, WATCH]).await?;
    let beating = keep_alive(Arc::clone(&engine), Arc::clone(&station));
    let shipping = tokio::spawn({
        let station = Arc::clone(&station);
        async move { station.shipper.run().await }
    });
    let archiving = options.archive.map(|archive| {
        let keeper = Keeper { archive, station: Arc::clone(&station) };
        tokio::spawn(async move { keeper.run().await })
    });
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut driven = Driven { engine: Arc::clone(&engine), station, running: HashMap::new(), tasks: JoinSet::new() };
    let mut cooling: HashMap<String, Instant> = HashMap::new();
    let mut check = tokio::time::interval(BEAT);
    tracing::info!(worker = options.name, slots = options.slots, "ready");
    loop {
        let draining = engine.drain.has_begun();
        if draining {
            dispatch.drain();
        }
        counts.running.store(driven.running.len() as u64, Ordering::Relaxed);
        counts.draining.store(draining, Ordering::Relaxed);
        let room = (options.slots as usize).saturating_sub(driven.running.len());
        if draining && driven.running.is_empty() {
            break;
        }
        if room > 0 && !draining {
            cooling.retain(|_, since| since.elapsed() < COOL_DOWN);
            for id in dispatch.offers(room + cooling.len()).await? {
                if driven.running.len() < options.slots as usize && !cooling.contains_key(&id) {
                    match driven.take(&id).await {
                        // Another worker was faster, with this loop or with another one of the same limit.
                        Ok(()) | Err(EngineError::Driven { .. }) => {}
                        Err(EngineError::Store(StoreError::Limited { .. })) => Counts::one(&counts.limited),
                        Err(error) => {
                            tracing::warn!(loop_id = id, error = with_causes(&error), "cannot take the loop");
                            Counts::one(&counts.failed);
                            cooling.insert(id.clone(), Instant::now());
                        }
                    }
                }
                if !driven.running.contains_key(&id) {
                    dispatch.left(&id);
                }
            }
        }
        tokio::select! {
            () = dispatch.changed(), if room > 0 && !draining => {}
            () = engine.drain.begins(), if !draining => {}
            Some(ended) = driven.tasks.join_next() => if let Some(id) = driven.ended(ended) { dispatch.left(&id) },
            heard = told.recv() => match heard {
                Ok(heard) if heard.channel() == INBOX => driven.wake(heard.payload()),
                Ok(heard) if heard.channel() == WATCH => driven.station.shipper.watched(heard.payload()),
                Ok(_) => driven.let_go_of_lost().await?,
                // It connects again; what was missed meanwhile is found by the next look.
                Err(error) => tracing::warn!(%error, "the database is away"),
            },
            _ = check.tick(), if !driven.running.is_empty() => driven.let_go_of_lost().await?,
            _ = terminate.recv() => driven.leave(),
            _ = interrupt.recv() => driven.leave(),
        }
    }
    dispatch.end().await;
    beating.abort();
    shipping.abort();
    if let Some(archiving) = archiving {
        archiving.abort();
    }
    Ok(store.leave(&driven.station.worker).await?)
}

type Ended = (String, Result<(), EngineError>);

/// The loops of this worker.
struct Driven {
    engine: Arc<Engine>,
    station: Arc<FleetStation>,
    /// Sends true to leave a loop at once.
    running: HashMap<String, watch::Sender<bool>>,
    tasks: JoinSet<Ended>,
}

impl Driven {
    async fn take(&mut self, id: &str) -> Result<(), EngineError> {
        if self.running.contains_key(id) {
            return Ok(());
        }
        let counts = &self.station.counts;
        let was_parked = self.station.store.parked(id).await?.is_some();
        let was_held = self.station.store.holder(id).await?.is_some();
        let mut held = self.engine.take(&LoopId(id.to_owned())).await?;
        match held.state.status() {
            // Nothing cut it off: the time that it waited is its own.
            Status::Waiting { .. } if was_parked => {
                let alive_until = Some(self.engine.clock.now());
                self.engine.apply(&mut held, &Input::Attach { alive_until }).await?;
            }
            Status::Running | Status::Waiting { .. } => self.engine.attach(&mut held).await?,
            Status::Queued => {}
            Status::Paused { .. } | Status::Ended { .. } => return self.engine.release(held).await,
        }
        Counts::one(&counts.taken);
        if was_held {
            Counts::one(&counts.taken_over);
        }
        tracing::info!(loop_id = id, name = held.state.name, "took the loop");
        let (leave, told) = watch::channel(false);
        let driving = self.engine.drive(held, told)?;
        let loop_id = id.to_owned();
        self.tasks.spawn(async move { (loop_id, driving.ended().await.map(drop)) });
        self.running.insert(id.to_owned(), leave);
        Ok(())
    }

    /// The loop that was left.
    fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> Option<String> {
        match ended {
            Ok((id, result)) => {
                self.running.remove(&id);
                self.station.shipper.left(&id);
                match result {
                    Ok(()) => tracing::info!(loop_id = id, "left the loop"),
                    Err(error) => {
                        Counts::one(&self.station.counts.failed);
                        tracing::warn!(loop_id = id, error = with_causes(&error), "left the loop");
                    }
                }
                Some(id)
            }
            Err(panic) => {
                tracing::error!(%panic, "a driver ended unexpectedly");
                None
            }
        }
    }

    fn wake(&self, id: &str) {
        if let Some(line) = self.engine.line(id) {
            line.wake.notify_one();
        }
    }

    /// Ends what runs for loops that another worker has taken meanwhile. It could write nothing more anyway.
    async fn let_go_of_lost(&self) -> Result<(), Failure> {
        let held = self.station.store.tokens_of(&self.station.worker.id).await?;
        for (id, leave) in &self.running {
            if held.get(id) != self.station.token(id).as_ref() && !*leave.borrow() {
                Counts::one(&self.station.counts.lost);
                tracing::warn!(loop_id = id, "another worker took the loop");
                leave.send_replace(true);
            }
        }
        Ok(())
    }

    fn leave(&self) {
        if self.engine.drain.has_begun() {
            for leave in self.running.values() {
                leave.send_replace(true);
            }
        }
        self.engine.drain.begin();
    }
}

pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        said.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    said
}
