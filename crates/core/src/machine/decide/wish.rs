//! What people ask of a loop: stop, pause, steer, go back.

use super::{Batch, Refusal};
use crate::ids::Role;
use crate::machine::activity::Doing;
use crate::machine::event::{Event, Interrupt};
use crate::machine::state::Wish;
use crate::machine::turn::RunningTurn;
use crate::residue::Leftover;
use crate::stop::{PauseReason, Status, StopReason};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Soonest {
    Now,
    /// Once the turn is ended for it.
    AfterInterrupt,
    /// A turn that is ended already, or a commit, comes to its end first; the wish is looked at before the next turn.
    Later,
}

impl Batch {
    pub(super) fn stop(&mut self) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status() {
            return Err(Refusal::Ended { end });
        }
        if self.state.wish == Some(Wish::Stop) {
            return Err(Refusal::AlreadyAsked);
        }
        self.push(Event::StopRequested);
        match self.state.running() {
            Some(Doing::Turn(_)) if !self.state.is_external() => {
                // An interrupt that is under way already ends the turn; the wish decides what follows.
                let _ = self.interrupt_turn(Interrupt::Stop);
            }
            // A commit is made, or given up after a while; the wish is looked at then.
            Some(Doing::Checkpoint { .. } | Doing::Seal { .. } | Doing::Undo { .. }) => {}
            Some(
                Doing::OpenWorkspace { .. }
                | Doing::SetUp { .. }
                | Doing::Baseline { .. }
                | Doing::Turn(_)
                | Doing::Summarise { .. }
                | Doing::Gates,
            )
            | None => self.stop_loop(StopReason::Cancelled),
        }
        Ok(())
    }

    pub(super) fn network_denied(&mut self, host: &str, why: &str, count: u64) -> Result<(), Refusal> {
        self.expect_under_way()?;
        // A new driver counts from one again.
        if self.state.denied_hosts.get(host).is_some_and(|known| *known >= count) {
            return Err(Refusal::Stale);
        }
        self.push(Event::NetworkDenied { host: host.to_owned(), why: why.to_owned(), count });
        Ok(())
    }

    pub(super) fn residue_checked(&mut self, left: &[Leftover]) -> Result<(), Refusal> {
        match self.state.status() {
            Status::Ended { .. } | Status::Paused { .. } => {}
            Status::Queued | Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
        }
        self.push(Event::ResidueChecked { left: left.to_vec() });
        Ok(())
    }

    pub(super) fn pause(&mut self, at_once: bool) -> Result<(), Refusal> {
        match self.state.status() {
            Status::Ended { end } => return Err(Refusal::Ended { end }),
            Status::Paused { .. } => return Err(Refusal::NotUnderWay),
            Status::Queued if !self.state.awaits_place() => return Err(Refusal::NotUnderWay),
            // A stop that waits for a commit, and then for a place, is not taken back either.
            Status::Queued if self.state.wish == Some(Wish::Stop) => return Err(Refusal::AlreadyAsked),
            Status::Queued | Status::Waiting { .. } => {
                self.push(Event::PauseRequested { now: at_once });
                self.push(Event::LoopPaused { why: PauseReason::Person });
                return Ok(());
            }
            Status::Running => {}
        }
        let soonest = self.soonest_pause();
        match self.state.wish {
            // A stop is more than a pause and is not taken back by one.
            Some(Wish::Stop) => return Err(Refusal::AlreadyAsked),
            Some(Wish::Pause) if !at_once || soonest == Soonest::Later => return Err(Refusal::AlreadyAsked),
            Some(Wish::Pause) | None => {}
        }
        self.push(Event::PauseRequested { now: at_once });
        if at_once {
            match soonest {
                Soonest::AfterInterrupt => self.interrupt_turn(Interrupt::Pause)?,
                Soonest::Now => self.push(Event::LoopPaused { why: PauseReason::Person }),
                Soonest::Later => {}
            }
        }
        Ok(())
    }

    /// When a loop that runs can pause.
    fn soonest_pause(&self) -> Soonest {
        match self.state.running() {
            Some(Doing::Turn(turn)) if turn.interrupt.is_none() => Soonest::AfterInterrupt,
            Some(
                Doing::OpenWorkspace { .. }
                | Doing::SetUp { .. }
                | Doing::Baseline { .. }
                | Doing::Summarise { .. }
                | Doing::Gates,
            ) => Soonest::Now,
            Some(Doing::Turn(_) | Doing::Checkpoint { .. } | Doing::Seal { .. } | Doing::Undo { .. }) | None => {
                Soonest::Later
            }
        }
    }

    /// Whether a turn of the coder runs that nothing ends yet.
    fn coder_at_work(&self) -> bool {
        let is_free = |turn: &RunningTurn| turn.key.role == Role::Coder && turn.interrupt.is_none();
        !self.state.is_external() && self.running_turn().is_some_and(is_free)
    }

    /// Nothing may be at work in the tree while it moves.
    pub(super) fn rolled_back(
        &mut self,
        to_iteration: u32,
        commit: &str,
        tree: &str,
        saved: Option<&str>,
    ) -> Result<(), Refusal> {
        self.expect_rest()?;
        if self.state.workspace.is_none() || to_iteration > self.state.iteration {
            return Err(Refusal::Stale);
        }
        self.push(Event::RolledBack {
            to_iteration,
            commit: commit.to_owned(),
            tree: tree.to_owned(),
            saved: saved.map(str::to_owned),
        });
        Ok(())
    }

    /// Without a coder at work the next turn is as soon as can be.
    pub(super) fn steer(&mut self, id: &str, text: &str, at_once: bool) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status() {
            return Err(Refusal::Ended { end });
        }
        if self.state.steering.iter().any(|message| message.id == id) {
            return Err(Refusal::AlreadyAsked);
        }
        let interrupts = at_once && self.coder_at_work();
        if interrupts && !self.state.sessions.contains_key(&Role::Coder) {
            return Err(Refusal::NoSession);
        }
        self.push(Event::SteeringQueued { id: id.to_owned(), text: text.to_owned() });
        if interrupts {
            self.interrupt_turn(Interrupt::Steer)?;
        }
        Ok(())
    }
}
