//! Groups as people and scripts see them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::group::tries::{Losers, Rule, StoppedBecause, Tries, Try, TrySpec};
use windlass_core::group::{DiffSize, GroupKind, HiddenGates};
use windlass_core::stop::Outcome;

/// Best of N as `status --json` prints it. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TriesView {
    pub id: String,
    pub name: String,
    pub project: String,
    pub goal: String,
    /// `tries`.
    pub kind: GroupKind,
    /// One word; `interrupted` is put in by readers.
    pub status: String,
    /// The others stop when one is verified.
    pub first: bool,
    pub losers: Losers,
    /// By which the best is picked, in this order.
    pub rules: Vec<Rule>,
    /// Over all tries together.
    pub budget_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    /// `null`: a part of it is unknown.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    /// Why tries were stopped before their end.
    pub stopped: Option<StoppedBecause>,
    /// The number of the try that was picked.
    pub winner: Option<u32>,
    /// The rule that puts it before the next one.
    pub because: Option<Rule>,
    /// The best first once one is picked, before that by number.
    pub tries: Vec<TryView>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
}

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TryView {
    pub number: u32,
    /// The loop's id and name.
    pub id: String,
    pub name: String,
    pub agent: String,
    pub branch: String,
    /// `waiting to start` has no loop yet.
    pub status: String,
    pub outcome: Option<Outcome>,
    pub verified: bool,
    pub hidden_gates: HiddenGates,
    pub findings_open: u64,
    pub diff: Option<DiffSize>,
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    pub elapsed_ms: u64,
    pub iterations: u32,
    pub head_commit: Option<String>,
    /// Why there is no loop.
    pub failed: Option<String>,
    /// Its workspace was removed; the branch is still there.
    pub dropped: bool,
}

impl TriesView {
    pub fn of(group: &Tries) -> Self {
        let mut tries: Vec<TryView> = group.each().map(|(number, spec, each)| line(number, spec, each)).collect();
        let ranking = group.ranking.as_ref();
        if let Some(ranking) = ranking {
            tries.sort_by_key(|each| ranking.order.iter().position(|number| *number == each.number));
        }
        Self {
            id: group.id.0.clone(),
            name: group.name.clone(),
            project: group.project.clone(),
            goal: group.spec.goal.clone(),
            kind: GroupKind::Tries,
            status: group.status.name().to_owned(),
            first: group.spec.first,
            losers: group.spec.losers,
            rules: Rule::ALL.to_vec(),
            budget_usd: group.spec.budget_usd,
            max_tokens: group.spec.max_tokens,
            cost_usd: group.cost_usd(),
            tokens: group.tokens(),
            stopped: group.stopped,
            winner: ranking.and_then(|ranking| ranking.winner),
            because: ranking.and_then(|ranking| ranking.because),
            tries,
            created_at: group.created_at,
            updated_at: group.updated_at,
            stopped_at: group.stopped_at,
        }
    }
}

fn line(number: u32, spec: &TrySpec, each: &Try) -> TryView {
    let report = each.report.as_ref();
    let status = match (report, &each.failed) {
        (_, Some(_)) => "errored",
        (Some(report), None) => report.standing.name(),
        (None, None) => "waiting to start",
    };
    TryView {
        number,
        id: spec.loop_id.0.clone(),
        name: spec.name.clone(),
        agent: spec.spec.agent.label(),
        branch: spec.spec.workspace.branch.clone(),
        status: status.to_owned(),
        outcome: report.and_then(|report| report.outcome),
        verified: each.is_verified(),
        hidden_gates: report.map_or(HiddenGates::NotJudged, |report| report.hidden_gates),
        findings_open: report.map_or(0, |report| report.findings_open),
        diff: each.diff,
        cost_usd: report.and_then(|report| report.cost_usd),
        tokens: report.map_or(0, |report| report.tokens),
        elapsed_ms: report.map_or(0, |report| report.elapsed_ms),
        iterations: report.map_or(0, |report| report.iterations),
        head_commit: report.and_then(|report| report.head_commit.clone()),
        failed: each.failed.clone(),
        dropped: each.dropped,
    }
}
