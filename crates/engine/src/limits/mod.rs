//! What the processes of a loop may take of the machine: the group that holds it, the watch over the disk, and what is
//! said when a limit was reached.
//!
//! A loop's group is made, or taken as it is, before each of its trees starts and goes with its driver. So a driver that
//! was killed leaves nothing that the next one would not find and remove.

mod disk;

use std::path::PathBuf;

use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::resources::{LimitHit, ResourceSpec};
use windlass_process::Holder;
use windlass_supervise::{EndedBy, ExitRecord, Group, GroupLimits, TreeLimits, find_cgroups};

pub use disk::disk_short_at;
pub(crate) use disk::{DiskWatch, disk_short};

/// The limits of the loop's next tree. Without a group, the other limits still apply.
pub(crate) fn of_tree(state: &LoopState) -> TreeLimits {
    let spec = &state.spec.resources;
    let limits = in_group(spec);
    let wanted = limits != GroupLimits::default();
    let found = wanted.then(find_cgroups).and_then(Result::ok);
    let group = found.map(|found| found.group_for(&state.id.0, &limits)).filter(|group| match group.make(&limits) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(loop_id = %state.id, %error, "cannot create the loop's control group");
            false
        }
    });
    TreeLimits { group, memory_bytes: spec.memory_bytes, processes: spec.processes, cpu_weight: spec.cpu_weight }
}

/// The limits that were left to a group when the loop was made.
fn in_group(spec: &ResourceSpec) -> GroupLimits {
    let by_group = |holder: Holder| match holder {
        Holder::CgroupV2 | Holder::CgroupV1 => true,
        Holder::PidNamespace | Holder::Watched | Holder::Nothing => false,
    };
    GroupLimits {
        memory_bytes: spec.memory_bytes.filter(|_| by_group(spec.held_by.memory)),
        processes: spec.processes.filter(|_| by_group(spec.held_by.processes)),
        cpu_weight: spec.cpu_weight.filter(|_| by_group(spec.held_by.cpu)),
    }
}

fn group_of(id: &LoopId) -> Option<Group> {
    find_cgroups().ok().map(|found| found.group(&id.0))
}

/// Removes the group of a loop of which nothing runs any more.
pub(crate) fn release(id: &LoopId) {
    if let Some(Err(error)) = group_of(id).map(|group| group.remove()) {
        tracing::warn!(loop_id = %id, %error, "cannot remove the loop's control group");
    }
}

/// What is there of the loop's group.
pub(crate) fn left(id: &LoopId) -> Vec<PathBuf> {
    group_of(id).map(|group| group.left()).unwrap_or_default()
}

/// The limits that a tree reached.
pub(crate) fn hits(record: &ExitRecord, spec: &ResourceSpec) -> Vec<LimitHit> {
    let memory = (record.memory_kills > 0).then_some(LimitHit::Memory { limit_bytes: spec.memory_bytes });
    let processes = (record.refused_forks > 0).then_some(LimitHit::Processes { limit: spec.processes });
    memory.into_iter().chain(processes).collect()
}

/// Notes them in the report of a turn, and as the reason where it failed for no other that is known.
pub(crate) fn blame(report: &mut TurnReport, record: &ExitRecord, spec: &ResourceSpec) {
    report.limits_hit = hits(record, spec);
    let Some(hit) = report.limits_hit.first().filter(|_| record.by == EndedBy::Itself) else { return };
    if let TurnOutcome::Failed { kind: kind @ ErrorKind::Other, message } = &mut report.outcome {
        *kind = ErrorKind::ResourceLimit;
        *message = format!("{}; {message}", hit.words("the agent's"));
    }
}

#[cfg(test)]
mod tests {
    use windlass_process::Means;
    use windlass_supervise::Ended;

    use super::*;

    fn record(memory_kills: u64, refused_forks: u64) -> ExitRecord {
        ExitRecord {
            ended: Ended::Signaled { signal: 9 },
            by: EndedBy::Itself,
            stdout_bytes: 0,
            stderr_bytes: 0,
            ended_at: jiff::Timestamp::UNIX_EPOCH,
            leftovers: 0,
            memory_kills,
            refused_forks,
            not_recorded: None,
        }
    }

    fn blamed(outcome: TurnOutcome, record: &ExitRecord) -> TurnReport {
        let spec = ResourceSpec { memory_bytes: Some(2 << 30), processes: Some(64), ..ResourceSpec::default() };
        let mut report = TurnReport::bare(outcome);
        blame(&mut report, record, &spec);
        report
    }

    #[test]
    fn a_turn_that_failed_at_a_limit_says_so() {
        let failed = TurnOutcome::Failed { kind: ErrorKind::Other, message: "killed by signal 9".into() };
        let report = blamed(failed, &record(1, 5));
        let said = "the agent's processes were killed at the memory limit of 2 GiB (memory_limit); killed by signal 9";
        assert_eq!(report.outcome, TurnOutcome::Failed { kind: ErrorKind::ResourceLimit, message: said.into() });
        assert_eq!(report.limits_hit.len(), 2);
    }

    #[test]
    fn a_group_is_for_the_limits_that_were_left_to_it() {
        let held_by = Means { memory: Holder::Watched, processes: Holder::CgroupV1, ..Means::default() };
        let spec = ResourceSpec { memory_bytes: Some(1), processes: Some(2), held_by, ..ResourceSpec::default() };
        assert_eq!(in_group(&spec), GroupLimits { processes: Some(2), ..GroupLimits::default() });
    }

    #[test]
    fn what_an_agent_survived_is_noted_and_what_it_said_itself_counts() {
        let report = blamed(TurnOutcome::Finished, &record(0, 3));
        assert_eq!((report.outcome, report.limits_hit.len()), (TurnOutcome::Finished, 1));
        let refused = TurnOutcome::Failed { kind: ErrorKind::Auth, message: "log in".into() };
        assert_eq!(blamed(refused.clone(), &record(1, 0)).outcome, refused);
        let stopped = ExitRecord { by: EndedBy::Stopped, ..record(1, 0) };
        assert_eq!(blamed(TurnOutcome::Interrupted, &stopped).outcome, TurnOutcome::Interrupted);
    }
}
