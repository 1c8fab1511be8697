//! The queries, and how a row becomes a value. Whether a holder lives is decided by the database's clock.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::{AssertSqlSafe, Row};
use windlass_engine::outside::WorkerView;
use windlass_store::{
    CatalogueEntry, ChainCheck, Held, Holder, InboxItem, LOOP, Link, Linked, ListFilter, Listed, Presence, Rows, Seat,
    StoreError, StoredEvent,
};

use super::Sight;
use super::failure::Fault;

/// `$1` is the time after which a worker is gone. What happened before the database came back is nobody's silence.
fn select(summaries: bool) -> String {
    let (summary, join) = if summaries { ("s.body", "JOIN summaries s ON s.loop = l.pk") } else { ("''", "") };
    format!(
        "SELECT l.*, {summary} AS summary, h.worker, h.worker_name, h.token,
                extract(epoch FROM now() - greatest(w.seen_at, pg_postmaster_start_time()))::float8 > $1 AS gone,
                w.id IS NULL AS unheard,
                l.status = 'waiting' AND h.loop IS NULL AND coalesce(l.parked_until > now(), false) AS parked
         FROM loops l LEFT JOIN leases h ON h.loop = l.pk LEFT JOIN workers w ON w.id = h.worker {join}"
    )
}

pub(super) async fn by_id(pool: &PgPool, lost_after: Duration, id: &str) -> Result<Option<Listed>, Fault> {
    let sql = format!("{} WHERE l.id = $2", select(true));
    let row = sqlx::query(AssertSqlSafe(sql)).bind(lost_after.as_secs_f64()).bind(id).fetch_optional(pool).await?;
    row.map(|row| listed(&row)).transpose()
}

pub(super) async fn by_name(
    pool: &PgPool,
    lost_after: Duration,
    project: &str,
    name: &str,
) -> Result<Option<Listed>, Fault> {
    let sql = format!("{} WHERE l.project = $2 AND l.name = $3", select(true));
    let query = sqlx::query(AssertSqlSafe(sql)).bind(lost_after.as_secs_f64()).bind(project).bind(name);
    query.fetch_optional(pool).await?.map(|row| listed(&row)).transpose()
}

pub(super) async fn list(pool: &PgPool, lost_after: Duration, filter: &ListFilter) -> Result<Vec<Listed>, Fault> {
    let sql = format!(
        "{} WHERE ($2::text IS NULL OR l.project = $2) AND (l.open OR NOT $3) AND ($4::text[] IS NULL OR l.id = ANY($4))
           AND ($6::bool IS NULL OR (l.kind = $7) = $6)
         ORDER BY l.created_at DESC, l.pk DESC LIMIT $5",
        select(filter.summaries)
    );
    let query = sqlx::query(AssertSqlSafe(sql))
        .bind(lost_after.as_secs_f64())
        .bind(&filter.project)
        .bind(filter.open_only)
        .bind(&filter.ids)
        .bind(filter.limit.map(bounded))
        .bind(match filter.rows {
            Rows::Loops => Some(true),
            Rows::Groups => Some(false),
            Rows::All => None,
        })
        .bind(LOOP);
    query.fetch_all(pool).await?.iter().map(listed).collect()
}

pub(super) async fn events(pool: &PgPool, id: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
    let sql = "SELECT e.seq, e.at, e.kind, e.body FROM events e JOIN loops l ON l.pk = e.loop
               WHERE l.id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = sqlx::query(sql).bind(id).bind(after).bind(bounded(limit)).fetch_all(pool).await?;
    rows.iter()
        .map(|row| {
            let seq: i64 = row.try_get("seq")?;
            Ok(StoredEvent {
                seq: seq.cast_unsigned(),
                at: time(row, "at")?,
                kind: row.try_get("kind")?,
                body: row.try_get("body")?,
            })
        })
        .collect()
}

pub(super) async fn check_chain(pool: &PgPool, id: &str, until: u64) -> Result<ChainCheck, Fault> {
    // The head that readers saw before the walk: events that come meanwhile are not missing.
    let head: Option<i64> =
        sqlx::query_scalar("SELECT head FROM loops WHERE id = $1").bind(id).fetch_optional(pool).await?;
    let head = head.ok_or_else(|| StoreError::UnknownLoop { id: id.to_owned() })?;
    let sql = "SELECT e.seq, e.at, e.kind, e.body, e.link FROM events e JOIN loops l ON l.pk = e.loop
               WHERE l.id = $1 AND e.seq <= $2 ORDER BY e.seq";
    let until = i64::try_from(until).unwrap_or(i64::MAX).min(head);
    let mut rows = sqlx::query_as::<_, (i64, i64, String, String, Vec<u8>)>(sql).bind(id).bind(until).fetch(pool);
    let mut check = ChainCheck::start();
    while let Some((seq, at, kind, body, link)) = rows.try_next().await? {
        let event = Linked { seq: seq.cast_unsigned(), at, kind: kind.as_bytes(), body: body.as_bytes() };
        if !check.follow(&event, Link::from_bytes(&link)) {
            break;
        }
    }
    Ok(check.ends_at(until.cast_unsigned()))
}

pub(super) async fn pending(pool: &PgPool, id: &str) -> Result<Vec<InboxItem>, Fault> {
    let sql = "SELECT i.id, i.at, i.body FROM inbox i JOIN loops l ON l.pk = i.loop
               WHERE l.id = $1 AND i.taken IS NULL ORDER BY i.pk";
    let rows = sqlx::query(sql).bind(id).fetch_all(pool).await?;
    let item = |row: &PgRow| Ok(InboxItem { id: row.try_get("id")?, at: time(row, "at")?, body: row.try_get("body")? });
    rows.iter().map(item).collect()
}

pub(super) async fn answer(pool: &PgPool, item: &str) -> Result<Option<Option<String>>, Fault> {
    Ok(sqlx::query_scalar("SELECT answer FROM inbox WHERE id = $1").bind(item).fetch_optional(pool).await?)
}

pub(super) async fn tokens_of(pool: &PgPool, worker: &str) -> Result<HashMap<String, String>, Fault> {
    let sql = "SELECT l.id, h.token FROM leases h JOIN loops l ON l.pk = h.loop WHERE h.worker = $1";
    let rows: Vec<(String, String)> = sqlx::query_as(sql).bind(worker).fetch_all(pool).await?;
    Ok(rows.into_iter().collect())
}

pub(super) async fn sight(pool: &PgPool, lost_after: Duration, worker: &str) -> Result<Sight, Fault> {
    let sql = "SELECT extract(epoch FROM seen_at)::float8,
                      extract(epoch FROM now() - greatest(seen_at, pg_postmaster_start_time()))::float8 > $1
               FROM workers WHERE id = $2";
    let found: Option<(f64, bool)> =
        sqlx::query_as(sql).bind(lost_after.as_secs_f64()).bind(worker).fetch_optional(pool).await?;
    Ok(match found {
        Some((seen_at, gone)) => Sight { seen_at: Some(seen_at), gone },
        None => Sight { seen_at: None, gone: true },
    })
}

pub(super) async fn token_before(pool: &PgPool, id: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT token_before FROM loops WHERE id = $1";
    let found: Option<Option<String>> = sqlx::query_scalar(sql).bind(id).fetch_optional(pool).await?;
    Ok(found.flatten())
}

pub(super) async fn workers(pool: &PgPool, lost_after: Duration) -> Result<Vec<WorkerView>, Fault> {
    let sql = "SELECT w.id, w.name, w.is_desk, w.slots, w.version, w.draining,
                      extract(epoch FROM now() - w.seen_at)::float8 AS age, count(h.loop) AS loops
               FROM workers w LEFT JOIN leases h ON h.worker = w.id
               WHERE w.seen_at > now() - interval '1 minute' AND (w.is_desk OR w.slots IS NOT NULL)
               GROUP BY w.id ORDER BY w.is_desk, w.name, w.id";
    let rows = sqlx::query(sql).fetch_all(pool).await?;
    rows.iter()
        .map(|row| {
            let age: f64 = row.try_get("age")?;
            Ok(WorkerView {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                is_desk: row.try_get("is_desk")?,
                slots: row.try_get::<Option<i32>, _>("slots")?.map(i32::cast_unsigned),
                version: row.try_get("version")?,
                is_draining: row.try_get("draining")?,
                seen_s_ago: age,
                is_alive: age <= lost_after.as_secs_f64(),
                loops: row.try_get::<i64, _>("loops")?.cast_unsigned(),
            })
        })
        .collect()
}

fn listed(row: &PgRow) -> Result<Listed, Fault> {
    let number = |name: &str| -> Result<u32, Fault> {
        let number: i64 = row.try_get(name)?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    };
    let entry = CatalogueEntry {
        id: row.try_get("id")?,
        kind: row.try_get("kind")?,
        project: row.try_get("project")?,
        name: row.try_get("name")?,
        goal: row.try_get("goal")?,
        recipe: row.try_get("recipe")?,
        status: row.try_get("status")?,
        open: row.try_get("open")?,
        iterations: number("iterations")?,
        max_iterations: row
            .try_get::<Option<i64>, _>("max_iterations")?
            .map(|_| number("max_iterations"))
            .transpose()?,
        stop_reason: row.try_get("stop_reason")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        stopped_at: row.try_get::<Option<i64>, _>("stopped_at")?.map(|_| time(row, "stopped_at")).transpose()?,
        summary: row.try_get("summary")?,
    };
    let head: i64 = row.try_get("head")?;
    Ok(Listed {
        entry,
        head: head.cast_unsigned(),
        holder: held(row)?,
        has_workers: true,
        is_parked: row.try_get("parked")?,
    })
}

fn held(row: &PgRow) -> Result<Option<Held>, Fault> {
    let Some(token) = row.try_get("token")? else { return Ok(None) };
    let seat = Seat::Worker { id: row.try_get("worker")?, name: row.try_get("worker_name")? };
    let presence = match (row.try_get("unheard")?, row.try_get("gone")?) {
        (true, _) => Presence::Unknown,
        (false, Some(true)) => Presence::Gone,
        (false, Some(false) | None) => Presence::Alive,
    };
    Ok(Some(Held { holder: Holder { seat, token }, presence }))
}

fn time(row: &PgRow, name: &str) -> Result<Timestamp, Fault> {
    let nanoseconds: i64 = row.try_get(name)?;
    Timestamp::from_nanosecond(nanoseconds.into()).map_err(|error| sqlx::Error::Decode(error.into()).into())
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
