//! How much of the machine a new loop may take.

use windlass_core::resources::ResourceSpec;
use windlass_process::Means;

use crate::config::keys::Settings;

/// A loop that nobody has limited leaves so much of the memory to the machine, in percent: enough that the engine, the
/// user's session and other loops are not what the kernel ends when one loop takes all it can get.
const LEFT_TO_THE_MACHINE: u64 = 20;

/// What everything else on the machine has.
const ORDINARY_CPU_WEIGHT: u32 = 100;

/// What a machine has and can do, looked up by whoever makes a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    pub memory_bytes: Option<u64>,
    pub processes: Option<u32>,
    pub means: Means,
    /// What holds those limits that nobody requested.
    pub means_by_default: Means,
}

impl MachineFacts {
    pub fn of_this_one() -> Self {
        let windlass_supervise::Machine { memory_bytes, processes } = windlass_supervise::machine();
        let means = windlass_supervise::means();
        let means_by_default = windlass_supervise::means_by_default(&means);
        Self { memory_bytes, processes, means, means_by_default }
    }
}

/// What a loop with these settings may take on that machine.
pub fn resources(settings: &Settings, machine: &MachineFacts) -> ResourceSpec {
    let share = machine.memory_bytes.map(|bytes| bytes / 100 * (100 - LEFT_TO_THE_MACHINE));
    let weight = settings.cpu_weight.value.map(|weight| weight.get());
    let held = |asked_for: bool| if asked_for { &machine.means } else { &machine.means_by_default };
    ResourceSpec {
        memory_bytes: settings.memory_limit.value.map_or(share, |size| size.get()),
        processes: settings.process_limit.value.map(|count| count.get()).or(machine.processes),
        cpu_weight: weight.filter(|weight| *weight != ORDINARY_CPU_WEIGHT),
        disk_bytes: settings.disk_limit.value.and_then(|size| size.get()),
        disk_free_bytes: settings.disk_free.value.map(|size| size.get().unwrap_or(0)),
        held_by: Means {
            memory: held(settings.memory_limit.value.is_some()).memory,
            processes: held(settings.process_limit.value.is_some()).processes,
            ..machine.means.clone()
        },
    }
}
