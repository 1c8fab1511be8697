//! Output of turns on its way from the worker to those who read it.
//!
//! A file of a turn is a row of chunks, each at its offset. Invariant: a chunk is written only under the lease of the loop, and a
//! longer one at the same offset starts with the shorter one, so a shipment can be repeated.

use sqlx::postgres::PgPool;

use super::failure::Fault;
use super::steps::{OUTPUT, WATCH};

type Done<T> = Result<T, Fault>;

/// A part of a file of a turn.
#[derive(Clone, Debug)]
pub struct Piece {
    pub loop_id: String,
    pub turn: String,
    pub file: i16,
    pub at: u64,
    pub bytes: Vec<u8>,
    /// The lease under which the loop is driven.
    pub token: String,
}

/// What was shipped of a turn.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// File, offset, bytes: by file and offset.
    pub chunks: Vec<(i16, i64, Vec<u8>)>,
    /// There is more already.
    pub has_more: bool,
    /// The turn is over and everything was shipped.
    pub is_closed: bool,
    /// Everything is in an archive instead.
    pub kept: Option<Kept>,
}

/// Where the files of a turn are, and how large each one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub archive: String,
    pub sizes: Vec<i64>,
}

/// So many chunks are read at a time.
const PAGE: usize = 32;
/// What small chunks are joined to when the turn is over.
const LARGE: i64 = 1 << 18;

pub(super) async fn watch(pool: &PgPool, loop_id: &str) -> Done<()> {
    sqlx::query("SELECT pg_notify($1, $2)").bind(WATCH).bind(loop_id).execute(pool).await?;
    Ok(())
}

/// One statement, however many loops.
pub(super) async fn ship(pool: &PgPool, pieces: &[Piece]) -> Done<()> {
    let sql = "WITH held AS (
                 SELECT l.pk, n.* FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::bytea[], $6::text[])
                     AS n (id, turn, file, at, bytes, token)
                 JOIN loops l ON l.id = n.id JOIN leases h ON h.loop = l.pk AND h.token = n.token),
               written AS (
                 INSERT INTO chunks (loop, turn, file, at, bytes) SELECT pk, turn, file, at, bytes FROM held
                 ON CONFLICT (loop, turn, file, at) DO UPDATE SET bytes = excluded.bytes
                     WHERE octet_length(excluded.bytes) > octet_length(chunks.bytes))
               SELECT pg_notify($7, id || ' ' || turn) FROM (SELECT DISTINCT id, turn FROM held) told";
    let texts = |what: fn(&Piece) -> &str| pieces.iter().map(what).collect::<Vec<_>>();
    sqlx::query(sql)
        .bind(texts(|piece| &piece.loop_id))
        .bind(texts(|piece| &piece.turn))
        .bind(pieces.iter().map(|piece| piece.file).collect::<Vec<_>>())
        .bind(pieces.iter().map(|piece| piece.at.cast_signed()).collect::<Vec<_>>())
        .bind(pieces.iter().map(|piece| piece.bytes.as_slice()).collect::<Vec<_>>())
        .bind(texts(|piece| &piece.token))
        .bind(OUTPUT)
        .execute(pool)
        .await?;
    Ok(())
}

pub(super) async fn shipped(pool: &PgPool, loop_id: &str, turn: &str) -> Done<Vec<(i16, i64)>> {
    let sql = "SELECT c.file, max(c.at + octet_length(c.bytes)) FROM chunks c JOIN loops l ON l.pk = c.loop
               WHERE l.id = $1 AND c.turn = $2 GROUP BY c.file";
    Ok(sqlx::query_as(sql).bind(loop_id).bind(turn).fetch_all(pool).await?)
}

pub(super) async fn close(pool: &PgPool, loop_id: &str, turn: &str, token: &str) -> Done<()> {
    let mut db = pool.begin().await?;
    let sql = "SELECT l.pk FROM loops l JOIN leases h ON h.loop = l.pk AND h.token = $2 WHERE l.id = $1";
    let key: Option<i64> = sqlx::query_scalar(sql).bind(loop_id).bind(token).fetch_optional(&mut *db).await?;
    // Whoever lost the loop closes nothing; it is refused at its next step.
    let Some(key) = key else { return Ok(()) };
    let sql = "WITH small AS (DELETE FROM chunks WHERE loop = $1 AND turn = $2 RETURNING file, at, bytes)
               INSERT INTO chunks (loop, turn, file, at, bytes)
               SELECT $1, $2, file, min(at), string_agg(bytes, ''::bytea ORDER BY at) FROM small GROUP BY file, at / $3";
    sqlx::query(sql).bind(key).bind(turn).bind(LARGE).execute(&mut *db).await?;
    let sql = "INSERT INTO shipped (loop, turn) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    sqlx::query(sql).bind(key).bind(turn).execute(&mut *db).await?;
    Ok(db.commit().await?)
}

/// `known` is how much is here of each file.
pub(super) async fn fetch(pool: &PgPool, loop_id: &str, turn: &str, known: &[i64]) -> Done<Fetched> {
    // Looked at before the chunks: what comes between the two belongs to a turn that is still open.
    let sql = "SELECT EXISTS (SELECT FROM shipped s JOIN loops l ON l.pk = s.loop WHERE l.id = $1 AND s.turn = $2)";
    let is_closed: bool = sqlx::query_scalar(sql).bind(loop_id).bind(turn).fetch_one(pool).await?;
    // The chunk that holds the first byte that is not known, and all behind it.
    let sql = "SELECT c.file, c.at, c.bytes FROM unnest($3::bigint[]) WITH ORDINALITY AS k (known, number)
               JOIN loops l ON l.id = $1
               JOIN chunks c ON c.loop = l.pk AND c.turn = $2 AND c.file = k.number - 1
                 AND c.at >= coalesce((SELECT max(b.at) FROM chunks b WHERE b.loop = l.pk AND b.turn = $2
                                         AND b.file = k.number - 1 AND b.at <= k.known), 0)
               WHERE c.at + octet_length(c.bytes) > k.known
               ORDER BY c.file, c.at LIMIT $4";
    let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
    let chunks: Vec<(i16, i64, Vec<u8>)> =
        sqlx::query_as(sql).bind(loop_id).bind(turn).bind(known).bind(limit).fetch_all(pool).await?;
    // Looked at after the chunks, which are gone then.
    let sql = "SELECT s.kept, s.sizes FROM shipped s JOIN loops l ON l.pk = s.loop
               WHERE l.id = $1 AND s.turn = $2 AND s.kept IS NOT NULL";
    let kept: Option<(String, Vec<i64>)> = sqlx::query_as(sql).bind(loop_id).bind(turn).fetch_optional(pool).await?;
    let kept = kept.map(|(archive, sizes)| Kept { archive, sizes });
    Ok(Fetched { has_more: chunks.len() == PAGE, chunks, is_closed, kept })
}

/// Turns of ended loops whose output is here, and the loop each one is of. Each worker looks at them in another order.
pub(super) async fn to_archive(pool: &PgPool, worker: &str) -> Done<Vec<(String, String)>> {
    let sql = "SELECT l.id, c.turn FROM loops l JOIN chunks c ON c.loop = l.pk
               WHERE NOT l.open AND NOT EXISTS (SELECT FROM leases h WHERE h.loop = l.pk)
               GROUP BY l.id, c.turn ORDER BY md5(l.id || c.turn || $1) LIMIT 16";
    Ok(sqlx::query_as(sql).bind(worker).fetch_all(pool).await?)
}

/// Notes that an archive has the files of a turn, and forgets them here, unless more came meanwhile.
pub(super) async fn archived(pool: &PgPool, loop_id: &str, turn: &str, kept: &Kept) -> Done<bool> {
    let mut db = pool.begin().await?;
    let sql = "SELECT pk FROM loops WHERE id = $1 AND NOT open FOR UPDATE";
    let Some(key) = sqlx::query_scalar::<_, i64>(sql).bind(loop_id).fetch_optional(&mut *db).await? else {
        return Ok(false);
    };
    let sql = "SELECT coalesce(max(at + octet_length(bytes)), 0) <= $4 FROM chunks WHERE loop = $1 AND turn = $2 AND file = $3";
    for (file, size) in (0_i16..).zip(&kept.sizes) {
        let whole: bool =
            sqlx::query_scalar(sql).bind(key).bind(turn).bind(file).bind(size).fetch_one(&mut *db).await?;
        if !whole {
            return Ok(false);
        }
    }
    let sql = "INSERT INTO shipped (loop, turn, kept, sizes) VALUES ($1, $2, $3, $4)
               ON CONFLICT (loop, turn) DO UPDATE SET kept = excluded.kept, sizes = excluded.sizes";
    sqlx::query(sql).bind(key).bind(turn).bind(&kept.archive).bind(&kept.sizes).execute(&mut *db).await?;
    sqlx::query("DELETE FROM chunks WHERE loop = $1 AND turn = $2").bind(key).bind(turn).execute(&mut *db).await?;
    db.commit().await?;
    Ok(true)
}
