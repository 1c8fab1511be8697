//! How an event changes what the loop is doing.

use jiff::Timestamp;

use super::question;
use crate::agent::{TurnOutcome, TurnReport};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Doing, Next, Phase, Then};
use crate::machine::event::{Event, Opener};
use crate::machine::shared::Shared;
use crate::machine::state::LoopState;
use crate::machine::turn::{EndedTurn, RunningTurn};
use crate::stop::{End, Outcome, PauseReason, StopReason, WaitReason};
use crate::usage::UsageByModel;

/// A stretch begins, with what followed when the loop came to rest.
pub(super) fn opened(state: &mut LoopState, by: Opener) {
    let next = match by {
        Opener::Continue => Next::Reopen(state.first()),
        Opener::Start | Opener::Resume | Opener::Restart => at_rest(state),
    };
    state.activity = resumed(next);
}

pub(super) fn waits(state: &mut LoopState, until: Timestamp, why: &WaitReason) {
    let then = at_rest(state);
    state.activity = Activity::Waiting { until, why: why.clone(), then };
}

pub(super) fn wait_ended(state: &mut LoopState) {
    let next = at_rest(state);
    state.activity = resumed(next);
}

pub(super) fn paused(state: &mut LoopState, why: &PauseReason) {
    let then = match why {
        // Stopped and opened again, the loop asks once more.
        PauseReason::Review => Next::Proceed(Then::AskPerson),
        PauseReason::Person
        | PauseReason::Limit { .. }
        | PauseReason::Auth { .. }
        | PauseReason::ProviderLimit { .. }
        | PauseReason::Disk { .. }
        | PauseReason::Infrastructure { .. }
        | PauseReason::Reviewer { .. }
        | PauseReason::Rejections { .. } => at_rest(state),
    };
    state.activity = Activity::Paused { why: why.clone(), then };
}

pub(super) fn stopped(state: &mut LoopState, reason: &StopReason, outcome: Option<Outcome>) {
    let then = at_rest(state);
    state.activity = match (reason.end(), outcome) {
        (End::Completed, outcome) => Activity::Completed { outcome: outcome.unwrap_or(Outcome::Claimed) },
        (End::Exhausted | End::Cancelled | End::Stalled | End::Errored, _) => {
            Activity::Stopped { reason: reason.clone(), then }
        }
    };
}

pub(super) fn queued(state: &mut LoopState) {
    if let Activity::Running(doing) = &state.activity {
        state.activity = Activity::Queued { then: doing.clone() };
    }
}

pub(super) fn queue_left(state: &mut LoopState, at: Timestamp, turn_began: bool) {
    if let Activity::Queued { then } = &state.activity {
        state.activity = Activity::Running(then.clone());
    }
    if let Some(running) = state.activity.turn_mut().filter(|_| !turn_began) {
        running.started_at = at;
        running.usage_at = at;
    }
}

/// The files of what is under way are lost. What judges or closes a commit goes on from there; all else begins with
/// opening the workspace, and a turn that was not committed is due again.
pub(super) fn moved(state: &mut LoopState) {
    if let Some(turn) = state.activity.turn_mut() {
        if !std::mem::replace(&mut turn.moved, true) {
            state.counters.lost += 1;
        }
        return;
    }
    let activity = state.activity.clone();
    match activity {
        Activity::Running(doing) => {
            if let Some(next) = without_files(state, &doing) {
                state.activity = Activity::Deciding(next);
            }
        }
        Activity::Waiting { until, why, then: Next::Same(doing) } => {
            if let Some(then) = without_files(state, &doing) {
                state.activity = Activity::Waiting { until, why, then };
            }
        }
        Activity::Created
        | Activity::Queued { .. }
        | Activity::Deciding(_)
        | Activity::Waiting { .. }
        | Activity::Paused { .. }
        | Activity::Completed { .. }
        | Activity::Stopped { .. } => {}
    }
}

/// What follows instead of a step whose files are lost; nothing if it goes on as it is.
fn without_files(state: &mut LoopState, doing: &Doing) -> Option<Next> {
    match doing {
        Doing::SetUp { then } | Doing::Baseline { then } => Some(Next::Reopen(then.clone())),
        Doing::Summarise { turn } | Doing::Checkpoint { turn, .. } => {
            let report = TurnReport { claim: false, session: None, ..turn.report.clone() };
            let report = TurnReport { outcome: TurnOutcome::CutOff, ..report };
            let (key, interrupt) = (turn.key, turn.interrupt.clone());
            turn_ended(state, EndedTurn { key, report, interrupt, again: true });
            state.last_turn.clone().map(|lost| Next::Reopen(Then::Retry(lost)))
        }
        Doing::OpenWorkspace { .. } | Doing::Turn(_) | Doing::Gates | Doing::Seal { .. } | Doing::Undo { .. } => None,
    }
}

/// A person answered what the loop asked.
pub(super) fn person_ruled(state: &mut LoopState) {
    state.activity = Activity::Deciding(Next::Reopen(Then::Work));
}

/// Nothing is tried again, and whoever goes back does not agree to what was there, even if the commit is the same.
pub(super) fn rolled_back(state: &mut LoopState, head_moved: bool) {
    let first = Next::Reopen(state.first());
    match &mut state.activity {
        Activity::Paused { why, then } => {
            if let PauseReason::Review | PauseReason::Rejections { .. } = why {
                *why = PauseReason::Person;
            }
            *then = first;
        }
        Activity::Stopped { then, .. } => *then = first,
        Activity::Completed { outcome } if head_moved => *outcome = Outcome::RolledBack,
        // Nothing may be at work in the tree while it moves.
        Activity::Completed { .. }
        | Activity::Created
        | Activity::Queued { .. }
        | Activity::Running(_)
        | Activity::Deciding(_)
        | Activity::Waiting { .. } => {}
    }
}

pub(super) fn phase_entered(state: &mut LoopState, phase: Phase) {
    let then = || state.activity.then().cloned().unwrap_or(Then::Work);
    let entered = match phase {
        Phase::Prepare => Some(Activity::Running(Doing::OpenWorkspace { then: then() })),
        Phase::Setup => Some(Activity::Running(Doing::SetUp { then: then() })),
        Phase::Baseline => Some(Activity::Running(Doing::Baseline { then: then() })),
        Phase::Summarise => state.last_turn.clone().map(|turn| Activity::Running(Doing::Summarise { turn })),
        Phase::Checkpoint => {
            let summary = state.summary().cloned();
            state.last_turn.clone().map(|turn| Activity::Running(Doing::Checkpoint { turn, summary }))
        }
        Phase::Gates => Some(Activity::Running(Doing::Gates)),
        Phase::Seal => {
            let section = state.review.as_ref().and_then(|review| review.section_number());
            section.map(|section| Activity::Running(Doing::Seal { section }))
        }
        Phase::Undo => {
            let agreed = state.review.as_ref().and_then(|review| review.agreed.clone());
            agreed.and_then(|agreed| {
                let (commit, tree) = (agreed.commit?, agreed.tree);
                Some(Activity::Running(Doing::Undo { commit, tree }))
            })
        }
        Phase::Plan => Some(Activity::Deciding(Next::Reopen(Then::Plan))),
        Phase::Review => Some(Activity::Deciding(Next::Reopen(Then::Review))),
        Phase::PostAction => Some(Activity::Deciding(Next::Reopen(Then::PostAction))),
        Phase::Work | Phase::Decide => Some(Activity::Deciding(Next::Proceed(Then::Work))),
    };
    state.activity = entered.unwrap_or(Activity::Deciding(Next::Proceed(Then::Work)));
}

/// All facts of the iteration are in.
pub(super) fn judged(state: &mut LoopState) {
    state.activity = Activity::Deciding(Next::Proceed(Then::Work));
}

/// The plan is written, or the work is judged: what was due is done.
pub(super) fn answered(state: &mut LoopState) {
    if let Activity::Deciding(Next::Reopen(Then::Plan | Then::Review)) = &state.activity {
        state.activity = Activity::Deciding(Next::Reopen(Then::Work));
    }
}

pub(super) fn turn_started(state: &mut LoopState, turn: RunningTurn) {
    state.activity = Activity::Running(Doing::Turn(turn));
}

/// Takes the turn that is under way out of the state; what follows is decided.
pub(super) fn turn_ended(state: &mut LoopState, ended: EndedTurn) {
    if ended.again {
        // What the agent was told in a turn that is tried again, it is told again.
        for message in state.steering.iter_mut().filter(|message| message.delivered == Some(ended.key)) {
            message.delivered = None;
        }
        question::told_again(state, ended.key);
    }
    let ended = Shared::new(ended);
    let then = if ended.again { Then::Retry(ended.clone()) } else { Then::after(ended.key.role) };
    state.last_turn = Some(ended);
    state.activity = Activity::Deciding(Next::Reopen(then));
}

/// Somebody else takes over what the old agent had begun.
pub(super) fn taken_over(state: &mut LoopState, role: Role) {
    if let Activity::Deciding(Next::Reopen(_)) = &state.activity
        && let Some(last) = state.last_turn.as_ref().filter(|last| last.key.role == role)
    {
        state.activity = Activity::Deciding(Next::Reopen(Then::Retry(last.clone())));
    }
}

pub(super) fn summarised(state: &mut LoopState, event: &Event) {
    let Event::Summarised { turn: key, summary } = event else { return };
    if let Activity::Running(Doing::Summarise { turn }) = &state.activity
        && turn.key == *key
    {
        let (turn, summary) = (turn.clone(), Some(summary.clone()));
        state.activity = Activity::Running(Doing::Checkpoint { turn, summary });
    }
}

fn resumed(next: Next) -> Activity {
    match next {
        Next::Same(doing) => Activity::Running(doing),
        Next::Reopen(_) | Next::Proceed(_) => Activity::Deciding(next),
    }
}

/// What follows if the loop rests now. A turn that is under way is cut off, and tried again when the loop continues.
fn at_rest(state: &mut LoopState) -> Next {
    if let Some(RunningTurn { key, interrupt, usage, .. }) = state.activity.turn_mut().cloned() {
        cut_off(state, key, interrupt, usage);
    }
    match &state.activity {
        Activity::Created | Activity::Completed { .. } => Next::Reopen(state.first()),
        Activity::Queued { then: doing } | Activity::Running(doing) => match doing {
            Doing::OpenWorkspace { then } => Next::Reopen(then.clone()),
            Doing::SetUp { .. }
            | Doing::Baseline { .. }
            | Doing::Turn(_)
            | Doing::Summarise { .. }
            | Doing::Checkpoint { .. }
            | Doing::Gates
            | Doing::Seal { .. }
            | Doing::Undo { .. } => Next::Same(doing.clone()),
        },
        Activity::Deciding(next)
        | Activity::Waiting { then: next, .. }
        | Activity::Paused { then: next, .. }
        | Activity::Stopped { then: next, .. } => next.clone(),
    }
}

fn cut_off(
    state: &mut LoopState,
    key: TurnKey,
    interrupt: Option<crate::machine::event::Interrupt>,
    usage: UsageByModel,
) {
    let session = state.sessions.get(&key.role).cloned();
    state.record_usage(key.role, session.as_deref(), &usage);
    let report = TurnReport { usage, ..TurnReport::bare(TurnOutcome::CutOff) };
    turn_ended(state, EndedTurn { key, report, interrupt, again: true });
}
