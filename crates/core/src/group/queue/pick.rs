//! Which goal starts next, and why the others wait.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Goal, Merging, Queue};

/// Why a goal has not started yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Why {
    /// It depends on this goal, perhaps through others, which ended and is not verified.
    Blocked {
        number: u32,
    },
    /// The same, but that goal is verified and could not be merged.
    Unmerged {
        number: u32,
    },
    /// It depends on goals that are not done yet.
    After {
        numbers: Vec<u32>,
    },
    /// The provider limits the account until then.
    AccountLimited {
        account: String,
        until: Timestamp,
    },
    /// The queue has used its share of the account until then; the rest is kept for the person.
    AccountUsedUp {
        account: String,
        until: Timestamp,
    },
    Account {
        account: String,
        running: u32,
        most: u32,
    },
    Project {
        running: u32,
        most: u32,
    },
    Machine {
        running: u32,
        most: u32,
    },
}

impl Queue {
    /// What holds a goal back that could start; `None` also for a goal that has started.
    pub fn why(&self, goal: &Goal) -> Option<Why> {
        if !goal.is_candidate() {
            return None;
        }
        if let Some(number) = self.blocked_by(goal) {
            let verified = self.goal(number).is_some_and(Goal::is_verified);
            return Some(if verified { Why::Unmerged { number } } else { Why::Blocked { number } });
        }
        let waits_for = |number: &u32| self.goal(*number).is_some_and(|other| !self.is_done(other));
        let numbers: Vec<u32> = goal.after.iter().copied().filter(waits_for).collect();
        if !numbers.is_empty() {
            return Some(Why::After { numbers });
        }
        let account = goal.spec.account.clone();
        if let Some(until) = self.limited.get(&account) {
            return Some(Why::AccountLimited { account, until: *until });
        }
        if let Some(until) = self.used_up.get(&account) {
            return Some(Why::AccountUsedUp { account, until: *until });
        }
        let limits = self.limits;
        let running = self.running(|other| other.spec.account == account);
        if running >= limits.per_account {
            return Some(Why::Account { account, running, most: limits.per_account });
        }
        let running = self.running(|other| other.spec.project == goal.spec.project);
        if running >= limits.per_project {
            return Some(Why::Project { running, most: limits.per_project });
        }
        // A loop that waits, for an answer for example, needs no slot of the machine meanwhile.
        let running = self.running(|other| !other.waits());
        (running >= limits.machine).then_some(Why::Machine { running, most: limits.machine })
    }

    /// The goal that starts next: of the project whose last turn is longest ago, the first that nothing holds back. One
    /// that was parked goes before those that have not started.
    pub fn next(&self) -> Option<u32> {
        let free = self.goals.iter().filter(|goal| goal.is_candidate() && self.why(goal).is_none());
        let turn = |goal: &&Goal| {
            let last = self.turns.get(&goal.spec.project).copied().unwrap_or(0);
            (last, goal.report.is_none())
        };
        free.min_by_key(turn).map(|goal| goal.number)
    }

    fn running(&self, of: impl Fn(&Goal) -> bool) -> u32 {
        let count = self.goals.iter().filter(|goal| goal.is_at_work() && of(goal)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The goal in the chain of dependencies that ended and that nothing can build on.
    fn blocked_by(&self, goal: &Goal) -> Option<u32> {
        goal.after.iter().filter_map(|number| self.goal(*number)).find_map(|other| {
            let refused = self.merge && matches!(other.merging, Merging::Refused { .. });
            if other.ended_unverified() || refused {
                return Some(other.number);
            }
            self.blocked_by(other).filter(|_| other.is_candidate())
        })
    }
}
