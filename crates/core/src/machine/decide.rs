//! The rules: what an input means in a state.
//!
//! Each rule pushes events onto a batch, which folds them at once, so a later rule sees what an earlier one decided.
//! One batch is one durable transaction.

use jiff::Timestamp;
use thiserror::Error;

use super::effect::{TimerKind, later};
use super::event::{Event, Interrupt, Opener, RefusedBecause, SessionUse, StallStep};
use super::evolve::apply;
use super::input::{CheckpointReport, GateKey, GateReport, Input, Raise, WorkspaceFailure, WorkspaceOpening};
use super::state::{LoopState, Phase, Wish};
use crate::agent::{ErrorKind, TurnOutcome, TurnReport};
use crate::ids::{Role, TurnKey};
use crate::spec::{Done, OnFailure, OnLimit};
use crate::stop::{End, PauseReason, Status, StopReason};
use crate::usage::UsageByModel;

/// Why an input changes nothing.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    #[error("the answer is to something that is no longer wanted")]
    Stale,
    #[error("the loop has ended as {}", .end.name())]
    Ended { end: End },
    #[error("the loop is completed, which is final")]
    Completed,
    #[error("the loop is already under way")]
    UnderWay,
    #[error("the loop is not under way")]
    NotUnderWay,
    #[error("the limit that ended the loop still stands ({})", .limit.name())]
    LimitStands { limit: StopReason },
    #[error("the loop is already asked to do that")]
    AlreadyAsked,
    #[error("the loop has no such limit to raise: {limit}")]
    NoSuchLimit { limit: &'static str },
}

/// So many cut-offs in a row end a loop.
pub const MAX_CUT_OFFS: u32 = 3;
/// So many waits in a row for a provider that does not answer become a failure.
const MAX_WAITS: u32 = 20;
/// Iterations with the same tree and the same failing gates before each step.
const SAME_BEFORE_NUDGE: u32 = 3;
const SAME_BEFORE_FRESH_SESSION: u32 = 5;
const SAME_BEFORE_STOP: u32 = 8;

pub fn decide(state: &LoopState, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    let mut batch = Batch { state: state.clone(), now, events: Vec::new() };
    match input {
        Input::Open { by, raise } => batch.open(*by, raise)?,
        Input::Attach => batch.attach()?,
        Input::Shutdown => batch.interrupt_turn(Interrupt::Shutdown)?,
        Input::WorkspaceOpened { opening } => batch.workspace_opened(opening)?,
        Input::WorkspaceFailed { failure } => batch.workspace_failed(failure)?,
        Input::SessionSeen { turn, session } => batch.session_seen(*turn, session)?,
        Input::UsageSeen { turn, usage } => batch.usage_seen(*turn, usage)?,
        Input::Stalled { turn } => {
            batch.expect_turn(*turn)?;
            batch.interrupt_turn(Interrupt::Stall)?;
        }
        Input::TurnEnded { turn, report } => batch.turn_ended(*turn, report)?,
        Input::Checkpointed { turn, checkpoint } => batch.checkpointed(*turn, checkpoint)?,
        Input::GateEnded { gate, report } => batch.gate_ended(gate, report)?,
        Input::TimerFired { timer } => batch.timer_fired(*timer)?,
        Input::Stop => batch.stop()?,
        Input::Pause { now } => batch.pause(*now)?,
        Input::Steer { id, text } => batch.steer(id, text)?,
    }
    Ok(batch.events)
}

struct Batch {
    state: LoopState,
    now: Timestamp,
    events: Vec<Event>,
}

impl Batch {
    fn push(&mut self, event: Event) {
        apply(&mut self.state, self.now, &event);
        self.events.push(event);
    }

    fn enter(&mut self, phase: Phase) {
        self.push(Event::PhaseEntered { phase, iteration: self.state.iteration });
    }

    // ---- opening and closing ----

    fn open(&mut self, by: Opener, raise: &Raise) -> Result<(), Refusal> {
        match &self.state.status {
            Status::Ended { end: End::Completed } => return Err(Refusal::Completed),
            Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
        }
        self.check_raise(raise)?;
        self.push(Event::LoopOpened { by, raise: raise.clone() });
        if self.state.workspace.is_none() {
            self.prepare();
            return Ok(());
        }
        self.go_on();
        // Opening a loop only to end it at the same limit again would tell the person nothing.
        match self.events.last() {
            Some(Event::LoopStopped { stop_reason, .. }) => Err(Refusal::LimitStands { limit: stop_reason.clone() }),
            Some(Event::LoopPaused { why: PauseReason::Limit { limit } }) => {
                Err(Refusal::LimitStands { limit: limit.clone() })
            }
            _ => Ok(()),
        }
    }

    /// A raise of a limit that the loop does not have is a misunderstanding, not a new limit.
    fn check_raise(&self, raise: &Raise) -> Result<(), Refusal> {
        let limits = &self.state.spec.limits;
        let asked = [
            (raise.max_iterations > 0 && limits.max_iterations.is_none(), "max_iterations"),
            (raise.duration_ms > 0 && limits.duration_ms.is_none(), "duration"),
            (raise.budget_usd > 0.0 && limits.budget_usd.is_none(), "budget_usd"),
            (raise.max_tokens > 0 && limits.max_tokens.is_none(), "max_tokens"),
        ];
        match asked.into_iter().find(|(missing, _)| *missing) {
            Some((_, limit)) => Err(Refusal::NoSuchLimit { limit }),
            None => Ok(()),
        }
    }

    fn attach(&mut self) -> Result<(), Refusal> {
        self.expect_under_way()?;
        self.push(Event::DriverAttached);
        Ok(())
    }

    /// Goes on from wherever the loop was left.
    fn go_on(&mut self) {
        match self.state.phase {
            Phase::Prepare | Phase::Work => self.prepare(),
            // What these phases want is derived from the state, and stands.
            Phase::Checkpoint | Phase::Gates => {}
            Phase::Decide => self.next_iteration(),
        }
    }

    fn stop_loop(&mut self, stop_reason: StopReason) {
        let status = stop_reason.end();
        self.push(Event::LoopStopped {
            status,
            verified: status == End::Completed && !self.state.gates.is_empty(),
            stop_reason,
            iterations: self.state.iteration,
            head_commit: self.state.head_commit().map(str::to_owned),
            usage: self.state.usage.total(),
        });
    }

    fn limit_reached(&mut self, limit: StopReason) {
        match self.state.spec.on_limit {
            OnLimit::Stop => self.stop_loop(limit),
            OnLimit::Pause => self.push(Event::LoopPaused { why: PauseReason::Limit { limit } }),
        }
    }

    // ---- what people ask for ----

    fn stop(&mut self) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status {
            return Err(Refusal::Ended { end });
        }
        if self.state.wish == Some(Wish::Stop) {
            return Err(Refusal::AlreadyAsked);
        }
        self.push(Event::StopRequested);
        let running = self.state.status == Status::Running;
        match self.state.phase {
            Phase::Work if running && self.state.turn.is_some() && !self.state.is_external() => {
                // An interrupt that is under way already ends the turn; the wish decides what follows.
                let _ = self.interrupt_turn(Interrupt::Stop);
            }
            // A commit is not interruptible; the wish is looked at when it is made.
            Phase::Checkpoint if running => {}
            Phase::Prepare | Phase::Work | Phase::Checkpoint | Phase::Gates | Phase::Decide => {
                self.stop_loop(StopReason::Cancelled);
            }
        }
        Ok(())
    }

    fn pause(&mut self, at_once: bool) -> Result<(), Refusal> {
        match &self.state.status {
            Status::Ended { end } => return Err(Refusal::Ended { end: *end }),
            Status::Queued | Status::Paused { .. } => return Err(Refusal::NotUnderWay),
            Status::Waiting { .. } => {
                self.push(Event::PauseRequested { now: at_once });
                self.push(Event::LoopPaused { why: PauseReason::Person });
                return Ok(());
            }
            Status::Running => {}
        }
        if self.state.wish.is_some() && !at_once {
            return Err(Refusal::AlreadyAsked);
        }
        self.push(Event::PauseRequested { now: at_once });
        if at_once && self.state.phase == Phase::Work {
            let _ = self.interrupt_turn(Interrupt::Pause);
        }
        if at_once && self.state.phase == Phase::Gates {
            self.push(Event::LoopPaused { why: PauseReason::Person });
        }
        Ok(())
    }

    fn steer(&mut self, id: &str, text: &str) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status {
            return Err(Refusal::Ended { end });
        }
        if self.state.steering.iter().any(|message| message.id == id) {
            return Err(Refusal::AlreadyAsked);
        }
        self.push(Event::SteeringQueued { id: id.to_owned(), text: text.to_owned() });
        Ok(())
    }

    // ---- the workspace ----

    fn prepare(&mut self) {
        self.enter(Phase::Prepare);
        if self.state.is_external() {
            self.start_turn_or_next_iteration();
        }
    }

    fn workspace_opened(&mut self, opening: &WorkspaceOpening) -> Result<(), Refusal> {
        self.expect_running(Phase::Prepare)?;
        self.push(Event::WorkspaceOpened { opening: opening.clone() });
        self.start_turn_or_next_iteration();
        Ok(())
    }

    fn workspace_failed(&mut self, failure: &WorkspaceFailure) -> Result<(), Refusal> {
        self.expect_under_way()?;
        self.stop_loop(match failure {
            WorkspaceFailure::Missing { message } => StopReason::WorkspaceMissing { message: message.clone() },
            WorkspaceFailure::Setup { message } => StopReason::SetupFailed { message: message.clone() },
        });
        Ok(())
    }

    fn start_turn_or_next_iteration(&mut self) {
        match self.state.due_again().map(|due| due.key) {
            Some(key) => {
                // A turn that never ran left nothing that the next attempt would have to know of.
                let recovery = self.state.last_turn.as_ref().is_some_and(|last| match last.report.outcome {
                    TurnOutcome::NotStarted { .. } => false,
                    TurnOutcome::Finished
                    | TurnOutcome::Failed { .. }
                    | TurnOutcome::RateLimited { .. }
                    | TurnOutcome::Interrupted
                    | TurnOutcome::CutOff => true,
                });
                self.start_turn(key.next_attempt(), recovery);
            }
            None => self.next_iteration(),
        }
    }

    // ---- turns ----

    fn start_turn(&mut self, turn: TurnKey, recovery: bool) {
        let session = self.state.next_session(turn.role);
        let steering = self.state.undelivered_steering().map(|message| message.id.clone()).collect();
        let turn_id = self.state.turn_id(turn);
        // A fresh session with a tree put back has nothing to recover from.
        let recovery = recovery && matches!(session, SessionUse::Resume { .. });
        self.push(Event::TurnStarted { turn, turn_id, session, steering, recovery });
    }

    fn interrupt_turn(&mut self, why: Interrupt) -> Result<(), Refusal> {
        self.expect_running(Phase::Work)?;
        match &self.state.turn {
            Some(running) if running.interrupt.is_none() => {
                let turn = running.key;
                self.push(Event::TurnInterrupted { turn, why });
                Ok(())
            }
            Some(_) => Err(Refusal::AlreadyAsked),
            None => Err(Refusal::NotUnderWay),
        }
    }

    fn session_seen(&mut self, turn: TurnKey, session: &str) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        if self.state.sessions.get(&turn.role).map(String::as_str) != Some(session) {
            self.push(Event::SessionFound { turn, session: session.to_owned() });
        }
        Ok(())
    }

    fn usage_seen(&mut self, turn: TurnKey, usage: &UsageByModel) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        let mut used = self.state.usage.total();
        used.add(&crate::usage::total(usage));
        if let Some(limit) = StopReason::overspent(&self.state, &used) {
            // Already interrupted is as good.
            let _ = self.interrupt_turn(Interrupt::Limit { limit });
        }
        Ok(())
    }

    fn turn_ended(&mut self, turn: TurnKey, report: &TurnReport) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        self.push(Event::TurnEnded { turn, report: report.clone() });
        match &report.outcome {
            TurnOutcome::Finished => self.close_turn(),
            TurnOutcome::Interrupted => self.turn_interrupted(),
            TurnOutcome::CutOff if self.state.wish == Some(Wish::Stop) => self.stop_loop(StopReason::Cancelled),
            TurnOutcome::CutOff if self.state.counters.cut_offs >= MAX_CUT_OFFS => {
                self.stop_loop(StopReason::CutOff { times: self.state.counters.cut_offs });
            }
            TurnOutcome::CutOff => self.pause_or(Self::prepare),
            TurnOutcome::RateLimited { until, message } => {
                let until = until.unwrap_or_else(|| later(self.now, rate_limit_wait_ms(self.state.counters.waits)));
                self.wait(until.max(self.now), format!("rate limit: {message}"));
            }
            TurnOutcome::NotStarted { message, missing: true } => {
                self.stop_loop(StopReason::AgentMissing { message: message.clone() });
            }
            TurnOutcome::NotStarted { message, missing: false } => {
                self.stop_loop(StopReason::AgentFailed { message: message.clone() });
            }
            TurnOutcome::Failed { kind, message } => self.turn_failed(turn, *kind, message),
        }
        Ok(())
    }

    fn turn_interrupted(&mut self) {
        if self.state.wish == Some(Wish::Stop) {
            return self.stop_loop(StopReason::Cancelled);
        }
        match self.state.last_turn.as_ref().and_then(|last| last.interrupt.clone()) {
            Some(Interrupt::Stop) => self.stop_loop(StopReason::Cancelled),
            Some(Interrupt::Pause) => self.push(Event::LoopPaused { why: PauseReason::Person }),
            Some(Interrupt::Stall) if self.state.counters.stalls >= self.state.spec.time.max_stalls => {
                self.stop_loop(StopReason::Stall { stalls: self.state.counters.stalls });
            }
            Some(Interrupt::Stall | Interrupt::Shutdown) | None => self.pause_or(Self::prepare),
            Some(Interrupt::TurnTimeout | Interrupt::Limit { .. }) => self.close_turn(),
        }
    }

    fn turn_failed(&mut self, turn: TurnKey, kind: ErrorKind, message: &str) {
        if self.state.wish == Some(Wish::Stop) {
            return self.stop_loop(StopReason::Cancelled);
        }
        match kind {
            ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::Network => {
                if self.state.counters.waits >= MAX_WAITS {
                    return self.stop_loop(StopReason::ProviderLimit { message: message.to_owned() });
                }
                let until = later(self.now, back_off_ms(self.state.counters.waits));
                self.wait(until, format!("the provider does not answer: {message}"));
            }
            ErrorKind::ContextOverflow | ErrorKind::UnknownSession => {
                // A fresh session that fails in the same way would go on for ever.
                if self.state.counters.failures > 2 {
                    return self.stop_loop(StopReason::AgentFailed { message: message.to_owned() });
                }
                self.push(Event::SessionLost { turn, message: message.to_owned() });
                self.pause_or(Self::prepare);
            }
            ErrorKind::Auth => self.push(Event::LoopPaused { why: PauseReason::Auth { message: message.to_owned() } }),
            ErrorKind::ModelNotFound | ErrorKind::Other => self.close_turn(),
        }
    }

    /// The turn is over, well or not; its work is committed before anything judges it.
    fn close_turn(&mut self) {
        if self.state.is_external() {
            self.turn_closed();
        } else {
            self.enter(Phase::Checkpoint);
        }
    }

    fn checkpointed(&mut self, turn: TurnKey, checkpoint: &CheckpointReport) -> Result<(), Refusal> {
        self.expect_running(Phase::Checkpoint)?;
        if self.state.last_turn.as_ref().map(|last| last.key) != Some(turn) {
            return Err(Refusal::Stale);
        }
        self.push(Event::Checkpointed { turn, checkpoint: checkpoint.clone() });
        self.turn_closed();
        Ok(())
    }

    fn turn_closed(&mut self) {
        let Some(last) = self.state.last_turn.clone() else { return };
        if self.state.wish == Some(Wish::Stop) {
            self.enter(if last.report.outcome.is_finished() { Phase::Gates } else { Phase::Decide });
            return self.stop_loop(StopReason::Cancelled);
        }
        let target_reached = match &last.interrupt {
            Some(Interrupt::Limit { limit: StopReason::Duration { .. } }) => self.time_is_the_target(),
            Some(_) | None => false,
        };
        if !last.report.outcome.is_finished() && !target_reached {
            self.enter(Phase::Decide);
            return match last.interrupt {
                Some(Interrupt::Limit { limit }) => self.limit_reached(limit),
                Some(_) | None => self.after_failure(&last.report.outcome),
            };
        }
        if self.state.spec.gates.is_empty() {
            self.conclude();
        } else {
            self.enter(Phase::Gates);
        }
    }

    fn time_is_the_target(&self) -> bool {
        matches!(self.state.spec.done, Done::Duration { .. })
    }

    fn after_failure(&mut self, outcome: &TurnOutcome) {
        let message = match outcome {
            TurnOutcome::Failed { message, .. } => message.clone(),
            TurnOutcome::Interrupted => "the turn ran into its time limit".to_owned(),
            TurnOutcome::Finished
            | TurnOutcome::RateLimited { .. }
            | TurnOutcome::NotStarted { .. }
            | TurnOutcome::CutOff => String::new(),
        };
        let failures = self.state.counters.failures;
        match self.state.spec.on_failure {
            OnFailure::Stop => self.stop_loop(StopReason::AgentFailed { message }),
            OnFailure::Retry { times } if failures > times => self.stop_loop(StopReason::ErrorMaxRetries { message }),
            OnFailure::Continue | OnFailure::Retry { .. } => {
                if let Some(limit) = StopReason::reached_limit(&self.state, self.now) {
                    return self.target_or_limit(limit);
                }
                let until = later(self.now, back_off_ms(failures.saturating_sub(1)));
                self.wait(until, format!("the agent failed: {message}"));
            }
        }
    }

    fn wait(&mut self, until: Timestamp, why: String) {
        if self.state.wish == Some(Wish::Stop) {
            return self.stop_loop(StopReason::Cancelled);
        }
        self.pause_or(|batch| batch.push(Event::WaitStarted { until, why }));
    }

    fn pause_or(&mut self, otherwise: impl FnOnce(&mut Self)) {
        if self.state.wish == Some(Wish::Pause) {
            self.push(Event::LoopPaused { why: PauseReason::Person });
        } else {
            otherwise(self);
        }
    }

    // ---- gates and what follows ----

    fn gate_ended(&mut self, gate: &GateKey, report: &GateReport) -> Result<(), Refusal> {
        self.expect_running(Phase::Gates)?;
        let wanted = GateKey { iteration: self.state.iteration, index: self.state.gates.len() };
        if *gate != wanted {
            return Err(Refusal::Stale);
        }
        self.push(Event::GateEnded { gate: gate.clone(), report: report.clone() });
        if self.state.gates.len() == self.state.spec.gates.len() {
            self.conclude();
        }
        Ok(())
    }

    /// All facts of the iteration are in.
    fn conclude(&mut self) {
        let iteration = self.state.iteration;
        let failing = self.state.failing_gates();
        let claim = match self.state.spec.done {
            Done::Promise { .. } => self.state.last_turn.as_ref().is_some_and(|last| last.report.claim),
            Done::Gates => true,
            Done::Count { iterations } => iteration >= iterations,
            Done::Duration { ms } => self.state.elapsed_at(self.now) >= ms,
        };
        self.push(Event::IterationJudged { iteration, claim, failing: failing.clone() });
        if claim && self.accept_claim(failing) {
            return;
        }
        self.watch_progress();
        if self.state.is_open() {
            self.next_iteration();
        }
    }

    /// Whether the loop is over by this claim.
    fn accept_claim(&mut self, failing: Vec<String>) -> bool {
        let iteration = self.state.iteration;
        let target = match self.state.spec.done {
            Done::Count { .. } | Done::Duration { .. } => true,
            Done::Promise { .. } | Done::Gates => false,
        };
        if !failing.is_empty() {
            if target {
                self.stop_loop(StopReason::GatesFailed { gates: failing });
            } else {
                self.push(Event::ClaimRefused { iteration, because: RefusedBecause::Gates { failing } });
            }
            return target;
        }
        if self.state.undelivered_steering().next().is_some() && !target {
            self.push(Event::ClaimRefused { iteration, because: RefusedBecause::SteeringPending });
            return false;
        }
        self.stop_loop(StopReason::Completed);
        true
    }

    fn watch_progress(&mut self) {
        let iterations = self.state.counters.same;
        let step = match iterations {
            SAME_BEFORE_NUDGE => StallStep::Nudge,
            SAME_BEFORE_FRESH_SESSION => StallStep::FreshSession,
            SAME_BEFORE_STOP.. => StallStep::Stop,
            _ => return,
        };
        self.push(Event::ProgressStalled { iterations, step });
        if step == StallStep::Stop {
            self.stop_loop(StopReason::NoProgress { iterations });
        }
    }

    fn next_iteration(&mut self) {
        if self.state.phase != Phase::Decide && self.state.iteration > 0 {
            self.enter(Phase::Decide);
        }
        if let Some(limit) = StopReason::reached_limit(&self.state, self.now) {
            return self.target_or_limit(limit);
        }
        if self.state.wish == Some(Wish::Pause) {
            return self.push(Event::LoopPaused { why: PauseReason::Person });
        }
        let iteration = self.state.iteration + 1;
        self.push(Event::IterationStarted { iteration });
        self.start_turn(TurnKey::first(iteration, Role::Coder), false);
    }

    /// A refine loop whose time or count is up between two turns has reached its target, not a limit.
    fn target_or_limit(&mut self, limit: StopReason) {
        let is_target = match limit {
            StopReason::Duration { .. } => self.time_is_the_target(),
            StopReason::MaxIterations { .. } => match self.state.spec.done {
                Done::Count { iterations } => self.state.iteration >= iterations,
                Done::Promise { .. } | Done::Gates | Done::Duration { .. } => false,
            },
            _ => false,
        };
        let failing = self.state.failing_gates();
        match is_target {
            true if failing.is_empty() => self.stop_loop(StopReason::Completed),
            true => self.stop_loop(StopReason::GatesFailed { gates: failing }),
            false => self.limit_reached(limit),
        }
    }

    // ---- timers ----

    fn timer_fired(&mut self, timer: TimerKind) -> Result<(), Refusal> {
        match timer {
            TimerKind::Wait => match self.state.status {
                Status::Waiting { until, .. } if until <= self.now => {
                    self.push(Event::WaitEnded);
                    self.go_on();
                    Ok(())
                }
                _ => Err(Refusal::Stale),
            },
            TimerKind::TurnTimeout(turn) => {
                self.expect_turn(turn)?;
                let started_at = self.state.turn.as_ref().map(|running| running.started_at);
                if started_at.is_some_and(|at| later(at, self.state.spec.time.turn_timeout_ms) <= self.now) {
                    self.interrupt_turn(Interrupt::TurnTimeout)
                } else {
                    Err(Refusal::Stale)
                }
            }
            TimerKind::Duration => self.time_is_up(),
        }
    }

    fn time_is_up(&mut self) -> Result<(), Refusal> {
        self.expect_under_way()?;
        let Some(limit_ms) = self.state.duration_limit_ms().filter(|ms| self.state.elapsed_at(self.now) >= *ms) else {
            return Err(Refusal::Stale);
        };
        let limit = StopReason::Duration { limit_ms };
        match self.state.status {
            Status::Waiting { .. } => {
                self.push(Event::WaitEnded);
                self.target_or_limit(limit);
                Ok(())
            }
            _ => self.interrupt_turn(Interrupt::Limit { limit }),
        }
    }

    // ---- what an input may rely on ----

    fn expect_under_way(&self) -> Result<(), Refusal> {
        match self.state.status {
            Status::Running | Status::Waiting { .. } => Ok(()),
            Status::Ended { end } => Err(Refusal::Ended { end }),
            Status::Queued | Status::Paused { .. } => Err(Refusal::NotUnderWay),
        }
    }

    fn expect_running(&self, phase: Phase) -> Result<(), Refusal> {
        if self.state.status == Status::Running && self.state.phase == phase { Ok(()) } else { Err(Refusal::Stale) }
    }

    fn expect_turn(&self, turn: TurnKey) -> Result<(), Refusal> {
        self.expect_running(Phase::Work)?;
        match &self.state.turn {
            Some(running) if running.key == turn => Ok(()),
            Some(_) | None => Err(Refusal::Stale),
        }
    }
}

/// 10 s, 20 s, 40 s … at most 5 minutes.
fn back_off_ms(tries_before: u32) -> u64 {
    (10_000_u64 << tries_before.min(5)).min(300_000)
}

/// A provider that does not say when: 5, 10, 20, 40 and then 60 minutes.
fn rate_limit_wait_ms(waits_before: u32) -> u64 {
    (300_000_u64 << waits_before.min(4)).min(3_600_000)
}
