//! The control group of a loop: what all its trees together may take of the machine, held by the kernel.
//!
//! One group per loop, `windlass/<loop>`, below a place that [`find`] chose. Each controller has a directory: with
//! version 2 it is the same for all, with version 1 each hierarchy has its own. Invariant: only trees are in a group,
//! never the shim or the engine, so what the kernel ends or refuses there is the loop's own.

mod find;
mod placement;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_process::Holder;

pub use find::find_cgroups;
pub(crate) use placement::Placement;

/// The directory in which the groups of all loops are.
const OWN: &str = "windlass";
/// The default weight.
const ORDINARY_WEIGHT: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    V2,
    V1,
}

impl Layout {
    pub fn holder(self) -> Holder {
        match self {
            Layout::V2 => Holder::CgroupV2,
            Layout::V1 => Holder::CgroupV1,
        }
    }
}

/// Where groups can be made, by controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroups {
    pub layout: Layout,
    pub memory: Option<PathBuf>,
    pub processes: Option<PathBuf>,
    pub cpu: Option<PathBuf>,
}

/// What the members of a group may take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupLimits {
    pub memory_bytes: Option<u64>,
    pub processes: Option<u32>,
    pub cpu_weight: Option<u32>,
}

/// How often the members of a group reached its limits, ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// Processes that were ended.
    pub(crate) memory: u64,
    /// Processes that were not started.
    pub(crate) processes: u64,
}

impl Cgroups {
    /// The group of that name, whether it is there or not.
    pub fn group(&self, name: &str) -> Group {
        let below = |dir: &Option<PathBuf>| dir.as_ref().map(|dir| dir.join(OWN).join(name));
        Group(Cgroups {
            layout: self.layout,
            memory: below(&self.memory),
            processes: below(&self.processes),
            cpu: below(&self.cpu),
        })
    }

    /// The group of that name, as far as these limits need it: with version 1 each hierarchy is one more to be moved into.
    pub fn group_for(&self, name: &str, limits: &GroupLimits) -> Group {
        let Group(mut all) = self.group(name);
        if all.layout == Layout::V1 {
            all.memory = all.memory.filter(|_| limits.memory_bytes.is_some());
            all.processes = all.processes.filter(|_| limits.processes.is_some());
            all.cpu = all.cpu.filter(|_| limits.cpu_weight.is_some());
        }
        Group(all)
    }

    /// Each directory once.
    fn dirs(&self) -> Vec<&Path> {
        let mut dirs: Vec<&Path> = Vec::new();
        for dir in [&self.memory, &self.processes, &self.cpu].into_iter().flatten() {
            if !dirs.contains(&dir.as_path()) {
                dirs.push(dir);
            }
        }
        dirs
    }
}

/// One loop's group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group(Cgroups);

impl Group {
    /// Makes the group, or takes the one that is there, and sets its limits.
    pub fn make(&self, limits: &GroupLimits) -> io::Result<()> {
        const TRIES: u32 = 10;
        let mut made = self.make_once(limits);
        for _ in 1..TRIES {
            match made {
                // The process that removed the last group also removed the parent directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => made = self.make_once(limits),
                Ok(()) | Err(_) => break,
            }
        }
        made
    }

    fn make_once(&self, limits: &GroupLimits) -> io::Result<()> {
        for dir in self.0.dirs() {
            std::fs::create_dir_all(dir)?;
        }
        if self.0.layout == Layout::V2 {
            for (dir, controller) in [(&self.0.memory, "memory"), (&self.0.processes, "pids"), (&self.0.cpu, "cpu")] {
                if let Some(above) = dir.as_ref().and_then(|dir| dir.parent()) {
                    find::hand_down(above, controller)?;
                }
            }
        }
        self.limit(limits)
    }

    fn limit(&self, limits: &GroupLimits) -> io::Result<()> {
        let v2 = self.0.layout == Layout::V2;
        if let Some(dir) = &self.0.memory {
            let bytes = limits.memory_bytes.map(|bytes| bytes.to_string());
            if v2 {
                set(dir, "memory.max", bytes.as_deref().unwrap_or("max"))?;
                // What is swapped out counts as well. Kernels without swap accounting have no such file.
                let _ = set(dir, "memory.swap.max", if bytes.is_some() { "0" } else { "max" });
            } else {
                let bytes = bytes.as_deref().unwrap_or("-1");
                // The limit with swap must never be lower, so the order depends on the current limits.
                let _ = set(dir, "memory.memsw.limit_in_bytes", "-1");
                set(dir, "memory.limit_in_bytes", bytes)?;
                let _ = set(dir, "memory.memsw.limit_in_bytes", bytes);
            }
        }
        if let Some(dir) = &self.0.processes {
            set(dir, "pids.max", &limits.processes.map_or("max".to_owned(), |count| count.to_string()))?;
        }
        if let Some(dir) = &self.0.cpu {
            let weight = limits.cpu_weight.unwrap_or(ORDINARY_WEIGHT);
            if v2 {
                set(dir, "cpu.weight", &weight.to_string())?;
            } else {
                set(dir, "cpu.shares", &cpu_shares(weight).to_string())?;
            }
        }
        Ok(())
    }

    pub(crate) fn hits(&self) -> Hits {
        let memory_file = if self.0.layout == Layout::V2 { "memory.events" } else { "memory.oom_control" };
        let read = |dir: &Option<PathBuf>, file: &str, key: &str| {
            let text = dir.as_ref().and_then(|dir| std::fs::read_to_string(dir.join(file)).ok());
            text.and_then(|text| count_of(&text, key)).unwrap_or(0)
        };
        Hits {
            memory: read(&self.0.memory, memory_file, "oom_kill"),
            processes: read(&self.0.processes, "pids.events", "max"),
        }
    }

    pub(crate) fn limits_memory(&self) -> bool {
        self.0.memory.is_some()
    }

    /// Whether a process is a member.
    pub(crate) fn holds(&self, pid: u32) -> bool {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let Some(name) = self.0.dirs().first().and_then(|dir| dir.file_name()).and_then(|name| name.to_str()) else {
            return false;
        };
        let own = format!("/{OWN}/{name}");
        text.lines().filter(|line| line.ends_with(&own)).count() >= self.0.dirs().len()
    }

    /// The directories that are there.
    pub fn left(&self) -> Vec<PathBuf> {
        self.0.dirs().into_iter().filter(|dir| dir.exists()).map(Path::to_owned).collect()
    }

    /// Removes the group. Fails while a process is in it.
    pub fn remove(&self) -> io::Result<()> {
        for dir in self.0.dirs() {
            match std::fs::remove_dir(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            // The last one to go takes what held them all with it; while others are there that is refused.
            if let Some(own) = dir.parent() {
                let _ = std::fs::remove_dir(own);
            }
        }
        Ok(())
    }
}

/// What the group of the container has counted that this process is in: Docker shows it in one place in either version.
#[cfg(target_os = "linux")]
pub(crate) fn hits_of_container() -> Hits {
    let read = |file: &str, key: &str| {
        let text = std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?;
        count_of(&text, key)
    };
    let memory = read("memory.events", "oom_kill").or_else(|| read("memory/memory.oom_control", "oom_kill"));
    let processes = read("pids.events", "max").or_else(|| read("pids/pids.events", "max"));
    Hits { memory: memory.unwrap_or(0), processes: processes.unwrap_or(0) }
}

/// With a trailing newline, as `echo` does it.
fn set(dir: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = dir.join(file);
    // Never made: a file that is missing is one that this kernel does not have.
    let mut opened = std::fs::OpenOptions::new().write(true).truncate(true).open(&path)?;
    io::Write::write_all(&mut opened, format!("{value}\n").as_bytes())
        .map_err(|error| io::Error::new(error.kind(), format!("{value} to {}: {error}", path.display())))
}

fn count_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

/// The same share in the words of version 1, where everybody has 1024.
pub(crate) fn cpu_shares(weight: u32) -> u32 {
    (weight * 1_024 / ORDINARY_WEIGHT).max(2)
}

#[cfg(test)]
mod tests;
