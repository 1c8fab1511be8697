//! The identity of a process, to recognize it later.
//!
//! Invariant: a process id alone is never trusted. It is reused, it starts again at boot, and it means
//! something else in another PID namespace or on another machine; so an identity is all of these.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub boot_id: String,
    /// Which numbering `pid` belongs to. Agents run in separate PID namespaces, and may run us.
    pub pid_namespace: u64,
    pub pid: u32,
    /// In the system's own unit; only compared.
    pub start_time: u64,
    /// The installation and its host name, which a reboot does not change. Empty if nobody recorded it.
    #[serde(default)]
    pub machine: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Gone,
    /// It belongs to another PID namespace of this boot, or to another machine, so it cannot be judged from here.
    Unseen,
}

impl ProcessIdentity {
    /// This process, or `None` if the system does not report it.
    pub fn current() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// The process that has this id now, or `None` if there is none. A zombie is none.
    pub fn of(pid: u32) -> Option<Self> {
        let start_time = system::start_time(pid)?;
        let pid_namespace = system::pid_namespace();
        Some(Self { boot_id: system::boot_id()?, pid_namespace, pid, start_time, machine: machine() })
    }

    /// Whether it runs, or ran, on the kernel that runs now.
    pub fn is_of_this_boot(&self) -> bool {
        system::boot_id().is_none_or(|boot| boot == self.boot_id)
    }

    pub fn liveness(&self) -> Liveness {
        if !self.is_of_this_boot() {
            // Without the machine, another boot may as well be another kernel that runs at this moment.
            return if self.machine == machine() { Liveness::Gone } else { Liveness::Unseen };
        }
        if system::pid_namespace() != self.pid_namespace {
            return Liveness::Unseen;
        }
        match system::start_time(self.pid) {
            Some(start) if start == self.start_time => Liveness::Alive,
            Some(_) | None => Liveness::Gone,
        }
    }

    /// Whether it is certain, or must be assumed, that the process lives.
    pub fn is_alive(&self) -> bool {
        self.liveness() != Liveness::Gone
    }
}

/// What a reboot leaves as it is, and two machines or containers do not share. An image may bring a machine ID of its
/// own, so the host name is part of it.
fn machine() -> String {
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let name = rustix::system::uname();
    format!("{}/{}", id.trim(), name.nodename().to_string_lossy())
}

#[cfg(target_os = "linux")]
mod system {
    use std::os::unix::fs::MetadataExt;

    pub(super) fn boot_id() -> Option<String> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }

    pub(super) fn pid_namespace() -> u64 {
        std::fs::metadata("/proc/self/ns/pid").map_or(0, |link| link.ino())
    }

    pub(super) fn start_time(pid: u32) -> Option<u64> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain anything, so count from the last one.
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        // Field 22 of stat(5); state was field 3.
        fields.nth(18)?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::process::Command;

    fn said(program: &str, args: &[&str]) -> Option<String> {
        let output = Command::new(program).args(args).env("LC_ALL", "C").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    pub(super) fn boot_id() -> Option<String> {
        said("sysctl", &["-n", "kern.boottime"])
    }

    pub(super) fn pid_namespace() -> u64 {
        0
    }

    pub(super) fn start_time(pid: u32) -> Option<u64> {
        let started = said("ps", &["-o", "lstart=", "-p", &pid.to_string()])?;
        let mut hasher = DefaultHasher::new();
        started.hash(&mut hasher);
        Some(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_another_boot_or_start_is_not_and_another_machine_is_unseen() {
        let me = ProcessIdentity::current().unwrap();
        assert_eq!(me.liveness(), Liveness::Alive);
        let json = serde_json::to_string(&me).unwrap();
        assert_eq!(serde_json::from_str::<ProcessIdentity>(&json).unwrap(), me);
        let earlier = ProcessIdentity { start_time: me.start_time - 1, ..me.clone() };
        assert_eq!(earlier.liveness(), Liveness::Gone);
        let rebooted = ProcessIdentity { boot_id: "another".into(), ..me.clone() };
        assert_eq!(rebooted.liveness(), Liveness::Gone);
        let on_another_machine = ProcessIdentity { machine: "another".into(), ..rebooted };
        assert_eq!(on_another_machine.liveness(), Liveness::Unseen);
        let elsewhere = ProcessIdentity { pid_namespace: me.pid_namespace + 1, ..me };
        assert_eq!(elsewhere.liveness(), Liveness::Unseen);
    }

    #[test]
    fn a_zombie_and_a_reaped_child_are_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap();
        assert!(identity.is_alive());
        child.kill().unwrap();
        // Wait for the end without reaping it.
        let pid = rustix::process::Pid::from_child(&child);
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert!(!identity.is_alive(), "a zombie does nothing any more");
        child.wait().unwrap();
        assert!(!identity.is_alive());
    }
}
