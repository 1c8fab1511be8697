//! The one thread of this process that writes. Steps that wait while it works share the next commit.
//!
//! Invariant: a step is answered with `Ok` only after the commit that contains it has returned. A step that
//! fails takes nothing with it: refusals are rolled back to their savepoint, and when the database itself
//! fails (a full disk), the group is rolled back and each of its steps is tried alone.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, Error as SqliteError, ffi};
use tokio::sync::oneshot;

use super::failure::{Fault, explain, explain_io};
use super::schema;
use super::steps::Step;
use crate::{Result, StoreError};

/// Bounds how long one commit can keep the first of its group, and other processes, waiting.
const GROUP: usize = 256;

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while dropping: the thread ends when the last sender is gone.
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Job {
    step: Step,
    reply: oneshot::Sender<Result<u64>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self> {
        let (queue, jobs) = channel();
        let place = path.to_owned();
        let thread = thread::Builder::new()
            .name("windlass-store".into())
            .spawn(move || work(&connection, &place, &jobs))
            .map_err(|source| explain_io(path, source))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) async fn write(&self, step: Step) -> Result<u64> {
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(StoreError::Stopped)?;
        queue.send(Job { step, reply }).map_err(|_| StoreError::Stopped)?;
        answer.await.map_err(|_| StoreError::Stopped)?
    }
}

impl Drop for Writer {
    /// What is queued is still written; then the connection closes.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by then, and its callers got `Stopped`.
            let _ = thread.join();
        }
    }
}

fn work(connection: &Connection, path: &Path, jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first];
        group.extend(jobs.try_iter().take(GROUP - 1));
        let (steps, replies): (Vec<Step>, Vec<_>) = group.into_iter().map(|job| (job.step, job.reply)).unzip();
        let outcomes = commit(connection, path, &steps);
        tell(path);
        for (reply, outcome) in replies.into_iter().zip(outcomes) {
            // A caller that no longer waits does not need the answer.
            let _ = reply.send(outcome);
        }
    }
}

/// Touches the database, for those who watch it. The write to its log comes before a commit is visible to readers, so whoever looks
/// when the log changes can look too early.
fn tell(path: &Path) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    // By name: closing a descriptor of the file would drop SQLite's locks on it.
    if let Err(error) = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty())
    {
        tracing::warn!(%error, path = %path.display(), "cannot touch the database, so changes may be seen late");
    }
}

/// Makes the steps durable, together if possible. One outcome for each.
fn commit(connection: &Connection, path: &Path, steps: &[Step]) -> Vec<Result<u64>> {
    match (Database { connection, path }).together(steps) {
        Ok(outcomes) => outcomes,
        Err(Failure::RolledBack(_)) if steps.len() > 1 => {
            steps.iter().flat_map(|step| commit(connection, path, std::slice::from_ref(step))).collect()
        }
        // A group that could not start is not tried one by one: if another process keeps the database busy,
        // the last of the group would wait for minutes.
        Err(Failure::NotBegun(error) | Failure::RolledBack(error)) => {
            steps.iter().map(|_| Err(explain(path, copy(&error)))).collect()
        }
    }
}

struct Database<'a> {
    connection: &'a Connection,
    path: &'a Path,
}

enum Failure {
    NotBegun(SqliteError),
    RolledBack(SqliteError),
}

impl Database<'_> {
    fn together(&self, steps: &[Step]) -> Result<Vec<Result<u64>>, Failure> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(Failure::NotBegun)?;
        let run = || -> rusqlite::Result<Vec<Result<u64>>> {
            // A newer windlass may have migrated the database while this process was running.
            let version = schema::version(self.connection)?;
            let outcomes = steps.iter().map(|step| self.guarded(step, version)).collect::<Result<_, _>>()?;
            self.connection.execute_batch("COMMIT")?;
            Ok(outcomes)
        };
        run().map_err(|error| {
            // SQLite may have rolled back already, depending on the error.
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "cannot roll back");
            }
            Failure::RolledBack(error)
        })
    }

    /// The outer error is the database's and ends the group; the inner one is the step's own.
    fn guarded(&self, step: &Step, version: u32) -> rusqlite::Result<Result<u64>> {
        if version != schema::KNOWN {
            let path: PathBuf = self.path.to_owned();
            return Ok(Err(StoreError::NewerDatabase { path, found: version, known: schema::KNOWN }));
        }
        self.connection.prepare_cached("SAVEPOINT step")?.execute([])?;
        let outcome = match step.apply(self.connection) {
            Ok(head) => Ok(head),
            Err(Fault::Sqlite(error)) => return Err(error),
            Err(Fault::Refused(refusal)) => {
                self.connection.prepare_cached("ROLLBACK TO step")?.execute([])?;
                Err(refusal)
            }
        };
        self.connection.prepare_cached("RELEASE step")?.execute([])?;
        Ok(outcome)
    }
}

/// The same failure for every step of a group that could not start.
fn copy(error: &SqliteError) -> SqliteError {
    let failure = error.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
    SqliteError::SqliteFailure(failure, Some(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::open;
    use super::*;
    use crate::InboxItem;

    /// A database with the loop `a`, made without the code under test.
    fn database() -> (tempfile::TempDir, PathBuf, Connection) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("windlass.db");
        let connection = open::writable(&path).unwrap();
        connection
            .execute_batch(
                "INSERT INTO loops (id, project, name, goal, recipe, status, open, iterations, created_at, updated_at, head)
                 VALUES ('a', '/p', 'a', '', '', '', 1, 0, 0, 0, 0);
                 INSERT INTO summaries VALUES (1, '')",
            )
            .unwrap();
        (home, path, connection)
    }

    fn post(loop_id: &str, id: &str, size: usize) -> Step {
        let item = InboxItem { id: id.into(), at: jiff::Timestamp::UNIX_EPOCH, body: "x".repeat(size) };
        Step::Post { loop_id: loop_id.into(), item }
    }

    fn posted(connection: &Connection) -> Vec<String> {
        let mut statement = connection.prepare("SELECT id FROM inbox ORDER BY pk").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_refused_step_leaves_the_others_of_its_group_alone() {
        let (_home, path, connection) = database();
        let steps = [post("a", "1", 1), post("unknown", "2", 1), post("a", "3", 1)];
        let outcomes = commit(&connection, &path, &steps);
        assert!(matches!(outcomes[..], [Ok(_), Err(StoreError::UnknownLoop { .. }), Ok(_)]), "{outcomes:?}");
        assert_eq!(posted(&connection), ["1", "3"]);
    }

    #[test]
    fn a_step_that_finds_no_room_leaves_the_others_of_its_group_alone() {
        let (_home, path, connection) = database();
        connection.pragma_update_and_check(None, "max_page_count", 30, |_| Ok(())).unwrap();
        let steps = [post("a", "1", 1), post("a", "2", 500_000), post("unknown", "3", 1), post("a", "4", 1)];
        let outcomes = commit(&connection, &path, &steps);
        assert!(
            matches!(
                outcomes[..],
                [Ok(_), Err(StoreError::DiskFull { .. }), Err(StoreError::UnknownLoop { .. }), Ok(_)]
            ),
            "{outcomes:?}"
        );
        assert_eq!(posted(&connection), ["1", "4"]);
        assert!(connection.is_autocommit());
    }

    #[test]
    fn a_database_that_stays_busy_is_told_to_the_whole_group_and_works_again_later() {
        let (_home, path, connection) = database();
        connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let steps = [post("a", "1", 1), post("a", "2", 1)];
        let outcomes = commit(&connection, &path, &steps);
        assert!(matches!(outcomes[..], [Err(StoreError::Busy { .. }), Err(StoreError::Busy { .. })]), "{outcomes:?}");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(commit(&connection, &path, &steps).iter().all(Result::is_ok));
        assert_eq!(posted(&connection), ["1", "2"]);
    }

    #[test]
    fn what_is_queued_is_written_before_the_store_closes() {
        let (_home, path, connection) = database();
        let writer = Writer::start(connection, &path).unwrap();
        let queue = writer.queue.clone().unwrap();
        for n in 0..600 {
            let (reply, _) = oneshot::channel();
            queue.send(Job { step: post("a", &n.to_string(), 1), reply }).unwrap();
        }
        drop(queue);
        drop(writer);
        assert_eq!(posted(&Connection::open(&path).unwrap()).len(), 600);
    }
}
