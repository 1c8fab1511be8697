//! Times that were waited for.

use super::{Batch, Refusal};
use crate::machine::effect::{TimerKind, later};
use crate::machine::event::{Event, Interrupt};
use crate::machine::state::Phase;
use crate::stop::{Status, StopReason};

impl Batch {
    pub(super) fn timer_fired(&mut self, timer: TimerKind) -> Result<(), Refusal> {
        match timer {
            TimerKind::Wait => match self.state.status {
                Status::Waiting { until, .. } if until <= self.now => {
                    self.push(Event::WaitEnded);
                    self.go_on();
                    Ok(())
                }
                Status::Queued
                | Status::Running
                | Status::Waiting { .. }
                | Status::Paused { .. }
                | Status::Ended { .. } => Err(Refusal::Stale),
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

    pub(super) fn time_is_up(&mut self) -> Result<(), Refusal> {
        self.expect_under_way()?;
        let Some(limit_ms) = self.state.duration_limit_ms().filter(|ms| self.state.elapsed_at(self.now) >= *ms) else {
            return Err(Refusal::Stale);
        };
        let limit = StopReason::Duration { limit_ms };
        match self.state.status {
            // What the turn did is recorded first, however often that could not be tried.
            Status::Waiting { .. } if self.state.phase.closes_work() => Err(Refusal::Stale),
            Status::Waiting { .. } => {
                self.push(Event::WaitEnded);
                self.target_or_limit(limit);
                Ok(())
            }
            Status::Running => match self.state.phase {
                Phase::Work | Phase::Plan | Phase::Review | Phase::PostAction => {
                    self.interrupt_turn(Interrupt::Limit { limit })
                }
                Phase::Setup | Phase::Baseline | Phase::Gates if self.state.duration_ends_phase() => {
                    self.limit_reached(limit);
                    Ok(())
                }
                // Looked at before what comes next.
                Phase::Prepare
                | Phase::Setup
                | Phase::Baseline
                | Phase::Summarise
                | Phase::Gates
                | Phase::Checkpoint
                | Phase::Decide
                | Phase::Seal
                | Phase::Undo => Err(Refusal::Stale),
            },
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => Err(Refusal::Stale),
        }
    }
}
