//! The default store: one SQLite file that several processes use at once.
//!
//! Invariant: all writes of a process go through one thread (`writer`), which acknowledges only what a
//! `synchronous=FULL` commit has put on disk; reads go through their own connections (`readers`) that
//! cannot write. Nothing here blocks an async worker: writes wait for the thread, reads for a blocking one.

mod failure;
mod locks;
mod open;
mod readers;
mod rows;
mod schema;
mod steps;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use self::failure::explain_io;
use self::locks::Locks;
use self::readers::Readers;
use self::steps::Step;
use self::writer::Writer;
use super::{
    Append, ChainCheck, Create, Held, Holder, InboxItem, ListFilter, Listed, Mark, Result, Store, StoreError,
    StoredEvent,
};

/// What the process wants from the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Look only. Works on a file or directory that cannot be written; calls that write are refused with
    /// [`StoreError::ReadOnly`]. A database that was never created is [`StoreError::NotFound`].
    ReadOnly,
    /// Create the database if there is none, bring an older one up to date, read and write.
    ReadWrite,
}

#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    readers: Arc<Readers>,
    writer: Option<Writer>,
    /// Shows that this process lives, for the leases it holds.
    locks: Arc<Locks>,
}

impl SqliteStore {
    /// Opens the database at `path`. Blocks for a few milliseconds; waits up to half a minute for another
    /// process that creates or migrates it at this moment.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let locks = Arc::new(Locks::beside(&path));
        match access {
            Access::ReadOnly => {
                let (connection, mode) = open::readable(&path)?;
                let readers = Readers::new(&path, mode, Some(connection));
                Ok(Self { path, readers: Arc::new(readers), writer: None, locks })
            }
            Access::ReadWrite => {
                let connection = open::writable(&path)?;
                let writer = Writer::start(connection, &path)?;
                let readers = Readers::new(&path, open::Mode::Shared, None);
                Ok(Self { path, readers: Arc::new(readers), writer: Some(writer), locks })
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that shows that the holder lives. A store that only reads writes none.
    fn lock_of(&self, holder: &Holder) -> Result<String> {
        if self.writer.is_none() {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        }
        self.locks.own(&holder.seat).map_err(|source| explain_io(&self.path, source))
    }

    async fn write(&self, step: Step) -> Result<u64> {
        let Some(writer) = &self.writer else {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        };
        writer.write(step).await
    }
}

impl Drop for SqliteStore {
    /// The last connection to close tidies the write-ahead log away, but a read-only one cannot: so the
    /// readers go first, and the writer's thread is awaited.
    fn drop(&mut self) {
        self.readers.close_idle();
        drop(self.writer.take());
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, new: Create) -> Result<u64> {
        let lock = new.holder.as_ref().map(|holder| self.lock_of(holder)).transpose()?.unwrap_or_default();
        self.write(Step::Create { new: Box::new(new), lock }).await
    }

    async fn append(&self, step: Append) -> Result<u64> {
        self.write(Step::Append(Box::new(step))).await
    }

    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        let loop_id = loop_id.to_owned();
        self.readers.run(move |connection| rows::events(connection, &loop_id, after_seq, limit)).await
    }

    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck> {
        let id = loop_id.to_owned();
        let found = self.readers.run(move |connection| rows::chain(connection, &id, until)).await?;
        found.ok_or_else(|| StoreError::UnknownLoop { id: loop_id.to_owned() })
    }

    async fn get(&self, loop_id: &str) -> Result<Option<Listed>> {
        let (loop_id, locks) = (loop_id.to_owned(), Arc::clone(&self.locks));
        self.readers.run(move |connection| rows::by_id(connection, &locks, &loop_id)).await
    }

    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>> {
        let (project, name, locks) = (project.to_owned(), name.to_owned(), Arc::clone(&self.locks));
        self.readers.run(move |connection| rows::by_name(connection, &locks, &project, &name)).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>> {
        let locks = Arc::clone(&self.locks);
        self.readers.run(move |connection| rows::list(connection, &locks, &filter)).await
    }

    async fn list_part(&self, filter: ListFilter, after: Option<Mark>) -> Result<(Vec<Listed>, Option<Mark>)> {
        let locks = Arc::clone(&self.locks);
        self.readers.run(move |connection| rows::list_part(connection, &locks, &filter, after)).await
    }

    async fn count_closed(&self, project: Option<&str>) -> Result<BTreeMap<String, usize>> {
        let project = project.map(str::to_owned);
        self.readers.run(move |connection| rows::count_closed(connection, project.as_deref())).await
    }

    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()> {
        let (loop_id, replacing) = (loop_id.to_owned(), replacing.map(str::to_owned));
        let lock = self.lock_of(&holder)?;
        self.write(Step::Acquire { loop_id, holder, lock, replacing }).await.map(drop)
    }

    async fn remove(&self, loop_id: &str, token: &str) -> Result<()> {
        let (loop_id, token) = (loop_id.to_owned(), token.to_owned());
        self.write(Step::Remove { loop_id, token }).await.map(drop)
    }

    async fn release(&self, loop_id: &str, token: &str) -> Result<()> {
        let (loop_id, token) = (loop_id.to_owned(), token.to_owned());
        self.write(Step::Release { loop_id, token }).await.map(drop)
    }

    async fn holder(&self, loop_id: &str) -> Result<Option<Held>> {
        let (loop_id, locks) = (loop_id.to_owned(), Arc::clone(&self.locks));
        self.readers.run(move |connection| rows::holder(connection, &locks, &loop_id)).await
    }

    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()> {
        let loop_id = loop_id.to_owned();
        self.write(Step::Post { loop_id, item }).await.map(drop)
    }

    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>> {
        let loop_id = loop_id.to_owned();
        self.readers.run(move |connection| rows::pending(connection, &loop_id)).await
    }

    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>> {
        let item_id = item_id.to_owned();
        self.readers.run(move |connection| rows::answer(connection, &item_id)).await
    }
}
