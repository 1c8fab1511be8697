//! The tables, and the way from every older version of them to the present one.
//!
//! Invariant: a migration that has shipped is never edited, only followed by another. A database that is newer
//! than this program, or not Windlass's, is refused before anything is written to it; an older one is copied
//! before it is changed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::failure::{Fault, companion, directory_of, explain_io};
use crate::chain::Linked;
use crate::{Link, StoreError};

/// "WNDL", in the header of the file: distinguishes our database from other programs'.
const APPLICATION_ID: i32 = 0x574e_444c;

/// `MIGRATIONS[n]` migrates version n to version n + 1.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { sql: VERSION_1, then: nothing },
    Migration { sql: VERSION_2, then: link_events },
    Migration { sql: VERSION_3, then: nothing },
    Migration { sql: VERSION_4, then: nothing },
];

/// The way from one version to the next: statements, and what statements cannot do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    sql: &'static str,
    then: fn(&Connection) -> rusqlite::Result<()>,
}

fn nothing(_: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

/// The version this program reads and writes.
pub(super) const KNOWN: u32 = MIGRATIONS.len() as u32;

// Times are nanoseconds since 1970. `loops.pk` is the order of creation.
//
// Summaries are apart from loops, so that a list reads short rows only. Events are clustered by loop, as they
// are always read.
const VERSION_1: &str = "
CREATE TABLE loops (
    pk             INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    project        TEXT NOT NULL,
    name           TEXT NOT NULL,
    goal           TEXT NOT NULL,
    recipe         TEXT NOT NULL,
    status         TEXT NOT NULL,
    open           INTEGER NOT NULL,
    iterations     INTEGER NOT NULL,
    max_iterations INTEGER,
    stop_reason    TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    stopped_at     INTEGER,
    head           INTEGER NOT NULL,
    UNIQUE (project, name)
) STRICT;
CREATE INDEX loops_newest ON loops (created_at);
CREATE INDEX loops_of_project ON loops (project, created_at);
CREATE INDEX loops_open ON loops (created_at) WHERE open = 1;

CREATE TABLE summaries (
    loop INTEGER PRIMARY KEY REFERENCES loops (pk),
    body TEXT NOT NULL
) STRICT;

CREATE TABLE events (
    loop INTEGER NOT NULL REFERENCES loops (pk),
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (loop, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    loop       INTEGER PRIMARY KEY REFERENCES loops (pk),
    boot_id    TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    socket     BLOB NOT NULL,
    token      TEXT NOT NULL
) STRICT;

CREATE TABLE inbox (
    pk     INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    loop   INTEGER NOT NULL REFERENCES loops (pk),
    at     INTEGER NOT NULL,
    body   TEXT NOT NULL,
    taken  INTEGER,
    answer TEXT
) STRICT;
CREATE INDEX inbox_pending ON inbox (loop) WHERE taken IS NULL;
";

// The link of each event in the hash chain of its loop.
const VERSION_2: &str = "ALTER TABLE events ADD COLUMN link BLOB NOT NULL DEFAULT x''";

// Groups of loops are rows too.
const VERSION_3: &str = "ALTER TABLE loops ADD COLUMN kind TEXT NOT NULL DEFAULT 'loop'";

// Who holds a lease, on which machine, and the file that it has locked; or which worker. A boot ID had its PID namespace
// behind it.
const VERSION_4: &str = "
ALTER TABLE leases ADD COLUMN pid_namespace INTEGER NOT NULL DEFAULT 0;
ALTER TABLE leases ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN lock TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN worker TEXT;
UPDATE leases SET pid_namespace = CAST(substr(boot_id, instr(boot_id, '@') + 1) AS INTEGER),
                  boot_id = substr(boot_id, 1, instr(boot_id, '@') - 1)
WHERE instr(boot_id, '@') > 0;
";

/// Events that were written before there was a chain get their links as they are now.
fn link_events(connection: &Connection) -> rusqlite::Result<()> {
    let mut all = connection.prepare("SELECT loop, seq, at, kind, body FROM events ORDER BY loop, seq")?;
    let mut set = connection.prepare("UPDATE events SET link = ?3 WHERE loop = ?1 AND seq = ?2")?;
    let mut links = Vec::new();
    let mut before = (0, Link::START);
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (key, seq): (i64, i64) = (row.get(0)?, row.get(1)?);
        let link = if before.0 == key { before.1 } else { Link::START };
        let (kind, body) = (row.get_ref(3)?, row.get_ref(4)?);
        let event =
            Linked { seq: seq.cast_unsigned(), at: row.get(2)?, kind: kind.as_bytes()?, body: body.as_bytes()? };
        before = (key, link.next(&event));
        links.push((key, seq, before.1));
    }
    links.into_iter().try_for_each(|(key, seq, link)| set.execute(params![key, seq, link.0]).map(drop))
}

/// The database's version, 0 if there is nothing in it yet; an error if this program must not touch it.
pub(super) fn inspect(connection: &Connection, path: &Path, known: u32) -> Result<u32, Fault> {
    // One transaction, or a database that is being created would look half foreign.
    let look = connection.unchecked_transaction()?;
    let application: i32 = look.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = version(&look)?;
    let tables: i64 = look.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    look.finish()?;

    let path = path.to_owned();
    if application == APPLICATION_ID {
        if version > known {
            return Err(StoreError::NewerDatabase { path, found: version, known }.into());
        }
        Ok(version)
    } else if application == 0 && version == 0 && tables == 0 {
        Ok(0)
    } else {
        Err(StoreError::Foreign { path }.into())
    }
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Leads a database of version `from` to the last of `migrations`. Another process may be doing the same:
/// each step looks again under the write lock.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[Migration],
    from: u32,
) -> Result<(), Fault> {
    let from = from as usize;
    if from > 0 && from < migrations.len() {
        back_up(connection, path, from)?;
    }
    for (version, migration) in migrations.iter().enumerate().skip(from) {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self::version(&step)? as usize > version {
            continue;
        }
        step.execute_batch(migration.sql)?;
        (migration.then)(&step)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", version as i64 + 1)?;
        step.commit()?;
        tracing::debug!(path = %path.display(), version = version + 1, "database migrated");
    }
    Ok(())
}

/// Copies the database to `<file>.v<version>.bak`, atomically, and never over an earlier copy.
fn back_up(connection: &Connection, path: &Path, version: usize) -> Result<(), Fault> {
    let partial = companion(path, &format!(".v{version}.{}.partial", std::process::id()));
    let copied = copy_into(connection, &partial).and_then(|()| {
        let backup = (1..)
            .map(|n| if n == 1 { format!(".v{version}.bak") } else { format!(".v{version}.{n}.bak") })
            .map(|suffix| companion(path, &suffix))
            .find(|candidate| !candidate.exists())
            .unwrap_or_else(|| partial.clone());
        let settle = || -> io::Result<()> {
            fs::rename(&partial, &backup)?;
            File::open(directory_of(path))?.sync_all()
        };
        settle().map_err(|source| explain_io(&backup, source).into())
    });
    if copied.is_err() {
        // The copy is of no use now; that it stays behind would matter less than the error at hand.
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy_into(connection: &Connection, target: &Path) -> Result<(), Fault> {
    // Created first, because SQLite would make it readable for everyone. It accepts an empty file.
    let create = || -> io::Result<File> {
        match fs::remove_file(target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)
    };
    let file = create().map_err(|source| explain_io(target, source))?;
    let name = target.to_str().ok_or_else(|| {
        explain_io(target, io::Error::new(io::ErrorKind::InvalidInput, "the path is not valid UTF-8"))
    })?;
    connection.execute("VACUUM INTO ?1", [name])?;
    file.sync_all().map_err(|source| explain_io(target, source).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const fn sql(sql: &'static str) -> Migration {
        Migration { sql, then: nothing }
    }

    const OLD: &[Migration] = &[sql("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('kept')")];
    const NEW: &[Migration] =
        &[OLD[0], sql("ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'new'"), sql("CREATE TABLE u (c TEXT)")];

    fn database() -> (tempfile::TempDir, PathBuf, Connection) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("windlass.db");
        let connection = Connection::open(&path).unwrap();
        (home, path, connection)
    }

    fn names(path: &Path) -> Vec<String> {
        let files = fs::read_dir(directory_of(path)).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_database_gets_all_migrations_and_no_backup() {
        let (_home, path, mut connection) = database();
        assert_eq!(inspect(&connection, &path, 3).unwrap(), 0);
        migrate(&mut connection, &path, NEW, 0).unwrap();
        assert_eq!(inspect(&connection, &path, 3).unwrap(), 3);
        assert_eq!(names(&path), ["windlass.db"]);
    }

    #[test]
    fn an_older_database_is_copied_and_then_migrated() {
        let (_home, path, mut connection) = database();
        migrate(&mut connection, &path, OLD, 0).unwrap();
        migrate(&mut connection, &path, NEW, 1).unwrap();
        let row: (String, String) =
            connection.query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, ("kept".into(), "new".into()));
        assert_eq!(names(&path), ["windlass.db", "windlass.db.v1.bak"]);

        let backup = companion(&path, ".v1.bak");
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
        let copy = Connection::open(&backup).unwrap();
        assert_eq!(inspect(&copy, &backup, 3).unwrap(), 1);
        let kept: String = copy.query_row("SELECT * FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "kept");
    }

    #[test]
    fn an_earlier_backup_is_not_overwritten() {
        let (_home, path, mut connection) = database();
        fs::write(companion(&path, ".v1.bak"), "precious").unwrap();
        migrate(&mut connection, &path, OLD, 0).unwrap();
        migrate(&mut connection, &path, NEW, 1).unwrap();
        assert_eq!(names(&path), ["windlass.db", "windlass.db.v1.2.bak", "windlass.db.v1.bak"]);
        assert_eq!(fs::read(companion(&path, ".v1.bak")).unwrap(), b"precious");
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it_whole() {
        let (_home, path, mut connection) = database();
        migrate(&mut connection, &path, OLD, 0).unwrap();
        let broken = &[OLD[0], NEW[1], sql("CREATE TABLE u (c TEXT); INSERT INTO nowhere VALUES (1)")];
        assert!(matches!(migrate(&mut connection, &path, broken, 1), Err(Fault::Sqlite(_))));
        assert_eq!(inspect(&connection, &path, 3).unwrap(), 2);
        migrate(&mut connection, &path, NEW, 2).unwrap();
        assert_eq!(inspect(&connection, &path, 3).unwrap(), 3);
    }

    #[test]
    fn what_another_process_has_migrated_is_not_migrated_again() {
        let (_home, path, mut connection) = database();
        migrate(&mut connection, &path, NEW, 0).unwrap();
        // As if the version had been read before the other process started.
        migrate(&mut connection, &path, NEW, 1).unwrap();
        assert_eq!(inspect(&connection, &path, 3).unwrap(), 3);
    }

    #[test]
    fn events_of_an_older_database_get_their_links() {
        let (_home, path, mut connection) = database();
        migrate(&mut connection, &path, &MIGRATIONS[..1], 0).unwrap();
        let loops = "INSERT INTO loops (pk, id, project, name, goal, recipe, status, open, iterations, created_at, updated_at, head)";
        for (key, name) in [(1, "a"), (2, "b")] {
            let values = format!("{loops} VALUES ({key}, '{name}', '/p', '{name}', '', '', '', 1, 0, 0, 0, 2)");
            connection.execute_batch(&values).unwrap();
            for seq in [1, 2] {
                let event = format!("INSERT INTO events VALUES ({key}, {seq}, 5, 'k', '{{\"n\":{seq}}}')");
                connection.execute_batch(&event).unwrap();
            }
        }
        migrate(&mut connection, &path, MIGRATIONS, 1).unwrap();
        let chains = ["a", "b"].map(|id| super::super::rows::chain(&connection, id, u64::MAX).unwrap().unwrap());
        assert_eq!(chains.each_ref().map(|chain| (chain.events, chain.broken_at)), [(2, None), (2, None)]);
        assert_eq!(chains[0].head, chains[1].head, "the same events");
    }
}
