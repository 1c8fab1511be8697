//! The machine's resources, what enforces limits on it, and a tree's usage without enforcement.

use windlass_process::{Holder, Means};

use crate::cgroup::{Cgroups, find_cgroups};

/// What there is to be shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// Main memory; unknown if the system does not report it.
    pub memory_bytes: Option<u64>,
    /// The default process limit of a loop.
    pub processes: Option<u32>,
}

#[cfg(target_os = "linux")]
pub fn machine() -> Machine {
    let info = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "narrower on 32-bit machines")]
    let memory = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    Machine { memory_bytes: Some(memory), processes: Some(crate::process_cap::default_limit()) }
}

#[cfg(not(target_os = "linux"))]
pub fn machine() -> Machine {
    Machine::default()
}

/// What enforces the limits of a loop on this machine.
pub fn means() -> Means {
    let found = find_cgroups();
    let why = found.as_ref().err().cloned();
    let group =
        |of: fn(&Cgroups) -> bool| found.as_ref().ok().filter(|found| of(found)).map(|found| found.layout.holder());
    Means {
        memory: group(|found| found.memory.is_some()).unwrap_or(without_groups::MEMORY),
        processes: group(|found| found.processes.is_some()).unwrap_or_else(without_groups::processes),
        cpu: group(|found| found.cpu.is_some()).unwrap_or(Holder::Nothing),
        why,
    }
}

/// What enforces the default limits. With version 1 a process must be moved into its groups, some
/// milliseconds for each tree; so there they are left to what costs nothing, if there is such a thing.
pub fn means_by_default(means: &Means) -> Means {
    let cheaper = |held: Holder, instead: fn() -> Holder| match held {
        Holder::CgroupV1 => Some(instead()).filter(|holder| *holder != Holder::Nothing).unwrap_or(held),
        Holder::CgroupV2 | Holder::PidNamespace | Holder::Watched | Holder::Nothing => held,
    };
    Means {
        memory: cheaper(means.memory, || without_groups::MEMORY),
        processes: cheaper(means.processes, without_groups::processes),
        cpu: means.cpu,
        why: means.why.clone(),
    }
}

#[cfg(target_os = "linux")]
mod without_groups {
    use windlass_process::Holder;

    pub(super) const MEMORY: Holder = Holder::Watched;

    pub(super) fn processes() -> Holder {
        let has_namespaces = crate::contain::probe().first().is_some_and(|rung| rung.available);
        if crate::process_cap::works() && has_namespaces { Holder::PidNamespace } else { Holder::Nothing }
    }
}

#[cfg(not(target_os = "linux"))]
mod without_groups {
    use windlass_process::Holder;

    pub(super) const MEMORY: Holder = Holder::Nothing;

    pub(super) fn processes() -> Holder {
        Holder::Nothing
    }
}

/// What the processes below `root` have in memory, `root` itself left out; what they share counts for each.
#[cfg(target_os = "linux")]
pub(crate) fn resident_bytes(root: u32) -> u64 {
    let mut sum = 0;
    let mut pending = crate::descendants::children_of(root);
    while let Some(pid) = pending.pop() {
        pending.extend(crate::descendants::children_of(pid));
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        sum += resident_kb(&status).unwrap_or(0) * 1_024;
    }
    sum
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn resident_bytes(_root: u32) -> u64 {
    0
}

/// `VmRSS` of proc_pid_status(5); kernel threads and zombies have none.
#[cfg(target_os = "linux")]
fn resident_kb(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asked_for_is_left_to_what_costs_nothing() {
        let all = |holder| Means { memory: holder, processes: holder, cpu: holder, why: None };
        let by_default = means_by_default(&all(Holder::CgroupV1));
        assert_eq!((by_default.memory, by_default.cpu), (Holder::Watched, Holder::CgroupV1));
        assert_ne!(by_default.processes, Holder::Nothing, "a fork bomb is held by something");
        assert_eq!(means_by_default(&all(Holder::CgroupV2)), all(Holder::CgroupV2));
    }

    #[test]
    fn a_tree_is_counted_without_its_root() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let seen = resident_bytes(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen > 0);
        assert_eq!(resident_kb("Name:\tVmRSS: 1 kB\nVmRSS:\t     99 kB\nThreads:\t1\n"), Some(99));
    }
}
