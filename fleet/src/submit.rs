//! New loops of a fleet: the base goes to the hub, the loop into the store, and the next free worker takes it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_app::{Background, Context, Local, Problem, Request, StartLoop};
use windlass_engine::engine::{Engine, Held};
use windlass_engine::groups::AnyGroup;
use windlass_engine::view::LoopView;

use crate::store::{PgStore, Placing};
use crate::worker::{Failure, Who, engine};

/// A queued loop is released, and no other one is handed on.
#[derive(Debug)]
pub(crate) struct Workers;

#[async_trait]
impl Background for Workers {
    async fn take(&self, engine: &Arc<Engine>, held: Held) -> Result<(), Problem> {
        Ok(engine.release(held).await?)
    }

    async fn take_group(&self, engine: &Arc<Engine>, held: AnyGroup) -> Result<(), Problem> {
        held.release(engine).await?;
        Err(Problem::refused("workers of a fleet take single loops only", "start the loops one by one"))
    }
}

/// Where loops are submitted.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub database: String,
    pub hub: String,
    /// The project's name in the fleet; that of its directory if not said.
    pub project: Option<String>,
    pub placing: Placing,
}

/// This process as a client of the fleet.
async fn local(fleet: &Fleet, repo: &Path) -> Result<Local, Failure> {
    let context = Context::new(Some(repo)).map_err(failure)?;
    let data = context.paths.data.join("fleet");
    let store = PgStore::connect(&fleet.database).await?.placing(fleet.placing.clone());
    let hub = hub(&fleet.hub)?;
    let (engine, _) = engine(store, &data, &hub, Who::Client, fleet.project.clone()).await?;
    Ok(Local::on(context, engine, Arc::new(Workers)))
}

/// Creates a loop that waits for a worker.
pub async fn run(fleet: &Fleet, start: StartLoop) -> Result<LoopView, Failure> {
    let local = local(fleet, Path::new(&start.project)).await?;
    start.perform(&local).await.map_err(failure)
}

/// The hub as every part of the fleet is given it: a directory as its absolute path, an address as it is.
pub fn hub(said: &str) -> Result<String, Failure> {
    if said.contains("://") || said.split('/').next().is_some_and(|host| host.contains(':')) {
        return Ok(said.to_owned());
    }
    std::fs::create_dir_all(said)?;
    Ok(Path::new(said).canonicalize()?.to_string_lossy().into_owned())
}

pub(crate) fn failure(problem: Problem) -> Failure {
    match problem.hint {
        Some(hint) => format!("{}\nhint: {hint}", problem.message).into(),
        None => problem.message.into(),
    }
}
