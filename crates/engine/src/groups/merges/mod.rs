//! Performs what a merge queue wants.

mod conflict;
mod judge;
mod queue;
mod view;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::group::LoopReport;
use windlass_core::group::merges::{
    Advance, Build, Candidate, Conflict, Merges, MergesEffect, MergesInput, RefusedBecause,
};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState, Merge, MergeObstacle, RefusedMerge};

use super::{Kind, Performance, member};
use crate::engine::EngineError;
use crate::journal;
use windlass_faults as faults;
use windlass_store::StoreError;
use windlass_workspace::{Advanced, BatchBuild, BatchMember, Workspace, WorkspaceError};

pub use queue::MergesOf;
pub use view::{MergesEntryView, MergesView};

/// What people ask of a merge queue from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MergesCommand {
    Add { candidates: Vec<Candidate> },
    Remove { loop_id: LoopId },
    Stop,
}

#[derive(Debug, Clone, Copy)]
pub struct MergesKind;

type At<'a> = Performance<'a, Merges>;

#[async_trait]
impl Kind for MergesKind {
    type Group = Merges;

    async fn perform(&self, at: At<'_>, effect: MergesEffect) -> Result<MergesInput, EngineError> {
        match effect {
            MergesEffect::Build { number, members } => build(&at, number, &members).await,
            MergesEffect::Judge { number, commit, .. } => {
                faults::point("merge_queue.judge");
                let loops = judge::judging(&at).await?;
                let verdict = judge::judge(&at, &loops, &commit, None).await?;
                Ok(MergesInput::Judged { number, verdict })
            }
            MergesEffect::JudgeTarget { number, commit, gate, origin } => {
                let verdict = judge::judge_target(&at, &commit, &gate, &origin).await?;
                drop_batch(&at).await?;
                Ok(MergesInput::TargetJudged { number, verdict })
            }
            MergesEffect::Advance { number, from, to } => advance(&at, number, &from, &to).await,
            MergesEffect::NoteMerged { loop_id, commit } => {
                let merge = Merge { commit, target: at.state.spec.target.clone() };
                note(&at, loop_id, &Input::Merged { merge }).await
            }
            MergesEffect::NoteRefused { loop_id, why } => match obstacle(why) {
                Some(why) => {
                    let refused = RefusedMerge { target: at.state.spec.target.clone(), why };
                    note(&at, loop_id, &Input::MergeRefused { refused }).await
                }
                None => Ok(MergesInput::Noted { loop_id }),
            },
            MergesEffect::Return { loop_id, times, files } => conflict::give_back(&at, loop_id, times, &files).await,
            MergesEffect::StopLoop { loop_id } => {
                // Its driver reports what came of it.
                if member::report(at.engine, &loop_id).await?.is_some_and(|report| !report.has_ended()) {
                    member::stop(at.engine, &loop_id).await?;
                }
                Ok(MergesInput::Seen)
            }
        }
    }

    /// Gates of a batch that nobody waits for any more are stopped.
    fn is_cancelled_unwanted(&self, effect: &MergesEffect) -> bool {
        match effect {
            MergesEffect::Judge { .. } | MergesEffect::JudgeTarget { .. } => true,
            MergesEffect::Build { .. }
            | MergesEffect::Advance { .. }
            | MergesEffect::NoteMerged { .. }
            | MergesEffect::NoteRefused { .. }
            | MergesEffect::Return { .. }
            | MergesEffect::StopLoop { .. } => false,
        }
    }

    /// Never asked: the group names no loops, because the effect that drives a loop reports its end.
    fn seen(&self, _: LoopId, _: LoopReport) -> MergesInput {
        MergesInput::Seen
    }

    fn command(&self, body: &str) -> Result<MergesInput, serde_json::Error> {
        Ok(match serde_json::from_str(body)? {
            MergesCommand::Add { candidates } => MergesInput::Add { candidates },
            MergesCommand::Remove { loop_id } => MergesInput::Remove { loop_id },
            MergesCommand::Stop => MergesInput::Stop,
        })
    }

    fn summary(&self, state: &Merges) -> String {
        serde_json::to_string(&MergesView::of(state))
            .unwrap_or_else(|error| unreachable!("a view is plain data: {error}"))
    }
}

/// The ref that keeps the commits of the batch that is under way.
fn keep_as(state: &Merges) -> String {
    format!("refs/windlass/{}/batch/current", state.id)
}

/// A loop, if it still exists.
async fn load(at: &At<'_>, id: &LoopId) -> Result<Option<LoopState>, EngineError> {
    match at.engine.store.get(&id.0).await? {
        Some(_) => Ok(Some(journal::load(at.engine.store.as_ref(), id).await?)),
        None => Ok(None),
    }
}

async fn build(at: &At<'_>, number: u32, members: &[LoopId]) -> Result<MergesInput, EngineError> {
    let mut unmergeable = Vec::new();
    let (mut branches, mut workspace) = (Vec::new(), None);
    let judged = judge::judging(at).await?.iter().any(|state| !state.spec.gates.is_empty());
    for id in members {
        let state = load(at, id).await?;
        let Some(state) = state.filter(LoopState::is_verified) else {
            unmergeable.push((id.clone(), "the loop is no longer verified".to_owned()));
            continue;
        };
        let own = at.engine.workspace(&state)?;
        branches.push(BatchMember {
            loop_id: id.0.clone(),
            branch: own.branch.clone(),
            message: message(at.state, &state, judged),
        });
        workspace = Some(own);
    }
    let target = &at.state.spec.target;
    let built = match &workspace {
        Some(workspace) => at.engine.workspaces.build_batch(workspace, target, &branches, &keep_as(at.state)).await,
        None => Ok(BatchBuild::default()),
    };
    let built = match built {
        Ok(built) => built,
        Err(error @ WorkspaceError::NoSuchBranch { .. }) => {
            return Ok(MergesInput::Blocked { number, message: error.to_string() });
        }
        Err(error) => return Err(error.into()),
    };
    faults::point("merge_queue.built");
    let gone = built.gone.into_iter().map(|id| (LoopId(id), "its branch no longer exists".to_owned()));
    unmergeable.extend(gone);
    let ids = |ids: Vec<String>| ids.into_iter().map(LoopId).collect();
    let conflicts = built.conflicts.into_iter().map(|one| Conflict {
        loop_id: LoopId(one.loop_id),
        files: one.files,
        with_target: one.with_target,
    });
    let build = Build {
        base: built.base,
        commit: built.commit,
        merged: ids(built.merged),
        present: ids(built.present),
        conflicts: conflicts.collect(),
        unmergeable,
    };
    Ok(MergesInput::Built { number, build })
}

/// The goal of a merged loop, and trailers. The commit becomes part of the target only if the gates pass on it.
fn message(queue: &Merges, state: &LoopState, judged: bool) -> String {
    let goal = conflict::own_goal(&state.spec.goal);
    let (name, gates) = (&state.name, if judged { "passed" } else { "none" });
    let trailers = format!("Windlass-Loop: {name}\nWindlass-Gates: {gates}\nWindlass-Queue: {}\n", queue.name);
    format!("Merge the work of {name}\n\n{goal}\n\n{trailers}")
}

/// The workspace of some loop of the queue, by which its repository is found.
async fn some_workspace(at: &At<'_>) -> Result<Option<Workspace>, EngineError> {
    for id in at.state.judging() {
        if let Some(found) = load(at, &id).await?.and_then(|state| at.engine.workspace(&state).ok()) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Lets go of the commits of a batch that is over.
async fn drop_batch(at: &At<'_>) -> Result<(), EngineError> {
    if let Some(workspace) = some_workspace(at).await? {
        at.engine.workspaces.drop_batch(&workspace, &keep_as(at.state)).await?;
    }
    Ok(())
}

async fn advance(at: &At<'_>, number: u32, from: &str, to: &str) -> Result<MergesInput, EngineError> {
    let Some(workspace) = some_workspace(at).await? else {
        return Ok(MergesInput::Blocked { number, message: "the loops of the batch were removed".to_owned() });
    };
    faults::point("merge_queue.advance");
    let end = match at.engine.workspaces.advance(&workspace, &at.state.spec.target, from, to).await? {
        Advanced::Moved => Advance::Moved { commit: to.to_owned() },
        Advanced::Elsewhere => Advance::Elsewhere,
        Advanced::Blocked { message } => Advance::Blocked { message },
    };
    // A batch that did not get there is built again.
    drop_batch(at).await?;
    Ok(MergesInput::Advanced { number, end })
}

/// What a loop is told of a refusal, if it is about its work.
fn obstacle(why: RefusedBecause) -> Option<MergeObstacle> {
    match why {
        RefusedBecause::Gate { gate, output } => Some(MergeObstacle::Gate { command: gate, output_tail: output }),
        RefusedBecause::Conflict { files } => Some(MergeObstacle::Conflicts { files }),
        RefusedBecause::Loop { .. } | RefusedBecause::Removed | RefusedBecause::Stopped => None,
    }
}

/// Tells a loop what came of its merge. One that is under way again, or gone, is not told.
async fn note(at: &At<'_>, loop_id: LoopId, news: &Input) -> Result<MergesInput, EngineError> {
    faults::point("merge_queue.note");
    match at.engine.take(&loop_id).await {
        Ok(mut held) => {
            let noted = async {
                if let (Input::Merged { merge }, Ok(workspace)) = (news, at.engine.workspace(&held.state)) {
                    at.engine.workspaces.note_merged(&workspace, &merge.target).await?;
                }
                at.engine.apply(&mut held, news).await
            };
            let noted = noted.await;
            at.engine.release(held).await?;
            match noted {
                Ok(()) | Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(
            EngineError::Driven { .. }
            | EngineError::Unseen { .. }
            | EngineError::Store(StoreError::UnknownLoop { .. }),
        ) => {}
        Err(error) => return Err(error),
    }
    Ok(MergesInput::Noted { loop_id })
}
