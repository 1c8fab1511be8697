//! Says what an error of SQLite or of the file system means for the user.
//!
//! Invariant: a full disk, a damaged file, a place that cannot be written and a busy database are distinguished;
//! everything else keeps SQLite's own words as the cause.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ffi;
use rustix::fs::Access as Permission;

use crate::StoreError;

/// Why a step did not happen: it was refused by the rules, or the database failed.
#[derive(Debug)]
pub(super) enum Fault {
    Refused(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    pub(super) fn explain(self, path: &Path) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => explain(path, error),
        }
    }
}

/// SQLite's primary result code, if the error came from SQLite.
pub(super) fn code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|failure| failure.extended_code & 0xff)
}

pub(super) fn explain(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match code(&source) {
        Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB) => StoreError::Corrupt { path, source: Some(source) },
        Some(ffi::SQLITE_FULL) => StoreError::DiskFull { path, source: Some(source) },
        Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => StoreError::Busy { path, source },
        Some(ffi::SQLITE_READONLY) => StoreError::ReadOnly { path },
        // SQLite does not pass on why the system refused, so look at the place itself.
        Some(ffi::SQLITE_CANTOPEN | ffi::SQLITE_IOERR | ffi::SQLITE_PERM) => {
            if !permits(&path, Permission::READ_OK) {
                StoreError::Forbidden { path }
            } else if is_full(&path) {
                StoreError::DiskFull { path, source: Some(source) }
            } else if !is_writable(&path) {
                StoreError::ReadOnly { path }
            } else {
                StoreError::Sqlite { path, source }
            }
        }
        _ => StoreError::Sqlite { path, source },
    }
}

/// For what goes wrong with the files before SQLite sees them.
pub(super) fn explain_io(path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    if source.kind() == io::ErrorKind::StorageFull {
        StoreError::DiskFull { path, source: None }
    } else if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) {
        StoreError::ReadOnly { path }
    } else {
        StoreError::Io { path, source }
    }
}

/// Whether this process can write the database: SQLite also needs its directory, for the log next to it.
pub(super) fn is_writable(path: &Path) -> bool {
    let directory = directory_of(path);
    permits(path, Permission::READ_OK | Permission::WRITE_OK)
        && permits(&directory, Permission::WRITE_OK | Permission::EXEC_OK)
}

/// Asks without opening: closing a second descriptor of the file would drop SQLite's locks on
/// it in this process.
fn permits(path: &Path, permission: Permission) -> bool {
    rustix::fs::access(path, permission).is_ok()
}

/// Less room than SQLite's shared index grows by at once.
fn is_full(path: &Path) -> bool {
    const LEAST: u64 = 64 * 1024;
    rustix::fs::statvfs(directory_of(path)).is_ok_and(|disk| {
        disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST || (disk.f_files > 0 && disk.f_favail == 0)
    })
}

pub(super) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A file next to the database with `suffix` added to its name.
pub(super) fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
