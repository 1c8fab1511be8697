//! Which loops wait for a worker, in which order, and what holds each one back: one answer for those who place loops and for
//! those who look.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgPool, PgRow};
use windlass_engine::outside::{LimitView, QueuedView, WaitsFor};
use windlass_store::LOOP;

use super::failure::Fault;

/// So long only the worker that has its files may take a loop that was parked.
pub(crate) const OWN: Duration = Duration::from_secs(3);

/// By priority, then in turn from each project, the oldest of a project first. What a project has under way counts as taken
/// before, so that a project with many loops leaves room for others. Parked loops come last, by their time.
const QUEUE: &str = "
    WITH alive AS (
      SELECT id, name, draining, slots FROM workers
      WHERE extract(epoch FROM now() - greatest(seen_at, pg_postmaster_start_time()))::float8 <= $1),
    wanted AS (
      SELECT l.id, l.name, l.project, l.priority, l.account, l.status, l.created_at, l.pk, l.pools, l.parked_until, o.id AS own,
             o.name AS own_name,
             CASE WHEN a.id IS NOT NULL OR (h.loop IS NOT NULL AND w.id IS NULL) THEN 'held'
                  WHEN l.status = 'waiting' AND l.parked_until > now() THEN 'parked'
                  ELSE 'due' END AS stands
      FROM loops l LEFT JOIN leases h ON h.loop = l.pk LEFT JOIN workers w ON w.id = h.worker LEFT JOIN alive a ON a.id = h.worker
           LEFT JOIN alive o ON o.id = l.last_worker AND NOT o.draining AND l.status = 'waiting'
                            AND l.parked_until + make_interval(secs => $3) > now()
      WHERE l.open AND l.kind = $2 AND l.status IN ('queued', 'running', 'waiting')),
    ranked AS (
      SELECT wanted.*,
             count(*) FILTER (WHERE stands = 'held') OVER (PARTITION BY project)
             + row_number() OVER (PARTITION BY project, stands ORDER BY priority, created_at, pk) AS turn
      FROM wanted)
    SELECT id, name, project, priority, account, status, pools, stands = 'parked' AS parked, own, own_name,
           extract(epoch FROM parked_until)::float8 AS until
    FROM ranked WHERE stands <> 'held'
    ORDER BY stands = 'parked', CASE WHEN stands = 'parked' THEN parked_until END, priority, turn, created_at, pk";

/// What is left of a limit. A worker that is gone runs nothing.
const LIMITS: &str = "
    SELECT p.name, p.max_running, CASE WHEN p.limited_until > now() THEN extract(epoch FROM p.limited_until)::float8 END AS until,
           (SELECT count(*) FROM leases h JOIN loops l ON l.pk = h.loop JOIN workers w ON w.id = h.worker
            WHERE p.name = ANY (l.pools) AND w.slots IS NOT NULL
              AND extract(epoch FROM now() - greatest(w.seen_at, pg_postmaster_start_time()))::float8 <= $1) AS running
    FROM pools p WHERE p.max_running IS NOT NULL OR p.limited_until > now() ORDER BY p.name";

/// Who asks for the queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asking<'a> {
    /// A worker, for as many loops as it has room for.
    Worker {
        id: &'a str,
        room: usize,
    },
    /// Whoever places loops for all workers.
    Placing,
    Reader,
}

/// The loops that nobody living has, and the limits. Only loops that may be taken now, unless a reader asks.
pub(super) async fn queue(
    pool: &PgPool,
    lost_after: Duration,
    asking: Asking<'_>,
) -> Result<(Vec<QueuedView>, Vec<LimitView>), Fault> {
    let most = if let Asking::Worker { room, .. } = asking { room } else { usize::MAX };
    let rows: Vec<PgRow> = sqlx::query(LIMITS).bind(lost_after.as_secs_f64()).fetch_all(pool).await?;
    let mut limits = rows.iter().map(limit).collect::<Result<Vec<_>, Fault>>()?;
    let by_name: HashMap<String, usize> =
        limits.iter().enumerate().map(|(at, limit)| (limit.name.clone(), at)).collect();
    let mut left: Vec<u32> = limits.iter().map(left_of).collect();
    let query = sqlx::query(QUEUE).bind(lost_after.as_secs_f64()).bind(LOOP).bind(OWN.as_secs_f64());
    let mut rows = query.fetch(pool);
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.try_next().await?
    {
        let pools: Vec<String> = row.try_get("pools")?;
        let of: Vec<usize> = pools.iter().filter_map(|name| by_name.get(name).copied()).collect();
        let waits_for = waits_for(&row, asking, &of, &limits, &left)?;
        match &waits_for {
            WaitsFor::Slot => of.iter().for_each(|at| left[*at] -= 1),
            WaitsFor::Limit { pool, .. } => limits[by_name[pool]].waiting += 1,
            WaitsFor::Account { account, .. } => limits[by_name[&format!("account:{account}")]].waiting += 1,
            WaitsFor::Time { .. } | WaitsFor::Machine { .. } => {}
        }
        if waits_for == WaitsFor::Slot || matches!(asking, Asking::Reader) {
            found.push(QueuedView {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                project: row.try_get("project")?,
                priority: u8::try_from(row.try_get::<i16, _>("priority")?).unwrap_or(u8::MAX),
                account: row.try_get("account")?,
                status: row.try_get("status")?,
                waits_for,
            });
        }
    }
    Ok((found, limits))
}

fn waits_for(
    row: &PgRow,
    asking: Asking<'_>,
    of: &[usize],
    limits: &[LimitView],
    left: &[u32],
) -> Result<WaitsFor, Fault> {
    if row.try_get("parked")? {
        return Ok(WaitsFor::Time { until: seconds(row.try_get("until")?)? });
    }
    for limit in of.iter().map(|at| &limits[*at]) {
        if let (Some(account), Some(until)) = (limit.name.strip_prefix("account:"), limit.limited_until) {
            return Ok(WaitsFor::Account { account: account.to_owned(), until });
        }
    }
    if let Some((limit, max_running)) =
        of.iter().filter(|at| left[**at] == 0).find_map(|at| Some((&limits[*at], limits[*at].max_running?)))
    {
        return Ok(WaitsFor::Limit { pool: limit.name.clone(), max_running });
    }
    let own: Option<String> = row.try_get("own")?;
    let is_mine = matches!((&own, asking), (Some(own), Asking::Worker { id, .. }) if own == id);
    Ok(match own {
        Some(_) if !is_mine => WaitsFor::Machine { worker: row.try_get("own_name")? },
        Some(_) | None => WaitsFor::Slot,
    })
}

fn left_of(limit: &LimitView) -> u32 {
    limit.max_running.map_or(u32::MAX, |most| most.saturating_sub(limit.running))
}

fn limit(row: &PgRow) -> Result<LimitView, Fault> {
    Ok(LimitView {
        name: row.try_get("name")?,
        max_running: row.try_get::<Option<i32>, _>("max_running")?.map(i32::cast_unsigned),
        running: u32::try_from(row.try_get::<i64, _>("running")?).unwrap_or(u32::MAX),
        waiting: 0,
        limited_until: row.try_get::<Option<f64>, _>("until")?.map(seconds).transpose()?,
    })
}

fn seconds(since_1970: f64) -> Result<Timestamp, Fault> {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a time")]
    let ms = (since_1970 * 1000.0) as i64;
    Timestamp::from_millisecond(ms).map_err(|error| sqlx::Error::Decode(error.into()).into())
}

/// The limit that keeps a worker from taking the loop now. The limits' rows stay locked until the transaction ends, so two
/// workers cannot take the last place both.
pub(super) async fn limit_on(db: &mut PgConnection, lost_after: Duration, key: i64) -> Result<Option<String>, Fault> {
    let sql = "SELECT p.name, p.max_running, CASE WHEN p.limited_until > now() THEN extract(epoch FROM p.limited_until)::float8 END
               FROM pools p JOIN loops l ON p.name = ANY (l.pools) WHERE l.pk = $1 ORDER BY p.name FOR UPDATE OF p";
    let limits: Vec<(String, Option<i32>, Option<f64>)> = sqlx::query_as(sql).bind(key).fetch_all(&mut *db).await?;
    for (name, most, limited_until) in limits {
        if let Some(until) = limited_until {
            return Ok(Some(format!("{name} is rate-limited until {}", seconds(until)?)));
        }
        // After the lock, or it would answer as of before.
        let sql = "SELECT count(*) FROM leases h JOIN loops l ON l.pk = h.loop JOIN workers w ON w.id = h.worker
                   WHERE $1 = ANY (l.pools) AND l.pk <> $2 AND w.slots IS NOT NULL
                     AND extract(epoch FROM now() - greatest(w.seen_at, pg_postmaster_start_time()))::float8 <= $3";
        if let Some(most) = most {
            let query = sqlx::query_scalar(sql).bind(&name).bind(key).bind(lost_after.as_secs_f64());
            let running: i64 = query.fetch_one(&mut *db).await?;
            if running >= i64::from(most) {
                return Ok(Some(format!("{running} of {most} loops of {name} run already")));
            }
        }
    }
    Ok(None)
}

/// After how many seconds a parked loop is to be taken again, and which worker has its files.
pub(super) async fn parked(pool: &PgPool, loop_id: &str) -> Result<Option<(f64, Option<String>)>, Fault> {
    let sql = "SELECT greatest(0, extract(epoch FROM parked_until - now()))::float8, last_worker FROM loops l
               WHERE id = $1 AND status = 'waiting' AND parked_until IS NOT NULL
                 AND NOT EXISTS (SELECT FROM leases h WHERE h.loop = l.pk)";
    Ok(sqlx::query_as(sql).bind(loop_id).fetch_optional(pool).await?)
}
