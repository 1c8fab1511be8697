//! Performs what best of N wants.

use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::group::tries::{Tries, TriesEffect, TriesEvent, TriesInput};
use windlass_core::group::{GroupKind, GroupStatus, LoopReport, Membership};
use windlass_core::ids::LoopId;

use super::{HeldGroup, Kind, Performance, member};
use crate::engine::{Engine, EngineError};
use crate::loops::NewLoop;
use crate::notify::GroupNews;
use crate::trust::Consent;
use windlass_faults as faults;
use windlass_store::StoreError;

/// What people ask of a group of tries from another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TriesCommand {
    Stop,
}

#[derive(Debug, Clone, Copy)]
pub struct TriesKind;

impl TriesKind {
    /// Creates a group of tries. The consent covers every loop that it makes.
    pub async fn create(
        engine: &Engine,
        mut first: TriesEvent,
        _consent: Consent,
    ) -> Result<HeldGroup<Tries>, EngineError> {
        if let TriesEvent::TriesCreated { project, spec, .. } = &mut first {
            for each in &mut spec.tries {
                engine.secrets_of(&each.spec, project.as_ref()).clean_spec(&mut each.spec);
            }
        }
        engine.create_group(&TriesKind, &first).await
    }

    /// Makes the loop of a try if it is not there: its id and name were decided before.
    async fn ensure(&self, at: &Performance<'_, Tries>, number: u32) -> Result<Result<LoopId, String>, EngineError> {
        let Some(each) = at.state.try_spec(number) else { return Ok(Err("no such try".into())) };
        let id = each.loop_id.clone();
        if at.engine.store.get(&id.0).await?.is_some() {
            return Ok(Ok(id));
        }
        if at.state.stopped.is_some() {
            return Ok(Err("stopped before it started".into()));
        }
        faults::point("tries.start");
        let mut spec = (*each.spec).clone();
        spec.group =
            Some(Membership { id: at.state.id.clone(), kind: GroupKind::Tries, name: at.state.name.clone(), number });
        let branch_template = spec.workspace.branch.clone();
        let new = NewLoop {
            id: Some(id.clone()),
            project: PathBuf::from(&at.state.project),
            name: each.name.clone(),
            numbered: false,
            spec,
            branch_template,
            consent: Consent::of_group(at.state),
        };
        let _alone = at.engine.making.lock().await;
        match at.engine.create(new).await {
            Ok(held) => {
                at.engine.release(held).await?;
                Ok(Ok(id))
            }
            Err(EngineError::Store(StoreError::IdTaken { .. })) => Ok(Ok(id)),
            // Wrong use, such as a branch that exists, is of this try alone.
            Err(EngineError::Workspace(error)) => Ok(Err(error.to_string())),
            Err(EngineError::Store(error @ StoreError::NameTaken { .. })) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Kind for TriesKind {
    type Group = Tries;

    async fn perform(&self, at: Performance<'_, Tries>, effect: TriesEffect) -> Result<TriesInput, EngineError> {
        let loop_of = |number: u32| at.state.try_spec(number).map(|each| each.loop_id.clone());
        let gone = |number: u32| TriesInput::Failed { number, message: "its loop was removed".into() };
        match effect {
            TriesEffect::RunTry { number } => {
                let id = match self.ensure(&at, number).await? {
                    Ok(id) => id,
                    Err(message) => return Ok(TriesInput::Failed { number, message }),
                };
                let reopen = at.state.each().any(|(each, _, state)| each == number && state.reopened);
                member::drive(at.engine, &id, reopen, at.shutdown.clone()).await?;
                let report = member::report(at.engine, &id).await?;
                Ok(report.map_or_else(|| gone(number), |report| TriesInput::Ran { number, report }))
            }
            TriesEffect::StopTry { number } => {
                let Some(id) = loop_of(number) else { return Ok(gone(number)) };
                member::stop(at.engine, &id).await?;
                let report = member::report(at.engine, &id).await?;
                Ok(report.map_or_else(|| gone(number), |report| TriesInput::Seen { loop_id: id, report }))
            }
            TriesEffect::Measure { number } => {
                let Some(id) = loop_of(number) else { return Ok(gone(number)) };
                Ok(TriesInput::Measured { number, diff: member::measure(at.engine, &id).await? })
            }
            TriesEffect::Drop { number } => {
                let Some(id) = loop_of(number) else { return Ok(gone(number)) };
                faults::point("tries.drop");
                Ok(TriesInput::Dropped { number, saved: member::drop_workspace(at.engine, &id).await? })
            }
        }
    }

    fn seen(&self, loop_id: LoopId, report: LoopReport) -> TriesInput {
        TriesInput::Seen { loop_id, report }
    }

    fn command(&self, body: &str) -> Result<TriesInput, serde_json::Error> {
        Ok(match serde_json::from_str(body)? {
            TriesCommand::Stop => TriesInput::Stop,
        })
    }

    fn summary(&self, state: &Tries) -> String {
        serde_json::to_string(&super::view::TriesView::of(state))
            .unwrap_or_else(|error| unreachable!("a view is plain data: {error}"))
    }

    fn news(&self, state: &Tries) -> Option<GroupNews> {
        let picked = state.ranking.as_ref().and_then(|ranking| ranking.winner);
        let winner = state.each().find(|(number, ..)| Some(*number) == picked);
        let name = winner.map(|(_, spec, _)| spec.name.clone());
        let verified = winner.is_some_and(|(_, _, each)| each.is_verified());
        let words = match (state.status, &name) {
            (GroupStatus::Running, _) => return None,
            (GroupStatus::Paused, _) => "no try completed, and one needs you".to_owned(),
            (GroupStatus::Ended(_), Some(name)) if verified => format!("picked {name}: verified"),
            (GroupStatus::Ended(_), Some(name)) => format!("picked {name}, but no try is verified"),
            (GroupStatus::Ended(end), None) => format!("{}: no try completed", end.name()),
        };
        Some(GroupNews { winner: name, verified, words })
    }
}
