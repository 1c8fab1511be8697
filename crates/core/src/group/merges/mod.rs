//! A merge queue: finished loops are merged onto one branch in order, and only what was judged becomes part of it.
//!
//! The queue takes as many entries as its batch allows, merges them onto the target in a commit that no ref of the user
//! knows, and has the union of their gates judge it. If that passes, the target moves there by compare-and-swap. If it does
//! not, the batch is halved until one entry is left, which is then to blame. A gate that fails on the target itself blames
//! nobody: the queue pauses. (A gate that never passed there, because it checks what an entry adds, does not count.) An
//! entry in conflict with the target goes back to its loop's agent, and comes back as a new tip.

mod decide;
mod evolve;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Group, GroupId, GroupKind, GroupRefusal, GroupRow, GroupStatus};
use crate::ids::LoopId;

/// What the queue does, frozen when it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergesSpec {
    /// The branch that entries are merged into.
    pub target: String,
    /// So many entries are judged together at most.
    pub batch: u32,
    /// So often an entry in conflict goes back to its loop's agent.
    pub returns: u32,
}

/// A loop to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Candidate {
    pub loop_id: LoopId,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MergesEvent {
    MergesCreated {
        id: GroupId,
        name: String,
        project: String,
        spec: MergesSpec,
        /// The first entries, so that there is no queue without one.
        candidates: Vec<Candidate>,
    },
    CandidateAdded {
        candidate: Candidate,
    },
    /// What is under way is built anew from the target as it is then.
    BatchStarted {
        number: u32,
        members: Vec<LoopId>,
    },
    BatchBuilt {
        number: u32,
        build: Build,
    },
    /// The batch's commit was judged once more or for the first time.
    BatchJudged {
        number: u32,
        verdict: Verdict,
    },
    /// A known flaky gate failed: it gets one more run.
    BatchRerun {
        number: u32,
    },
    /// The target alone was judged by the gate that failed; green if it is not to blame.
    TargetJudged {
        number: u32,
        verdict: Verdict,
    },
    /// The target is at the batch's commit.
    TargetMoved {
        number: u32,
        commit: String,
    },
    /// The target was moved by somebody else first; the batch is built again on that.
    TargetElsewhere {
        number: u32,
    },
    /// It is noted with the loop what came of its merge.
    MergeNoted {
        loop_id: LoopId,
    },
    CandidateReturned {
        loop_id: LoopId,
        times: u32,
        files: Vec<String>,
    },
    /// Its loop is done with the conflict; it is queued behind the others.
    CandidateBack {
        loop_id: LoopId,
    },
    CandidateRefused {
        loop_id: LoopId,
        why: RefusedBecause,
    },
    MergesPaused {
        why: PausedBecause,
    },
    MergesResumed,
    /// A user stopped it. What is not merged is refused.
    MergesStopped,
    MergesEnded {
        end: crate::stop::End,
    },
}

/// What was made of a batch, on no branch yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Build {
    /// The target's commit that it is made on.
    pub base: String,
    /// What the target would become; the base if nothing could be merged.
    pub commit: String,
    /// The members that are in it.
    pub merged: Vec<LoopId>,
    /// Members whose work the target has already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub present: Vec<LoopId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Members whose branch is gone or which cannot be merged, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmergeable: Vec<(LoopId, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conflict {
    pub loop_id: LoopId,
    pub files: Vec<String>,
    /// It is one with the target itself, not only with others of the batch.
    pub with_target: bool,
}

/// What the gates said of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Verdict {
    Green,
    Red {
        gate: String,
        /// The end of what it printed; empty for a hidden gate.
        output: String,
        /// The baseline of a loop knows the gate as flaky.
        flaky: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RefusedBecause {
    /// The gate passes on the target and fails with this entry.
    Gate {
        gate: String,
        output: String,
    },
    /// Its agent had its chances.
    Conflict {
        files: Vec<String>,
    },
    /// The loop did not come back verified, or cannot be merged.
    Loop {
        message: String,
    },
    Removed,
    /// The queue was stopped first.
    Stopped,
}

impl RefusedBecause {
    /// Whether it says something of the work itself, which its loop is told.
    fn concerns_the_work(&self) -> bool {
        match self {
            Self::Gate { .. } | Self::Conflict { .. } => true,
            Self::Loop { .. } | Self::Removed | Self::Stopped => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PausedBecause {
    /// A gate fails on the target itself.
    TargetRed { commit: String, gate: String, output: String },
    /// The checkout of the target has changes in the way, or something else keeps the target from moving.
    Blocked { message: String },
}

#[derive(Debug, Clone, PartialEq)]
pub enum MergesInput {
    Add {
        candidates: Vec<Candidate>,
    },
    Remove {
        loop_id: LoopId,
    },
    Built {
        number: u32,
        build: Build,
    },
    Judged {
        number: u32,
        verdict: Verdict,
    },
    TargetJudged {
        number: u32,
        verdict: Verdict,
    },
    Advanced {
        number: u32,
        end: Advance,
    },
    Noted {
        loop_id: LoopId,
    },
    /// The loop that had a conflict rests again.
    Returned {
        loop_id: LoopId,
        end: ReturnEnd,
    },
    /// The target could not be looked at.
    Blocked {
        number: u32,
        message: String,
    },
    Seen,
    /// Somebody works on the queue, paused or not.
    Resume,
    Stop,
}

/// What came of moving the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    Moved {
        commit: String,
    },
    /// It is not where the batch was built.
    Elsewhere,
    Blocked {
        message: String,
    },
}

/// What came of a loop that resolved a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnEnd {
    Verified,
    Other { message: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergesEffect {
    Build {
        number: u32,
        members: Vec<LoopId>,
    },
    /// `run` tells a second run from the first.
    Judge {
        number: u32,
        commit: String,
        run: u32,
    },
    /// Whether the target is to blame for a gate that failed.
    JudgeTarget {
        number: u32,
        commit: String,
        gate: String,
        origin: String,
    },
    Advance {
        number: u32,
        from: String,
        to: String,
    },
    /// Tells a loop that its work is merged.
    NoteMerged {
        loop_id: LoopId,
        commit: String,
    },
    /// Tells a loop why its work is not merged.
    NoteRefused {
        loop_id: LoopId,
        why: RefusedBecause,
    },
    Return {
        loop_id: LoopId,
        times: u32,
        files: Vec<String>,
    },
    /// Stops a loop that resolves a conflict.
    StopLoop {
        loop_id: LoopId,
    },
}

/// How an entry stands.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryState {
    Queued,
    /// In the batch that is under way.
    Batched,
    /// The target has it.
    Merged {
        commit: String,
        noted: bool,
    },
    /// Its loop's agent resolves a conflict.
    Returned {
        files: Vec<String>,
    },
    Refused {
        why: RefusedBecause,
        noted: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub candidate: Candidate,
    pub state: EntryState,
    /// How often it went back to its agent.
    pub returns: u32,
}

impl Entry {
    fn is_settled(&self) -> bool {
        match &self.state {
            EntryState::Merged { noted, .. } | EntryState::Refused { noted, .. } => *noted,
            EntryState::Queued | EntryState::Batched | EntryState::Returned { .. } => false,
        }
    }
}

/// The batch that is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub number: u32,
    pub build: Option<Build>,
    pub step: BatchStep,
    /// Runs of the gates on its commit.
    pub runs: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BatchStep {
    Build,
    Judge,
    /// Whether the gate that failed also fails on the target.
    Target {
        gate: String,
        output: String,
    },
    Advance,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Merges {
    pub id: GroupId,
    pub name: String,
    pub project: String,
    pub spec: MergesSpec,
    /// In the order in which they are merged.
    pub entries: Vec<Entry>,
    pub batch: Option<Batch>,
    /// Batches so far.
    pub batches: u32,
    /// So many entries may be in the next batch: halved by a red one, doubled by a green one.
    pub next_size: u32,
    /// The target as somebody else left it: what came after that, the queue merged.
    pub origin: Option<String>,
    /// Where the queue moved the target last.
    pub moved_to: Option<String>,
    pub paused: Option<PausedBecause>,
    pub stopped: bool,
    pub status: GroupStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

impl Merges {
    pub fn entry(&self, id: &LoopId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.candidate.loop_id == *id)
    }

    /// The loops whose gates judge a batch: its members, and what the queue merged before.
    pub fn judging(&self) -> Vec<LoopId> {
        let judges = |entry: &&Entry| matches!(entry.state, EntryState::Batched | EntryState::Merged { .. });
        self.entries.iter().filter(judges).map(|entry| entry.candidate.loop_id.clone()).collect()
    }

    fn members(&self) -> Vec<LoopId> {
        let batched = self.entries.iter().filter(|entry| entry.state == EntryState::Batched);
        batched.map(|entry| entry.candidate.loop_id.clone()).collect()
    }
}

impl Group for Merges {
    const KIND: GroupKind = GroupKind::Merges;
    type Input = MergesInput;
    type Event = MergesEvent;
    type Effect = MergesEffect;

    fn created(at: Timestamp, first: &MergesEvent) -> Option<Self> {
        evolve::created(at, first)
    }

    fn decide(&self, input: &MergesInput, now: Timestamp) -> Result<Vec<MergesEvent>, GroupRefusal> {
        decide::decide(self, input, now)
    }

    fn evolve(self, at: Timestamp, event: &MergesEvent) -> Self {
        evolve::evolve(self, at, event)
    }

    fn effects(&self) -> Vec<MergesEffect> {
        if self.status != GroupStatus::Running {
            return Vec::new();
        }
        let mut wanted = Vec::new();
        for entry in &self.entries {
            let loop_id = entry.candidate.loop_id.clone();
            match &entry.state {
                EntryState::Merged { commit, noted: false } => {
                    wanted.push(MergesEffect::NoteMerged { loop_id, commit: commit.clone() });
                }
                EntryState::Refused { why, noted: false } => {
                    wanted.push(MergesEffect::NoteRefused { loop_id, why: why.clone() });
                }
                EntryState::Returned { files } => {
                    if self.stopped {
                        wanted.push(MergesEffect::StopLoop { loop_id: loop_id.clone() });
                    }
                    wanted.push(MergesEffect::Return { loop_id, times: entry.returns, files: files.clone() });
                }
                EntryState::Queued
                | EntryState::Batched
                | EntryState::Merged { noted: true, .. }
                | EntryState::Refused { noted: true, .. } => {}
            }
        }
        let Some(Batch { number, build, step, runs }) = &self.batch else { return wanted };
        let number = *number;
        wanted.extend(match (step, build) {
            (BatchStep::Build, _) | (_, None) => Some(MergesEffect::Build { number, members: self.members() }),
            (BatchStep::Judge, Some(build)) => {
                Some(MergesEffect::Judge { number, commit: build.commit.clone(), run: runs + 1 })
            }
            (BatchStep::Target { gate, .. }, Some(build)) => {
                let commit = build.base.clone();
                let origin = self.origin.clone().unwrap_or_else(|| commit.clone());
                Some(MergesEffect::JudgeTarget { number, commit, gate: gate.clone(), origin })
            }
            (BatchStep::Advance, Some(build)) => {
                Some(MergesEffect::Advance { number, from: build.base.clone(), to: build.commit.clone() })
            }
        });
        wanted
    }

    fn event_name(event: &MergesEvent) -> &'static str {
        match event {
            MergesEvent::MergesCreated { .. } => "merges_created",
            MergesEvent::CandidateAdded { .. } => "candidate_added",
            MergesEvent::BatchStarted { .. } => "batch_started",
            MergesEvent::BatchBuilt { .. } => "batch_built",
            MergesEvent::BatchJudged { .. } => "batch_judged",
            MergesEvent::BatchRerun { .. } => "batch_rerun",
            MergesEvent::TargetJudged { .. } => "target_judged",
            MergesEvent::TargetMoved { .. } => "target_moved",
            MergesEvent::TargetElsewhere { .. } => "target_elsewhere",
            MergesEvent::MergeNoted { .. } => "merge_noted",
            MergesEvent::CandidateReturned { .. } => "candidate_returned",
            MergesEvent::CandidateBack { .. } => "candidate_back",
            MergesEvent::CandidateRefused { .. } => "candidate_refused",
            MergesEvent::MergesPaused { .. } => "merges_paused",
            MergesEvent::MergesResumed => "merges_resumed",
            MergesEvent::MergesStopped => "merges_stopped",
            MergesEvent::MergesEnded { .. } => "merges_ended",
        }
    }

    fn row(&self) -> GroupRow {
        GroupRow {
            id: self.id.clone(),
            project: self.project.clone(),
            name: self.name.clone(),
            goal: format!("merge into {}", self.spec.target),
            status: self.status,
            created_at: self.created_at,
            updated_at: self.updated_at,
            stopped_at: self.stopped_at,
        }
    }

    /// An entry's loop is driven by an effect of its own, which reports what came of it.
    fn loops(&self) -> Vec<LoopId> {
        Vec::new()
    }
}
