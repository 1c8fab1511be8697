//! A merge queue as people and scripts see it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::group::GroupKind;
use windlass_core::group::merges::{BatchStep, Entry, EntryState, Merges, PausedBecause, RefusedBecause};
use windlass_store::Listed;

use crate::engine::status_word;

/// `merge --queue --json`. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergesView {
    pub id: String,
    pub name: String,
    pub project: String,
    /// `merges`.
    pub kind: GroupKind,
    pub target: String,
    /// One word. Readers put in `interrupted`, and `queued` if nobody has started to work on it.
    pub status: String,
    pub paused: Option<PausedBecause>,
    /// So often an entry in conflict goes back to its loop's agent.
    pub returns: u32,
    /// Batches so far.
    pub batches: u32,
    /// What happens to the batch that is under way: `build`, `judge`, `judge_target` or `advance`.
    pub step: Option<String>,
    /// In the order in which they are merged.
    pub entries: Vec<MergesEntryView>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergesEntryView {
    /// The loop's id and name.
    pub id: String,
    pub name: String,
    /// `queued`, `batched`, `merged`, `returned` (its agent resolves a conflict) or `refused`.
    pub status: String,
    /// The target's commit that has it.
    pub commit: Option<String>,
    /// How often it went back to its agent.
    pub returns: u32,
    /// Files in conflict, of an entry that its agent has.
    pub conflicts: Vec<String>,
    pub refused: Option<RefusedBecause>,
}

impl MergesView {
    pub fn of(group: &Merges) -> Self {
        let step = group.batch.as_ref().map(|batch| match batch.step {
            BatchStep::Build => "build",
            BatchStep::Judge => "judge",
            BatchStep::Target { .. } => "judge_target",
            BatchStep::Advance => "advance",
        });
        Self {
            id: group.id.0.clone(),
            name: group.name.clone(),
            project: group.project.clone(),
            kind: GroupKind::Merges,
            target: group.spec.target.clone(),
            status: group.status.name().to_owned(),
            paused: group.paused.clone(),
            returns: group.spec.returns,
            batches: group.batches,
            step: step.map(str::to_owned),
            entries: group.entries.iter().map(line).collect(),
            created_at: group.created_at,
            updated_at: group.updated_at,
            stopped_at: group.stopped_at,
        }
    }
}

fn line(entry: &Entry) -> MergesEntryView {
    let mut view = MergesEntryView {
        id: entry.candidate.loop_id.0.clone(),
        name: entry.candidate.name.clone(),
        status: String::new(),
        commit: None,
        returns: entry.returns,
        conflicts: Vec::new(),
        refused: None,
    };
    let status = match &entry.state {
        EntryState::Queued => "queued",
        EntryState::Batched => "batched",
        EntryState::Merged { commit, .. } => {
            view.commit = Some(commit.clone());
            "merged"
        }
        EntryState::Returned { files } => {
            view.conflicts.clone_from(files);
            "returned"
        }
        EntryState::Refused { why, .. } => {
            view.refused = Some(why.clone());
            "refused"
        }
    };
    view.status = status.to_owned();
    view
}

impl MergesView {
    /// The queue of a row of the catalogue.
    pub fn of_row(row: &Listed) -> Result<Self, serde_json::Error> {
        let mut view: Self = serde_json::from_str(&row.entry.summary)?;
        view.status = match status_word(row) {
            "interrupted" if view.batches == 0 => "queued".to_owned(),
            word => word.to_owned(),
        };
        Ok(view)
    }

    pub fn is_open(&self) -> bool {
        self.stopped_at.is_none()
    }
}
