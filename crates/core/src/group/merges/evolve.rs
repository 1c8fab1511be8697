//! The fold of a merge queue's events.

use jiff::Timestamp;

use super::{Batch, BatchStep, Candidate, Entry, EntryState, Merges, MergesEvent, Verdict};
use crate::group::GroupStatus;
use crate::ids::LoopId;

pub(super) fn created(at: Timestamp, first: &MergesEvent) -> Option<Merges> {
    let MergesEvent::MergesCreated { id, name, project, spec, candidates } = first else { return None };
    Some(Merges {
        id: id.clone(),
        name: name.clone(),
        project: project.clone(),
        next_size: spec.batch.max(1),
        spec: spec.clone(),
        entries: candidates.iter().cloned().map(queued).collect(),
        batch: None,
        batches: 0,
        origin: None,
        moved_to: None,
        paused: None,
        stopped: false,
        status: GroupStatus::Running,
        created_at: at,
        updated_at: at,
        stopped_at: None,
    })
}

pub(super) fn evolve(mut group: Merges, at: Timestamp, event: &MergesEvent) -> Merges {
    group.updated_at = at;
    match event {
        // Only the first event of a journal creates.
        MergesEvent::MergesCreated { .. } => {}
        MergesEvent::CandidateAdded { candidate } => {
            // One that was refused or merged before may come again with new work, behind the others.
            group.entries.retain(|entry| entry.candidate.loop_id != candidate.loop_id);
            group.entries.push(queued(candidate.clone()));
        }
        MergesEvent::BatchStarted { number, members } => {
            group.batches = *number;
            group.batch = Some(Batch { number: *number, build: None, step: BatchStep::Build, runs: 0 });
            for id in members {
                set(&mut group, id, EntryState::Batched);
            }
        }
        MergesEvent::BatchBuilt { build, .. } => {
            for id in &build.present {
                set(&mut group, id, EntryState::Merged { commit: build.base.clone(), noted: false });
            }
            for conflict in &build.conflicts {
                set(&mut group, &conflict.loop_id, EntryState::Queued);
            }
            if group.moved_to.as_ref() != Some(&build.base) && !build.base.is_empty() {
                group.origin = Some(build.base.clone());
            }
            if let Some(batch) = &mut group.batch {
                batch.build = Some(build.clone());
                batch.step = BatchStep::Judge;
            }
            if build.merged.is_empty() {
                group.batch = None;
            }
        }
        MergesEvent::BatchJudged { verdict, .. } => {
            if let Some(batch) = &mut group.batch {
                batch.runs += 1;
                batch.step = match verdict {
                    Verdict::Green => BatchStep::Advance,
                    Verdict::Red { gate, output, .. } => {
                        BatchStep::Target { gate: gate.clone(), output: output.clone() }
                    }
                };
            }
        }
        MergesEvent::BatchRerun { .. } => {
            if let Some(batch) = &mut group.batch {
                batch.step = BatchStep::Judge;
            }
        }
        // The target passes, so the batch is to blame: what is left of it is taken apart.
        MergesEvent::TargetJudged { .. } => {
            let size = u32::try_from(group.members().len()).unwrap_or(u32::MAX);
            group.next_size = size.div_ceil(2).max(1);
            dissolve(&mut group);
        }
        MergesEvent::TargetMoved { commit, .. } => {
            for id in group.members() {
                set(&mut group, &id, EntryState::Merged { commit: commit.clone(), noted: false });
            }
            group.batch = None;
            group.moved_to = Some(commit.clone());
            group.next_size = group.next_size.saturating_mul(2).min(group.spec.batch.max(1));
        }
        MergesEvent::TargetElsewhere { .. } => dissolve(&mut group),
        MergesEvent::MergeNoted { loop_id } => {
            if let Some(entry) = find(&mut group, loop_id)
                && let EntryState::Merged { noted, .. } | EntryState::Refused { noted, .. } = &mut entry.state
            {
                *noted = true;
            }
        }
        MergesEvent::CandidateReturned { loop_id, times, files } => {
            if let Some(entry) = find(&mut group, loop_id) {
                entry.returns = *times;
                entry.state = EntryState::Returned { files: files.clone() };
            }
        }
        MergesEvent::CandidateBack { loop_id } => {
            if let Some(index) = group.entries.iter().position(|entry| entry.candidate.loop_id == *loop_id) {
                let mut entry = group.entries.remove(index);
                entry.state = EntryState::Queued;
                group.entries.push(entry);
            }
        }
        MergesEvent::CandidateRefused { loop_id, why } => {
            let noted = !why.concerns_the_work();
            set(&mut group, loop_id, EntryState::Refused { why: why.clone(), noted });
        }
        MergesEvent::MergesPaused { why } => {
            group.status = GroupStatus::Paused;
            group.paused = Some(why.clone());
            dissolve(&mut group);
        }
        MergesEvent::MergesResumed => {
            group.status = GroupStatus::Running;
            group.paused = None;
        }
        MergesEvent::MergesStopped => {
            group.stopped = true;
            group.status = GroupStatus::Running;
            group.paused = None;
            // Whether a target that is being moved has the batch is only known after that.
            if group.batch.as_ref().is_some_and(|batch| batch.step != BatchStep::Advance) {
                dissolve(&mut group);
            }
        }
        MergesEvent::MergesEnded { end } => {
            group.status = GroupStatus::Ended(*end);
            group.paused = None;
            group.stopped_at = Some(at);
            dissolve(&mut group);
        }
    }
    group
}

fn queued(candidate: Candidate) -> Entry {
    Entry { candidate, state: EntryState::Queued, returns: 0 }
}

/// The members are queued again, in their places.
fn dissolve(group: &mut Merges) {
    group.batch = None;
    for entry in &mut group.entries {
        if entry.state == EntryState::Batched {
            entry.state = EntryState::Queued;
        }
    }
}

fn find<'a>(group: &'a mut Merges, id: &LoopId) -> Option<&'a mut Entry> {
    group.entries.iter_mut().find(|entry| entry.candidate.loop_id == *id)
}

fn set(group: &mut Merges, id: &LoopId, state: EntryState) {
    if let Some(entry) = find(group, id) {
        entry.state = state;
    }
}
