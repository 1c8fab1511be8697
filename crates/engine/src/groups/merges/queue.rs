//! The queues of a project: found, filled, and brought to rest.

use std::sync::Arc;

use tokio::sync::watch;
use uuid::Uuid;
use windlass_core::group::merges::{Candidate, Merges, MergesEvent, MergesInput, MergesSpec};
use windlass_core::group::{GroupId, GroupKind, GroupStatus};
use windlass_core::ids::{LoopId, slug};

use super::{MergesCommand, MergesKind, MergesView};
use crate::command::Answer;
use crate::drain::Leave;
use crate::driver::Left;
use crate::engine::{Engine, EngineError};
use crate::groups::{HeldGroup, member};
use crate::journal::JournalError;
use windlass_store::{ListFilter, Rows, StoreError};

/// So many loops are judged together at most.
const BATCH: u32 = 8;

/// The branch that a queue merges into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergesOf {
    pub project: String,
    pub target: String,
    /// So often an entry in conflict goes back to its loop's agent.
    pub returns: u32,
}

impl Engine {
    /// The merge queues of a project, or of all, the newest first.
    pub async fn merge_queues(
        &self,
        project: Option<&str>,
        target: Option<&str>,
    ) -> Result<Vec<MergesView>, EngineError> {
        let filter = ListFilter {
            rows: Rows::Groups,
            project: project.map(str::to_owned),
            summaries: true,
            ..ListFilter::default()
        };
        let mut found = Vec::new();
        for row in self.store.list(filter).await? {
            if GroupKind::of_name(&row.entry.kind) != Some(GroupKind::Merges) {
                continue;
            }
            let unreadable = |source| JournalError::Unreadable { id: row.entry.id.clone(), seq: row.head, source };
            let view = MergesView::of_row(&row).map_err(unreadable)?;
            if target.is_none_or(|target| view.target == target) {
                found.push(view);
            }
        }
        Ok(found)
    }

    /// Adds loops to the open queue of a branch, also if another process drives it, or makes a queue. Loops that wait in it already
    /// keep their place.
    pub async fn queue_merges(
        self: &Arc<Self>,
        of: &MergesOf,
        candidates: Vec<Candidate>,
    ) -> Result<GroupId, EngineError> {
        const ATTEMPTS: u32 = 10;
        let body = serde_json::json!(MergesCommand::Add { candidates: candidates.clone() }).to_string();
        for _ in 0..ATTEMPTS {
            let queues = self.merge_queues(Some(&of.project), Some(&of.target)).await?;
            let Some(open) = queues.into_iter().find(MergesView::is_open) else {
                match self.create_merges(of, &candidates).await {
                    Ok(id) => return Ok(id),
                    // Another process made it meanwhile.
                    Err(EngineError::Store(StoreError::NameTaken { .. })) => continue,
                    Err(error) => return Err(error),
                }
            };
            let id = GroupId(open.id);
            match self.command_group(&MergesKind, &id, &body).await? {
                Answer::Accepted { .. } | Answer::Done { .. } => return Ok(id),
                // It ended or was stopped meanwhile. Nothing else is a reason to refuse an entry.
                Answer::Refused { .. } => self.settle_group(Arc::new(MergesKind), &id).await?,
            }
        }
        Err(EngineError::NoAnswer)
    }

    async fn create_merges(&self, of: &MergesOf, candidates: &[Candidate]) -> Result<GroupId, EngineError> {
        let wanted = format!("merge-{}", slug(&of.target));
        let mut number = 1;
        let name = loop {
            let name = if number == 1 { wanted.clone() } else { format!("{wanted}-{number}") };
            if self.store.find(&of.project, &name).await?.is_none() {
                break name;
            }
            number += 1;
        };
        let first = MergesEvent::MergesCreated {
            id: GroupId(Uuid::now_v7().to_string()),
            name,
            project: of.project.clone(),
            spec: MergesSpec { target: of.target.clone(), batch: BATCH, returns: of.returns },
            candidates: candidates.to_vec(),
        };
        let held = self.create_group(&MergesKind, &first).await?;
        let id = held.state.id.clone();
        self.release_group(held).await?;
        Ok(id)
    }

    /// Takes a queue to work it off, paused or not; `None` if another process drives it.
    pub async fn open_merges(self: &Arc<Self>, id: &GroupId) -> Result<Option<HeldGroup<Merges>>, EngineError> {
        match self.take_group::<Merges>(id).await {
            Ok(held) => self.resume_merges(held).await.map(Some),
            Err(EngineError::Driven { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn resume_merges(&self, mut held: HeldGroup<Merges>) -> Result<HeldGroup<Merges>, EngineError> {
        match self.apply_group(&MergesKind, &mut held, &MergesInput::Resume).await {
            Ok(_) => Ok(held),
            Err(error) => {
                self.release_group(held).await?;
                Err(error)
            }
        }
    }

    /// Works a queue off until it rests or the process is interrupted. One that another process drives is waited for. A queue
    /// that is paused stays so: a person has to resume it.
    pub async fn work_merges(
        self: &Arc<Self>,
        id: &GroupId,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Left, EngineError> {
        loop {
            if self.leave(&shutdown) != Leave::Stay {
                return Ok(Left::ShutDown);
            }
            match self.take_group::<Merges>(id).await {
                Ok(held) if held.state.status == GroupStatus::Running => {
                    let held = self.resume_merges(held).await?;
                    return self.drive_group(Arc::new(MergesKind), held, shutdown)?.ended().await;
                }
                Ok(held) => {
                    self.release_group(held).await?;
                    return Ok(Left::Settled);
                }
                Err(EngineError::Driven { .. }) => {
                    let id = LoopId(id.0.clone());
                    tokio::select! {
                        left = member::others_driver_left(self, &id, shutdown.clone()) => left?,
                        () = self.told_to_leave(shutdown.clone()) => false,
                    };
                }
                Err(error) => return Err(error),
            }
        }
    }
}
