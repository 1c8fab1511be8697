//! The rules: what an input means in a state.
//!
//! Each rule pushes events onto a batch, which folds them at once, so a later rule sees what an earlier one decided.
//! One batch is one durable transaction.

mod acceptance;
mod acting;
mod audit;
mod infrastructure;
mod network;
mod opening;
mod question;
mod review;
mod reviewer_failure;
mod timer;
mod turn;
mod turn_end;
mod verdict;
mod wish;

use jiff::Timestamp;
use thiserror::Error;

use super::activity::Phase;
use super::event::{Event, Interrupt};
use super::evolve::apply;
use super::input::Input;
use super::question::AnsweredBy;
use super::state::{LoopState, Wish};
use super::turn::RunningTurn;
use crate::findings::FindingRefusal;
use crate::ids::{Role, TurnKey};
use crate::plan::AdjustError;
use crate::spec::OnLimit;
use crate::stop::{End, Outcome, PauseReason, Status, StopReason};

/// Why an input changes nothing.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    #[error("stale result ignored")]
    Stale,
    #[error("the loop was {}", .end.name())]
    Ended { end: End },
    #[error("the loop is already completed")]
    Completed,
    #[error("the loop is not completed; resume it instead")]
    NotCompleted,
    #[error("the loop is already running")]
    UnderWay,
    #[error("the loop is not running")]
    NotUnderWay,
    #[error("the limit that ended the loop still applies ({})", .limit.name())]
    LimitStands { limit: StopReason },
    #[error("already requested")]
    AlreadyAsked,
    #[error(
        "the agent has no session to resume, so --now is not possible; without --now, the next turn gets the message"
    )]
    NoSession,
    #[error("the loop has no limit to raise: {limit}")]
    NoSuchLimit { limit: &'static str },
    #[error("the loop is waiting for review; approve or reject it")]
    AwaitsRuling,
    #[error("nothing is waiting for approval")]
    NothingToRule,
    #[error("the loop has no open question")]
    NoQuestion,
    #[error("{}", answered(id, *by))]
    Answered { id: String, by: AnsweredBy },
    #[error("several questions are open ({}); name one with --question", .open.join(", "))]
    WhichQuestion { open: Vec<String> },
    #[error("this loop has no reviewer")]
    NotReviewed,
    #[error("the {role} is not allowed to do that")]
    NotYourRole { role: Role },
    #[error(transparent)]
    Finding(#[from] FindingRefusal),
    #[error(transparent)]
    Plan(#[from] AdjustError),
}

fn answered(id: &str, by: AnsweredBy) -> String {
    match by {
        AnsweredBy::Person => format!("question {id} is already answered"),
        AnsweredBy::Default => format!("the deadline of question {id} has passed; its default was taken"),
    }
}

pub fn decide(state: &LoopState, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let mut batch = Batch { state: state.clone(), now, events: Vec::new() };
    match input {
        Input::Open { by, raise } => batch.open(*by, raise)?,
        Input::Continue { goal, target, raise } => {
            batch.resume_completed(goal.as_deref(), target.as_deref(), raise)?;
        }
        Input::Queue { max_running } => batch.queue(*max_running)?,
        Input::LeaveQueue { turn_began } => batch.leave_queue(*turn_began)?,
        Input::Attach { alive_until } => batch.attach(*alive_until)?,
        Input::Moved { from, to } => batch.moved(from.as_deref(), to)?,
        Input::NotTried { effect, trouble } => batch.not_tried(effect, trouble)?,
        Input::Shutdown => batch.interrupt_turn(Interrupt::Shutdown)?,
        Input::WorkspaceOpened { opening } => batch.workspace_opened(opening)?,
        Input::WorkspaceFailed { failure } => batch.workspace_failed(failure)?,
        Input::SessionSeen { turn, session } => batch.session_seen(*turn, session)?,
        Input::UsageSeen { turn, usage } => batch.usage_seen(*turn, usage)?,
        Input::Stalled { turn } => {
            batch.expect_turn(*turn)?;
            batch.interrupt_turn(Interrupt::Stall)?;
        }
        Input::DiskShort { turn, message } => {
            batch.expect_turn(*turn)?;
            batch.interrupt_turn(Interrupt::Disk { message: message.clone() })?;
        }
        Input::TurnEnded { turn, report, answer } => batch.turn_ended(*turn, report, answer)?,
        Input::SetUp => batch.set_up()?,
        Input::Summarised { turn, summary } => batch.summarised(*turn, summary)?,
        Input::Checkpointed { turn, checkpoint } => batch.checkpointed(*turn, checkpoint)?,
        Input::Sealed { section, checkpoint } => batch.sealed(*section, checkpoint)?,
        Input::Undone { commit, tree, saved } => batch.undone(commit, tree, saved.as_deref())?,
        Input::Acted { turn, act } => batch.act(*turn, act)?,
        Input::AmendMilestone { milestone } => batch.amend_milestone(milestone)?,
        Input::Approve { reason } => batch.approve(reason.as_deref())?,
        Input::Reject { reason } => batch.reject(reason)?,
        Input::GateEnded { gate, report } => batch.gate_ended(gate, report)?,
        Input::TimerFired { timer } => batch.timer_fired(*timer)?,
        Input::Stop => batch.stop()?,
        Input::Pause { now } => batch.pause(*now)?,
        Input::Steer { id, text, now } => batch.steer(id, text, *now)?,
        Input::Answer { question, text } => batch.answer(question.as_deref(), text)?,
        Input::NetworkDenied { host, why, count } => batch.network_denied(host, why, *count)?,
        Input::ResidueChecked { left } => batch.residue_checked(left)?,
        Input::Merged { merge } => batch.merged(merge)?,
        Input::MergeRefused { refused } => batch.merge_refused(refused)?,
        Input::Minimised { smaller } => batch.minimised(smaller)?,
        Input::RolledBack { to_iteration, commit, tree, saved } => {
            batch.rolled_back(*to_iteration, commit, tree, saved.as_deref())?;
        }
    }
    Ok(batch.events)
}

pub(super) struct Batch {
    pub(super) state: LoopState,
    now: Timestamp,
    events: Vec<Event>,
}

impl Batch {
    pub(super) fn push(&mut self, event: impl Into<Event>) {
        let event = event.into();
        apply(&mut self.state, self.now, &event);
        self.events.push(event);
    }

    fn enter(&mut self, phase: Phase) {
        self.push(Event::PhaseEntered { phase, iteration: self.state.iteration });
    }

    fn stop_loop(&mut self, stop_reason: StopReason) {
        let status = stop_reason.end();
        if status == End::Completed {
            self.take_defaults(true);
        }
        let outcome = (status == End::Completed).then(|| self.state.outcome_now());
        self.push(Event::LoopStopped {
            status,
            outcome,
            verified: outcome == Some(Outcome::Verified),
            stop_reason,
            iterations: self.state.iteration,
            head_commit: self.state.head_commit().map(str::to_owned),
            usage: self.state.used().total(),
        });
    }

    fn limit_reached(&mut self, limit: StopReason) {
        match self.state.spec.on_limit {
            OnLimit::Stop => self.stop_loop(limit),
            OnLimit::Pause => self.push(Event::LoopPaused { why: PauseReason::Limit { limit } }),
        }
    }

    /// Nothing new begins once a person has asked for a stop or a pause.
    fn unless_told_to_rest(&mut self, begin: impl FnOnce(&mut Self)) {
        match self.state.wish {
            Some(Wish::Stop) => self.stop_loop(StopReason::Cancelled),
            Some(Wish::Pause) => self.push(Event::LoopPaused { why: PauseReason::Person }),
            None => begin(self),
        }
    }

    fn expect_under_way(&self) -> Result<(), Refusal> {
        match self.state.status() {
            Status::Running | Status::Waiting { .. } => Ok(()),
            Status::Ended { end } => Err(Refusal::Ended { end }),
            Status::Queued | Status::Paused { .. } => Err(Refusal::NotUnderWay),
        }
    }

    /// Whether nothing of the loop runs, nor will by itself.
    pub(super) fn expect_rest(&self) -> Result<(), Refusal> {
        if self.state.is_under_way() || self.state.awaits_place() { Err(Refusal::UnderWay) } else { Ok(()) }
    }

    /// The turn that is under way, if it is this one.
    fn expect_turn(&self, turn: TurnKey) -> Result<&RunningTurn, Refusal> {
        self.running_turn().filter(|running| running.key == turn).ok_or(Refusal::Stale)
    }

    fn running_turn(&self) -> Option<&RunningTurn> {
        self.state.turn().filter(|_| !self.state.awaits_place())
    }
}
