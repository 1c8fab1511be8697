//! The rules of the queue.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::spent::is_notable;
use super::{
    After, Goal, Merging, NewGoal, Position, Queue, QueueEvent, QueueInput, QueueLimits, Stage, evolve, limited_until,
};
use crate::group::{GroupRefusal, LoopReport};

/// How long an account is left alone whose provider does not say until when.
const UNKNOWN_LIMIT: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn decide(queue: &Queue, input: &QueueInput, now: Timestamp) -> Result<Vec<QueueEvent>, GroupRefusal> {
    let mut batch = Batch { state: queue.clone(), now, events: Vec::new() };
    match input {
        QueueInput::Open { limits, merge } => batch.open(*limits, *merge),
        QueueInput::Add { goals } => batch.add(goals)?,
        QueueInput::Move { number, to } => batch.place(*number, *to)?,
        QueueInput::Remove { number } => batch.remove(*number)?,
        QueueInput::Admit { number } => {
            if queue.next() != Some(*number) {
                return Err(GroupRefusal::Stale);
            }
            batch.push(QueueEvent::GoalStarted { number: *number });
        }
        QueueInput::Seen { loop_id, report } => {
            let found = queue.goals.iter().find(|goal| goal.spec.loop_id == *loop_id).ok_or(GroupRefusal::Stale)?;
            batch.seen(found, report);
        }
        QueueInput::Ran { number, report } => {
            let found = queue.goal(*number).filter(|goal| goal.is_at_work()).ok_or(GroupRefusal::Stale)?;
            batch.seen(found, report);
            if report.rests() {
                batch.push(QueueEvent::GoalRested { number: *number });
            } else if limited_until(report).is_some() {
                batch.push(QueueEvent::GoalParked { number: *number });
            }
        }
        QueueInput::Failed { number, message } => {
            queue.goal(*number).filter(|goal| goal.is_at_work()).ok_or(GroupRefusal::Stale)?;
            batch.push(QueueEvent::GoalFailed { number: *number, message: message.clone() });
        }
        QueueInput::Merged { number } => {
            queue.goal(*number).filter(|goal| queue.is_to_merge(goal)).ok_or(GroupRefusal::Stale)?;
            batch.push(QueueEvent::GoalMerged { number: *number });
        }
        QueueInput::NotMerged { number, message } => {
            queue.goal(*number).filter(|goal| queue.is_to_merge(goal)).ok_or(GroupRefusal::Stale)?;
            batch.push(QueueEvent::GoalNotMerged { number: *number, message: message.clone() });
        }
        QueueInput::Woke { account } => {
            batch.woke(account);
            if batch.events.is_empty() {
                return Err(GroupRefusal::Stale);
            }
        }
    }
    Ok(batch.events)
}

struct Batch {
    state: Queue,
    now: Timestamp,
    events: Vec<QueueEvent>,
}

impl Batch {
    fn push(&mut self, event: QueueEvent) {
        self.state = evolve::evolve(self.state.clone(), self.now, &event);
        self.events.push(event);
    }

    fn open(&mut self, limits: QueueLimits, merge: bool) {
        let failed =
            self.state.goals.iter().any(|goal| {
                matches!(goal.stage, Stage::Failed { .. }) || matches!(goal.merging, Merging::Refused { .. })
            });
        if failed || (limits, merge) != (self.state.limits, self.state.merge) {
            self.push(QueueEvent::QueueOpened { limits, merge });
            let accounts: Vec<String> = self.state.spent.keys().cloned().collect();
            accounts.iter().for_each(|account| self.count(account));
        }
    }

    /// A time has come that an account was left alone until.
    fn woke(&mut self, account: &str) {
        let now = self.now;
        let over = |known: &BTreeMap<String, Timestamp>| known.get(account).is_some_and(|until| *until <= now);
        let account = account.to_owned();
        if over(&self.state.limited) {
            self.push(QueueEvent::AccountFreed { account: account.clone() });
        }
        if over(&self.state.used_up) {
            self.push(QueueEvent::AccountRenewed { account: account.clone() });
            self.count(&account);
        }
    }

    /// Whether the share of the queue in an account is used up now.
    fn count(&mut self, account: &str) {
        let spent = self.state.spent.get(account);
        let until = spent.and_then(|spent| spent.used_up_until(self.now, &self.state.limits));
        if let Some(until) = until
            && self.state.used_up.get(account).is_none_or(|known| *known < until)
        {
            self.push(QueueEvent::AccountUsedUp { account: account.to_owned(), until });
        }
    }

    /// All of them or none.
    fn add(&mut self, goals: &[NewGoal]) -> Result<(), GroupRefusal> {
        let first = self.state.last_number + 1;
        let count = u32::try_from(goals.len()).unwrap_or(u32::MAX);
        let mut resolved: Vec<Vec<u32>> = Vec::new();
        for goal in goals {
            let mut after = Vec::new();
            for each in &goal.after {
                let number = match each {
                    After::Goal { number } => *number,
                    After::New { index } => first.saturating_add(*index),
                };
                let new = (first..first.saturating_add(count)).contains(&number);
                let known = match each {
                    After::Goal { .. } => self.state.goal(number).is_some(),
                    After::New { .. } => new,
                };
                if !known {
                    return Err(GroupRefusal::NoGoal { number });
                }
                if !after.contains(&number) {
                    after.push(number);
                }
            }
            resolved.push(after);
        }
        if has_cycle(first, &resolved) {
            return Err(GroupRefusal::Cycle);
        }
        for ((number, goal), after) in (first..).zip(goals).zip(resolved) {
            self.push(QueueEvent::GoalAdded { number, after, spec: Box::new(goal.spec.clone()) });
        }
        Ok(())
    }

    fn place(&mut self, number: u32, to: Position) -> Result<(), GroupRefusal> {
        let goal = self.state.goal(number).ok_or(GroupRefusal::NoGoal { number })?;
        if goal.stage != Stage::Waiting {
            return Err(GroupRefusal::Started { number });
        }
        let others = || self.state.goals.iter().map(|goal| goal.number).filter(|other| *other != number);
        let before = match to {
            Position::First => others().next(),
            Position::Last => None,
            Position::Before { number: other } if other == number => {
                return Err(GroupRefusal::NoGoal { number: other });
            }
            Position::Before { number: other } => {
                Some(others().find(|each| *each == other).ok_or(GroupRefusal::NoGoal { number: other })?)
            }
        };
        self.push(QueueEvent::GoalMoved { number, before });
        Ok(())
    }

    fn remove(&mut self, number: u32) -> Result<(), GroupRefusal> {
        let goal = self.state.goal(number).ok_or(GroupRefusal::NoGoal { number })?;
        let rests = match goal.stage {
            Stage::Waiting | Stage::Failed { .. } => true,
            Stage::Rests => goal.report.as_ref().is_some_and(LoopReport::has_ended),
            Stage::AtWork | Stage::Parked => false,
        };
        if !rests {
            return Err(GroupRefusal::Started { number });
        }
        if let Some(by) = self.state.dependent(number) {
            return Err(GroupRefusal::NeededBy { number, by });
        }
        self.push(QueueEvent::GoalRemoved { number });
        Ok(())
    }

    /// Only what changes the standing is journalled, and notable amounts where there is a share to keep to.
    fn seen(&mut self, goal: &Goal, report: &LoopReport) {
        let changed = goal.report.as_ref().is_none_or(|known| {
            known.standing != report.standing
                || known.outcome != report.outcome
                || is_notable(&self.state.limits, known, report)
        });
        if !changed {
            return;
        }
        self.push(QueueEvent::GoalChanged { number: goal.number, report: report.clone() });
        self.count(&goal.spec.account);
        if let Some(until) = limited_until(report) {
            let until = until.unwrap_or_else(|| self.now.saturating_add(UNKNOWN_LIMIT).unwrap_or(self.now));
            let account = goal.spec.account.clone();
            if self.state.limited.get(&account).is_none_or(|known| *known < until) {
                self.push(QueueEvent::AccountLimited { account, until });
            }
        }
    }
}

/// Whether new goals, counted from `first`, depend on each other in a circle.
fn has_cycle(first: u32, after: &[Vec<u32>]) -> bool {
    let index = |number: u32| number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
    let mut done = vec![false; after.len()];
    loop {
        let ready = |number: &u32| index(*number).is_none_or(|index| done.get(index).copied().unwrap_or(true));
        let next = (0..after.len()).find(|at| !done[*at] && after[*at].iter().all(ready));
        match next {
            Some(at) => done[at] = true,
            None => return done.contains(&false),
        }
    }
}
