//! The machines of a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_engine::outside::{FleetQueue, WorkerView};

use crate::local::Local;
use crate::loops::page_after;
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// Workers and desks that were seen in the last minute; none on a machine that is no desk.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListWorkers {
    /// The ID of the last worker of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// The loops of a fleet that wait for a worker, and its limits; none on a machine that is no desk.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListFleetQueue {}

/// Let a worker finish its turns and exit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrainWorker {
    /// Its name or ID.
    #[schemars(skip)]
    pub id: String,
}

impl Request for ListWorkers {
    type Report = Vec<WorkerView>;
    const NAME: &'static str = "workers";

    async fn perform(self, here: &Local) -> Result<Vec<WorkerView>, Problem> {
        let mut workers = match here.reader().await? {
            Some(engine) => engine.workers().await?,
            None => Vec::new(),
        };
        page_after(&mut workers, self.after.as_deref(), self.limit, |worker| worker.id.clone())?;
        Ok(workers)
    }
}

impl Request for ListFleetQueue {
    type Report = FleetQueue;
    const NAME: &'static str = "fleet queue";

    async fn perform(self, here: &Local) -> Result<FleetQueue, Problem> {
        match here.reader().await? {
            Some(engine) => Ok(engine.fleet_queue().await?),
            None => Ok(FleetQueue::default()),
        }
    }
}

impl Request for DrainWorker {
    type Report = Vec<WorkerView>;
    const NAME: &'static str = "drain worker";

    async fn perform(self, here: &Local) -> Result<Vec<WorkerView>, Problem> {
        let engine = here.engine().await?;
        if engine.drain_worker(&self.id).await?.is_empty() {
            let message = format!("no living worker is called '{}'", self.id);
            return Err(Problem::new(Kind::NotFound, message).hint("list the workers first"));
        }
        Ok(engine.workers().await?)
    }
}
