//! Which try is the best: six rules, each asked only where those before it do not decide.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Tries, Try};
use crate::group::HiddenGates;

/// A rule by which one try is better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    Verified,
    HiddenGates,
    Findings,
    Diff,
    Cost,
    Time,
    /// The tries are equal by every rule.
    Order,
}

impl Rule {
    /// In the order in which they are asked.
    pub const ALL: [Rule; 7] =
        [Rule::Verified, Rule::HiddenGates, Rule::Findings, Rule::Diff, Rule::Cost, Rule::Time, Rule::Order];

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Rule::Verified => "verified",
            Rule::HiddenGates => "hidden gates passed",
            Rule::Findings => "fewer open findings",
            Rule::Diff => "smaller diff",
            Rule::Cost => "lower cost",
            Rule::Time => "shorter time",
            Rule::Order => "first in order",
        }
    }

    /// `Less` if `a` is better. Unknown amounts come last.
    fn compare(self, (a_number, a): (u32, &Try), (b_number, b): (u32, &Try)) -> Ordering {
        let report = |each: &Try| each.report.clone();
        let of =
            |each: &Try, amount: fn(&crate::group::LoopReport) -> u64| report(each).map_or(u64::MAX, |r| amount(&r));
        match self {
            Rule::Verified => b.is_verified().cmp(&a.is_verified()),
            Rule::HiddenGates => {
                let gates = |each: &Try| report(each).map_or(HiddenGates::Failed, |r| r.hidden_gates);
                gates(a).cmp(&gates(b))
            }
            Rule::Findings => of(a, |r| r.findings_open).cmp(&of(b, |r| r.findings_open)),
            Rule::Diff => {
                let lines = |each: &Try| each.diff.map_or(u64::MAX, super::DiffSize::lines);
                lines(a).cmp(&lines(b))
            }
            Rule::Cost => {
                let cost = |each: &Try| report(each).and_then(|r| r.cost_usd).unwrap_or(f64::INFINITY);
                cost(a).total_cmp(&cost(b))
            }
            Rule::Time => of(a, |r| r.elapsed_ms).cmp(&of(b, |r| r.elapsed_ms)),
            Rule::Order => a_number.cmp(&b_number),
        }
    }
}

/// The tries in their order, and the one that is picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ranking {
    /// Numbers of tries, the best first.
    pub order: Vec<u32>,
    /// The first of those that completed; none if no try did.
    pub winner: Option<u32>,
    /// The rule that puts the winner before the next one.
    pub because: Option<Rule>,
}

pub(super) fn rank(group: &Tries) -> Ranking {
    // A try that did not complete has nothing to merge, however it compares.
    let mut tries: Vec<(u32, &Try)> = group.each().map(|(number, _, each)| (number, each)).collect();
    tries.sort_by(|a, b| b.1.is_completed().cmp(&a.1.is_completed()).then(compare(*a, *b).0));
    let winner = tries.first().filter(|(_, each)| each.is_completed()).map(|(number, _)| *number);
    let because = match tries[..] {
        [first, second, ..] if winner.is_some() => Some(compare(first, second).1),
        _ => None,
    };
    Ranking { order: tries.iter().map(|(number, _)| *number).collect(), winner, because }
}

fn compare(a: (u32, &Try), b: (u32, &Try)) -> (Ordering, Rule) {
    let found = Rule::ALL.into_iter().map(|rule| (rule.compare(a, b), rule)).find(|(order, _)| order.is_ne());
    found.unwrap_or((Ordering::Equal, Rule::Order))
}
