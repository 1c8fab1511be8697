//! What people ask of a loop: stop, pause, steer, go back.

use super::{Batch, Refusal};
use crate::ids::Role;
use crate::machine::event::{Event, Interrupt};
use crate::machine::state::{Phase, Wish};
use crate::residue::Leftover;
use crate::stop::{PauseReason, Status, StopReason};

impl Batch {
    pub(super) fn stop(&mut self) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status {
            return Err(Refusal::Ended { end });
        }
        if self.state.wish == Some(Wish::Stop) {
            return Err(Refusal::AlreadyAsked);
        }
        self.push(Event::StopRequested);
        let running = self.state.status == Status::Running;
        match self.state.phase {
            phase if phase.has_turn() && running && self.state.turn.is_some() && !self.state.is_external() => {
                // An interrupt that is under way already ends the turn; the wish decides what follows.
                let _ = self.interrupt_turn(Interrupt::Stop);
            }
            // A commit is not interruptible; the wish is looked at when it is made.
            Phase::Checkpoint | Phase::Seal | Phase::Undo if running => {}
            Phase::Prepare
            | Phase::Setup
            | Phase::Baseline
            | Phase::Work
            | Phase::Summarise
            | Phase::Checkpoint
            | Phase::Gates
            | Phase::Decide
            | Phase::Plan
            | Phase::Review
            | Phase::Seal
            | Phase::PostAction
            | Phase::Undo => {
                self.stop_loop(StopReason::Cancelled);
            }
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
        match self.state.status {
            Status::Ended { .. } | Status::Paused { .. } => {}
            Status::Queued | Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
        }
        self.push(Event::ResidueChecked { left: left.to_vec() });
        Ok(())
    }

    pub(super) fn pause(&mut self, at_once: bool) -> Result<(), Refusal> {
        match &self.state.status {
            Status::Ended { end } => return Err(Refusal::Ended { end: *end }),
            Status::Paused { .. } => return Err(Refusal::NotUnderWay),
            Status::Queued if !self.state.awaits_place() => return Err(Refusal::NotUnderWay),
            Status::Queued | Status::Waiting { .. } => {
                self.push(Event::PauseRequested { now: at_once });
                self.push(Event::LoopPaused { why: PauseReason::Person });
                return Ok(());
            }
            Status::Running => {}
        }
        match self.state.wish {
            // A stop is more than a pause and is not taken back by one.
            Some(Wish::Stop) => return Err(Refusal::AlreadyAsked),
            Some(Wish::Pause) if !(at_once && self.can_pause_sooner()) => return Err(Refusal::AlreadyAsked),
            Some(Wish::Pause) | None => {}
        }
        self.push(Event::PauseRequested { now: at_once });
        if at_once {
            match self.state.phase {
                // A turn that is interrupted already ends; the wish decides what follows.
                Phase::Work | Phase::Plan | Phase::Review | Phase::PostAction => {
                    drop(self.interrupt_turn(Interrupt::Pause));
                }
                Phase::Prepare | Phase::Setup | Phase::Baseline | Phase::Summarise | Phase::Gates => {
                    self.push(Event::LoopPaused { why: PauseReason::Person })
                }
                // A commit is not interruptible; the wish is looked at before the next turn.
                Phase::Checkpoint | Phase::Decide | Phase::Seal | Phase::Undo => {}
            }
        }
        Ok(())
    }

    /// Whether a loop that is to pause after its turn could do so at once.
    fn can_pause_sooner(&self) -> bool {
        match self.state.phase {
            Phase::Work | Phase::Plan | Phase::Review | Phase::PostAction => {
                self.state.turn.as_ref().is_some_and(|turn| turn.interrupt.is_none())
            }
            Phase::Prepare | Phase::Setup | Phase::Baseline | Phase::Summarise | Phase::Gates => true,
            Phase::Checkpoint | Phase::Decide | Phase::Seal | Phase::Undo => false,
        }
    }

    /// Whether a turn of the coder runs that nothing ends yet.
    fn coder_at_work(&self) -> bool {
        self.state.status == Status::Running
            && self.state.phase == Phase::Work
            && !self.state.is_external()
            && self.state.turn.as_ref().is_some_and(|turn| turn.interrupt.is_none())
    }

    /// Nothing may be at work in the tree while it moves.
    pub(super) fn rolled_back(
        &mut self,
        to_iteration: u32,
        commit: &str,
        tree: &str,
        saved: Option<&str>,
    ) -> Result<(), Refusal> {
        match &self.state.status {
            Status::Running | Status::Waiting { .. } => return Err(Refusal::UnderWay),
            Status::Queued if self.state.awaits_place() => return Err(Refusal::UnderWay),
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
        }
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
        if let Status::Ended { end } = self.state.status {
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
