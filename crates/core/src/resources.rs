//! How much of the machine a loop may take: decided when the loop is made, and kept for all of its life.

use serde::{Deserialize, Serialize};
use windlass_process::Means;

use crate::size;

/// What stays free of a disk where nobody says anything: so much, and of a small one a twentieth.
const KEPT_FREE: u64 = 1 << 30;
const KEPT_FREE_PART: u64 = 20;

/// What all processes of a loop together may take. Unset is without a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResourceSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Threads count as the kernel counts them, which is like processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The share of the processor where it is scarce, beside the 100 that everybody else has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_weight: Option<u32>,
    /// What the workspace and the private temporary files may take on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// What must stay free where the workspace and Windlass's own data are; unset is what suits the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_free_bytes: Option<u64>,
    /// What held the first three when the loop was made, for people to read.
    #[serde(default)]
    pub held_by: Means,
}

impl ResourceSpec {
    /// A loop from before there were limits.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What must stay free of a disk of this size.
    pub fn kept_free(&self, disk_bytes: u64) -> u64 {
        self.disk_free_bytes.unwrap_or(KEPT_FREE.min(disk_bytes / KEPT_FREE_PART))
    }

    /// Each limit in words, with what holds it.
    pub fn words(&self) -> Vec<String> {
        let Means { memory, processes, cpu, .. } = &self.held_by;
        let by = |what: Option<String>, holder: &windlass_process::Holder| {
            what.map(|what| format!("{what} ({})", holder.words()))
        };
        let disk = self.disk_bytes.map(|bytes| format!("disk {}", size::human(bytes)));
        let free = Some(self.kept_free(u64::MAX)).filter(|bytes| *bytes > 0);
        let free = free.map(|bytes| format!("{} of disk space kept free", size::human(bytes)));
        [
            by(self.memory_bytes.map(|bytes| format!("memory {}", size::human(bytes))), memory),
            by(self.processes.map(|count| format!("processes {count}")), processes),
            by(self.cpu_weight.map(|weight| format!("CPU weight {weight}")), cpu),
            disk,
            free,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A limit that the processes of a turn or gate reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LimitHit {
    /// Processes were ended.
    Memory { limit_bytes: Option<u64> },
    /// Processes or threads were not started.
    Processes { limit: Option<u32> },
    /// All of them were ended.
    Disk { message: String },
}

impl LimitHit {
    /// What happened, with the setting that a user would change.
    pub fn words(&self, whose: &str) -> String {
        match self {
            LimitHit::Memory { limit_bytes } => {
                let limit = limit_bytes.map(|bytes| format!(" of {}", size::human(bytes))).unwrap_or_default();
                format!("{whose} processes were killed at the memory limit{limit} (memory_limit)")
            }
            LimitHit::Processes { limit } => {
                let limit = limit.map(|count| format!(" of {count}")).unwrap_or_default();
                format!("{whose} processes reached the process limit{limit} (process_limit)")
            }
            LimitHit::Disk { message } => message.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_process::Holder;

    use super::*;

    #[test]
    fn what_is_in_force_is_said_with_what_holds_it() {
        let held_by = Means { memory: Holder::Watched, processes: Holder::CgroupV2, ..Means::default() };
        let spec =
            ResourceSpec { memory_bytes: Some(8 << 30), processes: Some(4096), held_by, ..ResourceSpec::default() };
        let said =
            ["memory 8 GiB (watched, not enforced)", "processes 4096 (cgroup v2)", "1 GiB of disk space kept free"];
        assert_eq!(spec.words(), said);
    }

    #[test]
    fn of_a_small_disk_less_is_kept_free_unless_somebody_says_how_much() {
        let plain = ResourceSpec::default();
        assert_eq!((plain.kept_free(1 << 40), plain.kept_free(100 << 20)), (1 << 30, 5 << 20));
        let said = |bytes| ResourceSpec { disk_free_bytes: Some(bytes), ..ResourceSpec::default() };
        assert_eq!((said(48 << 20).kept_free(64 << 20), said(0).kept_free(64 << 20)), (48 << 20, 0));
        assert!(said(0).words().is_empty());
    }

    #[test]
    fn a_limit_that_was_reached_names_its_setting() {
        let said = LimitHit::Memory { limit_bytes: Some(2 << 30) }.words("the agent's");
        assert_eq!(said, "the agent's processes were killed at the memory limit of 2 GiB (memory_limit)");
    }
}
