//! A loop whose work is in conflict with the target goes back to its agent.

use windlass_core::group::Standing;
use windlass_core::group::merges::{Merges, MergesInput, ReturnEnd};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, Raise};

use super::{At, load};
use crate::engine::{EngineError, Held};
use crate::groups::member;
use windlass_faults as faults;

/// Above the goal that the conflict is about.
const GOAL_FOLLOWS: &str = "The goal of the branch is:\n\n";

/// Has the loop's agent resolve the conflict, in a new stretch that starts with the target merged in.
pub(super) async fn give_back(
    at: &At<'_>,
    loop_id: LoopId,
    times: u32,
    files: &[String],
) -> Result<MergesInput, EngineError> {
    let other = |loop_id: LoopId, message: String| MergesInput::Returned { loop_id, end: ReturnEnd::Other { message } };
    let gone = |loop_id| other(loop_id, "its loop was removed".to_owned());
    if at.state.stopped {
        member::stop(at.engine, &loop_id).await?;
        return Ok(other(loop_id, "the queue was stopped before the conflict was resolved".to_owned()));
    }
    let Some(state) = load(at, &loop_id).await? else { return Ok(gone(loop_id)) };
    let mark = attempt(at.state, times);
    if !state.spec.goal.contains(&mark) {
        let held = match at.engine.take(&loop_id).await {
            Ok(held) => held,
            Err(error @ (EngineError::Driven { .. } | EngineError::Unseen { .. })) => {
                return Ok(other(loop_id, error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let goal = conflict_goal(at.state, &state.spec.goal, &mark, files);
        match open(at, held, goal).await {
            Ok(()) => {}
            Err(error @ (EngineError::Refused(_) | EngineError::Workspace(_))) => {
                return Ok(other(loop_id, error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    faults::point("merge_queue.returned");
    member::drive(at.engine, &loop_id, false, at.shutdown.clone()).await?;
    let Some(report) = member::report(at.engine, &loop_id).await? else { return Ok(gone(loop_id)) };
    Ok(match report.standing {
        _ if report.is_verified() => MergesInput::Returned { loop_id, end: ReturnEnd::Verified },
        Standing::Ended { end } => other(loop_id, format!("the conflict is not resolved: the loop is {}", end.name())),
        Standing::Paused => other(loop_id, "the conflict is not resolved: the loop is paused".to_owned()),
        // The process is about to exit. The next driver of the queue drives the loop too.
        Standing::Queued | Standing::Running | Standing::Waiting { .. } => MergesInput::Seen,
    })
}

/// Opens the new stretch, or changes nothing.
async fn open(at: &At<'_>, mut held: Held, goal: String) -> Result<(), EngineError> {
    let target = Some(at.state.spec.target.clone());
    let input = Input::Continue { goal: Some(goal), target: target.clone(), raise: Raise::default() };
    let opened = async {
        at.engine.would_accept(&held, &input)?;
        at.engine.can_continue(&held, target.as_deref()).await
    };
    let opened = match opened.await {
        Ok(()) => at.engine.apply(&mut held, &input).await,
        Err(error) => Err(error),
    };
    at.engine.release(held).await?;
    opened
}

/// By which a second call knows that the first was made.
fn attempt(queue: &Merges, times: u32) -> String {
    format!("for the merge queue {} ({}, attempt {times})", queue.name, queue.id)
}

/// The conflict as a goal.
fn conflict_goal(queue: &Merges, goal: &str, mark: &str, files: &[String]) -> String {
    const NAMED: usize = 50;
    let target = &queue.spec.target;
    let names: String = files.iter().take(NAMED).map(|file| format!("- {file}\n")).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("- and {more} more\n") } else { String::new() };
    format!(
        "Resolve the conflicts of this branch with {target}. Windlass merged {target} into it {mark}. Both sides \
         changed:\n{names}{more}\nKeep what both sides are for. {GOAL_FOLLOWS}{}",
        own_goal(goal)
    )
}

/// The goal that a loop had before it got a conflict.
pub(super) fn own_goal(goal: &str) -> &str {
    goal.split_once(GOAL_FOLLOWS).map_or(goal, |(_, goal)| goal).trim()
}
