//! Looking at processes: which are alive, which carry a mark in their environment, waiting for one to end.
//!
//! Invariant: a pid alone is never taken for an identity; what is recorded and later ended is pid and start time
//! together, so that a reused pid is never signalled.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// A process as it names itself: its pid in its own pid namespace, and its start time in clock ticks since boot.
/// The namespace only reports where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct ProcessId {
    pub pid: u32,
    pub start_ticks: u64,
    /// Inode of the pid namespace; 0 if the system does not tell.
    pub namespace: u64,
}

/// A process found in `/proc`, seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub start_ticks: u64,
    pub command: String,
}

impl ProcessId {
    /// The calling process.
    pub fn own() -> ProcessId {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        ProcessId {
            pid: std::process::id(),
            start_ticks: Stat::parse(&stat).map_or(0, |s| s.start_ticks),
            namespace: own_namespace(),
        }
    }

    /// The pid under which this process is seen from here, if it is alive. Supervisors put agents into pid
    /// namespaces, where the pid that the agent knows is not ours; the start time is the same in all of them.
    pub fn seen_from_here(&self) -> Option<u32> {
        let it = |pid| Stat::read(pid).is_some_and(|s| s.alive && s.start_ticks == self.start_ticks);
        if self.namespace == own_namespace() {
            return Some(self.pid).filter(|&pid| it(pid));
        }
        // Every agent has the same small pid in its own namespace, and many start in the same tick.
        let there = |pid| innermost_pid(pid) == Some(self.pid) && namespace_of(&pid.to_string()) == self.namespace;
        all_pids().into_iter().find(|&pid| it(pid) && there(pid))
    }

    pub fn alive(&self) -> bool {
        self.seen_from_here().is_some()
    }

    /// Blocks until it is gone.
    ///
    /// # Panics
    /// If it is still there after [`crate::HUNG`].
    pub fn wait_dead(&self) {
        while let Some(pid) = self.seen_from_here() {
            wait_dead(pid);
        }
    }
}

/// Whether a process with this pid exists and is not a zombie.
pub fn alive(pid: u32) -> bool {
    Stat::read(pid).is_some_and(|s| s.alive)
}

/// All living processes whose initial environment has `key=value`, but never the calling one.
pub fn processes_with_env(key: &str, value: &str) -> Vec<Process> {
    let wanted = format!("{key}={value}").into_bytes();
    let own = std::process::id();
    all_pids()
        .into_iter()
        .filter(|&pid| pid != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|&b| b == 0).any(|entry| entry == wanted))
        })
        .filter_map(Process::read)
        .collect()
}

/// Blocks until the process with this pid has ended (a zombie has).
///
/// # Panics
/// If it is still there after [`crate::HUNG`].
pub fn wait_dead(pid: u32) {
    if !wait_dead_for(pid, crate::HUNG) {
        panic!("process {pid} is still alive after {:?}: {:?}", crate::HUNG, Process::read(pid));
    }
}

/// Blocks until the process has ended or the time is over; says whether it has ended.
pub(crate) fn wait_dead_for(pid: u32, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return true;
    };
    while alive(pid) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !wait_exit_event(raw, left) {
            return !alive(pid);
        }
    }
    true
}

#[cfg(target_os = "linux")]
fn wait_exit_event(pid: Pid, time: Duration) -> bool {
    use rustix::process::{PidfdFlags, pidfd_open};
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => crate::watch::readable(&fd, Some(time)),
        Err(_) => true,
    }
}

/// Other systems have no pidfd; looking again is the portable fallback.
#[cfg(not(target_os = "linux"))]
fn wait_exit_event(_pid: Pid, time: Duration) -> bool {
    std::thread::sleep(time.min(Duration::from_millis(5)));
    true
}

impl Process {
    fn read(pid: u32) -> Option<Process> {
        let stat = Stat::read(pid).filter(|s| s.alive)?;
        let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&raw).replace('\0', " ").trim().to_owned();
        Some(Process { pid, start_ticks: stat.start_ticks, command })
    }

    /// Ends exactly this process with SIGKILL, never one that got its pid later.
    pub(crate) fn kill(&self) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
            // The pidfd pins the process; only then is the start time worth comparing.
            if let Ok(fd) = pidfd_open(pid, PidfdFlags::empty())
                && Stat::read(self.pid).is_some_and(|s| s.start_ticks == self.start_ticks)
            {
                let _ = pidfd_send_signal(&fd, Signal::KILL);
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }

    /// The process that names itself `id`, if it is alive.
    pub(crate) fn of(id: &ProcessId) -> Option<Process> {
        id.seen_from_here().and_then(Process::read)
    }
}

fn all_pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn own_namespace() -> u64 {
    namespace_of("self")
}

fn namespace_of(process: &str) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(format!("/proc/{process}/ns/pid")).map_or(0, |m| m.ino())
}

/// The pid that the process knows itself by: the last of `NSpid`.
fn innermost_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

struct Stat {
    alive: bool,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The command may hold spaces and brackets, so the fields are counted from the last bracket on.
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        Some(Stat { alive: !matches!(state, "Z" | "X" | "x"), start_ticks })
    }
}
