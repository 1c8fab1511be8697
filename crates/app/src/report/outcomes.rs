//! What loops come to, by agent, model and recipe: whether it pays to use one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::machine::{Event, Opinion, ReviewEvent};
use windlass_engine::view::LoopView;
use windlass_store::ListFilter;

use super::document::{Block, Document};
use crate::history::LoopJournal;
use crate::local::Local;
use crate::loops::view;
use crate::problem::Problem;
use crate::request::Request;

/// Which loops are counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReportOutcomes {
    /// Only of this project.
    pub project: Option<String>,
    /// Only those started since then.
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomesReport {
    pub total: OutcomeRow,
    /// By name.
    pub by_agent: Vec<OutcomeRow>,
    /// By the model that did most of the coder's work; empty where nobody named one.
    pub by_model: Vec<OutcomeRow>,
    pub by_recipe: Vec<OutcomeRow>,
}

/// Counts, from which the shares follow. Loops that have not ended count only in `loops`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeRow {
    pub name: String,
    pub loops: u64,
    pub ended: u64,
    pub verified: u64,
    pub claims: u64,
    pub claims_refused: u64,
    /// Of all that ended.
    pub iterations: u64,
    /// Those of all that ended, divided by the verified ones.
    pub iterations_per_verified: Option<f64>,
    /// Of the ended loops whose cost is known; `null` if it is of none.
    pub cost_usd: Option<f64>,
    /// Ended loops whose cost is not known.
    pub unpriced: u64,
    /// Of all that ended, divided by the verified ones; `null` if the cost of one is not known.
    pub cost_per_verified_usd: Option<f64>,
    /// Ended loops in which a reviewer gave a verdict.
    pub reviewed: u64,
    /// Of those, how many the reviewer sent back at least once after their gates passed: without it, they would have ended there.
    pub changed_by_reviewer: u64,
    /// First attempts that were forked and of whose family exactly one loop won: the one that was merged or, if none was, the
    /// one that is verified.
    pub forked: u64,
    /// Of those, how often the first attempt won.
    pub first_won: u64,
}

/// What a row is made of.
#[derive(Debug)]
struct Facts {
    view: LoopView,
    reviewed: bool,
    changed: bool,
    /// Of the first attempt of a decided family: whether it won.
    first_won: Option<bool>,
}

fn has_ended(view: &LoopView) -> bool {
    matches!(view.status.as_str(), "completed" | "cancelled" | "exhausted" | "stalled" | "errored")
}

impl OutcomeRow {
    fn add(&mut self, facts: &Facts) {
        let view = &facts.view;
        self.loops += 1;
        if let Some(won) = facts.first_won {
            self.forked += 1;
            self.first_won += u64::from(won);
        }
        if !has_ended(view) {
            return;
        }
        self.ended += 1;
        self.verified += u64::from(view.verified);
        self.claims += u64::from(view.claims.made);
        self.claims_refused += u64::from(view.claims.refused);
        self.iterations += u64::from(view.iterations);
        self.reviewed += u64::from(facts.reviewed);
        self.changed_by_reviewer += u64::from(facts.changed);
        match view.usage.total.cost_usd {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None => self.unpriced += 1,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "nobody has that many loops")]
    fn finish(&mut self) {
        if self.verified > 0 {
            let verified = self.verified as f64;
            self.iterations_per_verified = Some(self.iterations as f64 / verified);
            self.cost_per_verified_usd = self.cost_usd.filter(|_| self.unpriced == 0).map(|cost| cost / verified);
        }
    }
}

/// Whether a reviewer gave a verdict, and whether one sent work back that had passed its gates.
fn review_of(events: impl Iterator<Item = Event>) -> (bool, bool) {
    let (mut reviewed, mut changed, mut green) = (false, false, true);
    for event in events {
        if let Event::GateEnded { report, counts: true, .. } = &event {
            green &= report.verdict.passed();
        }
        if let Event::IterationStarted { .. } = &event {
            green = true;
        }
        let Event::Review(ReviewEvent::Reviewed { ruling, .. }) = &event else { continue };
        reviewed = true;
        changed |= green
            && match ruling {
                Opinion::Clean { .. } | Opinion::Accepted => false,
                Opinion::Dirty { .. } | Opinion::Rejected { .. } => true,
            };
    }
    (reviewed, changed)
}

/// Who won of a loop and its forks, where that is clear.
fn winner<'a>(family: &[&'a LoopView]) -> Option<&'a str> {
    let merged: Vec<&&LoopView> = family.iter().filter(|view| view.merged.is_some()).collect();
    let verified: Vec<&&LoopView> = family.iter().filter(|view| view.verified).collect();
    match (merged.as_slice(), verified.as_slice()) {
        ([one], _) | ([], [one]) => Some(&one.id),
        _ => None,
    }
}

/// Of each first attempt that was forked, whether it won.
fn first_attempts(views: &[LoopView]) -> BTreeMap<String, bool> {
    let parents: BTreeMap<&str, &str> =
        views.iter().filter_map(|view| Some((view.id.as_str(), view.parent.as_ref()?.id.0.as_str()))).collect();
    let known = |id: &str| views.iter().any(|view| view.id == id);
    let mut families: BTreeMap<&str, Vec<&LoopView>> = BTreeMap::new();
    for view in views {
        let mut root = view.id.as_str();
        while let Some(parent) = parents.get(root).filter(|parent| known(parent)) {
            root = parent;
        }
        families.entry(root).or_default().push(view);
    }
    let forked = families.into_iter().filter(|(_, family)| family.len() > 1);
    forked.filter_map(|(root, family)| Some((root.to_owned(), winner(&family)? == root))).collect()
}

impl Request for ReportOutcomes {
    type Report = OutcomesReport;
    const NAME: &'static str = "report_outcomes";

    async fn perform(self, here: &Local) -> Result<OutcomesReport, Problem> {
        let Some(engine) = here.reader().await? else { return Ok(OutcomesReport::default()) };
        let mut views = Vec::new();
        for listed in engine.store.list(ListFilter { project: self.project, ..ListFilter::default() }).await? {
            let Some(listed) = engine.store.get(&listed.entry.id).await? else { continue };
            let view = view(&listed)?;
            if self.since.is_none_or(|since| view.created_at >= since) {
                views.push(view);
            }
        }
        let first = first_attempts(&views);
        let mut all = Vec::new();
        for view in views {
            let (reviewed, changed) = match &view.review {
                Some(_) => {
                    let journal = LoopJournal { id: view.id.clone(), ..LoopJournal::default() }.perform(here).await?;
                    review_of(journal.into_iter().map(|mark| mark.event))
                }
                None => (false, false),
            };
            let first_won = first.get(&view.id).copied();
            all.push(Facts { view, reviewed, changed, first_won });
        }
        Ok(OutcomesReport::of(&all))
    }
}

impl OutcomesReport {
    fn of(all: &[Facts]) -> Self {
        let by = |name: &dyn Fn(&LoopView) -> String| -> Vec<OutcomeRow> {
            let mut rows: BTreeMap<String, OutcomeRow> = BTreeMap::new();
            for facts in all {
                rows.entry(name(&facts.view)).or_default().add(facts);
            }
            rows.into_iter()
                .map(|(name, mut row)| {
                    row.name = name;
                    row.finish();
                    row
                })
                .collect()
        };
        let mut total = OutcomeRow::default();
        all.iter().for_each(|facts| total.add(facts));
        total.finish();
        Self {
            total,
            by_agent: by(&|view| view.agent.clone()),
            by_model: by(&|view| view.model.clone().unwrap_or_default()),
            by_recipe: by(&|view| view.recipe.clone()),
        }
    }

    /// For people; `of` says which loops were counted.
    pub fn document(&self, of: &str) -> Document {
        let about =
            "Shares are of loops that have ended. \"per verified\" counts what all of them used, verified or not.";
        let mut blocks = vec![Block::Text(format!("{of}. {about}"))];
        blocks.push(table("", &[OutcomeRow { name: "all".to_owned(), ..self.total.clone() }]));
        for (what, rows) in [("agent", &self.by_agent), ("model", &self.by_model), ("recipe", &self.by_recipe)] {
            if !rows.is_empty() {
                blocks.push(Block::Heading(format!("By {what}")));
                blocks.push(table(what, rows));
            }
        }
        Document { title: "Windlass outcomes".to_owned(), blocks }
    }
}

fn table(what: &str, rows: &[OutcomeRow]) -> Block {
    let head = [
        what,
        "loops",
        "verified",
        "claims refused",
        "iterations per verified",
        "cost per verified",
        "changed by reviewer",
        "first attempt won",
    ];
    let line = |row: &OutcomeRow| {
        vec![
            if row.name.is_empty() { "not named".to_owned() } else { row.name.clone() },
            row.loops.to_string(),
            share(row.verified, row.ended),
            share(row.claims_refused, row.claims),
            match row.iterations_per_verified {
                Some(iterations) => format!("{iterations:.1} ({} / {})", row.iterations, row.verified),
                None => "none verified".to_owned(),
            },
            cost(row),
            share(row.changed_by_reviewer, row.reviewed),
            share(row.first_won, row.forked),
        ]
    };
    Block::Table { head: head.map(str::to_owned).to_vec(), rows: rows.iter().map(line).collect() }
}

/// A share never stands without its counts.
fn share(part: u64, of: u64) -> String {
    match (part * 100).checked_div(of) {
        Some(percent) => format!("{percent}% ({part} of {of})"),
        None => "0 of 0".to_owned(),
    }
}

/// Unknown is not nothing.
fn cost(row: &OutcomeRow) -> String {
    match (row.cost_per_verified_usd, row.cost_usd, row.unpriced) {
        (Some(per), Some(usd), _) => format!("${per:.2} (${usd:.2} / {})", row.verified),
        (_, Some(usd), 0) => format!("none verified (${usd:.2})"),
        (_, _, unknown) if row.ended > 0 => format!("unknown for {unknown} of {} loops", row.ended),
        _ => "none ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_shows_its_counts() {
        assert_eq!(share(2, 3), "66% (2 of 3)");
        assert_eq!(share(0, 0), "0 of 0");
    }

    #[test]
    fn cost_per_verified_is_unknown_if_the_cost_of_one_loop_is() {
        let mut row = OutcomeRow { cost_usd: Some(3.0), verified: 2, ended: 3, iterations: 7, ..OutcomeRow::default() };
        row.finish();
        assert_eq!((row.cost_per_verified_usd, row.iterations_per_verified), (Some(1.5), Some(3.5)));
        assert_eq!(cost(&row), "$1.50 ($3.00 / 2)");
        row.unpriced = 1;
        row.finish();
        assert_eq!((row.cost_per_verified_usd, cost(&row).as_str()), (None, "unknown for 1 of 3 loops"));
    }
}
