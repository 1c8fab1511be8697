//! What the simulated machines share: time, processes, git, and what was seen of the run.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use windlass_core::agent::TurnReport;
use windlass_engine::clock::Clock;
use windlass_engine::engine::Engine;

use crate::coverage::Coverage;
use crate::dice::{Dice, Fault, Plan};
use crate::violation::{Invariant, Shadow, Violation};

/// A process as the kernel sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Running,
    Frozen,
    Dead,
}

/// Tokio wakes several who wait for one `watch` in random order, so here everyone has a channel of its own.
#[derive(Debug)]
pub struct Process {
    pub machine: u64,
    pub life: Life,
    /// Its life changed.
    pub turned: Arc<Notify>,
    pub leaving: bool,
    pub leave: Vec<watch::Sender<bool>>,
    pub engine: Weak<Engine>,
}

/// A tree, known by its number, and which gates would pass on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    pub number: u64,
    pub good: bool,
}

#[derive(Debug, Clone)]
pub struct Commit {
    pub tree: Tree,
    /// The turn or section that it closes.
    pub closes: Option<String>,
}

/// The files of a loop on one machine.
#[derive(Debug, Clone)]
pub struct Files {
    pub exist: bool,
    pub tree: Tree,
    /// Commits on the branch, the newest last.
    pub branch: Vec<String>,
}

/// What was really done for a loop, whatever its journal says.
#[derive(Debug, Default)]
pub struct Repo {
    pub commits: BTreeMap<String, Commit>,
    pub files: BTreeMap<u64, Files>,
    /// Gates that passed, by the commit that they really judged.
    pub passed: BTreeSet<(String, usize)>,
    /// Commits that a reviewer or a user agreed to.
    pub agreed: BTreeSet<String>,
    /// Turns whose agent was started, and on which machine.
    pub started: BTreeMap<String, u64>,
    /// Exit records.
    pub ended: BTreeMap<String, TurnReport>,
    next_tree: u64,
}

impl Repo {
    pub fn new_tree(&mut self, good: bool) -> Tree {
        self.next_tree += 1;
        Tree { number: self.next_tree, good }
    }

    pub fn commit(&mut self, machine: u64, tree: Tree, closes: Option<String>) -> String {
        let id = format!("c{:03}-{}", self.commits.len(), tree.number);
        self.commits.insert(id.clone(), Commit { tree, closes });
        if let Some(files) = self.files.get_mut(&machine) {
            files.branch.push(id.clone());
        }
        id
    }
}

#[derive(Debug)]
pub struct Inner {
    pub dice: Dice,
    pub story: Option<Vec<String>>,
    pub coverage: Coverage,
    pub violation: Option<Violation>,
    pub repos: BTreeMap<String, Repo>,
    pub processes: BTreeMap<u64, Process>,
    pub journals: BTreeMap<String, Shadow>,
    /// Who holds which loop by the answers that the store gave, with the token.
    pub leases: BTreeMap<String, (u64, String)>,
    /// Messages that Windlass accepted from users.
    pub accepted: Vec<(String, String)>,
    pub appends: u64,
    /// So many of the next reads of a journal fail, whatever the dice say.
    pub reads_to_fail: u32,
    watchers: Vec<watch::Sender<u64>>,
    offset_ms: i64,
    slots: usize,
    /// Slots that are taken, and by which process.
    taken: Vec<(u64, u64)>,
    next_slot: u64,
}

#[derive(Debug)]
pub struct World {
    inner: Mutex<Inner>,
    started: tokio::time::Instant,
    /// Somebody wrote to the store.
    pub written: Notify,
    slot_freed: Notify,
    pub failed: Notify,
}

impl World {
    /// Made inside of a runtime whose time is simulated.
    pub fn new(plan: Plan, tells: bool) -> Arc<Self> {
        let mut dice = Dice::new(plan);
        let slots = 1 + usize::try_from(dice.throw(crate::dice::Stream::Spec, 3)).unwrap_or(0);
        let inner = Inner {
            dice,
            story: tells.then(Vec::new),
            coverage: Coverage::default(),
            violation: None,
            repos: BTreeMap::new(),
            processes: BTreeMap::new(),
            journals: BTreeMap::new(),
            leases: BTreeMap::new(),
            accepted: Vec::new(),
            appends: 0,
            reads_to_fail: 0,
            watchers: Vec::new(),
            offset_ms: 0,
            slots,
            taken: Vec::new(),
            next_slot: 0,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            started: tokio::time::Instant::now(),
            written: Notify::new(),
            slot_freed: Notify::new(),
            failed: Notify::new(),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Timestamp {
        let start = Timestamp::from_second(1_767_225_600).unwrap_or_default();
        let passed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let moved = self.lock().offset_ms;
        start.checked_add(SignedDuration::from_millis(passed + moved)).unwrap_or(Timestamp::MAX)
    }

    pub fn jump(&self, ms: i64) {
        self.lock().offset_ms += ms;
    }

    pub fn tell(&self, line: impl FnOnce() -> String) {
        if self.lock().story.is_none() {
            return;
        }
        let at = self.started.elapsed().as_secs_f64();
        let line = format!("{at:>9.1} s  {}", line());
        if let Some(story) = &mut self.lock().story {
            story.push(line);
        }
    }

    /// Whether this fault happens here.
    pub fn fault(&self, fault: Fault, sides: u64, whom: &str) -> bool {
        let hit = {
            let mut inner = self.lock();
            let hit = inner.dice.fault(fault, sides);
            if hit {
                inner.coverage.fault(fault);
            }
            hit
        };
        if hit {
            self.tell(|| format!("FAULT {} ({whom})", fault.name()));
        }
        hit
    }

    /// The first one counts: what follows may follow from it.
    pub fn violate(&self, invariant: Invariant, what: String) {
        self.tell(|| format!("VIOLATED {}: {what}", invariant.name()));
        let mut inner = self.lock();
        if inner.violation.is_none() {
            inner.violation = Some(Violation { invariant, what });
        }
        drop(inner);
        self.failed.notify_waiters();
    }

    pub fn kill(&self, process: u64) {
        self.tell(|| format!("p{process} is killed"));
        self.turn(process, Life::Dead);
        self.slot_freed.notify_waiters();
    }

    pub fn life(&self, process: u64) -> Life {
        self.lock().processes.get(&process).map_or(Life::Dead, |process| process.life)
    }

    /// Changes the life of a process; the dead stay dead.
    pub fn turn(&self, process: u64, life: Life) {
        if let Some(process) = self.lock().processes.get_mut(&process).filter(|process| process.life != Life::Dead) {
            process.life = life;
            process.turned.notify_waiters();
        }
    }

    pub async fn until_dead(&self, process: u64) {
        let Some(turned) = self.lock().processes.get(&process).map(|process| Arc::clone(&process.turned)) else {
            return;
        };
        loop {
            let next = turned.notified();
            if self.life(process) == Life::Dead {
                return;
            }
            next.await;
        }
    }

    pub fn shutdown(&self, process: u64) {
        if let Some(process) = self.lock().processes.get_mut(&process) {
            process.leaving = true;
            for leave in &process.leave {
                leave.send_replace(true);
            }
        }
    }

    /// Whether the process has to leave, for one who waits for it.
    pub fn leaving(&self, process: u64) -> watch::Receiver<bool> {
        let mut inner = self.lock();
        let Some(process) = inner.processes.get_mut(&process) else { return watch::channel(true).1 };
        let (tell, told) = watch::channel(process.leaving);
        process.leave.push(tell);
        told
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        let (tell, told) = watch::channel(0);
        self.lock().watchers.push(tell);
        told
    }

    /// Every step of a process comes through here: a frozen one waits, a dead one never goes on.
    pub async fn pass(&self, process: u64) {
        let turned = self.lock().processes.get(&process).map(|process| Arc::clone(&process.turned));
        let Some(turned) = turned else { return std::future::pending().await };
        loop {
            let next = turned.notified();
            match self.life(process) {
                Life::Running => return,
                Life::Frozen => next.await,
                Life::Dead => return std::future::pending().await,
            }
        }
    }

    pub async fn die(&self, process: u64) {
        self.kill(process);
        std::future::pending().await
    }

    pub fn changed(&self) {
        let mut inner = self.lock();
        inner.watchers.retain(|watcher| !watcher.is_closed());
        inner.watchers.iter().for_each(|watcher| watcher.send_modify(|count| *count += 1));
        drop(inner);
        self.written.notify_waiters();
    }

    /// A slot of a process: dropped with what holds it, and free when the process dies, as a lock is.
    pub fn take_slot(self: &Arc<Self>, process: u64) -> Option<Box<dyn Any + Send + Sync>> {
        let mut inner = self.lock();
        let Inner { processes, taken, .. } = &mut *inner;
        taken.retain(|(_, holder)| processes.get(holder).is_some_and(|one| one.life != Life::Dead));
        if taken.len() >= inner.slots {
            return None;
        }
        inner.next_slot += 1;
        let slot = Slot { world: Arc::clone(self), number: inner.next_slot };
        let number = inner.next_slot;
        inner.taken.push((number, process));
        Some(Box::new(slot))
    }

    pub async fn wait_for_slot(self: &Arc<Self>, process: u64) -> Box<dyn Any + Send + Sync> {
        loop {
            self.pass(process).await;
            let freed = self.slot_freed.notified();
            if let Some(slot) = self.take_slot(process) {
                return slot;
            }
            freed.await;
        }
    }

    fn free_slot(&self, number: u64) {
        self.lock().taken.retain(|(one, _)| *one != number);
        self.slot_freed.notify_waiters();
    }
}

#[derive(Debug)]
struct Slot {
    world: Arc<World>,
    number: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.world.free_slot(self.number);
    }
}

/// The clock of one process.
#[derive(Debug)]
pub(crate) struct SimClock {
    pub world: Arc<World>,
    pub process: u64,
}

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        // As the system's clock does: it may be set, so it is looked at again.
        const LONGEST_NAP_MS: u64 = 60_000;
        loop {
            self.world.pass(self.process).await;
            let left = at.as_millisecond() - self.now().as_millisecond();
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else { return };
            tokio::time::sleep(std::time::Duration::from_millis(left.min(LONGEST_NAP_MS))).await;
        }
    }
}
