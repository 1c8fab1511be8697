//! The changes a store can make, each as one piece that the writer runs inside a savepoint.
//!
//! Invariant: a step either returns `Ok` having done everything, or an error after which the writer rolls its
//! savepoint back. Every rule is checked inside the transaction that also writes, so it applies across processes.

use std::os::unix::ffi::OsStrExt;

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Fault;
use super::rows;
use crate::chain::Linked;
use crate::{Append, CatalogueEntry, Create, Holder, InboxItem, Link, NewEvent, Seat, StoreError, nanoseconds};

type Done<T> = Result<T, Fault>;

#[derive(Debug)]
pub(super) enum Step {
    Create { new: Box<Create>, lock: String },
    Append(Box<Append>),
    Acquire { loop_id: String, holder: Holder, lock: String, replacing: Option<String> },
    Release { loop_id: String, token: String },
    Remove { loop_id: String, token: String },
    Post { loop_id: String, item: InboxItem },
}

impl Step {
    /// Returns the head of the journal if the step has one, otherwise 0. May be called again after a
    /// roll-back.
    pub(super) fn apply(&self, db: &Connection) -> Done<u64> {
        match self {
            Self::Create { new, lock } => create(db, new, lock),
            Self::Append(step) => append(db, step),
            Self::Acquire { loop_id, holder, lock, replacing } => {
                acquire(db, loop_id, holder, lock, replacing.as_deref()).map(|()| 0)
            }
            Self::Release { loop_id, token } => release(db, loop_id, token).map(|()| 0),
            Self::Remove { loop_id, token } => remove(db, loop_id, token).map(|()| 0),
            Self::Post { loop_id, item } => post(db, loop_id, item).map(|()| 0),
        }
    }
}

fn create(db: &Connection, new: &Create, lock: &str) -> Done<u64> {
    let Create { entry, events, holder } = new;
    let known = db.prepare_cached("SELECT 1 FROM loops WHERE id = ?1")?.exists([&entry.id])?;
    if known {
        return Err(StoreError::IdTaken { id: entry.id.clone() }.into());
    }
    let head = events.len() as u64;
    let inserted = db
        .prepare_cached(
            "INSERT INTO loops (id, project, name, goal, recipe, status, open, iterations, max_iterations,
                                stop_reason, created_at, updated_at, stopped_at, head, kind)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (project, name) DO NOTHING",
        )?
        .execute(params![
            entry.id,
            entry.project,
            entry.name,
            entry.goal,
            entry.recipe,
            entry.status,
            entry.open,
            entry.iterations,
            entry.max_iterations,
            entry.stop_reason,
            nanoseconds(entry.created_at)?,
            nanoseconds(entry.updated_at)?,
            entry.stopped_at.map(nanoseconds).transpose()?,
            head.cast_signed(),
            entry.kind,
        ])?;
    if inserted == 0 {
        return Err(StoreError::NameTaken { name: entry.name.clone() }.into());
    }
    let key = db.last_insert_rowid();
    db.prepare_cached("INSERT INTO summaries (loop, body) VALUES (?1, ?2)")?.execute(params![key, entry.summary])?;
    write_events(db, key, 0, events)?;
    if let Some(holder) = holder {
        write_lease(db, key, holder, lock)?;
    }
    Ok(head)
}

fn append(db: &Connection, step: &Append) -> Done<u64> {
    let found = db
        .prepare_cached(
            "SELECT l.pk, l.head, h.token FROM loops l LEFT JOIN leases h ON h.loop = l.pk WHERE l.id = ?1",
        )?
        .query_row([&step.loop_id], |row| {
            let head = row.get::<_, i64>(1)?.cast_unsigned();
            Ok((row.get::<_, i64>(0)?, head, row.get::<_, Option<String>>(2)?))
        })
        .optional()?;
    let Some((key, head, token)) = found else {
        return Err(unknown(&step.loop_id));
    };
    if token.as_ref() != Some(&step.token) {
        return Err(StoreError::LeaseLost { loop_id: step.loop_id.clone() }.into());
    }
    if head != step.expected_seq {
        return Err(StoreError::Conflict { expected: step.expected_seq, found: head }.into());
    }
    let new_head = head + step.events.len() as u64;
    take(db, key, step, new_head)?;
    write_events(db, key, head, &step.events)?;
    write_entry(db, key, new_head, &step.entry)?;
    Ok(new_head)
}

/// Takes and answers inbox items; refuses when one is not in the state that needs.
fn take(db: &Connection, key: i64, step: &Append, head: u64) -> Done<()> {
    for id in &step.consumed {
        let taken = db
            .prepare_cached("UPDATE inbox SET taken = ?3 WHERE id = ?1 AND loop = ?2 AND taken IS NULL")?
            .execute(params![id, key, head.cast_signed()])?;
        if taken == 0 {
            return Err(StoreError::NotPending { id: id.clone() }.into());
        }
    }
    for (id, answer) in &step.answers {
        let answered = db
            .prepare_cached(
                "UPDATE inbox SET answer = ?3
                 WHERE id = ?1 AND loop = ?2 AND taken IS NOT NULL AND answer IS NULL",
            )?
            .execute(params![id, key, answer])?;
        if answered == 0 {
            return Err(StoreError::NotTaken { id: id.clone() }.into());
        }
    }
    Ok(())
}

fn write_events(db: &Connection, key: i64, head: u64, events: &[NewEvent]) -> Done<()> {
    let mut link = link_at(db, key, head)?;
    let mut insert =
        db.prepare_cached("INSERT INTO events (loop, seq, at, kind, body, link) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (seq, event) in (head + 1..).zip(events) {
        let at = nanoseconds(event.at)?;
        link = link.next(&Linked { seq, at, kind: event.kind.as_bytes(), body: event.body.as_bytes() });
        insert.execute(params![key, seq.cast_signed(), at, event.kind, event.body, link.0])?;
    }
    Ok(())
}

/// The chain's value at the last event. A damaged event is detected at its position; the journal continues.
fn link_at(db: &Connection, key: i64, head: u64) -> Done<Link> {
    if head == 0 {
        return Ok(Link::START);
    }
    let found: Option<Vec<u8>> = db
        .prepare_cached("SELECT link FROM events WHERE loop = ?1 AND seq = ?2")?
        .query_row(params![key, head.cast_signed()], |row| row.get(0))
        .optional()?;
    Ok(found.and_then(|bytes| Link::from_bytes(&bytes)).unwrap_or(Link::START))
}

fn write_entry(db: &Connection, key: i64, head: u64, entry: &CatalogueEntry) -> Done<()> {
    db.prepare_cached(
        "UPDATE loops SET goal = ?2, recipe = ?3, status = ?4, open = ?5, iterations = ?6,
                max_iterations = ?7, stop_reason = ?8, updated_at = ?9, stopped_at = ?10, head = ?11
         WHERE pk = ?1",
    )?
    .execute(params![
        key,
        entry.goal,
        entry.recipe,
        entry.status,
        entry.open,
        entry.iterations,
        entry.max_iterations,
        entry.stop_reason,
        nanoseconds(entry.updated_at)?,
        entry.stopped_at.map(nanoseconds).transpose()?,
        head.cast_signed(),
    ])?;
    db.prepare_cached("UPDATE summaries SET body = ?2 WHERE loop = ?1")?.execute(params![key, entry.summary])?;
    Ok(())
}

fn acquire(db: &Connection, loop_id: &str, holder: &Holder, lock: &str, replacing: Option<&str>) -> Done<()> {
    let key = key_of(db, loop_id)?;
    let current = db
        .prepare_cached(&format!("SELECT {} FROM leases h WHERE loop = ?1", rows::LEASE))?
        .query_row([key], rows::lease)
        .optional()?
        .flatten();
    if let Some(rows::Lease { holder: current, .. }) = current
        && current.token != holder.token
        && replacing != Some(current.token.as_str())
    {
        return Err(StoreError::Held(Box::new(current)).into());
    }
    write_lease(db, key, holder, lock)
}

fn write_lease(db: &Connection, key: i64, holder: &Holder, lock: &str) -> Done<()> {
    let mut write = db.prepare_cached(
        "INSERT OR REPLACE INTO leases
            (loop, boot_id, pid, start_time, socket, token, pid_namespace, machine, lock, worker)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    match &holder.seat {
        Seat::Process { process, socket } => write.execute(params![
            key,
            process.boot_id,
            process.pid,
            process.start_time.cast_signed(),
            socket.as_os_str().as_bytes(),
            holder.token,
            process.pid_namespace.cast_signed(),
            process.machine,
            lock,
            None::<&str>,
        ])?,
        Seat::Worker { id, name } => {
            write.execute(params![key, "", 0, 0, name.as_bytes(), holder.token, 0, "", lock, Some(id)])?
        }
    };
    Ok(())
}

fn release(db: &Connection, loop_id: &str, token: &str) -> Done<()> {
    let key = key_of(db, loop_id)?;
    db.prepare_cached("DELETE FROM leases WHERE loop = ?1 AND token = ?2")?.execute(params![key, token])?;
    Ok(())
}

fn remove(db: &Connection, loop_id: &str, token: &str) -> Done<()> {
    let key = key_of(db, loop_id)?;
    let held = db.prepare_cached("SELECT 1 FROM leases WHERE loop = ?1 AND token = ?2")?.exists(params![key, token])?;
    if !held {
        return Err(StoreError::LeaseLost { loop_id: loop_id.to_owned() }.into());
    }
    for table in ["inbox", "events", "leases", "summaries"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE loop = ?1"))?.execute([key])?;
    }
    db.prepare_cached("DELETE FROM loops WHERE pk = ?1")?.execute([key])?;
    Ok(())
}

fn post(db: &Connection, loop_id: &str, item: &InboxItem) -> Done<()> {
    let key = key_of(db, loop_id)?;
    db.prepare_cached("INSERT INTO inbox (id, loop, at, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING")?
        .execute(params![item.id, key, nanoseconds(item.at)?, item.body])?;
    Ok(())
}

fn key_of(db: &Connection, loop_id: &str) -> Done<i64> {
    db.prepare_cached("SELECT pk FROM loops WHERE id = ?1")?
        .query_row([loop_id], |row| row.get(0))
        .optional()?
        .ok_or_else(|| unknown(loop_id))
}

fn unknown(loop_id: &str) -> Fault {
    StoreError::UnknownLoop { id: loop_id.to_owned() }.into()
}
