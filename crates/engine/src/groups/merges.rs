//! Performs what a merge queue wants.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::group::merges::{
    Advance, Build, Candidate, Conflict, EntryState, Merges, MergesEffect, MergesInput, ReturnEnd, Verdict,
};
use windlass_core::group::{LoopReport, Standing};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState, Merge, Raise};
use windlass_core::spec::GateSpec;

use super::{Kind, Performance, member};
use crate::driver::{FreshRun, judge_afresh};
use crate::engine::EngineError;
use crate::journal;
use windlass_faults as faults;
use windlass_store::StoreError;
use windlass_workspace::{Advanced, BatchMember, WorkspaceError};

/// What people ask of a merge queue from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MergesCommand {
    Add { candidates: Vec<Candidate> },
    Remove { loop_id: LoopId },
}

#[derive(Debug, Clone, Copy)]
pub struct MergesKind;

type At<'a> = Performance<'a, Merges>;

/// Above the goal that the conflict is about.
const GOAL_FOLLOWS: &str = "The goal of the branch is:\n\n";

#[async_trait]
impl Kind for MergesKind {
    type Group = Merges;

    async fn perform(&self, at: At<'_>, effect: MergesEffect) -> Result<MergesInput, EngineError> {
        match effect {
            MergesEffect::Build { number, members } => build(&at, number, &members).await,
            MergesEffect::Judge { number, commit, .. } => {
                faults::point("merge_queue.judge");
                let loops = judging(&at).await?;
                Ok(MergesInput::Judged { number, verdict: judge(&at, &loops, &commit, None).await? })
            }
            MergesEffect::JudgeTarget { number, commit, gate, origin } => {
                Ok(MergesInput::TargetJudged { number, verdict: judge_target(&at, &commit, &gate, &origin).await? })
            }
            MergesEffect::Advance { number, from, to } => advance(&at, number, &from, &to).await,
            MergesEffect::Note { loop_id, commit } => note(&at, loop_id, commit).await,
            MergesEffect::Return { loop_id, times, files } => give_back(&at, loop_id, times, &files).await,
        }
    }

    fn seen(&self, loop_id: LoopId, report: LoopReport) -> MergesInput {
        windlass_core::group::merges::seen(loop_id, report)
    }

    fn command(&self, body: &str) -> Result<MergesInput, serde_json::Error> {
        Ok(match serde_json::from_str(body)? {
            MergesCommand::Add { candidates } => MergesInput::Add { candidates },
            MergesCommand::Remove { loop_id } => MergesInput::Remove { loop_id },
        })
    }

    fn summary(&self, state: &Merges) -> String {
        serde_json::to_string(&super::merges_view::MergesView::of(state))
            .unwrap_or_else(|error| unreachable!("a view is plain data: {error}"))
    }
}

/// The ref that keeps a batch's commits.
fn keep_as(state: &Merges, number: u32) -> String {
    format!("refs/windlass/{}/batch/{number}", state.id)
}

async fn load(at: &At<'_>, id: &LoopId) -> Result<Option<LoopState>, EngineError> {
    match at.engine.store.get(&id.0).await? {
        Some(_) => Ok(Some(journal::load(at.engine.store.as_ref(), id).await?)),
        None => Ok(None),
    }
}

async fn build(at: &At<'_>, number: u32, members: &[LoopId]) -> Result<MergesInput, EngineError> {
    let mut unmergeable = Vec::new();
    let (mut branches, mut workspace) = (Vec::new(), None);
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
            message: format!(
                "Merge the work of {0}\n\n{1}\n\nWindlass-Loop: {0}\nWindlass-Gates: passed\nWindlass-Queue: {2}\n",
                state.name,
                state.spec.goal.trim(),
                at.state.name
            ),
        });
        workspace = Some(own);
    }
    let target = &at.state.spec.target;
    let built = match &workspace {
        Some(workspace) => {
            at.engine.workspaces.build_batch(workspace, target, &branches, &keep_as(at.state, number)).await
        }
        None => Ok(windlass_workspace::BatchBuild::default()),
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

/// The loops whose gates judge the batch: its members, and what the queue merged before.
async fn judging(at: &At<'_>) -> Result<Vec<LoopState>, EngineError> {
    let mut states = Vec::new();
    for id in at.state.judging() {
        states.extend(load(at, &id).await?);
    }
    Ok(states)
}

/// Whether the target is to blame for a gate that failed on the batch. A gate that failed on the base of its loop already
/// checks what that loop adds: of that, a target without it says nothing. One that passed before the queue merged what it
/// did speaks against the loop that has it.
async fn judge_target(at: &At<'_>, commit: &str, gate: &str, origin: &str) -> Result<Verdict, EngineError> {
    let loops = judging(at).await?;
    let mut verdict = judge(at, &loops, commit, Some(gate)).await?;
    if matches!(verdict, Verdict::Red { flaky: true, .. }) {
        verdict = judge(at, &loops, commit, Some(gate)).await?;
    }
    if verdict == Verdict::Green {
        return Ok(verdict);
    }
    if origin != commit && judge(at, &loops, origin, Some(gate)).await? == Verdict::Green {
        return Ok(Verdict::Green);
    }
    let has_gate = |state: &&LoopState| state.spec.gates.iter().any(|one| one.command == gate);
    for owner in loops.iter().filter(has_gate) {
        let entry = at.state.entry(&owner.id).map(|entry| &entry.state);
        if let Some(EntryState::Merged { .. }) = entry {
            return Ok(verdict);
        }
        let base = owner.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone());
        if let Some(base) = base
            && judge(at, &loops, &base, Some(gate)).await? == Verdict::Green
        {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Green)
}

/// Judges a commit by every gate of these loops, or by one of them, in a checkout that no agent sees.
async fn judge(at: &At<'_>, states: &[LoopState], commit: &str, only: Option<&str>) -> Result<Verdict, EngineError> {
    let Some(mut judging) = states.last().cloned() else { return Ok(Verdict::Green) };
    judging.spec.gates = union(states);
    let known = judging.spec.gates.iter().any(|gate| Some(gate.command.as_str()) == only);
    judging.spec.gates.retain(|gate| !known || Some(gate.command.as_str()) == only);
    for state in states {
        let more = |all: &mut Vec<String>, some: &[String]| {
            let new: Vec<String> = some.iter().filter(|one| !all.contains(one)).cloned().collect();
            all.extend(new);
        };
        more(&mut judging.spec.workspace.setup, &state.spec.workspace.setup);
        more(&mut judging.spec.workspace.copy, &state.spec.workspace.copy);
    }
    let red = |run: &FreshRun| !run.verdict.passed();
    let runs = judge_afresh(at.engine, &judging, commit, "merge-queue", red).await?;
    let Some(run) = runs.into_iter().next_back().filter(red) else { return Ok(Verdict::Green) };
    let is_flaky = |state: &LoopState| {
        let mut gates = state.spec.gates.iter().enumerate();
        gates.any(|(index, gate)| gate.command == run.command && state.is_flaky(index))
    };
    let flaky = states.iter().any(is_flaky);
    if only.is_some_and(|only| only != run.command) {
        return Ok(Verdict::Green);
    }
    let output = if run.hidden { String::new() } else { run.output_tail };
    Ok(Verdict::Red { gate: run.command, output, flaky })
}

/// Every gate once, in the order of the loops. The longest timeout counts.
fn union(states: &[LoopState]) -> Vec<GateSpec> {
    let mut all: Vec<GateSpec> = Vec::new();
    for gate in states.iter().flat_map(|state| &state.spec.gates) {
        match all.iter_mut().find(|known| known.command == gate.command && known.hidden == gate.hidden) {
            Some(known) => known.timeout_ms = known.timeout_ms.max(gate.timeout_ms),
            None => all.push(gate.clone()),
        }
    }
    all
}

async fn advance(at: &At<'_>, number: u32, from: &str, to: &str) -> Result<MergesInput, EngineError> {
    let mut workspace = None;
    for id in at.state.judging() {
        workspace = workspace.or(load(at, &id).await?.and_then(|state| at.engine.workspace(&state).ok()));
    }
    let Some(workspace) = workspace else {
        return Ok(MergesInput::Blocked { number, message: "the loops of the batch were removed".to_owned() });
    };
    faults::point("merge_queue.advance");
    let end = match at.engine.workspaces.advance(&workspace, &at.state.spec.target, from, to).await? {
        Advanced::Moved => Advance::Moved { commit: to.to_owned() },
        Advanced::Elsewhere => Advance::Elsewhere,
        Advanced::Blocked { message } => Advance::Blocked { message },
    };
    if let Advance::Moved { .. } = &end {
        at.engine.workspaces.drop_batch(&workspace, &keep_as(at.state, number)).await?;
    }
    Ok(MergesInput::Advanced { number, end })
}

/// Tells a loop that its work is merged. One that is under way again, or gone, is not told.
async fn note(at: &At<'_>, loop_id: LoopId, commit: String) -> Result<MergesInput, EngineError> {
    let target = at.state.spec.target.clone();
    faults::point("merge_queue.note");
    match at.engine.take(&loop_id).await {
        Ok(mut held) => {
            if let Ok(workspace) = at.engine.workspace(&held.state) {
                at.engine.workspaces.note_merged(&workspace, &target).await?;
            }
            let applied = at.engine.apply(&mut held, &Input::Merged { merge: Merge { commit, target } }).await;
            at.engine.release(held).await?;
            match applied {
                Ok(()) | Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Driven { .. } | EngineError::Store(StoreError::UnknownLoop { .. })) => {}
        Err(error) => return Err(error),
    }
    Ok(MergesInput::Noted { loop_id })
}

/// Has the loop's agent resolve the conflict, in a new stretch that starts with the target merged in.
async fn give_back(at: &At<'_>, loop_id: LoopId, times: u32, files: &[String]) -> Result<MergesInput, EngineError> {
    let other = |loop_id: LoopId, message: String| MergesInput::Returned { loop_id, end: ReturnEnd::Other { message } };
    let Some(state) = load(at, &loop_id).await? else { return Ok(other(loop_id, "its loop was removed".to_owned())) };
    let goal = conflict_goal(at.state, &state.spec.goal, times, files);
    if state.spec.goal != goal {
        let target = Some(at.state.spec.target.clone());
        let mut held = match at.engine.take(&loop_id).await {
            Ok(held) => held,
            Err(EngineError::Driven { .. }) => {
                return Ok(other(loop_id, "somebody else works on the loop".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let input = Input::Continue { goal: Some(goal), target: target.clone(), raise: Raise::default() };
        let opened = async {
            at.engine.would_accept(&held, &input)?;
            at.engine.can_continue(&held, target.as_deref()).await
        };
        let opened = opened.await;
        let opened = match opened {
            Ok(()) => at.engine.apply(&mut held, &input).await,
            Err(error) => Err(error),
        };
        at.engine.release(held).await?;
        match opened {
            Ok(()) => {}
            Err(error @ (EngineError::Refused(_) | EngineError::Workspace(_))) => {
                return Ok(other(loop_id, error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    faults::point("merge_queue.returned");
    member::drive(at.engine, &loop_id, false, at.shutdown.clone()).await?;
    let Some(report) = member::report(at.engine, &loop_id).await? else {
        return Ok(other(loop_id, "its loop was removed".to_owned()));
    };
    Ok(match report.standing {
        _ if report.is_verified() => MergesInput::Returned { loop_id, end: ReturnEnd::Verified },
        Standing::Ended { end } => other(loop_id, format!("the conflict is not resolved: the loop is {}", end.name())),
        Standing::Paused => other(loop_id, "the conflict is not resolved: the loop is paused".to_owned()),
        // The process leaves; whoever drives the queue next goes on with it.
        Standing::Queued | Standing::Running | Standing::Waiting { .. } => MergesInput::Seen,
    })
}

/// The conflict as a goal. It names the queue and the attempt, by which a second call knows that the first was made.
fn conflict_goal(queue: &Merges, goal: &str, times: u32, files: &[String]) -> String {
    let goal = goal.split_once(GOAL_FOLLOWS).map_or(goal, |(_, goal)| goal);
    let files: String = files.iter().take(50).map(|file| format!("- {file}\n")).collect();
    let (target, name, id) = (&queue.spec.target, &queue.name, &queue.id);
    format!(
        "Resolve the conflicts of this branch with {target}. Windlass merged {target} into it for the merge queue {name} \
         ({id}, attempt {times}). Both sides changed:\n{files}\nKeep what both sides are for. {GOAL_FOLLOWS}{goal}"
    )
}
