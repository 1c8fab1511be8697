//! The changes that a store can make, each in one transaction that checks every rule first.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool};
use uuid::Uuid;
use windlass_engine::outside::Wait;
use windlass_store::{
    Append, CatalogueEntry, Create, Holder, InboxItem, Link, Linked, NewEvent, Seat, StoreError, nanoseconds,
};

use super::failure::{Fault, wrong};
use super::queue::limit_on;
use super::{Placing, Worker};

type Done<T> = Result<T, Fault>;

/// A loop may have to be placed. The payload of each channel is the loop's ID.
pub(crate) const WORK: &str = "windlass_work";
/// A lease was taken.
pub(crate) const LEASE: &str = "windlass_lease";
/// A command waits.
pub(crate) const INBOX: &str = "windlass_inbox";
/// A journal grew, or its driver left.
pub(crate) const NEWS: &str = "windlass_news";
/// A turn wrote more. The payload is the loop's ID and the turn.
pub(crate) const OUTPUT: &str = "windlass_output";
/// Somebody watches the loop's output.
pub(crate) const WATCH: &str = "windlass_watch";

pub(super) async fn create(pool: &PgPool, step: Uuid, new: &Create, placing: &Placing) -> Done<u64> {
    let Create { entry, events, holder } = new;
    let mut db = pool.begin().await?;
    let known: Option<(i64, String)> = sqlx::query_as("SELECT head, last_step FROM loops WHERE id = $1")
        .bind(&entry.id)
        .fetch_optional(&mut *db)
        .await?;
    match known {
        // Written by the attempt whose answer was lost.
        Some((head, last)) if last == step.to_string() => return Ok(head.cast_unsigned()),
        Some(_) => return Err(StoreError::IdTaken { id: entry.id.clone() }.into()),
        None => {}
    }
    let head = events.len() as u64;
    let sql =
        "INSERT INTO loops (id, project, name, goal, recipe, status, open, iterations, max_iterations, stop_reason,
                                  created_at, updated_at, stopped_at, head, last_step, kind, priority, account)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
               ON CONFLICT DO NOTHING RETURNING pk";
    let inserted: Option<i64> = sqlx::query_scalar(sql)
        .bind(&entry.id)
        .bind(&entry.project)
        .bind(&entry.name)
        .bind(goal(entry))
        .bind(&entry.recipe)
        .bind(&entry.status)
        .bind(entry.open)
        .bind(i64::from(entry.iterations))
        .bind(entry.max_iterations.map(i64::from))
        .bind(&entry.stop_reason)
        .bind(nanoseconds(entry.created_at)?)
        .bind(nanoseconds(entry.updated_at)?)
        .bind(entry.stopped_at.map(nanoseconds).transpose()?)
        .bind(head.cast_signed())
        .bind(step.to_string())
        .bind(&entry.kind)
        .bind(i16::from(placing.priority))
        .bind(&placing.account)
        .fetch_optional(&mut *db)
        .await?;
    let Some(key) = inserted else {
        let sql = "SELECT 1 FROM loops WHERE id = $1";
        let same_id = sqlx::query(sql).bind(&entry.id).fetch_optional(&mut *db).await?.is_some();
        return Err(if same_id {
            StoreError::IdTaken { id: entry.id.clone() }.into()
        } else {
            StoreError::NameTaken { name: entry.name.clone() }.into()
        });
    };
    sqlx::query("INSERT INTO summaries VALUES ($1, $2)").bind(key).bind(&entry.summary).execute(&mut *db).await?;
    write_events(&mut db, key, 0, events).await?;
    if let Some(holder) = holder {
        write_lease(&mut db, key, holder).await?;
    }
    notify(&mut db, WORK, &entry.id).await?;
    db.commit().await?;
    Ok(head)
}

/// Tells listeners when this transaction is committed.
async fn notify(db: &mut PgConnection, channel: &str, loop_id: &str) -> Done<()> {
    sqlx::query("SELECT pg_notify($1, $2)").bind(channel).bind(loop_id).execute(db).await?;
    Ok(())
}

/// The list's line of the goal. PostgreSQL keeps no text with a null character; the journal has the goal as JSON.
fn goal(entry: &CatalogueEntry) -> String {
    entry.goal.replace('\0', "\u{fffd}")
}

pub(super) async fn append(pool: &PgPool, id: Uuid, step: &Append) -> Done<u64> {
    let mut db = pool.begin().await?;
    let sql = "SELECT pk, head, last_step FROM loops WHERE id = $1 FOR UPDATE";
    let found: Option<(i64, i64, String)> = sqlx::query_as(sql).bind(&step.loop_id).fetch_optional(&mut *db).await?;
    let Some((key, head, last)) = found else { return Err(unknown(&step.loop_id)) };
    let head = head.cast_unsigned();
    if last == id.to_string() {
        return Ok(head);
    }
    // A statement of its own, after the lock: one that joins would answer as of before it waited for the lock.
    let token: Option<String> =
        sqlx::query_scalar("SELECT token FROM leases WHERE loop = $1").bind(key).fetch_optional(&mut *db).await?;
    if token.as_ref() != Some(&step.token) {
        return Err(StoreError::LeaseLost { loop_id: step.loop_id.clone() }.into());
    }
    if head != step.expected_seq {
        return Err(StoreError::Conflict { expected: step.expected_seq, found: head }.into());
    }
    let new_head = head + step.events.len() as u64;
    take(&mut db, key, step, new_head).await?;
    write_events(&mut db, key, head, &step.events).await?;
    write_entry(&mut db, key, new_head, id, &step.entry).await?;
    notify(&mut db, NEWS, &step.loop_id).await?;
    db.commit().await?;
    Ok(new_head)
}

/// Takes and answers inbox items; refuses when one is not in the state that needs.
async fn take(db: &mut PgConnection, key: i64, step: &Append, head: u64) -> Done<()> {
    for id in &step.consumed {
        let sql = "UPDATE inbox SET taken = $3 WHERE id = $1 AND loop = $2 AND taken IS NULL";
        let taken = sqlx::query(sql).bind(id).bind(key).bind(head.cast_signed()).execute(&mut *db).await?;
        if taken.rows_affected() == 0 {
            return Err(StoreError::NotPending { id: id.clone() }.into());
        }
    }
    for (id, answer) in &step.answers {
        let sql = "UPDATE inbox SET answer = $3 WHERE id = $1 AND loop = $2 AND taken IS NOT NULL AND answer IS NULL";
        let answered = sqlx::query(sql).bind(id).bind(key).bind(answer).execute(&mut *db).await?;
        if answered.rows_affected() == 0 {
            return Err(StoreError::NotTaken { id: id.clone() }.into());
        }
    }
    Ok(())
}

/// All events in one statement.
async fn write_events(db: &mut PgConnection, key: i64, head: u64, events: &[NewEvent]) -> Done<()> {
    if events.is_empty() {
        return Ok(());
    }
    let before: Option<Vec<u8>> = sqlx::query_scalar("SELECT link FROM events WHERE loop = $1 AND seq = $2")
        .bind(key)
        .bind(head.cast_signed())
        .fetch_optional(&mut *db)
        .await?;
    let mut link = before.and_then(|bytes| Link::from_bytes(&bytes)).unwrap_or(Link::START);
    let (mut seqs, mut times, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for (seq, event) in (head + 1..).zip(events) {
        let at = nanoseconds(event.at)?;
        link = link.next(&Linked { seq, at, kind: event.kind.as_bytes(), body: event.body.as_bytes() });
        seqs.push(seq.cast_signed());
        times.push(at);
        links.push(link.0.to_vec());
    }
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let bodies: Vec<&str> = events.iter().map(|event| event.body.as_str()).collect();
    let sql = "INSERT INTO events (loop, seq, at, kind, body, link)
               SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bytea[])";
    sqlx::query(sql).bind(key).bind(seqs).bind(times).bind(kinds).bind(bodies).bind(links).execute(db).await?;
    Ok(())
}

async fn write_entry(db: &mut PgConnection, key: i64, head: u64, step: Uuid, entry: &CatalogueEntry) -> Done<()> {
    let sql = "UPDATE loops SET goal = $2, recipe = $3, status = $4, open = $5, iterations = $6, max_iterations = $7,
                      stop_reason = $8, updated_at = $9, stopped_at = $10, head = $11, last_step = $12 WHERE pk = $1";
    // Checked as in every store, though it stays as it is.
    nanoseconds(entry.created_at)?;
    sqlx::query(sql)
        .bind(key)
        .bind(goal(entry))
        .bind(&entry.recipe)
        .bind(&entry.status)
        .bind(entry.open)
        .bind(i64::from(entry.iterations))
        .bind(entry.max_iterations.map(i64::from))
        .bind(&entry.stop_reason)
        .bind(nanoseconds(entry.updated_at)?)
        .bind(entry.stopped_at.map(nanoseconds).transpose()?)
        .bind(head.cast_signed())
        .bind(step.to_string())
        .execute(&mut *db)
        .await?;
    sqlx::query("UPDATE summaries SET body = $2 WHERE loop = $1").bind(key).bind(&entry.summary).execute(db).await?;
    Ok(())
}

pub(super) async fn acquire(
    pool: &PgPool,
    lost_after: Duration,
    loop_id: &str,
    holder: &Holder,
    replacing: Option<&str>,
) -> Done<()> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    let sql = "SELECT worker, worker_name, token FROM leases WHERE loop = $1";
    let current: Option<(String, String, String)> = sqlx::query_as(sql).bind(key).fetch_optional(&mut *db).await?;
    if let Some((id, name, token)) = current
        && token != holder.token
        && replacing != Some(token.as_str())
    {
        return Err(StoreError::Held(Box::new(Holder { seat: Seat::Worker { id, name }, token })).into());
    }
    // A desk holds loops for a moment and runs nothing of them. A step whose answer was lost was counted already.
    let sql = "SELECT EXISTS (SELECT FROM workers WHERE id = $2 AND slots IS NOT NULL)
                  AND NOT EXISTS (SELECT FROM leases WHERE loop = $1 AND token = $3)";
    let Seat::Worker { id: worker, .. } = &holder.seat else { return Err(no_worker()) };
    let query = sqlx::query_scalar(sql).bind(key).bind(worker).bind(&holder.token);
    if query.fetch_one(&mut *db).await?
        && let Some(why) = limit_on(&mut db, lost_after, key).await?
    {
        return Err(StoreError::Limited { why }.into());
    }
    write_lease(&mut db, key, holder).await?;
    // The holder that lost it, if it is alive after all.
    notify(&mut db, LEASE, loop_id).await?;
    Ok(db.commit().await?)
}

fn no_worker() -> Fault {
    wrong("only a worker can hold a loop of a fleet").into()
}

async fn write_lease(db: &mut PgConnection, key: i64, holder: &Holder) -> Done<()> {
    let (id, name) = match &holder.seat {
        Seat::Worker { id, name } => (id, name),
        Seat::Process { .. } => return Err(no_worker()),
    };
    let sql = "INSERT INTO leases VALUES ($1, $2, $3, $4)
               ON CONFLICT (loop) DO UPDATE SET worker = $2, worker_name = $3, token = $4";
    sqlx::query(sql).bind(key).bind(id).bind(name).bind(&holder.token).execute(&mut *db).await?;
    // What a desk does changes no files.
    let sql = "UPDATE loops SET token_before = last_token, last_token = $2, last_worker = $3, parked_until = NULL
               WHERE pk = $1 AND last_token IS DISTINCT FROM $2
                 AND NOT EXISTS (SELECT FROM workers WHERE id = $3 AND is_desk)";
    sqlx::query(sql).bind(key).bind(&holder.token).bind(id).execute(db).await?;
    Ok(())
}

/// Notes that the files of this stretch are the current ones from here on; returns the stretch whose files were.
pub(super) async fn use_files(pool: &PgPool, loop_id: &str, token: &str) -> Done<Option<String>> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    let sql = "SELECT l.last_token, l.token_before, h.token FROM loops l LEFT JOIN leases h ON h.loop = l.pk
               WHERE l.pk = $1";
    let (last, before, held): (Option<String>, Option<String>, Option<String>) =
        sqlx::query_as(sql).bind(key).fetch_one(&mut *db).await?;
    if held.as_deref() != Some(token) {
        return Err(StoreError::LeaseLost { loop_id: loop_id.to_owned() }.into());
    }
    if last.as_deref() == Some(token) {
        return Ok(before);
    }
    let sql = "UPDATE loops SET token_before = last_token, last_token = $2 WHERE pk = $1";
    sqlx::query(sql).bind(key).bind(token).execute(&mut *db).await?;
    db.commit().await?;
    Ok(last)
}

pub(super) async fn release(pool: &PgPool, loop_id: &str, token: &str) -> Done<()> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    sqlx::query("DELETE FROM leases WHERE loop = $1 AND token = $2").bind(key).bind(token).execute(&mut *db).await?;
    notify(&mut db, NEWS, loop_id).await?;
    notify(&mut db, WORK, loop_id).await?;
    Ok(db.commit().await?)
}

pub(super) async fn remove(pool: &PgPool, loop_id: &str, token: &str) -> Done<()> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    let dropped = sqlx::query("DELETE FROM leases WHERE loop = $1 AND token = $2")
        .bind(key)
        .bind(token)
        .execute(&mut *db)
        .await?;
    if dropped.rows_affected() == 0 {
        return Err(StoreError::LeaseLost { loop_id: loop_id.to_owned() }.into());
    }
    for sql in [
        "DELETE FROM inbox WHERE loop = $1",
        "DELETE FROM events WHERE loop = $1",
        "DELETE FROM summaries WHERE loop = $1",
        "DELETE FROM chunks WHERE loop = $1",
        "DELETE FROM shipped WHERE loop = $1",
        "DELETE FROM loops WHERE pk = $1",
    ] {
        sqlx::query(sql).bind(key).execute(&mut *db).await?;
    }
    Ok(db.commit().await?)
}

pub(super) async fn post(pool: &PgPool, loop_id: &str, item: &InboxItem) -> Done<()> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    let sql = "INSERT INTO inbox (id, loop, at, body) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
    let at = nanoseconds(item.at)?;
    sqlx::query(sql).bind(&item.id).bind(key).bind(at).bind(&item.body).execute(&mut *db).await?;
    notify(&mut db, INBOX, loop_id).await?;
    Ok(db.commit().await?)
}

/// Notes when a held loop is to be taken again, and that its account takes nothing before.
pub(super) async fn park(pool: &PgPool, loop_id: &str, token: &str, wait: Wait) -> Done<()> {
    let mut db = pool.begin().await?;
    let key = locked(&mut db, loop_id).await?;
    let sql = "UPDATE loops SET parked_until = clock_timestamp() + make_interval(secs => $3)
               WHERE pk = $1 AND EXISTS (SELECT FROM leases WHERE loop = $1 AND token = $2)";
    let time = wait.time.as_secs_f64();
    let done = sqlx::query(sql).bind(key).bind(token).bind(time).execute(&mut *db).await?;
    if done.rows_affected() == 0 {
        return Err(StoreError::LeaseLost { loop_id: loop_id.to_owned() }.into());
    }
    if wait.limited {
        let sql = "INSERT INTO pools (name, limited_until)
                   SELECT 'account:' || account, parked_until FROM loops WHERE pk = $1 AND account <> ''
                   ON CONFLICT (name) DO UPDATE SET limited_until = greatest(pools.limited_until, excluded.limited_until)";
        sqlx::query(sql).bind(key).execute(&mut *db).await?;
    }
    Ok(db.commit().await?)
}

/// How many loops of a project or an account run at once; none for no limit.
pub(super) async fn limit(pool: &PgPool, name: &str, max_running: Option<u32>) -> Done<()> {
    let mut db = pool.begin().await?;
    let sql = "INSERT INTO pools (name, max_running) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET max_running = $2";
    sqlx::query(sql).bind(name).bind(max_running.map(u32::cast_signed)).execute(&mut *db).await?;
    notify(&mut db, WORK, "").await?;
    Ok(db.commit().await?)
}

/// Says that the process lives; whether somebody wants it to drain.
pub(super) async fn seen(pool: &PgPool, worker: &Worker) -> Done<bool> {
    let sql = "INSERT INTO workers (id, name, seen_at, is_desk, slots, version)
               VALUES ($1, $2, clock_timestamp(), $3, $4, $5)
               ON CONFLICT (id) DO UPDATE SET name = $2, seen_at = clock_timestamp() RETURNING draining";
    let draining = sqlx::query_scalar(sql)
        .bind(&worker.id)
        .bind(&worker.name)
        .bind(worker.is_desk)
        .bind(worker.slots.map(u32::cast_signed))
        .bind(env!("CARGO_PKG_VERSION"))
        .fetch_one(pool)
        .await?;
    Ok(draining)
}

/// The process exits and holds nothing. Rows of processes that were killed long ago go with it.
pub(super) async fn leave(pool: &PgPool, worker: &Worker) -> Done<()> {
    let sql = "DELETE FROM workers w WHERE (id = $1 OR seen_at < now() - interval '1 day')
                 AND NOT EXISTS (SELECT FROM leases h WHERE h.worker = w.id)";
    sqlx::query(sql).bind(&worker.id).execute(pool).await?;
    Ok(())
}

/// Asks living workers of this name or ID to drain; returns their names.
pub(super) async fn drain(pool: &PgPool, lost_after: Duration, worker: &str) -> Done<Vec<String>> {
    let sql = "UPDATE workers SET draining = true
               WHERE (name = $1 OR id = $1) AND slots IS NOT NULL AND extract(epoch FROM now() - seen_at)::float8 < $2
               RETURNING name";
    Ok(sqlx::query_scalar(sql).bind(worker).bind(lost_after.as_secs_f64()).fetch_all(pool).await?)
}

/// The loop's row, for this transaction alone.
async fn locked(db: &mut PgConnection, loop_id: &str) -> Done<i64> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT pk FROM loops WHERE id = $1 FOR UPDATE").bind(loop_id).fetch_optional(db).await?;
    found.ok_or_else(|| unknown(loop_id))
}

fn unknown(loop_id: &str) -> Fault {
    StoreError::UnknownLoop { id: loop_id.to_owned() }.into()
}
