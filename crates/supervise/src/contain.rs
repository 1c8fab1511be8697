//! The containments that this machine supports, strongest first.
//!
//! Invariant: a rung is judged by trying it, never by a version or a file that suggests it would work.
//! What runs in the new process ([`enter`]) is signal-safe, because [`probe`] forks an engine that has
//! threads.

use serde::{Deserialize, Serialize};

/// How to contain a tree, so that all of it can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    PidNamespace,
    Subreaper,
    ProcessGroup,
}

impl Containment {
    pub fn name(self) -> &'static str {
        match self {
            Containment::PidNamespace => "pid-namespace",
            Containment::Subreaper => "subreaper",
            Containment::ProcessGroup => "process-group",
        }
    }
}

impl std::fmt::Display for Containment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One rung of the ladder, for a user to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub name: &'static str,
    pub available: bool,
    /// Why it is, or is not, available here.
    pub why: String,
    pub guarantee: &'static str,
}

/// Which rungs work on this machine, highest first, found by trying them. The first available one is
/// what `Auto` uses.
pub fn probe() -> Vec<Rung> {
    let namespace = try_namespace();
    let subreaper = cfg!(target_os = "linux");
    vec![
        Rung {
            name: Containment::PidNamespace.name(),
            available: namespace.is_ok(),
            why: match namespace {
                Ok(true) => "works, through a user namespace".to_owned(),
                Ok(false) => "works, with the privileges of this process".to_owned(),
                Err(why) => why,
            },
            guarantee: "the kernel kills the whole process tree, even if windlass and its shim are killed",
        },
        Rung {
            name: Containment::Subreaper.name(),
            available: subreaper,
            why: if subreaper { "part of Linux" } else { "only on Linux" }.to_owned(),
            guarantee: "the whole process tree ends, unless the shim and its reaper are killed together",
        },
        Rung {
            name: Containment::ProcessGroup.name(),
            available: true,
            why: "part of every Unix".to_owned(),
            guarantee: "processes in the agent's group end; a process that leaves the group survives",
        },
    ]
}

#[cfg(not(target_os = "linux"))]
fn try_namespace() -> Result<bool, String> {
    Err("only on Linux".to_owned())
}

#[cfg(target_os = "linux")]
pub(crate) use namespace::{Maps, Obstacle, enter, fork_into_namespace, try_namespace, write_maps};

#[cfg(target_os = "linux")]
mod namespace {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

    use crate::cgroup::Placement;
    use crate::sys::{self, Forked, Waited};

    /// Identity maps for a user namespace, as text made before the fork.
    #[derive(Debug)]
    pub(crate) struct Maps {
        uid: String,
        gid: String,
    }

    impl Maps {
        pub(crate) fn own() -> Self {
            let uid = rustix::process::geteuid().as_raw();
            let gid = rustix::process::getegid().as_raw();
            Self { uid: format!("{uid} {uid} 1\n"), gid: format!("{gid} {gid} 1\n") }
        }
    }

    /// What stood in the way of a namespace.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[repr(u8)]
    pub(crate) enum Obstacle {
        Map = 1,
        Mounts = 2,
        Proc = 3,
    }

    impl Obstacle {
        pub(crate) fn describe(code: u8) -> &'static str {
            match code {
                1 => "cannot map the user into a namespace",
                2 => "cannot make mounts private",
                3 => "cannot mount /proc",
                _ => "cannot set up a PID namespace",
            }
        }
    }

    /// Forks process 1 of a new PID namespace; returns whether it needed a user namespace. Privileged
    /// processes do without one, because inside it `sudo` and other users' files stop working.
    pub(crate) fn fork_into_namespace(placement: &Placement) -> io::Result<(Forked, bool)> {
        let wanted = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        match placement.fork(wanted) {
            Ok(forked) => Ok((forked, false)),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                placement.fork(wanted | libc::CLONE_NEWUSER).map(|forked| (forked, true))
            }
            Err(error) => Err(error),
        }
    }

    /// In process 1: mounts a private `/proc`. Returns the previous one,
    /// in which processes have the numbers the engine knows. Signal-safe.
    pub(crate) fn enter(maps: Option<&Maps>) -> Result<OwnedFd, (Obstacle, io::Error)> {
        fn at(obstacle: Obstacle) -> impl Fn(rustix::io::Errno) -> (Obstacle, io::Error) {
            move |errno| (obstacle, errno.into())
        }
        let outer = openat(CWD, c"/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(at(Obstacle::Proc))?;
        if let Some(maps) = maps {
            write_maps(maps).map_err(at(Obstacle::Map))?;
        }
        // Downstream, so that what the user mounts later still appears here, and nothing goes back.
        mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
            .map_err(at(Obstacle::Mounts))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(c"proc", c"/proc", c"proc", flags, None).map_err(at(Obstacle::Proc))?;
        Ok(outer)
    }

    /// In a process in a new user namespace: keeps its user and group. Signal-safe.
    pub(crate) fn write_maps(maps: &Maps) -> rustix::io::Result<()> {
        let put = |path, text: &str| {
            let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(&file, text.as_bytes()).map(drop)
        };
        put(c"/proc/self/setgroups", "deny")?;
        put(c"/proc/self/uid_map", &maps.uid)?;
        put(c"/proc/self/gid_map", &maps.gid)
    }

    /// Makes a namespace and lets it go. `Ok(true)` if it took a user namespace.
    pub(crate) fn try_namespace() -> Result<bool, String> {
        let maps = Maps::own();
        let (forked, user) = fork_into_namespace(&Placement::default())
            .map_err(|error| format!("cannot create a PID namespace: {error}"))?;
        match forked {
            Forked::Child => sys::exit_now(match enter(user.then_some(&maps)) {
                Ok(_) => 0,
                Err((obstacle, _)) => obstacle as i32,
            }),
            Forked::Parent { child } => match sys::wait_for(child) {
                Waited::Ended { status: 0, .. } => Ok(user),
                Waited::Ended { status, .. } => {
                    Err(Obstacle::describe(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(0)).to_owned())
                }
                Waited::Running | Waited::NoChildren => Err("the probe did not report a result".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_always_has_a_lowest_rung() {
        let rungs = probe();
        assert_eq!(rungs.len(), 3);
        assert!(rungs.last().unwrap().available);
        assert!(rungs.iter().all(|rung| !rung.why.is_empty()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn trying_a_namespace_leaves_the_mounts_as_they_are() {
        let before = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        probe();
        assert_eq!(std::fs::read_to_string("/proc/self/mountinfo").unwrap(), before);
    }
}
