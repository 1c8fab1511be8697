//! The store in PostgreSQL: the same contract as SQLite's, for workers of many machines.
//!
//! Invariant: each change is one transaction that first locks the loop's row, so every rule holds across machines. A
//! connection that is lost is no refusal: the call waits and tries again. Where the answer to a commit is lost, the step's
//! ID in the loop's row tells that it was written.

mod failure;
mod rows;
mod schema;
mod steps;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;
use windlass_store::{
    Append, ChainCheck, Create, Held, Holder, InboxItem, Link, Linked, ListFilter, Listed, Result, Store, StoreError,
    StoredEvent,
};

use self::failure::{Fault, failed};
pub use self::schema::FORMAT;

/// A worker that was not seen for so long is gone.
const LOST_AFTER: Duration = Duration::from_millis(3_500);
/// How long a call waits for a database that is away.
const PATIENCE: Duration = Duration::from_secs(600);
const MOST_CONNECTIONS: u32 = 16;

/// The journal of a fleet.
#[derive(Clone, Debug)]
pub struct PgStore {
    pool: PgPool,
    lost_after: Duration,
}

/// Who holds leases in a fleet, known by the times at which the database heard of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    pub id: String,
    pub name: String,
}

impl PgStore {
    /// Connects to a database that has the tables of this version.
    pub async fn connect(url: &str) -> Result<Self> {
        let store = Self { pool: pool(url).await?, lost_after: LOST_AFTER };
        schema::check(&store.pool).await?;
        Ok(store)
    }

    /// Creates the tables, or brings older ones up to date; returns the format before and now. Others may do it too.
    pub async fn migrate(url: &str) -> Result<(u32, u32)> {
        schema::migrate(&pool(url).await?).await
    }

    /// Another time after which a worker that was not seen is gone.
    #[must_use]
    pub fn lost_after(self, lost_after: Duration) -> Self {
        Self { lost_after, ..self }
    }

    /// Notes that the worker lives. Only the database's clock counts.
    pub async fn seen(&self, worker: &Worker) -> Result<()> {
        self.patiently(async |_| steps::seen(&self.pool, worker).await).await
    }

    /// Tries again while the database is away. The step is told how often it was tried before.
    async fn patiently<T>(&self, step: impl AsyncFn(u32) -> Result<T, Fault>) -> Result<T> {
        let until = tokio::time::Instant::now() + PATIENCE;
        for tried in 0_u32.. {
            match step(tried).await {
                Ok(done) => return Ok(done),
                Err(Fault::Refused(refusal)) => return Err(refusal),
                Err(Fault::Away(error)) if tokio::time::Instant::now() < until => {
                    tracing::warn!(%error, tried, "the database is away; trying again");
                    tokio::time::sleep(Duration::from_millis(50 << tried.min(5))).await;
                }
                Err(Fault::Away(error) | Fault::Failed(error)) => return Err(failed(error)),
            }
        }
        Err(StoreError::Stopped)
    }
}

async fn pool(url: &str) -> Result<PgPool> {
    let options = PgPoolOptions::new().max_connections(MOST_CONNECTIONS).acquire_timeout(Duration::from_secs(10));
    options.connect(url).await.map_err(failed)
}

#[async_trait]
impl Store for PgStore {
    async fn create(&self, new: Create) -> Result<u64> {
        let step = Uuid::now_v7();
        self.patiently(async |_| steps::create(&self.pool, step, &new).await).await
    }

    async fn append(&self, step: Append) -> Result<u64> {
        let id = Uuid::now_v7();
        self.patiently(async |_| steps::append(&self.pool, id, &step).await).await
    }

    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        self.patiently(async |_| rows::events(&self.pool, loop_id, after_seq, limit).await).await
    }

    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck> {
        let walk = async |_| {
            let head = rows::head(&self.pool, loop_id).await?;
            let mut check = ChainCheck::start();
            let mut events = rows::links(&self.pool, loop_id, until);
            while let Some((seq, at, kind, body, link)) = events.try_next().await? {
                let event = Linked { seq: seq.cast_unsigned(), at, kind: kind.as_bytes(), body: body.as_bytes() };
                if !check.follow(&event, Link::from_bytes(&link)) {
                    break;
                }
            }
            Ok(check.ends_at(head.min(until)))
        };
        self.patiently(walk).await
    }

    async fn get(&self, loop_id: &str) -> Result<Option<Listed>> {
        self.patiently(async |_| rows::by_id(&self.pool, self.lost_after, loop_id).await).await
    }

    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>> {
        self.patiently(async |_| rows::by_name(&self.pool, self.lost_after, project, name).await).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>> {
        self.patiently(async |_| rows::list(&self.pool, self.lost_after, &filter).await).await
    }

    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()> {
        self.patiently(async |_| steps::acquire(&self.pool, loop_id, &holder, replacing).await).await
    }

    async fn remove(&self, loop_id: &str, token: &str) -> Result<()> {
        self.patiently(async |tried| match steps::remove(&self.pool, loop_id, token).await {
            // Removed by the attempt whose answer was lost.
            Err(Fault::Refused(StoreError::UnknownLoop { .. })) if tried > 0 => Ok(()),
            outcome => outcome,
        })
        .await
    }

    async fn release(&self, loop_id: &str, token: &str) -> Result<()> {
        self.patiently(async |_| steps::release(&self.pool, loop_id, token).await).await
    }

    async fn holder(&self, loop_id: &str) -> Result<Option<Held>> {
        Ok(self.get(loop_id).await?.and_then(|listed| listed.holder))
    }

    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()> {
        self.patiently(async |_| steps::post(&self.pool, loop_id, &item).await).await
    }

    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>> {
        self.patiently(async |_| rows::pending(&self.pool, loop_id).await).await
    }

    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>> {
        self.patiently(async |_| rows::answer(&self.pool, item_id).await).await
    }
}
