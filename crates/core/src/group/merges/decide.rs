//! The rules of a merge queue.

use jiff::Timestamp;

use super::{
    Advance, BatchStep, Build, EntryState, Merges, MergesEvent, MergesInput, PausedBecause, RefusedBecause, ReturnEnd,
    Verdict, evolve,
};
use crate::group::{GroupRefusal, GroupStatus};
use crate::ids::LoopId;
use crate::stop::End;

pub(super) fn decide(group: &Merges, input: &MergesInput, now: Timestamp) -> Result<Vec<MergesEvent>, GroupRefusal> {
    if let GroupStatus::Ended(end) = group.status {
        return Err(GroupRefusal::Ended { end });
    }
    let mut rules = Rules { state: group.clone(), now, events: Vec::new() };
    match input {
        MergesInput::Add { .. } if group.stopped => return Err(GroupRefusal::Ended { end: End::Cancelled }),
        MergesInput::Add { candidates } => {
            for candidate in candidates {
                let known = group.entry(&candidate.loop_id);
                if known.is_none_or(super::Entry::is_settled) {
                    rules.push(MergesEvent::CandidateAdded { candidate: candidate.clone() });
                }
            }
        }
        MergesInput::Remove { loop_id } => {
            let entry = group.entry(loop_id).ok_or(GroupRefusal::Stale)?;
            match &entry.state {
                EntryState::Queued => rules.refuse(loop_id, RefusedBecause::Removed),
                // What is under way is not taken apart.
                EntryState::Batched
                | EntryState::Merged { .. }
                | EntryState::Returned { .. }
                | EntryState::Refused { .. } => return Err(GroupRefusal::NotWaiting),
            }
        }
        MergesInput::Built { number, build } => {
            rules.at(*number, |step| *step == BatchStep::Build)?;
            rules.built(*number, build);
        }
        MergesInput::Judged { number, verdict } => {
            rules.at(*number, |step| *step == BatchStep::Judge)?;
            let runs = group.batch.as_ref().map_or(0, |batch| batch.runs);
            rules.push(MergesEvent::BatchJudged { number: *number, verdict: verdict.clone() });
            if matches!(verdict, Verdict::Red { flaky: true, .. }) && runs == 0 {
                rules.push(MergesEvent::BatchRerun { number: *number });
            }
        }
        MergesInput::TargetJudged { number, verdict } => {
            rules.at(*number, |step| matches!(step, BatchStep::Target { .. }))?;
            rules.target_judged(*number, verdict);
        }
        MergesInput::Advanced { number, end } => {
            rules.at(*number, |step| *step == BatchStep::Advance)?;
            match end {
                Advance::Moved { commit } => {
                    rules.push(MergesEvent::TargetMoved { number: *number, commit: commit.clone() });
                }
                Advance::Elsewhere => rules.push(MergesEvent::TargetElsewhere { number: *number }),
                Advance::Blocked { message } => rules.blocked(*number, message),
            }
        }
        MergesInput::Blocked { number, message } => {
            rules.at(*number, |_| true)?;
            rules.blocked(*number, message);
        }
        MergesInput::Noted { loop_id } => {
            let entry = group.entry(loop_id).ok_or(GroupRefusal::Stale)?;
            match &entry.state {
                EntryState::Merged { noted: false, .. } | EntryState::Refused { noted: false, .. } => {
                    rules.push(MergesEvent::MergeNoted { loop_id: loop_id.clone() });
                }
                EntryState::Queued
                | EntryState::Batched
                | EntryState::Merged { noted: true, .. }
                | EntryState::Returned { .. }
                | EntryState::Refused { noted: true, .. } => return Err(GroupRefusal::Stale),
            }
        }
        MergesInput::Returned { loop_id, end } => {
            let entry = group.entry(loop_id).ok_or(GroupRefusal::Stale)?;
            if !matches!(entry.state, EntryState::Returned { .. }) {
                return Err(GroupRefusal::Stale);
            }
            match end {
                ReturnEnd::Verified => rules.push(MergesEvent::CandidateBack { loop_id: loop_id.clone() }),
                ReturnEnd::Other { message } => {
                    rules.refuse(loop_id, RefusedBecause::Loop { message: message.clone() });
                }
            }
        }
        MergesInput::Seen => {}
        MergesInput::Resume => match group.status {
            GroupStatus::Paused => rules.push(MergesEvent::MergesResumed),
            GroupStatus::Running | GroupStatus::Ended(_) => {}
        },
        MergesInput::Stop if group.stopped => return Err(GroupRefusal::AlreadyAsked),
        MergesInput::Stop => rules.push(MergesEvent::MergesStopped),
    }
    // Nothing starts before somebody works on the queue, so that all that is added first can be in the first batch.
    let begun = group.batches > 0 || rules.state.stopped || matches!(input, MergesInput::Resume);
    if rules.state.status == GroupStatus::Running && (begun || rules.is_over()) {
        rules.settle();
    }
    Ok(rules.events)
}

struct Rules {
    state: Merges,
    now: Timestamp,
    events: Vec<MergesEvent>,
}

impl Rules {
    fn push(&mut self, event: MergesEvent) {
        self.state = evolve::evolve(self.state.clone(), self.now, &event);
        self.events.push(event);
    }

    fn refuse(&mut self, loop_id: &LoopId, why: RefusedBecause) {
        self.push(MergesEvent::CandidateRefused { loop_id: loop_id.clone(), why });
    }

    /// Results of another batch or step are stale.
    fn at(&self, number: u32, step: impl Fn(&BatchStep) -> bool) -> Result<(), GroupRefusal> {
        let batch = self.state.batch.as_ref().filter(|batch| batch.number == number && step(&batch.step));
        batch.map(drop).ok_or(GroupRefusal::Stale)
    }

    fn built(&mut self, number: u32, build: &Build) {
        self.push(MergesEvent::BatchBuilt { number, build: build.clone() });
        for (loop_id, message) in &build.unmergeable {
            self.refuse(loop_id, RefusedBecause::Loop { message: message.clone() });
        }
        for conflict in build.conflicts.iter().filter(|conflict| conflict.with_target) {
            let returns = self.state.entry(&conflict.loop_id).map_or(0, |entry| entry.returns);
            if returns >= self.state.spec.returns {
                self.refuse(&conflict.loop_id, RefusedBecause::Conflict { files: conflict.files.clone() });
                continue;
            }
            self.push(MergesEvent::CandidateReturned {
                loop_id: conflict.loop_id.clone(),
                times: returns + 1,
                files: conflict.files.clone(),
            });
        }
    }

    /// A queue that was stopped does not wait for a person.
    fn blocked(&mut self, number: u32, message: &str) {
        let why = PausedBecause::Blocked { message: message.to_owned() };
        self.push(match self.state.stopped {
            true => MergesEvent::TargetElsewhere { number },
            false => MergesEvent::MergesPaused { why },
        });
    }

    /// A batch failed: because of the target, or because of a member.
    fn target_judged(&mut self, number: u32, verdict: &Verdict) {
        let Some(batch) = self.state.batch.clone() else { return };
        let BatchStep::Target { gate, output } = batch.step else { return };
        let base = batch.build.map(|build| build.base).unwrap_or_default();
        if let Verdict::Red { gate, output, .. } = verdict {
            let (gate, output) = (gate.clone(), output.clone());
            return self
                .push(MergesEvent::MergesPaused { why: PausedBecause::TargetRed { commit: base, gate, output } });
        }
        let members = self.state.members();
        self.push(MergesEvent::TargetJudged { number, verdict: verdict.clone() });
        if let [only] = members.as_slice() {
            self.refuse(only, RefusedBecause::Gate { gate, output });
        }
    }

    /// Every entry has come to its end, and there is one.
    fn is_over(&self) -> bool {
        !self.state.entries.is_empty() && self.state.entries.iter().all(super::Entry::is_settled)
    }

    fn queued(&self) -> Vec<LoopId> {
        let queued = self.state.entries.iter().filter(|entry| entry.state == EntryState::Queued);
        queued.map(|entry| entry.candidate.loop_id.clone()).collect()
    }

    /// Starts the next batch, or ends the queue.
    fn settle(&mut self) {
        if self.state.batch.is_some() {
            return;
        }
        if self.state.stopped {
            for loop_id in self.queued() {
                self.refuse(&loop_id, RefusedBecause::Stopped);
            }
            if self.is_over() {
                self.push(MergesEvent::MergesEnded { end: End::Cancelled });
            }
            return;
        }
        let size = usize::try_from(self.state.next_size).unwrap_or(usize::MAX);
        let members: Vec<LoopId> = self.queued().into_iter().take(size).collect();
        if !members.is_empty() {
            let number = self.state.batches + 1;
            return self.push(MergesEvent::BatchStarted { number, members });
        }
        if self.is_over() {
            self.push(MergesEvent::MergesEnded { end: End::Completed });
        }
    }
}
