//! `windlass serve`: loops that nobody watches, and the API by which they are watched after all.
//!
//! It drives what waits for a time or a place, what was cut off in a project that wants to go on by itself, and milestones that
//! start by themselves. Each loop has one driver (its lease), so loops in the foreground are left alone. A loop that
//! waits for a person is never touched.

mod logins;
mod place;

pub use place::hand_over;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use windlass_app::{Background, BroughtIn, Context, Kind, Local, Opens, Problem, StartMilestone};
use windlass_core::group::{GroupId, GroupKind};
use windlass_core::ids::LoopId;
use windlass_core::stop::Status;
use windlass_engine::changes;
use windlass_engine::config::{MergeBy, Millis, Options};
use windlass_engine::engine::{Engine, EngineError, Held};
use windlass_engine::groups::{AnyGroup, MergesView, QueueKind, QueueView};
use windlass_engine::milestones;
use windlass_store::{ListFilter, Listed, Rows};

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{Told, print, watch_signals, watch_signals_saying};

/// What other processes change is looked at so often at most.
const CALM: Duration = Duration::from_millis(250);

/// What somebody opened over the API.
#[derive(Debug)]
enum Given {
    Loop(Box<Held>),
    Group(AnyGroup),
}

impl Given {
    async fn release(self, engine: &Engine) -> Result<(), EngineError> {
        match self {
            Given::Loop(held) => engine.release(*held).await,
            Given::Group(held) => held.release(engine).await,
        }
    }
}

/// Loops and groups on their way to be driven by this process.
#[derive(Debug)]
struct Handed(mpsc::UnboundedSender<Given>);

impl Handed {
    async fn give(&self, engine: &Engine, given: Given) -> Result<(), Problem> {
        if let Err(mpsc::error::SendError(given)) = self.0.send(given) {
            given.release(engine).await?;
            return Err(Problem::new(Kind::Failed, "the server is shutting down").hint("retry after it restarts"));
        }
        Ok(())
    }
}

#[async_trait]
impl Background for Handed {
    async fn take(&self, engine: &Arc<Engine>, held: Held) -> Result<(), Problem> {
        self.give(engine, Given::Loop(Box::new(held))).await
    }

    async fn take_group(&self, engine: &Arc<Engine>, held: AnyGroup) -> Result<(), Problem> {
        self.give(engine, Given::Group(held)).await
    }
}

pub async fn serve(context: &Context, args: &ServeArgs) -> Result<Exit, Failure> {
    if let Some(command) = &args.command {
        return logins::perform(&context.paths.data, command);
    }
    let engine = context.engine().await?;
    let here = context.project_if_any().await;
    let (told, leave) = leaving(&engine, args.drain)?;
    let shutdown = leave.subscribe();
    let changes = changes::watch(engine.data.root())?;
    let (hand, handed) = mpsc::unbounded_channel();
    let driving_count = Arc::new(AtomicUsize::new(0));
    let background = Arc::new(Handed(hand));
    let local = || Local::on(context.clone(), Arc::clone(&engine), background.clone());
    let served = if args.once {
        None
    } else {
        let counted = Arc::clone(&driving_count);
        Some(place::open(args, &engine, local(), counted, here.clone(), changes.clone(), shutdown.clone()).await?)
    };
    let mut serving = Serving {
        local: local(),
        engine,
        handed,
        changes,
        driving_count,
        driving: JoinSet::new(),
        driven: BTreeSet::new(),
        given_up: BTreeSet::new(),
        held_back: BTreeSet::new(),
        queue_taken: false,
        due: BTreeMap::new(),
        shutdown,
    };
    print(
        "serving: resuming waiting loops and starting milestones of projects with auto_start; press Ctrl-C to stop, loops can be resumed\n",
    );
    serving.run(here, args.once).await?;
    leave.send_replace(true);
    if let Some(served) = served {
        served.left().await;
    }
    let told = *told.borrow();
    Ok(told.map_or(Exit::Completed, Exit::Signal))
}

/// What a signal asks of this process: to leave now, or first to drain for some time.
fn leaving(engine: &Arc<Engine>, drain: Option<Millis>) -> Result<(Told, Arc<watch::Sender<bool>>), Problem> {
    let (told, mut asked) = match drain {
        None => watch_signals()?,
        Some(_) => {
            watch_signals_saying("draining: waiting for running turns to end; press Ctrl-C again to kill them at once")?
        }
    };
    let (leave, engine) = (Arc::new(watch::Sender::new(false)), Arc::clone(engine));
    let now = Arc::clone(&leave);
    tokio::spawn(async move {
        let _ = asked.wait_for(|asked| *asked).await;
        if let Some(time) = drain {
            engine.drain.begin();
            print("draining: nothing new is started; running turns end first\n");
            engine.clock.sleep_until(engine.clock.now() + Duration::from_millis(time.get())).await;
        }
        now.send_replace(true);
    });
    Ok((told, leave))
}

struct Serving {
    local: Local,
    engine: Arc<Engine>,
    driving: JoinSet<(String, Result<(), EngineError>)>,
    driving_count: Arc<AtomicUsize>,
    handed: mpsc::UnboundedReceiver<Given>,
    /// Some process wrote to the database.
    changes: watch::Receiver<u64>,
    driven: BTreeSet<String>,
    /// Loops whose driver failed: they are left to a person.
    given_up: BTreeSet<String>,
    /// Milestones that are not merged, with reasons that were already printed.
    held_back: BTreeSet<(String, String)>,
    /// Its driver ends with this process, or failed.
    queue_taken: bool,
    /// When each project is looked at again; a project that is not here is due.
    due: BTreeMap<PathBuf, Timestamp>,
    shutdown: watch::Receiver<bool>,
}

impl Serving {
    async fn run(&mut self, here: Option<PathBuf>, once: bool) -> Result<(), Failure> {
        loop {
            self.changes.mark_unchanged();
            self.take_up_groups().await?;
            self.take_up_queue(!once).await?;
            self.take_up().await?;
            self.look_at_projects(here.as_deref()).await?;
            if *self.shutdown.borrow() || self.engine.drain.has_begun() || (once && self.driving.is_empty()) {
                break;
            }
            let next = self.due.values().min().copied();
            let mut shutdown = self.shutdown.clone();
            tokio::select! {
                Some(ended) = self.driving.join_next() => self.ended(ended),
                Some(given) = self.handed.recv() => match given {
                    Given::Loop(held) => self.drive(*held)?,
                    Given::Group(held) => self.drive_group(held)?,
                },
                () = until(&self.engine, next) => {}
                // What this very process writes is seen as well; it is not worth more than a look now and then.
                () = changed(&mut self.changes), if !once => {}
                _ = shutdown.wait_for(|leave| *leave) => break,
                () = self.engine.drain.begins() => break,
            }
        }
        self.handed.close();
        while let Ok(given) = self.handed.try_recv() {
            given.release(&self.engine).await?;
        }
        // The drivers are interrupted as well, or leave at a boundary; their loops can be resumed.
        while let Some(ended) = self.driving.join_next().await {
            self.ended(ended);
        }
        Ok(())
    }

    fn ended(&mut self, ended: Result<(String, Result<(), EngineError>), tokio::task::JoinError>) {
        self.driving_count.store(self.driving.len(), Ordering::Relaxed);
        let Ok((id, result)) = ended else { return };
        self.driven.remove(&id);
        match result {
            Ok(()) => tracing::info!(loop_id = %id, "left"),
            Err(error) => {
                // Taken up again at once it would fail again at once.
                eprintln!("warning: {error}; retry with `windlass resume`");
                self.given_up.insert(id);
            }
        }
        // A milestone that has ended makes room for the next one, unless the project keeps hours.
        self.due.retain(|_, at| *at != Timestamp::MAX);
    }

    /// Groups that were cut off, in projects that want to go on by themselves. They take up their loops.
    async fn take_up_groups(&mut self) -> Result<(), Failure> {
        let filter = ListFilter { rows: Rows::Groups, open_only: true, summaries: true, ..ListFilter::default() };
        for listed in self.engine.store.list(filter).await? {
            let mine = self.driven.contains(&listed.entry.id) || self.given_up.contains(&listed.entry.id);
            let Some(kind) = GroupKind::of_name(&listed.entry.kind) else { continue };
            if mine || listed.is_driven() || !self.goes_on_by_itself(&listed) || !has_begun(kind, &listed) {
                continue;
            }
            match AnyGroup::take(&self.engine, kind, &GroupId(listed.entry.id.clone())).await {
                Ok(Some(held)) => self.drive_group(held)?,
                Ok(None) | Err(EngineError::Driven { .. } | EngineError::Unseen { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The queue of goals, if nobody works it off. With `stays` its driver waits for further goals.
    async fn take_up_queue(&mut self, stays: bool) -> Result<(), Failure> {
        let id = QueueKind::id().0;
        let free = self.engine.store.get(&id).await?.is_some_and(|row| !row.is_driven());
        if self.queue_taken || !free {
            return Ok(());
        }
        match self.local.open_queue(stays, None).await {
            Ok(Some(opened)) => {
                let driving = self.engine.drive_group(opened.kind, opened.held, self.shutdown.clone())?;
                self.queue_taken = true;
                self.driving.spawn(async move { (id, driving.ended().await.map(drop)) });
                self.driving_count.store(self.driving.len(), Ordering::Relaxed);
            }
            Ok(None) => {}
            Err(problem) if problem.code == Kind::Refused => {}
            Err(problem) => return Err(problem.into()),
        }
        Ok(())
    }

    /// Loops that the queue of goals drives within its limits.
    async fn goals_of_the_queue(&self) -> Result<BTreeSet<String>, Failure> {
        let row = self.engine.store.get(&QueueKind::id().0).await?;
        let view: Option<QueueView> = row.and_then(|row| serde_json::from_str(&row.entry.summary).ok());
        Ok(view.map(|view| view.goals.into_iter().map(|goal| goal.id).collect()).unwrap_or_default())
    }

    /// Loops that should go on and that nobody drives.
    async fn take_up(&mut self) -> Result<(), Failure> {
        let filter = ListFilter { open_only: true, ..ListFilter::default() };
        let goals = self.goals_of_the_queue().await?;
        for listed in self.engine.store.list(filter).await? {
            let mine = self.driven.contains(&listed.entry.id) || self.given_up.contains(&listed.entry.id);
            if mine || goals.contains(&listed.entry.id) || listed.is_driven() || !self.goes_on_by_itself(&listed) {
                continue;
            }
            match self.engine.take(&LoopId(listed.entry.id.clone())).await {
                Ok(mut held) => {
                    if held.state.status() != Status::Queued {
                        self.engine.attach(&mut held).await?;
                    }
                    self.drive(held)?;
                }
                Err(EngineError::Driven { .. } | EngineError::Unseen { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A wait is over by itself, and a queued loop starts when a place is free; what was cut off inside a turn goes on only where the project says so.
    fn goes_on_by_itself(&self, listed: &Listed) -> bool {
        match listed.entry.status.as_str() {
            "waiting" | "queued" => true,
            "running" => {
                let recipe = Options { recipe: Some(listed.entry.recipe.clone()), ..Options::default() };
                let settings = self.local.context.settings(Some(Path::new(&listed.entry.project)), recipe);
                settings.ok().and_then(|settings| settings.recover.value).unwrap_or(false)
            }
            _ => false,
        }
    }

    /// Starts a milestone in every project that wants it, one at a time in each.
    async fn look_at_projects(&mut self, here: Option<&Path>) -> Result<(), Failure> {
        let now = self.engine.clock.now();
        let known = self.engine.store.list(ListFilter::default()).await?;
        let mut projects: BTreeSet<PathBuf> = known.iter().map(|listed| PathBuf::from(&listed.entry.project)).collect();
        projects.extend(here.map(Path::to_owned));
        for project in projects {
            let due = self.due.get(&project).is_none_or(|at| *at <= now);
            if !due || !project.is_dir() {
                continue;
            }
            let settings = match self.local.context.settings(Some(&project), Options::default()) {
                Ok(settings) => settings,
                Err(failure) => {
                    eprintln!("warning: {}: {}", project.display(), failure.message);
                    self.due.insert(project, Timestamp::MAX);
                    continue;
                }
            };
            let next = settings.wake.value.as_ref().and_then(|wake| wake.next_after(now, &TimeZone::system()));
            if settings.auto_start.value.unwrap_or(false) {
                let merges = settings.merge.value == Some(MergeBy::Queue);
                // What is not merged yet may be by any change, also of another process.
                if !self.start_next(&project, merges).await? {
                    continue;
                }
            }
            self.due.insert(project, next.unwrap_or(Timestamp::MAX));
        }
        Ok(())
    }

    /// With `merges`, each milestone builds on those before it: `false` if one of them is not merged yet.
    async fn start_next(&mut self, project: &Path, merges: bool) -> Result<bool, Failure> {
        let text = project.to_string_lossy().into_owned();
        let mut pending = Vec::new();
        for found in milestones::list(project) {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    eprintln!("warning: {error}");
                    continue;
                }
            };
            match self.engine.store.find(&text, &milestones::loop_name(&found.milestone.id)).await? {
                // One at a time, and one that waits for a person is not done.
                Some(listed) if listed.entry.open => return Ok(true),
                Some(listed) if merges && !self.is_brought_in(&found.milestone.id, &listed).await? => return Ok(false),
                Some(_) => {}
                None => pending.push(found),
            }
        }
        let Some(first) = pending.into_iter().next() else { return Ok(true) };
        let id = first.milestone.id.clone();
        let request = StartMilestone {
            id: id.clone(),
            project: text,
            settings: BTreeMap::new(),
            agent_command: None,
            reviewer_command: None,
            trust: None,
        };
        match request.open(&self.local).await {
            Ok(opened) => {
                print(&format!("started milestone {id} of {}\n", project.display()));
                self.drive(opened.held)?;
            }
            Err(problem) => {
                let hint = problem.hint.map_or(String::new(), |hint| format!(" ({hint})"));
                eprintln!("warning: milestone {id} of {}: {}{hint}", project.display(), problem.message);
            }
        }
        Ok(true)
    }

    /// Whether the next milestone can build on this one; if not, its branch is merged, or a warning says why not.
    async fn is_brought_in(&mut self, milestone: &str, listed: &Listed) -> Result<bool, Failure> {
        let held = match self.local.bring_in(&listed.entry.id).await {
            Ok(BroughtIn::Done) => return Ok(true),
            Ok(BroughtIn::Opened(opened)) => {
                self.drive_group(AnyGroup::Merges(Box::new(opened.held)))?;
                return Ok(false);
            }
            Ok(BroughtIn::Held(why)) => why,
            Err(problem) if problem.code == Kind::Refused || problem.code == Kind::Invalid => problem.message,
            Err(problem) => return Err(problem.into()),
        };
        if self.held_back.insert((listed.entry.id.clone(), held.clone())) {
            eprintln!("warning: milestone {milestone} of {} is not merged: {held}", listed.entry.project);
        }
        Ok(false)
    }

    fn drive_group(&mut self, held: AnyGroup) -> Result<(), Failure> {
        let id = held.row().id.0;
        let driving = held.drive(&self.engine, self.shutdown.clone())?;
        self.driven.insert(id.clone());
        self.driving.spawn(async move { (id, driving.ended().await.map(drop)) });
        self.driving_count.store(self.driving.len(), Ordering::Relaxed);
        Ok(())
    }

    fn drive(&mut self, held: Held) -> Result<(), Failure> {
        let id = held.state.id.0.clone();
        let driving = self.engine.drive(held, self.shutdown.clone())?;
        self.driven.insert(id.clone());
        self.driving.spawn(async move { (id, driving.ended().await.map(drop)) });
        self.driving_count.store(self.driving.len(), Ordering::Relaxed);
        Ok(())
    }
}

/// A merge queue waits until somebody works on it, so that all that is added first can be in the first batch.
fn has_begun(kind: GroupKind, listed: &Listed) -> bool {
    match kind {
        GroupKind::Tries => true,
        GroupKind::Merges => MergesView::of_row(listed).is_ok_and(|view| view.batches > 0),
        // It is taken up with its limits.
        GroupKind::Queue => false,
    }
}

/// Until some process has written, a moment after the last time.
async fn changed(changes: &mut watch::Receiver<u64>) {
    tokio::time::sleep(CALM).await;
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Until that time; for ever where there is none.
async fn until(engine: &Engine, at: Option<Timestamp>) {
    match at.filter(|at| *at < Timestamp::MAX) {
        Some(at) => engine.clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}
