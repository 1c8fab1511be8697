//! The fold of the queue's events.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Goal, Merging, Queue, QueueEvent, QueueLimits, Stage, limited_until};

pub(super) fn created(at: Timestamp, first: &QueueEvent) -> Option<Queue> {
    let QueueEvent::QueueCreated { id } = first else { return None };
    Some(Queue {
        id: id.clone(),
        goals: Vec::new(),
        limits: QueueLimits::default(),
        merge: false,
        limited: BTreeMap::new(),
        used_up: BTreeMap::new(),
        spent: BTreeMap::new(),
        last_number: 0,
        turns: BTreeMap::new(),
        starts: 0,
        created_at: at,
        updated_at: at,
    })
}

pub(super) fn evolve(mut queue: Queue, at: Timestamp, event: &QueueEvent) -> Queue {
    queue.updated_at = at;
    match event {
        // Only the first event of a journal creates.
        QueueEvent::QueueCreated { .. } => {}
        QueueEvent::QueueOpened { limits, merge } => {
            (queue.limits, queue.merge) = (*limits, *merge);
            queue.used_up.clear();
            for goal in &mut queue.goals {
                if let Merging::Refused { .. } = goal.merging {
                    goal.merging = Merging::Open;
                }
                if let Stage::Failed { .. } = goal.stage {
                    goal.stage = Stage::Waiting;
                    goal.report = None;
                }
            }
        }
        QueueEvent::GoalAdded { number, after, spec } => {
            queue.last_number = queue.last_number.max(*number);
            let (after, spec) = (after.clone(), (**spec).clone());
            let (stage, merging) = (Stage::Waiting, Merging::Open);
            queue.goals.push(Goal { number: *number, after, spec, stage, report: None, merging });
        }
        QueueEvent::GoalMoved { number, before } => {
            if let Some(from) = queue.goals.iter().position(|goal| goal.number == *number) {
                let goal = queue.goals.remove(from);
                let to = queue.goals.iter().position(|other| Some(other.number) == *before);
                queue.goals.insert(to.unwrap_or(queue.goals.len()), goal);
            }
        }
        QueueEvent::GoalRemoved { number } => queue.goals.retain(|goal| goal.number != *number),
        QueueEvent::GoalStarted { number } => {
            queue.starts += 1;
            let starts = queue.starts;
            let project = queue.goal(*number).map(|goal| goal.spec.project.clone());
            queue.turns.extend(project.map(|project| (project, starts)));
            stage(&mut queue, *number, Stage::AtWork);
        }
        QueueEvent::GoalChanged { number, report } => {
            if let Some(goal) = queue.goals.iter_mut().find(|goal| goal.number == *number) {
                let spent = queue.spent.entry(goal.spec.account.clone()).or_default();
                spent.add(at, goal.report.as_ref(), report);
                goal.report = Some(report.clone());
                // A person resumed, paused or stopped it.
                let parked = goal.stage == Stage::Parked;
                if parked && report.rests() {
                    goal.stage = Stage::Rests;
                } else if (parked && limited_until(report).is_none()) || (goal.stage == Stage::Rests && !report.rests())
                {
                    goal.stage = Stage::AtWork;
                }
            }
        }
        QueueEvent::GoalParked { number } => stage(&mut queue, *number, Stage::Parked),
        QueueEvent::GoalRested { number } => stage(&mut queue, *number, Stage::Rests),
        QueueEvent::GoalMerged { number } => merging(&mut queue, *number, Merging::Merged),
        QueueEvent::GoalNotMerged { number, message } => {
            merging(&mut queue, *number, Merging::Refused { message: message.clone() });
        }
        QueueEvent::GoalFailed { number, message } => {
            stage(&mut queue, *number, Stage::Failed { message: message.clone() });
        }
        QueueEvent::AccountLimited { account, until } => {
            queue.limited.insert(account.clone(), *until);
        }
        QueueEvent::AccountFreed { account } => {
            queue.limited.remove(account);
        }
        QueueEvent::AccountUsedUp { account, until } => {
            queue.used_up.insert(account.clone(), *until);
        }
        QueueEvent::AccountRenewed { account } => {
            queue.used_up.remove(account);
        }
    }
    queue
}

fn stage(queue: &mut Queue, number: u32, stage: Stage) {
    if let Some(goal) = queue.goal_mut(number) {
        goal.stage = stage;
    }
}

fn merging(queue: &mut Queue, number: u32, merging: Merging) {
    if let Some(goal) = queue.goal_mut(number) {
        goal.merging = merging;
    }
}
