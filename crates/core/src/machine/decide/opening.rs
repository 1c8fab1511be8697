//! Where a stretch begins and goes on from: opening a loop, its workspace, the turn that comes first.

use jiff::Timestamp;

use super::{Batch, Refusal};
use crate::machine::activity::{Activity, Doing, Next, Phase, Then};
use crate::machine::event::{Event, Opener};
use crate::machine::input::{Raise, WorkspaceFailure, WorkspaceOpening};
use crate::machine::state::Wish;
use crate::stop::{End, PauseReason, Status, StopReason};

impl Batch {
    pub(super) fn open(&mut self, by: Opener, raise: &Raise) -> Result<(), Refusal> {
        match &self.state.status() {
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
        match self.state.status() {
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
        match &self.state.activity {
            Activity::Stopped { reason, .. } if reason.end() == End::Exhausted => Some(reason.clone()),
            Activity::Paused { why: PauseReason::Limit { limit }, .. } => Some(limit.clone()),
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Running(_)
            | Activity::Deciding(_)
            | Activity::Waiting { .. }
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => None,
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

    /// What no commit holds is lost. A tree that belongs to the user, or that is never committed, cannot move.
    pub(super) fn moved(&mut self, from: Option<&str>, to: &str) -> Result<(), Refusal> {
        self.expect_under_way()?;
        if self.state.workspace.is_none() || !self.state.can_move() {
            return Err(Refusal::Stale);
        }
        self.push(Event::LoopMoved { from: from.map(str::to_owned), to: to.to_owned() });
        if let Activity::Deciding(Next::Reopen(_)) = &self.state.activity {
            self.unless_told_to_rest(Self::prepare);
        }
        Ok(())
    }

    /// Only what is about to run needs a place.
    pub(super) fn queue(&mut self, max_running: u32) -> Result<(), Refusal> {
        match self.state.status() {
            // It only has to end, which takes no place; queued, it could not be stopped.
            Status::Running if self.state.wish == Some(Wish::Stop) => Err(Refusal::AlreadyAsked),
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
        // A loop that was never opened has nothing to go on with.
        if !self.state.awaits_place() {
            return Err(Refusal::Stale);
        }
        self.push(Event::QueueLeft { turn_began });
        Ok(())
    }

    /// Goes on from wherever the loop was left.
    pub(super) fn go_on(&mut self) {
        match &self.state.activity {
            Activity::Deciding(Next::Reopen(_)) => self.prepare(),
            Activity::Deciding(Next::Proceed(_)) => self.next_step(),
            Activity::Running(doing) => match doing {
                Doing::Baseline { .. } if self.state.next_gate().is_none() => self.next_step(),
                // A stop came between the last verdict (or a checkpoint without gates) and what follows from it.
                Doing::Gates if self.state.next_gate().is_none() => self.conclude(),
                // Its timer would end it at once.
                Doing::SetUp { .. } | Doing::Baseline { .. } | Doing::Gates if self.state.duration_ends_phase() => {
                    if let Some(limit) = StopReason::time_is_up(&self.state, self.now) {
                        self.limit_reached(limit);
                    }
                }
                // What is wanted then is derived from the state.
                Doing::OpenWorkspace { .. }
                | Doing::SetUp { .. }
                | Doing::Baseline { .. }
                | Doing::Turn(_)
                | Doing::Summarise { .. }
                | Doing::Checkpoint { .. }
                | Doing::Gates
                | Doing::Seal { .. }
                | Doing::Undo { .. } => {}
            },
            Activity::Deciding(Next::Same(_))
            | Activity::Created
            | Activity::Queued { .. }
            | Activity::Waiting { .. }
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => {}
        }
    }

    /// Opens the workspace for what follows, unless a limit ends that anyway.
    pub(super) fn prepare(&mut self) {
        let limit = match self.state.activity.then() {
            // The next iteration would end at it, once everything is ready. What a target is judged on must be there.
            Some(Then::Work) => StopReason::reached_limit(&self.state, self.now).filter(|limit| !self.is_target(limit)),
            Some(Then::Retry(_) | Then::Plan | Then::Review | Then::PostAction) => {
                StopReason::spent_limit(&self.state, self.now)
            }
            Some(Then::AskPerson) | None => None,
        };
        if let Some(limit) = limit {
            return self.target_or_limit(limit);
        }
        self.enter(Phase::Prepare);
        if self.state.is_external() {
            self.start_turn_or_next_iteration();
        }
    }

    pub(super) fn workspace_opened(&mut self, opening: &WorkspaceOpening) -> Result<(), Refusal> {
        let Some(Doing::OpenWorkspace { .. }) = self.state.running() else { return Err(Refusal::Stale) };
        self.push(Event::WorkspaceOpened { opening: opening.clone() });
        if self.state.wants_setup() {
            self.enter(Phase::Setup);
        } else {
            self.begin();
        }
        Ok(())
    }

    pub(super) fn set_up(&mut self) -> Result<(), Refusal> {
        let Some(Doing::SetUp { .. }) = self.state.running() else { return Err(Refusal::Stale) };
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
        if self.state.running().is_none() {
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

    fn start_turn_or_next_iteration(&mut self) {
        let Some(turn) = self.state.retry().cloned() else { return self.next_step() };
        // Another attempt is not another iteration, but it takes time and money.
        if let Some(limit) = StopReason::spent_limit(&self.state, self.now) {
            return self.target_or_limit(limit);
        }
        self.unless_told_to_rest(|batch| batch.retry_turn(&turn));
    }
}
