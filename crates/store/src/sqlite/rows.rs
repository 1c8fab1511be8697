//! The queries, and how a row becomes a value.
//!
//! Invariant: what a caller gets from one call is of one moment, because each is a single statement.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::locks::Locks;
use crate::chain::Linked;
use crate::{
    CatalogueEntry, ChainCheck, Held, Holder, InboxItem, LOOP, Link, ListFilter, Listed, Mark, Presence,
    ProcessIdentity, Rows, Seat, StoredEvent,
};

/// The columns of a [`Lease`].
pub(super) const LEASE: &str =
    "h.boot_id, h.pid, h.start_time, h.socket, h.token, h.pid_namespace, h.machine, h.lock, h.worker";

/// How many they are.
const AFTER_LEASE: usize = 9;

/// A lease as it is stored.
pub(super) struct Lease {
    pub(super) holder: Holder,
    lock: String,
}

/// The columns of [`Listed`], with or without the summary.
fn select(summaries: bool) -> String {
    let (summary, join) = if summaries { ("s.body", "JOIN summaries s ON s.loop = l.pk") } else { ("''", "") };
    format!(
        "SELECT {LEASE}, l.id, l.project, l.name, l.goal, l.recipe, l.status, l.open, l.iterations,
                l.max_iterations, l.stop_reason, l.created_at, l.updated_at, l.stopped_at, l.head, {summary}, l.kind, l.pk
         FROM loops l LEFT JOIN leases h ON h.loop = l.pk {join}"
    )
}

pub(super) fn by_id(connection: &Connection, locks: &Locks, loop_id: &str) -> rusqlite::Result<Option<Listed>> {
    let sql = format!("{} WHERE l.id = ?1", select(true));
    connection.prepare_cached(&sql)?.query_row([loop_id], |row| listed(row, &mut Looks::new(locks))).optional()
}

pub(super) fn by_name(
    connection: &Connection,
    locks: &Locks,
    project: &str,
    name: &str,
) -> rusqlite::Result<Option<Listed>> {
    let sql = format!("{} WHERE l.project = ?1 AND l.name = ?2", select(true));
    connection.prepare_cached(&sql)?.query_row([project, name], |row| listed(row, &mut Looks::new(locks))).optional()
}

pub(super) fn list(connection: &Connection, locks: &Locks, filter: &ListFilter) -> rusqlite::Result<Vec<Listed>> {
    let limit = filter.limit.map_or(-1, row_limit);
    Ok(rows(connection, locks, filter, None, limit)?.into_iter().map(|(_, listed)| listed).collect())
}

/// As many rows of a part as keep the memory for them in the processor's cache.
const PART: usize = 256;

pub(super) fn list_part(
    connection: &Connection,
    locks: &Locks,
    filter: &ListFilter,
    after: Option<Mark>,
) -> rusqlite::Result<(Vec<Listed>, Option<Mark>)> {
    let found = rows(connection, locks, filter, after, row_limit(PART))?;
    let next = found.last().filter(|_| found.len() == PART).map(|(mark, _)| *mark);
    Ok((found.into_iter().map(|(_, listed)| listed).collect(), next))
}

/// At most so many rows after a mark, each with its own.
fn rows(
    connection: &Connection,
    locks: &Locks,
    filter: &ListFilter,
    after: Option<Mark>,
    limit: i64,
) -> rusqlite::Result<Vec<(Mark, Listed)>> {
    let project = if filter.project.is_some() { "l.project = ?1" } else { "?1 IS NULL" };
    let open = if filter.open_only { "AND l.open = 1" } else { "" };
    let ids = if filter.ids.is_some() { "AND l.id IN (SELECT value FROM json_each(?3))" } else { "AND ?3 IS NULL" };
    let rows = match filter.rows {
        Rows::Loops => format!("AND l.kind = '{LOOP}'"),
        Rows::Groups => format!("AND l.kind <> '{LOOP}'"),
        Rows::All => String::new(),
    };
    let after_it =
        if after.is_some() { "AND (l.created_at, l.pk) < (?4, ?5)" } else { "AND ?4 IS NULL AND ?5 IS NULL" };
    let sql = format!(
        "{} WHERE {project} {open} {ids} {rows} {after_it} ORDER BY l.created_at DESC, l.pk DESC LIMIT ?2",
        select(filter.summaries)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let ids = filter.ids.as_ref().map(|ids| serde_json::Value::from(ids.as_slice()).to_string());
    let mut looks = Looks::new(locks);
    let marked = |row: &Row<'_>| {
        let mark = Mark { created_at: row.get(AFTER_LEASE + 10)?, row: row.get(AFTER_LEASE + 16)? };
        Ok((mark, listed(row, &mut looks)?))
    };
    let (at, row) = (after.map(|mark| mark.created_at), after.map(|mark| mark.row));
    statement.query_map(params![filter.project, limit, ids, at, row], marked)?.collect()
}

/// How many loops that are not open have each status. Makes no value of a row, so ten thousand cost a few milliseconds.
pub(super) fn count_closed(
    connection: &Connection,
    project: Option<&str>,
) -> rusqlite::Result<BTreeMap<String, usize>> {
    let of_project = if project.is_some() { "project = ?1" } else { "?1 IS NULL" };
    let sql = format!(
        "SELECT status, count(*) FROM loops WHERE {of_project} AND open = 0 AND kind = '{LOOP}' GROUP BY status"
    );
    let count = |number: i64| usize::try_from(number).unwrap_or(0);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([project], |row| Ok((row.get(0)?, count(row.get(1)?))))?.collect()
}

pub(super) fn events(
    connection: &Connection,
    loop_id: &str,
    after_seq: u64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredEvent>> {
    let after = i64::try_from(after_seq).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT seq, at, kind, body FROM events
         WHERE loop = (SELECT pk FROM loops WHERE id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let event = |row: &Row<'_>| {
        Ok(StoredEvent {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            at: time(row, 1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
        })
    };
    statement.query_map(params![loop_id, after, row_limit(limit)], event)?.collect()
}

/// Verifies the chain; `None` if the loop does not exist. Reads bytes, because a damaged event may not be text.
pub(super) fn chain(connection: &Connection, loop_id: &str, until: u64) -> rusqlite::Result<Option<ChainCheck>> {
    let until = i64::try_from(until).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT l.head, e.seq, e.at, e.kind, e.body, e.link FROM loops l
         LEFT JOIN events e ON e.loop = l.pk AND e.seq <= ?2 WHERE l.id = ?1 ORDER BY e.seq",
    )?;
    let mut rows = statement.query(params![loop_id, until])?;
    let mut found = None;
    while let Some(row) = rows.next()? {
        let head: i64 = row.get(0)?;
        let (check, _) = found.get_or_insert((ChainCheck::start(), head.min(until).cast_unsigned()));
        let Some(seq) = row.get::<_, Option<i64>>(1)? else { break };
        let (kind, body) = (row.get_ref(3)?, row.get_ref(4)?);
        let event =
            Linked { seq: seq.cast_unsigned(), at: row.get(2)?, kind: kind.as_bytes()?, body: body.as_bytes()? };
        if !check.follow(&event, Link::from_bytes(row.get_ref(5)?.as_bytes()?)) {
            break;
        }
    }
    Ok(found.map(|(check, head)| check.ends_at(head)))
}

pub(super) fn holder(connection: &Connection, locks: &Locks, loop_id: &str) -> rusqlite::Result<Option<Held>> {
    let sql = format!("SELECT {LEASE} FROM leases h JOIN loops l ON l.pk = h.loop WHERE l.id = ?1");
    let found = connection.prepare_cached(&sql)?.query_row([loop_id], lease).optional()?;
    Ok(found.flatten().map(|lease| Looks::new(locks).held(lease)))
}

pub(super) fn pending(connection: &Connection, loop_id: &str) -> rusqlite::Result<Vec<InboxItem>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at, body FROM inbox
         WHERE loop = (SELECT pk FROM loops WHERE id = ?1) AND taken IS NULL ORDER BY pk",
    )?;
    let item = |row: &Row<'_>| Ok(InboxItem { id: row.get(0)?, at: time(row, 1)?, body: row.get(2)? });
    statement.query_map([loop_id], item)?.collect()
}

pub(super) fn answer(connection: &Connection, item_id: &str) -> rusqlite::Result<Option<Option<String>>> {
    let mut statement = connection.prepare_cached("SELECT answer FROM inbox WHERE id = ?1")?;
    statement.query_row([item_id], |row| row.get(0)).optional()
}

/// Looks at each locked file once for all rows of a read.
struct Looks<'a> {
    locks: &'a Locks,
    seen: Vec<(Seat, String, Presence)>,
}

impl<'a> Looks<'a> {
    fn new(locks: &'a Locks) -> Self {
        Self { locks, seen: Vec::new() }
    }

    fn held(&mut self, Lease { holder, lock }: Lease) -> Held {
        let known = self.seen.iter().find(|(seat, name, _)| *seat == holder.seat && *name == lock);
        let presence = match known {
            Some((.., presence)) => *presence,
            None => {
                let presence = self.locks.presence(&holder.seat, &lock);
                self.seen.push((holder.seat.clone(), lock, presence));
                presence
            }
        };
        Held { holder, presence }
    }
}

fn listed(row: &Row<'_>, looks: &mut Looks<'_>) -> rusqlite::Result<Listed> {
    const N: usize = AFTER_LEASE;
    let entry = CatalogueEntry {
        id: row.get(N)?,
        project: row.get(N + 1)?,
        name: row.get(N + 2)?,
        goal: row.get(N + 3)?,
        recipe: row.get(N + 4)?,
        status: row.get(N + 5)?,
        open: row.get(N + 6)?,
        iterations: row.get(N + 7)?,
        max_iterations: row.get(N + 8)?,
        stop_reason: row.get(N + 9)?,
        created_at: time(row, N + 10)?,
        updated_at: time(row, N + 11)?,
        stopped_at: row.get::<_, Option<i64>>(N + 12)?.map(|_| time(row, N + 12)).transpose()?,
        summary: row.get(N + 14)?,
        kind: row.get(N + 15)?,
    };
    let holder = lease(row)?.map(|lease| looks.held(lease));
    Ok(Listed { entry, head: row.get::<_, i64>(N + 13)?.cast_unsigned(), holder, has_workers: false, is_parked: false })
}

/// The lease from the first columns; `None` without one. Of a worker, the name is in place of the socket.
pub(super) fn lease(row: &Row<'_>) -> rusqlite::Result<Option<Lease>> {
    let Some(boot_id) = row.get(0)? else {
        return Ok(None);
    };
    let address = OsStr::from_bytes(row.get_ref(3)?.as_blob()?);
    let seat = match row.get(8)? {
        Some(id) => Seat::Worker { id, name: address.to_string_lossy().into_owned() },
        None => Seat::Process {
            process: ProcessIdentity {
                boot_id,
                pid_namespace: row.get::<_, i64>(5)?.cast_unsigned(),
                pid: row.get(1)?,
                start_time: row.get::<_, i64>(2)?.cast_unsigned(),
                machine: row.get(6)?,
            },
            socket: PathBuf::from(address),
        },
    };
    Ok(Some(Lease { holder: Holder { seat, token: row.get(4)? }, lock: row.get(7)? }))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Timestamp::from_nanosecond(row.get::<_, i64>(column)?.into())
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, error.into()))
}

fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
