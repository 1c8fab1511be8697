//! The sign of life of processes that hold leases: a file in `seats/` that each has locked.
//!
//! The kernel releases the lock however a process ends, and shows it to every container that mounts the directory, which
//! process numbers and boot IDs do not do. A file system without such locks leaves only the process's identity.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::identity::{Liveness, ProcessIdentity};
use crate::{Presence, Seat};

/// The locked files beside a database.
#[derive(Debug)]
pub(super) struct Locks {
    dir: PathBuf,
    /// This process's own, from its first lease on; the name is empty where files cannot be locked.
    own: Mutex<Option<Own>>,
}

#[derive(Debug)]
struct Own {
    name: String,
    path: PathBuf,
    _locked: Option<File>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Taken,
    Free,
    /// The file system does not answer.
    Unknown,
}

impl Locks {
    pub(super) fn beside(database: &Path) -> Self {
        Self { dir: database.with_file_name("seats"), own: Mutex::new(None) }
    }

    /// The name of this process's locked file, which its leases carry.
    pub(super) fn own(&self, seat: &Seat) -> io::Result<String> {
        let Seat::Process { process, .. } = seat else { return Ok(String::new()) };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = &*own {
            return Ok(own.name.clone());
        }
        let made = self.make(process)?;
        Ok(own.insert(made).name.clone())
    }

    fn make(&self, process: &ProcessIdentity) -> io::Result<Own> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        self.sweep();
        let mut number = 0;
        let (name, path, mut file) = loop {
            // Another PID namespace has the same numbers.
            let name = format!("{}-{}-{number}", process.pid, process.start_time);
            let path = self.dir.join(&name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => break (name, path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // Written once it is locked: a file without words is one that is being made.
                file.write_all(&serde_json::to_vec(process)?)?;
                Ok(Own { name, path, _locked: Some(file) })
            }
            Err(error) => {
                tracing::warn!(%error, dir = %self.dir.display(), "this file system has no locks");
                Ok(Own { name: String::new(), path, _locked: None })
            }
        }
    }

    /// Removes the files of processes that are certainly gone.
    fn sweep(&self) {
        for path in std::fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let words = std::fs::read(&path).unwrap_or_default();
            let Ok(process) = serde_json::from_slice::<ProcessIdentity>(&words) else { continue };
            if judged(&process, lock_at(&path)) == Presence::Gone {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    /// Whether the holder of a lease with this lock lives.
    pub(super) fn presence(&self, seat: &Seat, lock: &str) -> Presence {
        match seat {
            // Its heartbeats are elsewhere.
            Seat::Worker { .. } => Presence::Unknown,
            Seat::Process { process, .. } if lock.is_empty() => judged(process, Lock::Unknown),
            Seat::Process { process, .. } => judged(process, lock_at(&self.dir.join(lock))),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn judged(process: &ProcessIdentity, lock: Lock) -> Presence {
    match (lock, process.liveness()) {
        // A child that was being started when it was killed still has the lock, until it runs its program.
        (Lock::Taken, Liveness::Gone) if process.is_of_this_boot() => Presence::Gone,
        (Lock::Taken, _) | (_, Liveness::Alive) => Presence::Alive,
        (Lock::Free | Lock::Unknown, Liveness::Gone) => Presence::Gone,
        // The same kernel would show the lock of another container.
        (Lock::Free, Liveness::Unseen) if process.is_of_this_boot() => Presence::Gone,
        (Lock::Free | Lock::Unknown, Liveness::Unseen) => Presence::Unknown,
    }
}

/// Looks without being in the way of others who look.
fn lock_at(path: &Path) -> Lock {
    let file = match File::open(path) {
        Ok(file) => file,
        // Whoever leaves removes it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::Free,
        Err(_) => return Lock::Unknown,
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Lock::Free,
        Err(Errno::WOULDBLOCK) => Lock::Taken,
        Err(_) => Lock::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(change: impl FnOnce(&mut ProcessIdentity)) -> Seat {
        let mut process = ProcessIdentity::current().unwrap();
        change(&mut process);
        Seat::Process { process, socket: PathBuf::new() }
    }

    #[test]
    fn lock_decides_for_another_container_and_another_machine_stays_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::beside(&dir.path().join("windlass.db"));
        let container = seat(|process| process.pid_namespace += 1);
        let machine = seat(|process| {
            process.boot_id = "another".into();
            process.machine = "another".into();
        });
        let rebooted = seat(|process| process.boot_id = "another".into());
        let name = locks.own(&container).unwrap();
        for seat in [&container, &machine, &rebooted] {
            assert_eq!(locks.presence(seat, &name), Presence::Alive, "{seat:?}");
        }
        drop(locks);
        let locks = Locks::beside(&dir.path().join("windlass.db"));
        assert_eq!(locks.presence(&container, &name), Presence::Gone);
        assert_eq!(locks.presence(&rebooted, &name), Presence::Gone);
        assert_eq!(locks.presence(&machine, &name), Presence::Unknown);
        assert_eq!(locks.presence(&container, ""), Presence::Unknown, "a lease from before there were locks");
        assert_eq!(locks.presence(&Seat::Worker { id: "1".into(), name: "w".into() }, ""), Presence::Unknown);
    }

    #[test]
    fn process_that_is_certainly_gone_holds_nothing_through_a_child_with_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let locks = Locks::beside(&dir.path().join("windlass.db"));
        let killed = seat(|process| process.start_time -= 1);
        let name = locks.own(&killed).unwrap();
        assert_eq!(lock_at(&dir.path().join("seats").join(&name)), Lock::Taken);
        assert_eq!(locks.presence(&killed, &name), Presence::Gone);
    }

    #[test]
    fn files_of_processes_that_are_gone_are_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("windlass.db");
        let living = Locks::beside(&database);
        let kept = living.own(&seat(|_| ())).unwrap();
        let write = |name: &str, seat: &Seat| {
            let Seat::Process { process, .. } = seat else { return };
            std::fs::write(dir.path().join("seats").join(name), serde_json::to_vec(process).unwrap()).unwrap();
        };
        write("gone", &seat(|process| process.start_time -= 1));
        write(
            "elsewhere",
            &seat(|process| {
                process.boot_id = "another".into();
                process.machine = "another".into();
            }),
        );
        std::fs::write(dir.path().join("seats/being-made"), "").unwrap();
        let next = Locks::beside(&database);
        let own = next.own(&seat(|_| ())).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(dir.path().join("seats"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut expected = [kept, own, "elsewhere".into(), "being-made".into()];
        expected.sort();
        assert_eq!(names, expected);
    }
}
