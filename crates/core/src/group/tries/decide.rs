//! The rules of best of N.

use jiff::Timestamp;

use super::rank::rank;
use super::{Losers, StoppedBecause, Tries, TriesEffect, TriesEvent, TriesInput, evolve};
use crate::group::{Group, GroupRefusal, GroupStatus, LoopReport, Standing};
use crate::stop::End;

pub(super) fn decide(group: &Tries, input: &TriesInput, now: Timestamp) -> Result<Vec<TriesEvent>, GroupRefusal> {
    if let GroupStatus::Ended(end) = group.status {
        return Err(GroupRefusal::Ended { end });
    }
    let mut batch = Batch { state: group.clone(), now, events: Vec::new() };
    match input {
        TriesInput::Seen { loop_id, report } => {
            let number = group.number_of(loop_id).ok_or(GroupRefusal::Stale)?;
            batch.seen(number, report, false);
        }
        TriesInput::Ran { number, report } => {
            batch.wanted(*number, |_| true)?;
            batch.seen(*number, report, true);
        }
        TriesInput::Failed { number, message } => {
            batch.wanted(*number, |each| !each.is_over())?;
            batch.push(TriesEvent::TryFailed { number: *number, message: message.clone() });
        }
        TriesInput::Measured { number, diff } => {
            batch.wanted(*number, |each| each.rests() && !each.measured)?;
            batch.push(TriesEvent::TryMeasured { number: *number, diff: *diff });
        }
        TriesInput::Dropped { number, saved } => {
            if !group.effects().contains(&TriesEffect::Drop { number: *number }) {
                return Err(GroupRefusal::Stale);
            }
            batch.push(TriesEvent::LoserDropped { number: *number, saved: saved.clone() });
        }
        TriesInput::Stop => match group.stopped {
            Some(_) if group.status == GroupStatus::Running => return Err(GroupRefusal::AlreadyAsked),
            Some(_) | None => {
                batch.push(TriesEvent::OthersStopped { why: StoppedBecause::Person });
                if group.status == GroupStatus::Paused {
                    batch.push(TriesEvent::TriesOpened);
                }
            }
        },
        TriesInput::Resume => match group.status {
            GroupStatus::Paused => batch.push(TriesEvent::TriesOpened),
            GroupStatus::Running | GroupStatus::Ended(_) => return Err(GroupRefusal::UnderWay),
        },
    }
    if batch.state.status == GroupStatus::Running {
        batch.settle();
    }
    Ok(batch.events)
}

struct Batch {
    state: Tries,
    now: Timestamp,
    events: Vec<TriesEvent>,
}

impl Batch {
    fn push(&mut self, event: TriesEvent) {
        self.state = evolve::evolve(self.state.clone(), self.now, &event);
        self.events.push(event);
    }

    fn wanted(&self, number: u32, still: impl Fn(&super::Try) -> bool) -> Result<(), GroupRefusal> {
        let found = self.state.each().find(|(each, ..)| *each == number);
        found.filter(|(_, _, each)| still(each)).map(drop).ok_or(GroupRefusal::Stale)
    }

    /// Amounts are journalled with a change of the loop's standing, and on the way only where there is a budget to keep.
    fn seen(&mut self, number: u32, report: &LoopReport, ran: bool) {
        let Some((_, _, each)) = self.state.each().find(|(each, ..)| *each == number) else { return };
        // After the choice nothing that a person does with a loop changes it.
        let picked = self.state.ranking.is_some();
        let has_budget = self.state.has_budget();
        let reopened = ran && each.reopened;
        let changed = reopened
            || each.report.as_ref().is_none_or(|known| {
                known.standing != report.standing
                    || known.outcome != report.outcome
                    || known.iterations != report.iterations
                    || (has_budget && (known.cost_usd, known.tokens) != (report.cost_usd, report.tokens))
            });
        if changed && !picked && each.failed.is_none() {
            self.push(TriesEvent::TryChanged { number, report: report.clone() });
        }
    }

    /// What follows from how the tries stand now.
    fn settle(&mut self) {
        if self.state.stopped.is_none()
            && let Some(why) = self.why_stop()
        {
            self.push(TriesEvent::OthersStopped { why });
        }
        let at_rest = |state: &Tries| state.tries.iter().all(|each| each.rests() && each.measured);
        // What is stopped comes to its end, paused or not.
        let ending = self.state.stopped.is_some() && self.state.tries.iter().any(|each| !each.is_over());
        if self.state.ranking.is_none() && at_rest(&self.state) && !ending {
            let completed = self.state.tries.iter().any(super::Try::is_completed);
            let paused = self.state.tries.iter().any(|each| !each.is_over());
            if !completed && paused {
                return self.push(TriesEvent::TriesPaused);
            }
            self.push(TriesEvent::WinnerPicked { ranking: rank(&self.state) });
        }
        if let Some(end) = self.end() {
            self.push(TriesEvent::TriesEnded { end });
        }
    }

    fn why_stop(&self) -> Option<StoppedBecause> {
        let state = &self.state;
        if state.tries.iter().all(super::Try::is_over) {
            return None;
        }
        let verified = state.each().find(|(_, _, each)| each.is_verified()).map(|(number, ..)| number);
        if let Some(number) = verified.filter(|_| state.spec.first) {
            return Some(StoppedBecause::First { number });
        }
        let known: f64 = state.tries.iter().filter_map(|each| each.report.as_ref()?.cost_usd).sum();
        if state.spec.budget_usd.is_some_and(|budget| known >= budget) {
            return Some(StoppedBecause::Budget);
        }
        state.spec.max_tokens.is_some_and(|most| state.tokens() >= most).then_some(StoppedBecause::Tokens)
    }

    /// The end of the group, once nothing is left to do: that of the winner, else what kept the tries from one.
    fn end(&self) -> Option<End> {
        let ranking = self.state.ranking.as_ref()?;
        let losers = self.state.each().filter(|(number, ..)| ranking.winner != Some(*number));
        let to_drop = |each: &super::Try| !each.dropped && each.is_over() && each.failed.is_none();
        if self.state.spec.losers == Losers::Drop && losers.into_iter().any(|(_, _, each)| to_drop(each)) {
            return None;
        }
        if ranking.winner.is_some() {
            return Some(End::Completed);
        }
        Some(match self.state.stopped {
            Some(StoppedBecause::Person) => End::Cancelled,
            Some(StoppedBecause::Budget | StoppedBecause::Tokens) => End::Exhausted,
            Some(StoppedBecause::First { .. }) | None => self.best_end(ranking.order.first().copied()),
        })
    }

    fn best_end(&self, best: Option<u32>) -> End {
        let found = self.state.each().find(|(number, ..)| Some(*number) == best);
        match found.and_then(|(_, _, each)| each.report.as_ref()).map(|report| report.standing) {
            Some(Standing::Ended { end }) => end,
            Some(Standing::Queued | Standing::Running | Standing::Waiting { .. } | Standing::Paused) | None => {
                End::Errored
            }
        }
    }
}
