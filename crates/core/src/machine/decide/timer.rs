//! Times that were waited for.

use super::{Batch, Refusal};
use crate::machine::activity::{Activity, Doing};
use crate::machine::effect::{TimerKind, later};
use crate::machine::event::{Event, Interrupt};
use crate::stop::{Status, StopReason};

impl Batch {
    pub(super) fn timer_fired(&mut self, timer: TimerKind) -> Result<(), Refusal> {
        match timer {
            TimerKind::Wait => match self.state.status() {
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
                let started_at = self.expect_turn(turn)?.started_at;
                if later(started_at, self.state.spec.time.turn_timeout_ms) > self.now {
                    return Err(Refusal::Stale);
                }
                self.interrupt_turn(Interrupt::TurnTimeout)
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
        match &self.state.activity {
            // What the turn did is recorded first, however often that could not be tried.
            Activity::Waiting { then, .. } if then.closes_work() => Err(Refusal::Stale),
            Activity::Waiting { .. } => {
                self.push(Event::WaitEnded);
                self.target_or_limit(limit);
                Ok(())
            }
            Activity::Running(doing) => match doing {
                Doing::Turn(_) => self.interrupt_turn(Interrupt::Limit { limit }),
                Doing::SetUp { .. } | Doing::Baseline { .. } | Doing::Gates if self.state.duration_ends_phase() => {
                    self.limit_reached(limit);
                    Ok(())
                }
                // Looked at before what comes next.
                Doing::OpenWorkspace { .. }
                | Doing::SetUp { .. }
                | Doing::Baseline { .. }
                | Doing::Summarise { .. }
                | Doing::Gates
                | Doing::Checkpoint { .. }
                | Doing::Seal { .. }
                | Doing::Undo { .. } => Err(Refusal::Stale),
            },
            Activity::Created
            | Activity::Queued { .. }
            | Activity::Deciding(_)
            | Activity::Paused { .. }
            | Activity::Completed { .. }
            | Activity::Stopped { .. } => Err(Refusal::Stale),
        }
    }
}
