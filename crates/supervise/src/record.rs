//! The exit record: how a tree ended, on disk.
//!
//! Invariant: a record is either absent or complete. It appears by `rename` after an `fsync`, and its
//! space is reserved before the agent starts, so that a disk the agent has filled can still take it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How a tree ended; reported after all its processes ended and all its output is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub ended: Ended,
    pub by: EndedBy,
    /// Length of the transcript files when the tree was gone.
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub ended_at: jiff::Timestamp,
    /// Processes that were still there when the main one exited and had to be ended.
    pub leftovers: u32,
    /// Processes that were ended because the loop's memory limit was reached.
    #[serde(default, skip_serializing_if = "is_none")]
    pub memory_kills: u64,
    /// Processes or threads that were not started because there were as many as there may be.
    #[serde(default, skip_serializing_if = "is_none")]
    pub refused_forks: u64,
    /// Why this record is not durable. Only in live reports: such a record is not on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_recorded: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// How the main process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Ended {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    SpawnFailed(SpawnFailure),
    /// It did not: the turn is over, and the process lives on for the next.
    TurnOver,
    /// Writing the transcript failed, so the tree was killed.
    WriteFailed {
        out_of_space: bool,
        message: String,
    },
}

/// On whose account the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    Itself,
    /// The engine requested it.
    Stopped,
    /// The engine died, or dropped the tree.
    EngineGone,
}

/// Why nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct SpawnFailure {
    pub kind: SpawnFailureKind,
    pub os_error: Option<i32>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpawnFailureKind {
    ProgramNotFound,
    /// It is there, but may not be executed.
    ProgramNotPermitted,
    /// It is executable by its mode, but neither a binary for this machine nor a script with `#!`.
    ProgramNotRunnable,
    /// The `#!` line or the binary names an interpreter or loader that is missing.
    InterpreterNotFound,
    DirectoryNotFound,
    DirectoryNotUsable,
    StdinUnreadable,
    /// Opening the transcript or the exit record failed.
    OutputUnwritable,
    /// The asked-for containment does not work on this machine.
    ContainmentUnavailable,
    /// Creating the requested sandbox failed.
    SandboxUnavailable,
    /// Anything else: no more processes, argument list too long, a NUL byte in an argument.
    Other,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot read exit record {path}", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("exit record {path} is damaged", path = path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

/// The record at `path`, or `None` if the tree has not ended or its shim was killed.
pub fn read_exit_record(path: &Path) -> Result<Option<ExitRecord>, RecordError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(RecordError::Read { path: path.to_owned(), source });
        }
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|source| RecordError::Damaged { path: path.to_owned(), source })
}

/// Like [`read_exit_record`], but first waits until no shim is working on that record. For an engine
/// that starts again: the shims of the one before are ending their trees and write how that went. Blocks
/// for as long as that takes, which is at most a few seconds.
pub fn settled_exit_record(path: &Path) -> Result<Option<ExitRecord>, RecordError> {
    let failed = |source| RecordError::Read { path: path.to_owned(), source };
    match temporary_beside(path).and_then(File::open) {
        Ok(pending) => pending.lock_shared().map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    read_exit_record(path)
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let mut name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?
        .to_owned();
    name.push(".tmp");
    Ok(path.with_file_name(name))
}

/// Room for a record with the longest messages a shim writes.
const RESERVED: usize = 4096;

/// A record to come, with its space taken. It is locked for as long as this process lives.
#[derive(Debug)]
pub(crate) struct PendingRecord {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl PendingRecord {
    pub(crate) fn reserve(path: &Path) -> io::Result<Self> {
        let temporary = temporary_beside(path)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&temporary)?;
        file.try_lock().map_err(io::Error::from)?;
        file.set_len(0)?;
        file.write_all(&[b' '; RESERVED])?;
        // A new tree obsoletes the record of an earlier one. Left there, it would pass
        // for the end of this one should this process be killed.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        Ok(Self { file, temporary, path: path.to_owned() })
    }

    /// From here on it survives the death of any process. With `durable` it also survives a power failure; an
    /// engine that gets the report makes it durable with its own event.
    pub(crate) fn commit(self, record: &ExitRecord, durable: bool) -> io::Result<()> {
        let mut json = serde_json::to_vec(record)?;
        json.push(b'\n');
        self.file.write_all_at(&json, 0)?;
        self.file.set_len(json.len() as u64)?;
        if durable {
            self.file.sync_all()?;
        }
        std::fs::rename(&self.temporary, &self.path)?;
        if !durable {
            return Ok(());
        }
        let parent = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(parent)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ExitRecord {
        ExitRecord {
            ended: Ended::Exited { code: 3 },
            by: EndedBy::Itself,
            stdout_bytes: 10,
            stderr_bytes: 0,
            ended_at: jiff::Timestamp::UNIX_EPOCH,
            leftovers: 2,
            memory_kills: 0,
            refused_forks: 0,
            not_recorded: None,
        }
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exit.json");
        assert_eq!(read_exit_record(&path).unwrap(), None);
        let pending = PendingRecord::reserve(&path).unwrap();
        assert_eq!(read_exit_record(&path).unwrap(), None, "a reserved record is no record");
        pending.commit(&record(), true).unwrap();
        assert_eq!(read_exit_record(&path).unwrap(), Some(record()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_json_is_tagged_and_snake_case() {
        let failed = ExitRecord {
            ended: Ended::SpawnFailed(SpawnFailure {
                kind: SpawnFailureKind::ProgramNotFound,
                os_error: Some(2),
                message: "no".into(),
            }),
            ..record()
        };
        assert_eq!(
            serde_json::to_value(&failed).unwrap(),
            serde_json::json!({
                "ended": {"type": "spawn_failed", "kind": "program_not_found", "os_error": 2, "message": "no"},
                "by": "itself", "stdout_bytes": 10, "stderr_bytes": 0,
                "ended_at": "1970-01-01T00:00:00Z", "leftovers": 2,
            })
        );
    }

    #[test]
    fn a_damaged_record_is_an_error_and_not_an_absent_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exit.json");
        std::fs::write(&path, "{\"ended\":").unwrap();
        assert!(matches!(read_exit_record(&path), Err(RecordError::Damaged { .. })));
    }
}
