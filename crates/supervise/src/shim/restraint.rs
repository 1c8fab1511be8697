//! Resource limits of a tree: how often it reached its group's limits, and polling without a group.

use std::time::{Duration, Instant};

use super::tree::Tree;
use crate::cgroup::{Group, Hits};
use crate::resources::resident_bytes;
use crate::spec::TreeLimits;

/// Memory usage has no event source, so it is polled.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Restraint {
    group: Option<Group>,
    /// What the group had counted when the turn started.
    before: Hits,
    /// What the container that the tree was in had counted.
    told: Hits,
    memory_bytes: Option<u64>,
    look_at: Option<Instant>,
    /// The watch has ended the tree.
    exceeded: bool,
}

impl Restraint {
    /// Made before the tree is.
    pub(super) fn before(limits: &TreeLimits) -> Self {
        let group = limits.group.clone();
        let before = group.as_ref().map(Group::hits).unwrap_or_default();
        Self { group, before, told: Hits::default(), memory_bytes: limits.memory_bytes, look_at: None, exceeded: false }
    }

    /// Watches a tree that is in no group which limits its memory.
    pub(super) fn started(&mut self, tree: &Tree) {
        let held = self.group.as_ref().is_some_and(|group| group.limits_memory() && tree.is_in(group));
        if self.memory_bytes.is_some() && !held {
            self.look_at = Some(Instant::now() + LOOK_EVERY);
        }
    }

    pub(super) fn told(&mut self, memory: u64, processes: u64) {
        self.told = Hits { memory, processes };
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// Looks if it is time to. True as soon as the tree has more memory than it may.
    pub(super) fn is_exceeded(&mut self) -> bool {
        if let (Some(at), Some(limit)) = (self.look_at, self.memory_bytes)
            && at <= Instant::now()
        {
            self.exceeded |= resident_bytes(std::process::id()) > limit;
            self.look_at = (!self.exceeded).then(|| Instant::now() + LOOK_EVERY);
        }
        self.exceeded
    }

    /// Since they were last requested: processes that were ended, and such that were not started.
    pub(super) fn hits(&mut self) -> (u64, u64) {
        let now = self.group.as_ref().map(Group::hits).unwrap_or_default();
        let before = std::mem::replace(&mut self.before, now);
        let watched = u64::from(std::mem::take(&mut self.exceeded));
        let told = std::mem::take(&mut self.told);
        let memory = now.memory.saturating_sub(before.memory) + watched + told.memory;
        (memory, now.processes.saturating_sub(before.processes) + told.processes)
    }
}
