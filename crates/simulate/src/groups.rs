//! Best of N on simulated machines: the real group machine, driver, journal, lease and inbox, over simulated loops.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_core::group::tries::{Losers, Tries, TriesEffect, TriesEvent, TriesInput, TriesSpec, TrySpec};
use windlass_core::group::{DiffSize, Group, GroupId, GroupKind, GroupStatus, LoopReport, Membership};
use windlass_core::ids::LoopId;
use windlass_engine::engine::{Engine, EngineError};
use windlass_engine::groups::{Kind, Performance, TriesCommand, TriesKind, load_group, member};
use windlass_store::{Store, StoreError};

use crate::dice::{Fault, Stream};
use crate::sim::{Sim, create_loop};
use crate::specs;
use crate::violation::Invariant;

const ID: &str = "tries1";
const DAY: u64 = 86_400;

pub(crate) fn is_group(id: &str) -> bool {
    id == ID
}

/// The real kind, but for making, measuring and removing workspaces.
#[derive(Debug, Clone)]
pub(crate) struct SimTries {
    sim: Arc<Sim>,
    process: u64,
}

#[async_trait]
impl Kind for SimTries {
    type Group = Tries;

    async fn perform(&self, at: Performance<'_, Tries>, effect: TriesEffect) -> Result<TriesInput, EngineError> {
        let id =
            |number: u32| at.state.try_spec(number).map(|each| each.loop_id.clone()).unwrap_or(LoopId(String::new()));
        let gone = |number: u32| TriesInput::Failed { number, message: "its loop was removed".into() };
        match effect {
            TriesEffect::RunTry { number } => {
                let id = id(number);
                if let Some(each) = at.state.try_spec(number)
                    && at.engine.store.get(&id.0).await?.is_none()
                {
                    if at.state.stopped.is_some() {
                        return Ok(TriesInput::Failed { number, message: "stopped before it started".into() });
                    }
                    let mut spec = (*each.spec).clone();
                    let name = at.state.name.clone();
                    spec.group = Some(Membership { id: at.state.id.clone(), kind: GroupKind::Tries, name, number });
                    match create_loop(&self.sim, at.engine, &id.0, spec, 0).await {
                        Ok(()) | Err(StoreError::IdTaken { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                let reopen = at.state.each().any(|(each, _, state)| each == number && state.reopened);
                member::drive(at.engine, &id, reopen, self.sim.world.leaving(self.process)).await?;
                let report = member::report(at.engine, &id).await?;
                Ok(report.map_or_else(|| gone(number), |report| TriesInput::Ran { number, report }))
            }
            TriesEffect::StopTry { number } => {
                let id = id(number);
                member::stop(at.engine, &id).await?;
                let report = member::report(at.engine, &id).await?;
                Ok(report.map_or_else(|| gone(number), |report| TriesInput::Seen { loop_id: id, report }))
            }
            TriesEffect::Measure { number } => {
                let diff = Some(DiffSize { files: 1, added: u64::from(number), removed: 0 });
                Ok(TriesInput::Measured { number, diff })
            }
            TriesEffect::Drop { number } => Ok(TriesInput::Dropped { number, saved: Vec::new() }),
        }
    }

    fn seen(&self, loop_id: LoopId, report: LoopReport) -> TriesInput {
        TriesKind.seen(loop_id, report)
    }

    fn command(&self, body: &str) -> Result<TriesInput, serde_json::Error> {
        TriesKind.command(body)
    }

    fn summary(&self, state: &Tries) -> String {
        TriesKind.summary(state)
    }
}

/// A group of two or three tries.
pub async fn create(sim: &Arc<Sim>, engine: &Engine) -> Option<String> {
    let (count, first, drops) = {
        let mut world = sim.world.lock();
        let dice = &mut world.dice;
        (2 + dice.throw(Stream::Spec, 2), dice.one_in(Stream::Spec, 2), dice.one_in(Stream::Spec, 2))
    };
    let spec = specs::draw(&mut sim.world.lock().dice);
    let tries = (1..=count).map(|number| TrySpec {
        loop_id: LoopId(format!("try{number}")),
        name: format!("try{number}"),
        spec: Box::new(spec.clone()),
    });
    let spec = TriesSpec {
        goal: spec.goal.clone(),
        tries: tries.collect(),
        first,
        losers: if drops { Losers::Drop } else { Losers::Keep },
        budget_usd: None,
        max_tokens: None,
    };
    let created = TriesEvent::TriesCreated {
        id: GroupId(ID.to_owned()),
        name: ID.to_owned(),
        project: "/dev/null/project".into(),
        spec: Box::new(spec),
    };
    let held = engine.create_group(&SimTries { sim: Arc::clone(sim), process: 1 }, &created).await.ok()?;
    let _ = engine.release_group(held).await;
    Some(ID.to_owned())
}

pub async fn drive(
    sim: &Arc<Sim>,
    engine: &Arc<Engine>,
    id: &str,
    process: u64,
    shutdown: watch::Receiver<bool>,
) -> Result<(), EngineError> {
    let held = engine.take_group::<Tries>(&GroupId(id.to_owned())).await?;
    let kind = Arc::new(SimTries { sim: Arc::clone(sim), process });
    engine.drive_group(kind, held, shutdown)?.ended().await.map(drop)
}

/// Stops the group now and then.
pub async fn person(sim: Arc<Sim>, id: String) {
    loop {
        let ms = 60_000 + sim.throw(Stream::People, 3_000_000);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        if sim.world.fault(Fault::PersonStops, 6, &id) {
            stop(&sim, &id).await;
        }
    }
}

async fn stop(sim: &Arc<Sim>, id: &str) {
    let process = sim.start(0);
    let _ended = process.ends_with_its_user(sim);
    let kind = SimTries { sim: Arc::clone(sim), process: process.number };
    let body = serde_json::to_string(&TriesCommand::Stop).unwrap_or_default();
    let group = GroupId(id.to_owned());
    let asked = process.engine.command_group(&kind, &group, &body);
    let answer = tokio::time::timeout(Duration::from_secs(7_200), asked).await;
    sim.world.tell(|| format!("a user stops {id}: {}", matches!(answer, Ok(Ok(_)))));
}

/// Faults are over: the group ends by itself, or after a stop.
pub async fn finish(sim: &Arc<Sim>, id: &str) {
    for round in 0..4 {
        let ended = tokio::time::timeout(Duration::from_secs(2 * DAY), rests(sim, id)).await;
        match ended {
            Ok(GroupStatus::Ended(_)) => return,
            Ok(GroupStatus::Running | GroupStatus::Paused) => stop(sim, id).await,
            Err(_) => {
                let what = format!("{id} is still under way after 2 days");
                return sim.world.violate(if round == 0 { Invariant::Progress } else { Invariant::StopEnds }, what);
            }
        }
    }
    sim.world.violate(Invariant::StopEnds, format!("{id} has not ended after several stops"));
}

async fn rests(sim: &Sim, id: &str) -> GroupStatus {
    loop {
        let written = sim.world.written.notified();
        let read = load_group::<Tries>(sim.memory.as_ref() as &dyn Store, &GroupId(id.to_owned())).await;
        match read.map(|(state, _)| state.row().status) {
            Ok(GroupStatus::Running) | Err(_) => {}
            Ok(status) => return status,
        }
        written.await;
    }
}
