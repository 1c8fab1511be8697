//! The driver of one group.
//!
//! Invariant: what is performed follows from the state alone, and the state from what is durable. An effect that ended and
//! changed nothing is not started again until something else has changed.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_core::group::{Group, GroupStatus};
use windlass_core::ids::LoopId;

use super::held::HeldGroup;
use super::{Kind, Performance, member};
use crate::drain::Leave;
use crate::driver::{DriveError, Left};
use crate::engine::{Engine, EngineError};
use crate::notify::Notifier;
use crate::socket::Line;
use windlass_store::ListFilter;

type Effect<K> = <<K as Kind>::Group as Group>::Effect;
/// An effect, and what came of it.
type Performed<K> = (Effect<K>, Result<Input<K>, EngineError>);
type Input<K> = <<K as Kind>::Group as Group>::Input;

/// A group that this process drives.
#[derive(Debug)]
pub struct DrivingGroup {
    /// Changes whenever there is something new to read.
    pub news: watch::Receiver<u64>,
    ended: tokio::task::JoinHandle<Result<Left, EngineError>>,
}

impl DrivingGroup {
    /// How the driver left its group.
    pub async fn ended(self) -> Result<Left, EngineError> {
        match self.ended.await {
            Ok(left) => left,
            Err(panic) => Err(DriveError::Lost(panic.to_string()).into()),
        }
    }
}

impl Engine {
    /// Drives a group until it pauses or ends, or the process is interrupted. Releases the lease at the end.
    pub fn drive_group<K: Kind>(
        self: &Arc<Self>,
        kind: Arc<K>,
        held: HeldGroup<K::Group>,
        shutdown: watch::Receiver<bool>,
    ) -> Result<DrivingGroup, EngineError> {
        let id = held.state.row().id.0;
        let line = self.hub()?.open_line(&id);
        let news = line.news.subscribe();
        let engine = Arc::clone(self);
        let ended = tokio::spawn(async move {
            let changes = engine.changes().map_err(EngineError::Data)?;
            let token = held.token.clone();
            let row = held.state.row();
            let status = row.status;
            let notifier = Arc::new(Notifier::of_group(&engine, row));
            let driver = Driver {
                notifier: Arc::clone(&notifier),
                status,
                kind,
                engine: Arc::clone(&engine),
                held,
                line: Arc::clone(&line),
                shutdown,
                changes,
                known: HashMap::new(),
                tasks: JoinSet::new(),
                under_way: Vec::new(),
                spent: Vec::new(),
            };
            let left = driver.run().await;
            let _closed = engine.hub()?.close_line(&id);
            let released = engine.store.release(&id, &token).await;
            drop(line);
            notifier.finish().await;
            let left = left?;
            released?;
            Ok(left)
        });
        Ok(DrivingGroup { news, ended })
    }
}

/// Until the process is about to leave.
pub(super) async fn told(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|leave| *leave).await;
}

struct Performing<K: Kind> {
    effect: Effect<K>,
    task: tokio::task::AbortHandle,
}

struct Driver<K: Kind> {
    notifier: Arc<Notifier>,
    /// How the group stood when people were last notified.
    status: GroupStatus,
    kind: Arc<K>,
    engine: Arc<Engine>,
    held: HeldGroup<K::Group>,
    line: Arc<Line>,
    shutdown: watch::Receiver<bool>,
    changes: watch::Receiver<u64>,
    /// The last event that was seen of each loop.
    known: HashMap<LoopId, u64>,
    tasks: JoinSet<Performed<K>>,
    under_way: Vec<Performing<K>>,
    /// Effects whose result changed nothing.
    spent: Vec<Effect<K>>,
}

impl<K: Kind> Driver<K> {
    async fn run(mut self) -> Result<Left, EngineError> {
        let left = self.drive().await;
        // The loops of this group see the same shutdown, or have come to rest. After an error they are interrupted.
        if left.is_err() {
            self.tasks.shutdown().await;
        }
        left
    }

    async fn drive(&mut self) -> Result<Left, EngineError> {
        loop {
            self.changes.mark_unchanged();
            if self.engine.take_group_commands(self.kind.as_ref(), &mut self.held).await? {
                self.changed();
            }
            self.look_at_loops().await?;
            let leaving = self.engine.leave(&self.shutdown) != Leave::Stay;
            let wanted = match (leaving, self.held.state.row().status) {
                (false, GroupStatus::Running) => self.held.state.effects(),
                (true, _) | (false, GroupStatus::Paused | GroupStatus::Ended(_)) => Vec::new(),
            };
            self.reconcile(&wanted);
            if self.tasks.is_empty() && wanted.is_empty() && (leaving || !self.kind.stays()) {
                return Ok(if leaving { Left::ShutDown } else { Left::Settled });
            }
            let told = self.engine.told_to_leave(self.shutdown.clone());
            tokio::select! {
                // In this order, so that a simulation repeats; each of the first three passes when it is heard.
                biased;
                () = told, if !leaving => {}
                Some(done) = self.tasks.join_next() => self.hear(done).await?,
                () = self.line.wake.notified() => {}
                changed = self.changes.changed() => match changed {
                    Ok(()) => self.spent.clear(),
                    Err(_) => return Err(DriveError::Lost("the database is no longer watched".into()).into()),
                },
            }
        }
    }

    fn reconcile(&mut self, wanted: &[Effect<K>]) {
        for performing in &self.under_way {
            if !wanted.contains(&performing.effect) && self.kind.is_cancelled_unwanted(&performing.effect) {
                performing.task.abort();
            }
        }
        for effect in wanted {
            let runs = self.under_way.iter().any(|performing| performing.effect == *effect);
            if runs || self.spent.contains(effect) {
                continue;
            }
            let (kind, engine, shutdown) = (Arc::clone(&self.kind), Arc::clone(&self.engine), self.shutdown.clone());
            let (state, performed, changes) = (self.held.state.clone(), effect.clone(), self.changes.clone());
            let task = self.tasks.spawn(async move {
                let at = Performance { engine: &engine, state: &state, changes, shutdown };
                let input = kind.perform(at, performed.clone()).await;
                (performed, input)
            });
            self.under_way.push(Performing { effect: effect.clone(), task });
        }
    }

    async fn hear(&mut self, done: Result<Performed<K>, tokio::task::JoinError>) -> Result<(), EngineError> {
        let (effect, input) = match done {
            Ok(done) => done,
            Err(error) if error.is_cancelled() => {
                self.under_way.retain(|performing| !performing.task.is_finished());
                return Ok(());
            }
            Err(error) => return Err(DriveError::Lost(error.to_string()).into()),
        };
        self.under_way.retain(|performing| performing.effect != effect);
        match self.engine.apply_group(self.kind.as_ref(), &mut self.held, &input?).await {
            Ok(true) => self.changed(),
            Ok(false) => self.spent.push(effect),
            Err(EngineError::GroupRefused(refusal)) => {
                tracing::debug!(%refusal, ?effect, "refused");
                self.spent.push(effect);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads the loops that have written since they were last seen.
    async fn look_at_loops(&mut self) -> Result<(), EngineError> {
        let ids: Vec<String> = self.held.state.loops().into_iter().map(|id| id.0).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let store = Arc::clone(&self.engine.store);
        let rows = store.list(ListFilter { ids: Some(ids), ..ListFilter::default() }).await?;
        let news = rows.into_iter().filter(|row| self.known.get(&LoopId(row.entry.id.clone())) != Some(&row.head));
        let ids: Vec<String> = news.map(|row| row.entry.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let filter = ListFilter { ids: Some(ids), summaries: true, ..ListFilter::default() };
        for row in store.list(filter).await? {
            let id = LoopId(row.entry.id.clone());
            self.known.insert(id.clone(), row.head);
            let Some(report) = member::report_of(&row) else { continue };
            let input = self.kind.seen(id, report);
            match self.engine.apply_group(self.kind.as_ref(), &mut self.held, &input).await {
                Ok(true) => self.changed(),
                Ok(false) | Err(EngineError::GroupRefused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn changed(&mut self) {
        self.spent.clear();
        self.line.tell();
        let row = self.held.state.row();
        if std::mem::replace(&mut self.status, row.status) != row.status
            && let Some(news) = self.kind.news(&self.held.state)
        {
            self.notifier.tell_group(K::Group::KIND, &row, &news);
        }
    }
}
