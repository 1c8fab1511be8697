//! Opens connections for writing, or for reading, also on read-only media.
//!
//! Invariant: nothing is written until the file has proved to be ours and of a version we know. The file and
//! all files that SQLite creates next to it are accessible only to this user.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::failure::{Fault, code, companion, directory_of, explain, explain_io, is_writable};
use super::schema;
use crate::{Result, StoreError};

/// How long to wait for other processes' transactions. A commit takes less than a millisecond, but two seconds
/// have been seen on a disk that others keep busy, and several processes may be in line.
const PATIENCE: Duration = Duration::from_secs(30);

/// After a burst the log is cut back to this size.
const LOG_LIMIT: i64 = 16 * 1024 * 1024;

/// How a reader gets at the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Beside living writers: the ordinary way.
    Shared,
    /// The directory is read-only and there is no log: the file alone is complete. SQLite would
    /// insist on creating the log's index otherwise.
    FileAlone,
    /// The directory is read-only and a log without index was left behind: its writer has exited,
    /// since a living writer has an index. SQLite builds one in memory, but only when it need not lock, and a
    /// file that cannot be written cannot be locked for itself.
    FileAndLog,
}

/// Opens for writing, creating or migrating as needed.
pub(super) fn writable(path: &Path) -> Result<Connection> {
    // A descriptor of the database that is closed drops SQLite's locks on it in this process. The
    // one that `create` opens is of a file that is not open yet; this lock ensures it.
    static OPENING: Mutex<()> = Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);

    create(path).map_err(|source| explain_io(path, source))?;
    refuse_orphaned_log(path)?;
    if !is_writable(path) {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    prepare(path).map_err(|fault| fault.explain(path))
}

fn prepare(path: &Path) -> Result<Connection, Fault> {
    let mut connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE))?;
    connection.busy_handler(Some(wait_for_others))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let version = schema::inspect(&connection, path, schema::KNOWN)?;
    // SQLite falls back to reading when it may not write.
    if connection.is_readonly("main")? {
        return Err(StoreError::ReadOnly { path: path.to_owned() }.into());
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;

    use_log(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_LIMIT, |_| Ok(()))?;
    schema::migrate(&mut connection, path, schema::MIGRATIONS, version)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Called by SQLite while another process writes. Its own handler soon sleeps for 100 ms at a time, so that
/// a waiting writer starves behind writers that do not wait, for seconds; commits take less than
/// a millisecond, and this looks about as often.
fn wait_for_others(tries: i32) -> bool {
    const PAUSE: Duration = Duration::from_millis(1);
    std::thread::sleep(PAUSE);
    PAUSE * tries.unsigned_abs() < PATIENCE
}

/// Switches to the write-ahead log, which then stays on permanently. SQLite does not wait for another process
/// that is switching too, so this does.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error) if code(&error) == Some(ffi::SQLITE_BUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

/// Makes the directory and an empty file if there is none, both for this user only.
fn create(path: &Path) -> io::Result<()> {
    if path.try_exists()? {
        return Ok(());
    }
    let directory = directory_of(path);
    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => File::open(directory)?.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens for reading; with the way that worked, for further connections.
pub(super) fn readable(path: &Path) -> Result<(Connection, Mode)> {
    readable_as(path, schema::KNOWN)
}

fn readable_as(path: &Path, known: u32) -> Result<(Connection, Mode)> {
    let size = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(StoreError::Forbidden { path: path.to_owned() });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(source) => {
            return Err(StoreError::Io { path: path.to_owned(), source });
        }
    };
    refuse_orphaned_log(path)?;
    if size == 0 {
        return Err(StoreError::NotFound { path: path.to_owned() });
    }

    let mut mode = Mode::Shared;
    let attempt = |mode| -> Result<(Connection, u32), Fault> {
        let connection = reader(path, mode)?;
        let version = schema::inspect(&connection, path, known)?;
        Ok((connection, version))
    };
    let mut opened = attempt(mode);
    if let Err(Fault::Sqlite(error)) = &opened
        && matches!(code(error), Some(ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY))
        && !is_writable(path)
        // If there is an index, there may be a writer, whose log must not be read unlocked.
        && !companion(path, "-shm").exists()
    {
        mode = if size_of_log(path) > 0 { Mode::FileAndLog } else { Mode::FileAlone };
        opened = attempt(mode);
    }
    match opened.map_err(|fault| fault.explain(path))? {
        (_, 0) => Err(StoreError::NotFound { path: path.to_owned() }),
        (_, found) if found < known => Err(StoreError::OlderDatabase { path: path.to_owned(), found, known }),
        (connection, _) => Ok((connection, mode)),
    }
}

/// A connection that cannot write.
pub(super) fn reader(path: &Path, mode: Mode) -> rusqlite::Result<Connection> {
    let read_only = flags(OpenFlags::SQLITE_OPEN_READ_ONLY);
    let mut connection = match mode {
        Mode::Shared => Connection::open_with_flags(path, read_only)?,
        Mode::FileAlone => {
            let uri = immutable_uri(path);
            Connection::open_with_flags(uri, read_only | OpenFlags::SQLITE_OPEN_URI)?
        }
        Mode::FileAndLog => {
            let connection = Connection::open_with_flags_and_vfs(path, read_only, "unix-none")?;
            connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
            connection
        }
    };
    connection.busy_handler(Some(wait_for_others))?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path, mode: Mode) -> Result<Connection> {
    reader(path, mode).map_err(|error| explain(path, error))
}

/// Each connection is used by one thread at a time, which the type system sees to.
fn flags(access: OpenFlags) -> OpenFlags {
    access | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// SQLite deletes a log next to an empty database. If the file was lost or emptied, that log may be
/// all that is left of the journal.
fn refuse_orphaned_log(path: &Path) -> Result<()> {
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size == 0 && size_of_log(path) > 0 {
        return Err(StoreError::Corrupt { path: path.to_owned(), source: None });
    }
    Ok(())
}

fn size_of_log(path: &Path) -> u64 {
    fs::metadata(companion(path, "-wal")).map_or(0, |metadata| metadata.len())
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_on_disk_before_it_returns() {
        let home = tempfile::tempdir().unwrap();
        let connection = writable(&home.path().join("windlass.db")).unwrap();
        let pragma = |name| -> String {
            let value = connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0));
            format!("{:?}", value.unwrap())
        };
        assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
        assert_eq!(pragma("synchronous"), "Integer(2)");
        assert_eq!(pragma("foreign_keys"), "Integer(1)");
    }

    #[test]
    fn only_a_database_of_the_known_version_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("windlass.db");
        drop(writable(&path).unwrap());
        let older = readable_as(&path, schema::KNOWN + 1).unwrap_err();
        assert!(matches!(older, StoreError::OlderDatabase { found: schema::KNOWN, .. }), "{older:?}");
        // Version 0 with our mark is a creation that did not finish: there is nothing to read yet.
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 0).unwrap();
        assert!(matches!(readable(&path), Err(StoreError::NotFound { .. })));
    }
}
