//! One run: loops or a group, servers that drive them, people, faults, and then calm, in which everything must end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use windlass_core::ids::LoopId;
use windlass_engine::groups::member;
use windlass_store::{ListFilter, Rows};

use crate::coverage::Coverage;
use crate::dice::{Fault, Plan, Stream};
use crate::groups;
use crate::people;
use crate::sim::{Sim, Started, causes, create_loop};
use crate::specs;
use crate::violation::{Invariant, Violation};
use crate::world::Life;

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub violation: Option<Violation>,
    pub coverage: Coverage,
    pub story: Vec<String>,
    /// Faults that happened, in order.
    pub happened: Vec<(Fault, u64)>,
    pub appends: u64,
    /// Every event of every journal, without what is random in each run: ids of leases and commands.
    pub journals: BTreeMap<String, Vec<String>>,
}

/// Runs a plan to its end, or to the first violation.
pub fn run(plan: &Plan, tells: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("a runtime: {error}"));
    let sim = runtime.block_on(async {
        let sim = Sim::new(plan, tells).unwrap_or_else(|| panic!("git is not on PATH"));
        let failed = sim.world.failed.notified();
        tokio::select! {
            biased;
            () = failed => {}
            () = whole(&sim) => {}
        }
        sim
    });
    drop(runtime);
    let mut inner = sim.world.lock();
    let journals = inner.journals.iter().map(|(id, shadow)| {
        let kinds = shadow.events.iter().map(|event| format!("{} {}", event.at, event.kind)).collect();
        (id.clone(), kinds)
    });
    let journals = journals.collect();
    Outcome {
        violation: inner.violation.take(),
        coverage: std::mem::take(&mut inner.coverage),
        story: inner.story.take().unwrap_or_default(),
        happened: std::mem::take(&mut inner.dice.happened),
        appends: inner.appends,
        journals,
    }
}

async fn whole(sim: &Arc<Sim>) {
    let two_machines = sim.throw(Stream::Spec, 4) == 0;
    let machines = [0, u64::from(two_machines)];
    let first = sim.start(0);
    let group = sim.throw(Stream::Spec, 5) == 0;
    let group = if group { groups::create(sim, &first.engine).await } else { None };
    let mut ids = Vec::new();
    if group.is_none() {
        for number in 1..=1 + sim.throw(Stream::Spec, 2) {
            let id = format!("loop{number}");
            let spec = specs::draw(&mut sim.world.lock().dice);
            // The store may fail or be slow from the first moment on.
            if create_loop(sim, &first.engine, &id, spec, 0).await.is_ok() {
                ids.push(id);
            }
        }
    }
    sim.world.kill(first.number);
    let mut running = JoinSet::new();
    for machine in machines {
        running.spawn(server(Arc::clone(sim), machine));
    }
    running.spawn(nemesis(Arc::clone(sim)));
    let fault_phase = Duration::from_secs(300 + sim.throw(Stream::Time, 20_000));
    let mut crowd = JoinSet::new();
    for id in &ids {
        crowd.spawn(people::person(Arc::clone(sim), id.clone()));
    }
    if let Some(group) = &group {
        crowd.spawn(groups::person(Arc::clone(sim), group.clone()));
    }
    tokio::time::sleep(fault_phase).await;
    crowd.shutdown().await;
    calm(sim);
    if let Some(group) = &group {
        groups::finish(sim, group).await;
        ids = sim.world.lock().repos.keys().cloned().collect();
    }
    for id in &ids {
        people::finish(sim, id).await;
    }
    nothing_accepted_is_lost(sim);
}

fn calm(sim: &Sim) {
    sim.world.tell(|| "faults end".to_owned());
    let mut world = sim.world.lock();
    world.dice.calm = true;
    let all: Vec<u64> = world.processes.keys().copied().collect();
    drop(world);
    all.into_iter().for_each(|process| sim.world.turn(process, Life::Running));
}

fn nothing_accepted_is_lost(sim: &Sim) {
    let accepted = sim.world.lock().accepted.clone();
    for (id, text) in accepted {
        let known = sim.state(&id).is_some_and(|state| state.steering.iter().any(|message| message.text == text));
        if !known {
            sim.world
                .violate(Invariant::NothingLost, format!("{id}: the accepted message '{text}' is not in the journal"));
        }
    }
}

/// Keeps a process running on a machine, which drives what nobody drives.
async fn server(sim: Arc<Sim>, machine: u64) {
    loop {
        let process = sim.start(machine);
        sim.world.tell(|| format!("p{} starts on machine {machine}", process.number));
        tokio::select! {
            biased;
            () = sim.world.until_dead(process.number) => {}
            () = serve(&sim, &process) => sim.world.kill(process.number),
        }
        let ms = 1_000 + sim.throw(Stream::Time, 60_000);
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// Until the process is asked to leave, and what it drove has come to rest.
async fn serve(sim: &Arc<Sim>, process: &Started) {
    let driving: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let mut tasks = JoinSet::new();
    let leaving = sim.world.leaving(process.number);
    while !*leaving.borrow() {
        sim.world.pass(process.number).await;
        let filter = ListFilter { rows: Rows::All, open_only: true, ..ListFilter::default() };
        let rows = process.engine.store.list(filter).await.unwrap_or_default();
        let group_runs = rows.iter().any(|row| groups::is_group(&row.entry.id));
        for row in rows {
            let id = row.entry.id.clone();
            let wants = matches!(row.entry.status.as_str(), "running" | "waiting" | "queued");
            let of_group = group_runs && sim.state(&id).is_some_and(|state| state.spec.group.is_some());
            let mine = lock(&driving).contains(&id);
            if !wants || row.is_driven() || of_group || mine {
                continue;
            }
            lock(&driving).insert(id.clone());
            let (sim, engine) = (Arc::clone(sim), Arc::clone(&process.engine));
            let (shutdown, driving, number) = (sim.world.leaving(process.number), Arc::clone(&driving), process.number);
            tasks.spawn(async move {
                let left = match groups::is_group(&id) {
                    true => groups::drive(&sim, &engine, &id, number, shutdown).await,
                    false => member::drive(&engine, &LoopId(id.clone()), false, shutdown).await,
                };
                if let Err(error) = left {
                    sim.world.tell(|| format!("p{number} leaves {id}: {}", causes(&error)));
                }
                lock(&driving).remove(&id);
            });
        }
        let nap = if sim.world.lock().dice.calm { 60 } else { 15 };
        tokio::time::sleep(Duration::from_secs(nap)).await;
    }
    while tasks.join_next().await.is_some() {}
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills, freezes and interrupts processes, and makes clocks jump.
async fn nemesis(sim: Arc<Sim>) {
    loop {
        let ms = 5_000 + sim.throw(Stream::Nemesis, 200_000);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        if sim.world.lock().dice.calm {
            return;
        }
        let alive: Vec<u64> = {
            let world = sim.world.lock();
            let lives = world.processes.iter().filter(|(_, process)| process.life == Life::Running);
            lives.map(|(number, _)| *number).collect()
        };
        if alive.is_empty() {
            continue;
        }
        let victim = sim.world.lock().dice.pick(Stream::Nemesis, &alive);
        let whom = format!("p{victim}");
        if sim.world.fault(Fault::KillProcess, 6, &whom) {
            sim.world.kill(victim);
        }
        if sim.world.fault(Fault::Shutdown, 8, &whom) {
            sim.world.shutdown(victim);
        }
        if sim.world.fault(Fault::ClockJump, 10, "all machines") {
            let ms = i64::try_from(sim.throw(Stream::Nemesis, 14_400_000)).unwrap_or(0) - 7_200_000;
            sim.world.jump(ms);
        }
        if sim.world.fault(Fault::FilesGone, 12, "all machines") {
            let mut world = sim.world.lock();
            world.repos.values_mut().flat_map(|repo| repo.files.values_mut()).for_each(|files| files.exist = false);
        }
        if sim.world.fault(Fault::Freeze, 8, &whom) {
            freeze(&sim, victim).await;
        }
    }
}

async fn freeze(sim: &Arc<Sim>, process: u64) {
    sim.world.turn(process, Life::Frozen);
    let ms = 1_000 + sim.throw(Stream::Nemesis, 1_200_000);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    sim.world.turn(process, Life::Running);
}
