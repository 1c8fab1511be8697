//! The tables, and the way to them from every older format.
//!
//! Invariant: a migration that has shipped is never edited, only followed by another.

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPool};
use windlass_store::{Result, StoreError};

use super::failure::{failed, wrong};

/// The format that this program reads and writes.
pub const FORMAT: u32 = MIGRATIONS.len() as u32;

/// "WNDL": one migration at a time.
const LOCK: i64 = 0x574e_444c;

// Times are nanoseconds since 1970, except where the database's clock is the judge. `loops.pk` is the order of creation.
const MIGRATIONS: &[&str] = &["
CREATE TABLE loops (
    pk             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             text NOT NULL UNIQUE,
    kind           text NOT NULL,
    project        text NOT NULL,
    name           text NOT NULL,
    goal           text NOT NULL,
    recipe         text NOT NULL,
    status         text NOT NULL,
    open           boolean NOT NULL,
    iterations     bigint NOT NULL,
    max_iterations bigint,
    stop_reason    text,
    created_at     bigint NOT NULL,
    updated_at     bigint NOT NULL,
    stopped_at     bigint,
    head           bigint NOT NULL,
    last_step      text NOT NULL,
    UNIQUE (project, name)
) WITH (fillfactor = 70);
CREATE INDEX loops_newest ON loops (created_at);
CREATE INDEX loops_of_project ON loops (project, created_at);
CREATE INDEX loops_open ON loops (created_at) WHERE open;

CREATE TABLE summaries (loop bigint PRIMARY KEY REFERENCES loops (pk), body text NOT NULL);

CREATE TABLE events (
    loop bigint NOT NULL REFERENCES loops (pk),
    seq  bigint NOT NULL,
    at   bigint NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    link bytea NOT NULL,
    PRIMARY KEY (loop, seq)
);

CREATE TABLE workers (id text PRIMARY KEY, name text NOT NULL, seen_at timestamptz NOT NULL);

CREATE TABLE leases (
    loop        bigint PRIMARY KEY REFERENCES loops (pk),
    worker      text NOT NULL,
    worker_name text NOT NULL,
    token       text NOT NULL
);

CREATE TABLE inbox (
    pk     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id     text NOT NULL UNIQUE,
    loop   bigint NOT NULL REFERENCES loops (pk),
    at     bigint NOT NULL,
    body   text NOT NULL,
    taken  bigint,
    answer text
);
CREATE INDEX inbox_pending ON inbox (loop) WHERE taken IS NULL;
", "
-- The stretch that holds the loop or held it last, and the one before: they tell a machine whether its files are current.
ALTER TABLE loops ADD COLUMN last_token text, ADD COLUMN token_before text;
", "
-- A desk holds loops only for a moment and uses no files of theirs. Without a number of slots, a process takes no loops.
ALTER TABLE workers ADD COLUMN is_desk boolean NOT NULL DEFAULT false, ADD COLUMN slots int, ADD COLUMN version text,
    ADD COLUMN draining boolean NOT NULL DEFAULT false;

-- Output of turns. Without foreign keys: those would make shipping and appending wait for each other.
CREATE TABLE chunks (
    loop  bigint NOT NULL,
    turn  text NOT NULL,
    file  smallint NOT NULL,
    at    bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (loop, turn, file, at)
);
CREATE TABLE shipped (loop bigint NOT NULL, turn text NOT NULL, PRIMARY KEY (loop, turn));
-- 1 is taken first, 5 last.
ALTER TABLE loops ADD COLUMN priority smallint NOT NULL DEFAULT 3 CHECK (priority BETWEEN 1 AND 5);
", "
-- The login of an agent that the loop counts for. A parked loop waits for a time without a worker; the last one has its files.
ALTER TABLE loops ADD COLUMN account text, ADD COLUMN parked_until timestamptz, ADD COLUMN last_worker text;
ALTER TABLE loops ADD COLUMN pools text[] GENERATED ALWAYS AS (
    CASE WHEN account IS NULL THEN ARRAY['project:' || regexp_replace(project, '^git:', '')]
         ELSE ARRAY['project:' || regexp_replace(project, '^git:', ''), 'account:' || account] END) STORED;
-- How many loops run at once. What runs is counted from the leases, so a crash leaves no wrong number.
CREATE TABLE pools (
    name          text PRIMARY KEY CHECK (name ~ '^(project|account):.'),
    max_running   int CHECK (max_running >= 0),
    limited_until timestamptz
);
", "
-- Where the files of a turn are and how large each one is, once they are in an archive. Its chunks are gone then.
ALTER TABLE shipped ADD COLUMN kept text, ADD COLUMN sizes bigint[];
"];

/// The format of the tables, 0 if there are none.
async fn format(connection: &mut PgConnection) -> sqlx::Result<u32> {
    let is_there: bool =
        sqlx::query_scalar("SELECT to_regclass('meta') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !is_there {
        return Ok(0);
    }
    let format: i32 = sqlx::query_scalar("SELECT format FROM meta").fetch_one(connection).await?;
    Ok(format.cast_unsigned())
}

pub(super) async fn check(pool: &PgPool) -> Result<()> {
    let mut connection = pool.acquire().await.map_err(failed)?;
    match format(&mut connection).await.map_err(failed)? {
        FORMAT => Ok(()),
        0 => Err(wrong("the database has no tables of Windlass; run `windlass-fleet store migrate`")),
        found if found < FORMAT => {
            Err(wrong(format!("the database has format {found}, not {FORMAT}; run `windlass-fleet store migrate`")))
        }
        found => Err(newer(found)),
    }
}

fn newer(found: u32) -> StoreError {
    wrong(format!("the database has format {found}, but this program reads only up to {FORMAT}; update windlass-fleet"))
}

pub(super) async fn migrate(url: &str) -> Result<(u32, u32)> {
    // One connection, which fails at once: a person waits for the answer.
    let run = async || -> sqlx::Result<u32> {
        let mut connection = PgConnection::connect(url).await?;
        let mut step = connection.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *step).await?;
        let from = format(&mut step).await?;
        if from >= FORMAT {
            return Ok(from);
        }
        if from == 0 {
            sqlx::query("CREATE TABLE meta (format int NOT NULL)").execute(&mut *step).await?;
            sqlx::query("INSERT INTO meta VALUES (0)").execute(&mut *step).await?;
        }
        for sql in &MIGRATIONS[from as usize..] {
            sqlx::raw_sql(*sql).execute(&mut *step).await?;
        }
        sqlx::query("UPDATE meta SET format = $1").bind(FORMAT.cast_signed()).execute(&mut *step).await?;
        step.commit().await?;
        Ok(from)
    };
    match run().await.map_err(failed)? {
        found if found > FORMAT => Err(newer(found)),
        from => Ok((from, FORMAT)),
    }
}
