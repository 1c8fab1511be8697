//! Where a stretch begins and goes on from: opening a loop, its workspace, the turn that comes first.

use jiff::Timestamp;

use super::{Batch, Refusal};
use crate::agent::TurnOutcome;
use crate::machine::event::{Event, Opener};
use crate::machine::input::{Raise, WorkspaceFailure, WorkspaceOpening};
use crate::machine::state::Phase;
use crate::stop::{End, PauseReason, Status, StopReason};

impl Batch {
    pub(super) fn open(&mut self, by: Opener, raise: &Raise) -> Result<(), Refusal> {
        match &self.state.status {
            Status::Ended { end: End::Completed } => return Err(Refusal::Completed),
            Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
            Status::Queued if self.state.awaits_place() => return Err(Refusal::UnderWay),
            Status::Paused { why: PauseReason::Review } => return Err(Refusal::AwaitsRuling),
            Status::Ended { end } if by == Opener::Start => return Err(Refusal::Ended { end: *end }),
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
        }
        self.check_raise(raise)?;
        self.push(Event::LoopOpened { by, raise: raise.clone(), goal: None, target: None });
        self.plan_once();
        self.go_on();
        // Opening a loop only to end it at the same limit again would tell the person nothing.
        match self.standing_limit() {
            Some(limit) => Err(Refusal::LimitStands { limit }),
            None => Ok(()),
        }
    }

    /// A new stretch of a completed loop may take as many iterations and as much time as the last one was allowed.
    pub(super) fn resume_completed(
        &mut self,
        goal: Option<&str>,
        target: Option<&str>,
        raise: &Raise,
    ) -> Result<(), Refusal> {
        match self.state.status {
            Status::Ended { end: End::Completed } => {}
            Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => return Err(Refusal::NotCompleted),
        }
        self.check_raise(raise)?;
        let before = &self.state.continued;
        let raise = Raise {
            max_iterations: raise.max_iterations + (self.state.iteration - before.iterations),
            duration_ms: raise.duration_ms + self.state.elapsed_ms.saturating_sub(before.elapsed_ms),
            ..raise.clone()
        };
        let (goal, target) = (goal.map(str::to_owned), target.map(str::to_owned));
        self.push(Event::LoopOpened { by: Opener::Continue, raise, goal, target });
        self.plan_once();
        self.go_on();
        match self.standing_limit() {
            Some(limit) => Err(Refusal::LimitStands { limit }),
            None => Ok(()),
        }
    }

    fn standing_limit(&self) -> Option<StopReason> {
        match &self.state.status {
            Status::Ended { end: End::Exhausted } => self.state.stop_reason.clone(),
            Status::Paused { why: PauseReason::Limit { limit } } => Some(limit.clone()),
            Status::Queued
            | Status::Running
            | Status::Waiting { .. }
            | Status::Paused { .. }
            | Status::Ended { .. } => None,
        }
    }

    /// A raise of a limit that the loop does not have is a misunderstanding, not a new limit.
    pub(super) fn check_raise(&self, raise: &Raise) -> Result<(), Refusal> {
        let limits = &self.state.spec.limits;
        let asked = [
            (raise.max_iterations > 0 && self.state.iteration_limit().is_none(), "max_iterations"),
            (raise.duration_ms > 0 && self.state.duration_limit_ms().is_none(), "duration"),
            (raise.budget_usd > 0.0 && limits.budget_usd.is_none(), "budget_usd"),
            (raise.max_tokens > 0 && limits.max_tokens.is_none(), "max_tokens"),
            (raise.disk_bytes > 0 && self.state.spec.resources.disk_bytes.is_none(), "disk_limit"),
        ];
        match asked.into_iter().find(|(missing, _)| *missing) {
            Some((_, limit)) => Err(Refusal::NoSuchLimit { limit }),
            None => Ok(()),
        }
    }

    pub(super) fn attach(&mut self, alive_until: Option<Timestamp>) -> Result<(), Refusal> {
        self.expect_under_way()?;
        self.push(Event::DriverAttached { alive_until });
        Ok(())
    }

    /// Only what is about to run needs a place.
    pub(super) fn queue(&mut self, max_running: u32) -> Result<(), Refusal> {
        match self.state.status {
            Status::Running => {
                self.push(Event::LoopQueued { max_running });
                Ok(())
            }
            Status::Queued => Err(Refusal::AlreadyAsked),
            Status::Ended { end } => Err(Refusal::Ended { end }),
            Status::Waiting { .. } | Status::Paused { .. } => Err(Refusal::NotUnderWay),
        }
    }

    pub(super) fn leave_queue(&mut self, turn_began: bool) -> Result<(), Refusal> {
        match self.state.status {
            // A loop that was never opened has nothing to go on with.
            Status::Queued if self.state.awaits_place() => {
                self.push(Event::QueueLeft { turn_began });
                Ok(())
            }
            Status::Queued
            | Status::Running
            | Status::Waiting { .. }
            | Status::Paused { .. }
            | Status::Ended { .. } => Err(Refusal::Stale),
        }
    }

    /// Goes on from wherever the loop was left.
    pub(super) fn go_on(&mut self) {
        match self.state.phase {
            Phase::Prepare | Phase::Work | Phase::Plan | Phase::Review | Phase::PostAction => self.prepare(),
            // What these phases want is derived from the state, and stands.
            Phase::Setup | Phase::Summarise | Phase::Checkpoint | Phase::Seal | Phase::Undo => {}
            Phase::Baseline | Phase::Gates if self.state.next_gate().is_some() => {}
            Phase::Baseline => self.next_step(),
            // A stop came between the last verdict (or a checkpoint without gates) and what follows from it.
            Phase::Gates => self.conclude(),
            Phase::Decide => self.next_step(),
        }
    }

    pub(super) fn prepare(&mut self) {
        if let Some(limit) = self.limit_of_another_attempt() {
            return self.target_or_limit(limit);
        }
        self.enter(Phase::Prepare);
        if self.state.is_external() {
            self.start_turn_or_next_iteration();
        }
    }

    pub(super) fn workspace_opened(&mut self, opening: &WorkspaceOpening) -> Result<(), Refusal> {
        self.expect_running(Phase::Prepare)?;
        self.push(Event::WorkspaceOpened { opening: opening.clone() });
        if self.state.wants_setup() {
            self.enter(Phase::Setup);
        } else {
            self.begin();
        }
        Ok(())
    }

    pub(super) fn set_up(&mut self) -> Result<(), Refusal> {
        self.expect_running(Phase::Setup)?;
        self.push(Event::WorkspaceSetUp);
        self.begin();
        Ok(())
    }

    /// The workspace is ready.
    fn begin(&mut self) {
        if self.state.wants_baseline() {
            self.enter(Phase::Baseline);
        } else {
            self.start_turn_or_next_iteration();
        }
    }

    pub(super) fn workspace_failed(&mut self, failure: &WorkspaceFailure) -> Result<(), Refusal> {
        self.expect_under_way()?;
        if self.state.status != Status::Running {
            return Err(Refusal::Stale);
        }
        let reason = match failure {
            WorkspaceFailure::Missing { message } => StopReason::WorkspaceMissing { message: message.clone() },
            WorkspaceFailure::Setup { message } => StopReason::SetupFailed { message: message.clone() },
        };
        // Whoever stops or pauses the loop needs no workspace for it.
        self.unless_told_to_rest(|batch| batch.stop_loop(reason));
        Ok(())
    }

    pub(super) fn start_turn_or_next_iteration(&mut self) {
        match self.state.due_again().map(|due| due.key) {
            Some(key) => {
                if let Some(limit) = self.limit_of_another_attempt() {
                    return self.target_or_limit(limit);
                }
                // A turn that never ran left nothing that the next attempt would have to know of.
                let recovery = self.state.last_turn.as_ref().is_some_and(|last| match last.report.outcome {
                    TurnOutcome::NotStarted { .. } => false,
                    TurnOutcome::NotTried { began, .. } => began,
                    TurnOutcome::Finished
                    | TurnOutcome::Failed { .. }
                    | TurnOutcome::RateLimited { .. }
                    | TurnOutcome::Interrupted
                    | TurnOutcome::CutOff => true,
                });
                self.unless_told_to_rest(|batch| batch.start_turn(key.next_attempt(), recovery));
            }
            None => self.next_step(),
        }
    }

    /// Another attempt is not another iteration, but it takes time and money.
    fn limit_of_another_attempt(&self) -> Option<StopReason> {
        let side_turn = self.state.review.as_ref().is_some_and(|review| review.due || review.finishing);
        if self.state.due_again().is_none() && !side_turn {
            return None;
        }
        StopReason::spent_limit(&self.state, self.now)
    }
}
