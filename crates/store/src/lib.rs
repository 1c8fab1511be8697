//! The journal and the catalogue: every loop's events, what a list shows of it, who drives it, and the
//! commands other processes left for it.
//!
//! Invariant: acknowledged calls are durable and atomic. Events, the resulting catalogue entry, and
//! answered inbox items are written together, and only by the holder of the loop's lease.
//!
//! Each event is stored with its link of the loop's hash chain (`chain`).
//!
//! The store does not know what events mean: an event is JSON text with a type tag. That keeps the contract
//! (`tests/store/contract.rs`) portable to any database with transactions.

mod chain;
mod error;
mod identity;
mod memory;
mod seat;
mod sqlite;

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;

pub use chain::{ChainCheck, Link, Linked};
pub use error::StoreError;
pub use identity::{Liveness, ProcessIdentity};
pub use memory::MemoryStore;
pub use seat::{Held, Holder, Presence, Seat};
pub use sqlite::{Access, SqliteStore};

/// What every method of a store returns.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An event that is not in the journal yet. The store numbers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub at: Timestamp,
    /// The event's `type`, stored next to the body so that queries need not parse it.
    pub kind: String,
    /// A JSON object as text, its `type` included.
    pub body: String,
}

/// An event in the journal. `seq` counts from 1 in each loop, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub body: String,
}

/// The `kind` of a loop's row; every other kind is a group's.
pub const LOOP: &str = "loop";

/// What the catalogue knows of a loop or a group: the projection of its events, written with them.
///
/// A group has a journal, a lease and an inbox as a loop has, and shares the names of its project with the loops.
///
/// `id`, `kind`, `project`, `name` and `created_at` are fixed by [`Store::create`]; an append does not change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    pub id: String,
    /// [`LOOP`], or what kind of group it is.
    pub kind: String,
    /// Absolute path of the project's repository.
    pub project: String,
    /// Unique in its project: the name of an ended loop is not reused until the loop is removed.
    pub name: String,
    /// First line of the goal; the caller bounds its length.
    pub goal: String,
    pub recipe: String,
    pub status: String,
    /// Not ended. `interrupted` is not stored: readers derive it from this and the holder.
    pub open: bool,
    pub iterations: u32,
    pub max_iterations: Option<u32>,
    pub stop_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
    /// The whole loop as JSON text, as `status --json` prints it.
    pub summary: String,
}

/// A loop as a reader finds it: entry, head of the journal and holder, all of the same moment.
///
/// The store looks for the holder after it has read the row, and the holder may exit in between. A caller that finds it
/// gone must read again before calling the loop interrupted: the last thing a driver does is to write the end and release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub entry: CatalogueEntry,
    /// `seq` of the last event, 0 if there is none.
    pub head: u64,
    pub holder: Option<Held>,
    /// Workers take open loops that nobody drives, so such a loop waits for one of them.
    pub has_workers: bool,
    /// No worker holds it until the time that it waits for.
    pub is_parked: bool,
}

impl Listed {
    /// Whether somebody drives the loop, or must be assumed to.
    pub fn is_driven(&self) -> bool {
        self.holder.as_ref().is_some_and(Held::drives)
    }
}

/// Which rows of the catalogue are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    #[default]
    Loops,
    Groups,
    All,
}

/// Which loops or groups [`Store::list`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub rows: Rows,
    /// Only of this project; of every project if `None`.
    pub project: Option<String>,
    pub open_only: bool,
    /// Only these loops, in one read instead of one for each.
    pub ids: Option<Vec<String>>,
    pub limit: Option<usize>,
    /// Fetch `summary` too. Without it `summary` is empty, and ten thousand loops are listed without
    /// touching the pages with the summaries.
    pub summaries: bool,
}

/// A row of a list, after which the next part of the list begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    created_at: i64,
    row: i64,
}

/// A loop or a group to create, with its first events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    pub entry: CatalogueEntry,
    pub events: Vec<NewEvent>,
    /// Holds the lease from the first moment, so that no reader sees a new loop without a driver.
    pub holder: Option<Holder>,
}

/// One step of a loop: all of it becomes durable, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    pub loop_id: String,
    /// `seq` of the last event the caller has seen; checked also when `events` is empty.
    pub expected_seq: u64,
    /// May be empty: a refused command is consumed and answered without an event.
    pub events: Vec<NewEvent>,
    /// The catalogue entry after these events.
    pub entry: CatalogueEntry,
    /// The token of the lease under which the caller writes.
    pub token: String,
    /// Inbox items taken with this step; each must be pending.
    pub consumed: Vec<String>,
    /// Answers (JSON text) to items taken now or earlier, each answered once.
    pub answers: Vec<(String, String)>,
}

/// A command that waits in a loop's inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxItem {
    pub id: String,
    pub at: Timestamp,
    /// JSON text.
    pub body: String,
}

/// Journal and catalogue of all loops of one data directory.
///
/// A call that returned `Ok` is durable. A caller that is dropped while it waits may or may not have written.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Creates a loop and returns the head of its journal. Refused with [`StoreError::NameTaken`] if the
    /// project has a loop of that name.
    async fn create(&self, new: Create) -> Result<u64>;

    /// Appends one step and returns the new head. Refused with [`StoreError::LeaseLost`] if `token` does not
    /// hold the lease, with [`StoreError::Conflict`] if the head is not `expected_seq`, with
    /// [`StoreError::NotPending`] or [`StoreError::NotTaken`] if an inbox item is not in the right state.
    async fn append(&self, step: Append) -> Result<u64>;

    /// Up to `limit` events after `after_seq`, in order. An unknown loop has none.
    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>>;

    /// Walks along the hash chain of a loop's journal, up to the event `until` or the last one. Refused with
    /// [`StoreError::UnknownLoop`]; an event that does not fit is named in the answer.
    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck>;

    /// The loop with this id.
    async fn get(&self, loop_id: &str) -> Result<Option<Listed>>;

    /// The loop with this name in this project.
    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>>;

    /// Loops by `created_at`, newest first; of the same moment, the one created last comes first.
    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>>;

    /// The list in parts, from the first one or after a mark, with the mark of the next part if there is one. Each part is of one
    /// moment. Ten thousand summaries are tens of megabytes, which need not be in memory at once.
    async fn list_part(&self, filter: ListFilter, after: Option<Mark>) -> Result<(Vec<Listed>, Option<Mark>)> {
        if after.is_some() {
            return Ok((Vec::new(), None));
        }
        Ok((self.list(filter).await?, None))
    }

    /// How many loops that are not open have each status, of one project or of all.
    async fn count_closed(&self, project: Option<&str>) -> Result<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        let filter = ListFilter { project: project.map(str::to_owned), ..ListFilter::default() };
        for closed in self.list(filter).await?.into_iter().filter(|listed| !listed.entry.open) {
            *counts.entry(closed.entry.status).or_default() += 1;
        }
        Ok(counts)
    }

    /// Takes the lease if it is free, already under `holder.token`, or under the token `replacing`: a holder
    /// that the store has called gone, or that a person takes the loop from. Otherwise refused with [`StoreError::Held`].
    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()>;

    /// Removes a loop with its journal and inbox. Refused with [`StoreError::LeaseLost`] if `token` does not hold
    /// the lease.
    async fn remove(&self, loop_id: &str, token: &str) -> Result<()>;

    /// Releases the lease, unless it no longer has this `token`.
    async fn release(&self, loop_id: &str, token: &str) -> Result<()>;

    /// The holder of the lease, and whether it lives.
    async fn holder(&self, loop_id: &str) -> Result<Option<Held>>;

    /// Leaves a command for the loop's driver. An id that was posted before is ignored, so a poster
    /// that does not know whether it succeeded can post again.
    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()>;

    /// Items that no append has consumed, in the order they were posted.
    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>>;

    /// The answer to a posted item: `None` if there is no such item, `Some(None)` if it has no answer yet.
    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>>;
}

/// The form in which stores keep a time: exact, ordered, and good until the year 2262. Exact matters because
/// a replay must see the very times that the live loop saw.
pub fn nanoseconds(at: Timestamp) -> Result<i64> {
    i64::try_from(at.as_nanosecond()).map_err(|_| StoreError::TimeOutOfRange { at })
}
