//! What loops used and reached, added up by day, project, agent and model.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::usage::Usage;
use windlass_engine::view::LoopView;
use windlass_store::ListFilter;

use crate::local::Local;
use crate::loops::view;
use crate::problem::Problem;
use crate::request::Request;

/// Which loops are added up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportUsage {
    /// Only of this project.
    pub project: Option<String>,
    /// Only those started today or on so many days before; all if left out.
    pub days: Option<u32>,
    /// Only those started since then.
    pub since: Option<Timestamp>,
    /// How far the reader's clock is from UTC, which decides where a day starts.
    pub utc_offset_minutes: i32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageReport {
    pub total: ReportRow,
    /// By the day on which the loops started, oldest first; the others by cost.
    pub by_day: Vec<ReportRow>,
    pub by_project: Vec<ReportRow>,
    pub by_agent: Vec<ReportRow>,
    /// A loop counts for each model that it used; tokens and cost are those of the model.
    pub by_model: Vec<ReportRow>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportRow {
    /// The day (`2026-11-17`), the project's path, the agent or the model; empty where nobody named one.
    pub name: String,
    pub loops: u64,
    /// Of those, how many have ended, and how.
    pub ended: u64,
    pub verified: u64,
    pub failed: u64,
    pub claims: u64,
    pub claims_refused: u64,
    pub tokens: u64,
    /// Of the loops whose cost is known; `null` if it is of none.
    pub cost_usd: Option<f64>,
    /// Loops whose cost is not known.
    pub unpriced: u64,
    /// What all of them cost, divided by the verified ones.
    pub cost_per_verified_usd: Option<f64>,
}

impl ReportRow {
    fn add(&mut self, view: &LoopView, usage: &Usage) {
        let failed = matches!(view.status.as_str(), "exhausted" | "stalled" | "errored");
        self.loops += 1;
        self.ended += u64::from(failed || matches!(view.status.as_str(), "completed" | "cancelled"));
        self.verified += u64::from(view.verified);
        self.failed += u64::from(failed);
        self.claims += u64::from(view.claims.made);
        self.claims_refused += u64::from(view.claims.refused);
        self.tokens = self.tokens.saturating_add(usage.tokens());
        match usage.cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.unpriced += u64::from(usage.tokens() > 0),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "nobody has that many loops")]
    fn finish(&mut self) {
        self.cost_per_verified_usd =
            self.cost_usd.filter(|_| self.verified > 0).map(|cost| cost / self.verified as f64);
    }
}

#[derive(Debug, Default)]
struct Sums {
    total: ReportRow,
    by_day: BTreeMap<String, ReportRow>,
    by_project: BTreeMap<String, ReportRow>,
    by_agent: BTreeMap<String, ReportRow>,
    by_model: BTreeMap<String, ReportRow>,
}

impl Sums {
    fn add(&mut self, view: &LoopView, day: String) {
        let usage = &view.usage.total;
        self.total.add(view, usage);
        self.by_day.entry(day).or_default().add(view, usage);
        self.by_project.entry(view.project.clone()).or_default().add(view, usage);
        self.by_agent.entry(view.agent.clone()).or_default().add(view, usage);
        for model in &view.usage.by_model {
            self.by_model.entry(model.model.clone()).or_default().add(view, &model.usage);
        }
    }

    fn report(mut self) -> UsageReport {
        self.total.finish();
        UsageReport {
            total: self.total,
            by_day: rows(self.by_day),
            by_project: by_cost(rows(self.by_project)),
            by_agent: by_cost(rows(self.by_agent)),
            by_model: by_cost(rows(self.by_model)),
        }
    }
}

fn rows(sums: BTreeMap<String, ReportRow>) -> Vec<ReportRow> {
    sums.into_iter()
        .map(|(name, mut row)| {
            row.name = name;
            row.finish();
            row
        })
        .collect()
}

fn by_cost(mut rows: Vec<ReportRow>) -> Vec<ReportRow> {
    let cost = |row: &ReportRow| row.cost_usd.unwrap_or(0.0);
    rows.sort_by(|one, other| cost(other).total_cmp(&cost(one)).then(other.tokens.cmp(&one.tokens)));
    rows
}

/// The reader's day of a moment, as `2026-11-17`.
fn day_of(at: Timestamp, offset: SignedDuration) -> String {
    let shifted = at.checked_add(offset).unwrap_or(at);
    shifted.to_string().chars().take(10).collect()
}

impl Request for ReportUsage {
    type Report = UsageReport;
    const NAME: &'static str = "report_usage";

    async fn perform(self, here: &Local) -> Result<UsageReport, Problem> {
        let Some(engine) = here.reader().await? else { return Ok(UsageReport::default()) };
        let offset = SignedDuration::from_mins(i64::from(self.utc_offset_minutes.clamp(-24 * 60, 24 * 60)));
        let day = SignedDuration::from_hours(24);
        let first = self.days.and_then(|days| {
            let start = engine.clock.now().checked_sub(day.checked_mul(i32::try_from(days).ok()?)?).ok()?;
            Some(day_of(start, offset))
        });
        let mut sums = Sums::default();
        for listed in engine.store.list(ListFilter { project: self.project, ..ListFilter::default() }).await? {
            let Some(listed) = engine.store.get(&listed.entry.id).await? else { continue };
            let view = view(&listed)?;
            let started = day_of(view.created_at, offset);
            let since = self.since.is_none_or(|since| view.created_at >= since);
            if since && first.as_ref().is_none_or(|first| started >= *first) {
                sums.add(&view, started);
            }
        }
        Ok(sums.report())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_follows_the_readers_clock() {
        let at: Timestamp = "2026-11-17T20:30:00Z".parse().unwrap();
        assert_eq!(day_of(at, SignedDuration::from_mins(8 * 60)), "2026-11-18");
        assert_eq!(day_of(at, SignedDuration::from_mins(-300)), "2026-11-17");
    }

    #[test]
    fn cost_per_verified_loop_counts_what_failed_too() {
        let mut row = ReportRow { cost_usd: Some(3.0), verified: 2, loops: 5, ..ReportRow::default() };
        row.finish();
        assert_eq!(row.cost_per_verified_usd, Some(1.5));
        let mut none = ReportRow { cost_usd: Some(3.0), ..ReportRow::default() };
        none.finish();
        assert_eq!(none.cost_per_verified_usd, None);
    }

    #[test]
    fn rows_are_ordered_by_cost_then_tokens() {
        let row = |name: &str, cost: Option<f64>, tokens: u64| ReportRow {
            name: name.to_owned(),
            cost_usd: cost,
            tokens,
            ..ReportRow::default()
        };
        let names: Vec<String> = by_cost(vec![row("a", None, 5), row("b", None, 9), row("c", Some(1.0), 1)])
            .into_iter()
            .map(|row| row.name)
            .collect();
        assert_eq!(names, ["c", "b", "a"]);
    }
}
