//! The store in PostgreSQL: the same contract as SQLite's, for workers of many machines.
//!
//! Invariant: each change is one transaction that first locks the loop's row, so every rule holds across machines. A
//! connection that is lost is no refusal: the call waits and tries again. Where the answer to a commit is lost, the step's
//! ID in the loop's row tells that it was written.

mod failure;
mod output;
mod patience;
mod queue;
mod rows;
mod schema;
mod steps;

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use uuid::Uuid;
use windlass_engine::outside::{FleetQueue, QueuedView, Wait, WorkerView};
use windlass_store::{
    Append, ChainCheck, Create, Held, Holder, InboxItem, ListFilter, Listed, Result, Store, StoreError, StoredEvent,
};

use self::failure::{Fault, failed};
pub use self::output::{Fetched, Kept, Piece};
use self::patience::{Patience, patiently};
use self::queue::Asking;
pub use self::schema::FORMAT;
pub(crate) use self::steps::{INBOX, LEASE, NEWS, OUTPUT, WATCH, WORK};

/// A worker that was not seen for so long is gone.
const LOST_AFTER: Duration = Duration::from_millis(3_500);
const MOST_CONNECTIONS: u32 = 16;

/// The journal of a fleet.
#[derive(Clone, Debug)]
pub struct PgStore {
    pool: PgPool,
    lost_after: Duration,
    placing: Placing,
}

/// Who holds leases in a fleet, known by the times at which the database heard of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    pub id: String,
    pub name: String,
    /// It answers people and drives nothing.
    pub is_desk: bool,
    /// How many loops it takes; none for what only creates loops.
    pub slots: Option<u32>,
}

/// What is said of a new loop besides its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placing {
    /// From 1, which is taken first, to 5.
    pub priority: u8,
    /// The login of an agent that it counts for.
    pub account: Option<String>,
}

impl Default for Placing {
    fn default() -> Self {
        Self { priority: 3, account: None }
    }
}

/// When the database heard of a worker last, by its own clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sight {
    /// Seconds since 1970; none if it never did.
    pub seen_at: Option<f64>,
    pub gone: bool,
}

impl PgStore {
    /// Connects to a database that has the tables of this version.
    pub async fn connect(url: &str) -> Result<Self> {
        let store = Self { pool: pool(url).await?, lost_after: LOST_AFTER, placing: Placing::default() };
        schema::check(&store.pool).await?;
        Ok(store)
    }

    /// Creates the tables, or brings older ones up to date; returns the format before and now. Others may do it too.
    pub async fn migrate(url: &str) -> Result<(u32, u32)> {
        schema::migrate(url).await
    }

    /// Another time after which a worker that was not seen is gone.
    #[must_use]
    pub fn lost_after(self, lost_after: Duration) -> Self {
        Self { lost_after, ..self }
    }

    /// What the database tells on these channels, whenever it can be reached.
    pub(crate) async fn listener(&self, channels: &[&str]) -> Result<PgListener> {
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(failed)?;
        listener.listen_all(channels.iter().copied()).await.map_err(failed)?;
        Ok(listener)
    }

    /// The same for loops that are created with these words.
    #[must_use]
    pub fn placing(self, placing: Placing) -> Self {
        Self { placing, ..self }
    }

    /// Loops that should be under way, that nobody living holds, and that may be taken now, in the order in which they shall be.
    pub async fn waiting(&self) -> Result<Vec<QueuedView>> {
        Ok(patiently!(queue::queue(&self.pool, self.lost_after, Asking::Placing))?.0)
    }

    /// The same for a worker that has room for so many.
    pub async fn waiting_for(&self, worker: &str, room: usize) -> Result<Vec<QueuedView>> {
        let asking = Asking::Worker { id: worker, room };
        Ok(patiently!(queue::queue(&self.pool, self.lost_after, asking))?.0)
    }

    /// All loops that nobody living holds, what holds each one back, and the limits.
    pub async fn queue(&self) -> Result<FleetQueue> {
        let (loops, limits) = patiently!(queue::queue(&self.pool, self.lost_after, Asking::Reader))?;
        Ok(FleetQueue { loops, limits })
    }

    /// Sets how many loops of `project:NAME` or `account:NAME` run at once; none for no limit.
    pub async fn limit(&self, name: &str, max_running: Option<u32>) -> Result<()> {
        patiently!(steps::limit(&self.pool, name, max_running))
    }

    /// Notes that a held loop is to be taken again after this time.
    pub async fn park(&self, loop_id: &str, token: &str, wait: Wait) -> Result<()> {
        patiently!(steps::park(&self.pool, loop_id, token, wait))
    }

    /// After how many seconds a loop that was parked is to be taken again, and which worker has its files.
    pub async fn parked(&self, loop_id: &str) -> Result<Option<(f64, Option<String>)>> {
        patiently!(queue::parked(&self.pool, loop_id))
    }

    /// The tokens that the worker holds, by loop.
    pub(crate) async fn tokens_of(&self, worker: &str) -> Result<HashMap<String, String>> {
        patiently!(rows::tokens_of(&self.pool, worker))
    }

    /// When a worker was seen last.
    pub(crate) async fn sight(&self, worker: &str) -> Result<Sight> {
        patiently!(rows::sight(&self.pool, self.lost_after, worker))
    }

    /// The token of the stretch before the present one.
    pub(crate) async fn token_before(&self, loop_id: &str) -> Result<Option<String>> {
        patiently!(rows::token_before(&self.pool, loop_id))
    }

    /// Makes the files of this stretch the current ones; returns the stretch whose files were.
    pub(crate) async fn use_files(&self, loop_id: &str, token: &str) -> Result<Option<String>> {
        patiently!(steps::use_files(&self.pool, loop_id, token))
    }

    /// The workers and desks that were seen in the last minute.
    pub async fn workers(&self) -> Result<Vec<WorkerView>> {
        patiently!(rows::workers(&self.pool, self.lost_after))
    }

    /// Notes that the process lives, by the database's clock alone; returns whether it is to drain.
    pub async fn seen(&self, worker: &Worker) -> Result<bool> {
        patiently!(steps::seen(&self.pool, worker))
    }

    /// Notes that the process exits.
    pub(crate) async fn leave(&self, worker: &Worker) -> Result<()> {
        patiently!(steps::leave(&self.pool, worker))
    }

    /// Asks living workers of this name or ID to drain; returns their names.
    pub async fn drain(&self, worker: &str) -> Result<Vec<String>> {
        patiently!(steps::drain(&self.pool, self.lost_after, worker))
    }

    /// Tells the workers that somebody watches the loop's output.
    pub(crate) async fn watch(&self, loop_id: &str) -> Result<()> {
        patiently!(output::watch(&self.pool, loop_id))
    }

    /// Writes output, if its sender still holds the loop.
    pub async fn ship(&self, pieces: &[Piece]) -> Result<()> {
        patiently!(output::ship(&self.pool, pieces))
    }

    /// How much of each file of a turn was shipped.
    pub async fn shipped(&self, loop_id: &str, turn: &str) -> Result<Vec<(i16, i64)>> {
        patiently!(output::shipped(&self.pool, loop_id, turn))
    }

    /// Notes that all of a turn was shipped.
    pub async fn close_turn(&self, loop_id: &str, turn: &str, token: &str) -> Result<()> {
        patiently!(output::close(&self.pool, loop_id, turn, token))
    }

    /// What was shipped of a turn beyond what is known.
    pub async fn fetch(&self, loop_id: &str, turn: &str, known: &[i64]) -> Result<Fetched> {
        patiently!(output::fetch(&self.pool, loop_id, turn, known))
    }

    /// Turns of ended loops whose output is not in an archive: loop and turn.
    pub(crate) async fn to_archive(&self, worker: &str) -> Result<Vec<(String, String)>> {
        patiently!(output::to_archive(&self.pool, worker))
    }

    /// Notes that an archive has a turn; false if the loop was opened again, or more was shipped.
    pub(crate) async fn archived(&self, loop_id: &str, turn: &str, kept: &Kept) -> Result<bool> {
        patiently!(output::archived(&self.pool, loop_id, turn, kept))
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
        patiently!(steps::create(&self.pool, step, &new, &self.placing))
    }

    async fn append(&self, step: Append) -> Result<u64> {
        let id = Uuid::now_v7();
        patiently!(steps::append(&self.pool, id, &step))
    }

    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        patiently!(rows::events(&self.pool, loop_id, after_seq, limit))
    }

    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck> {
        patiently!(rows::check_chain(&self.pool, loop_id, until))
    }

    async fn get(&self, loop_id: &str) -> Result<Option<Listed>> {
        patiently!(rows::by_id(&self.pool, self.lost_after, loop_id))
    }

    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>> {
        patiently!(rows::by_name(&self.pool, self.lost_after, project, name))
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>> {
        patiently!(rows::list(&self.pool, self.lost_after, &filter))
    }

    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()> {
        patiently!(steps::acquire(&self.pool, self.lost_after, loop_id, &holder, replacing))
    }

    async fn remove(&self, loop_id: &str, token: &str) -> Result<()> {
        let mut patience = Patience::new();
        loop {
            let outcome = match steps::remove(&self.pool, loop_id, token).await {
                // Removed by the attempt whose answer was lost.
                Err(Fault::Refused(StoreError::UnknownLoop { .. })) if patience.tried > 0 => Ok(()),
                outcome => outcome,
            };
            if let Some(done) = patience.after(outcome).await {
                return done;
            }
        }
    }

    async fn release(&self, loop_id: &str, token: &str) -> Result<()> {
        patiently!(steps::release(&self.pool, loop_id, token))
    }

    async fn holder(&self, loop_id: &str) -> Result<Option<Held>> {
        Ok(self.get(loop_id).await?.and_then(|listed| listed.holder))
    }

    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()> {
        patiently!(steps::post(&self.pool, loop_id, &item))
    }

    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>> {
        patiently!(rows::pending(&self.pool, loop_id))
    }

    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>> {
        patiently!(rows::answer(&self.pool, item_id))
    }
}
