//! Which loops there are: the list with its filters, and one loop by name.

mod find;
mod json;
mod workers;

use std::collections::BTreeMap;

use windlass_core::stop::Outcome;
use windlass_engine::engine::{Engine, status_word};
use windlass_engine::feed::LastWords;
use windlass_engine::view::LoopView;
use windlass_store::{CatalogueEntry, ListFilter, Listed};

use crate::local::{Local, settled};
use crate::loops::{last_words, lively, no_such_row, summary, view, whole_view};
use crate::problem::Problem;
use crate::request::Request;
use crate::requests::ListLoops;
use crate::views::{LoopList, LoopSummary};

pub use workers::{DrainWorker, ListFleetQueue, ListWorkers};

/// What `status` of a list can ask for: statuses, outcomes of completed loops, and `open`.
pub const LISTED_AS: [&str; 17] = [
    "open",
    "queued",
    "running",
    "waiting",
    "paused",
    "awaiting_review",
    "interrupted",
    "completed",
    "exhausted",
    "cancelled",
    "stalled",
    "errored",
    "verified",
    "claimed",
    "unchanged",
    "checked_in_place",
    "rolled_back",
];

const OUTCOMES: [Outcome; 5] =
    [Outcome::Verified, Outcome::Claimed, Outcome::Unchanged, Outcome::CheckedInPlace, Outcome::RolledBack];

impl Request for ListLoops {
    type Report = LoopList;
    const NAME: &'static str = "list";

    async fn perform(self, here: &Local) -> Result<LoopList, Problem> {
        const USUAL: usize = 100;
        /// So many summaries are in memory at a time, beyond those that are shown.
        const AT_ONCE: usize = 256;
        let limit = self.limit.unwrap_or(USUAL).clamp(1, 1000);
        let mut list = LoopList { loops: Vec::new(), next: None, total: None, counts: BTreeMap::new() };
        let Some(engine) = here.reader().await? else { return Ok(list) };
        list.counts = self.counts(&engine).await?;
        let wanted = Wanted::of(&self);
        // The first page of all loops, which most people ask for, reads no rows of the others.
        let most = (wanted.is_everything() && self.after.is_none()).then_some(limit + 1);
        let filter = ListFilter { project: self.project.clone(), limit: most, ..ListFilter::default() };
        let all = engine.store.list(filter).await?;
        let mut found: Vec<&Listed> = all.iter().filter(|listed| wanted.at_a_glance(listed)).collect();
        list.total = (!wanted.reads_summaries()).then_some(match most {
            Some(_) => list.counts.values().sum(),
            None => found.len(),
        });
        if let Some(after) = &self.after {
            // The loop itself may no longer match.
            let last = all.iter().position(|listed| listed.entry.id == *after).ok_or_else(|| no_such_row(after))?;
            found = all.iter().skip(last + 1).filter(|listed| wanted.at_a_glance(listed)).collect();
        }
        for some in found.chunks(limit.min(AT_ONCE) + 1) {
            for listed in wanted.in_full(&engine, some).await? {
                if list.loops.len() == limit {
                    list.next = list.loops.last().map(|row| row.view.id.clone());
                    return Ok(list);
                }
                let row = if self.history {
                    lively(&engine, &listed, whole_view(&engine, &listed).await?)
                } else {
                    summary(&engine, &listed)?
                };
                let last_words = last_words(&engine, &listed, &mut LastWords::default()).await;
                list.loops.push(LoopSummary { last_words, ..row });
            }
        }
        if most.is_some_and(|most| all.len() == most) {
            // One of them was removed meanwhile.
            list.next = list.loops.last().map(|row| row.view.id.clone());
        }
        Ok(list)
    }
}

impl ListLoops {
    /// How many loops there are of each status. Only of those that are open a row is read: who drives them tells their status.
    async fn counts(&self, engine: &Engine) -> Result<BTreeMap<String, usize>, Problem> {
        let mut counts = engine.store.count_closed(self.project.as_deref()).await?;
        let filter = ListFilter { project: self.project.clone(), open_only: true, ..ListFilter::default() };
        for listed in &engine.store.list(filter).await? {
            *counts.entry(status_word(listed).to_owned()).or_default() += 1;
        }
        Ok(counts)
    }
}

/// The filters of a list.
struct Wanted {
    words: String,
    statuses: Vec<String>,
    outcomes: Vec<Outcome>,
    agent: Option<String>,
    since: Option<jiff::Timestamp>,
}

impl Wanted {
    fn of(request: &ListLoops) -> Self {
        let said = request.status.iter().flat_map(|said| said.split(',')).map(|word| word.trim().to_owned());
        let (statuses, outcomes): (Vec<_>, Vec<_>) = said.partition(|word| outcome(word).is_none());
        Self {
            words: request.q.clone().unwrap_or_default().to_lowercase(),
            statuses,
            outcomes: outcomes.iter().filter_map(|word| outcome(word)).collect(),
            agent: request.agent.clone(),
            since: request.since,
        }
    }

    fn is_everything(&self) -> bool {
        let Self { words, statuses, outcomes, agent, since } = self;
        words.is_empty() && statuses.is_empty() && outcomes.is_empty() && agent.is_none() && since.is_none()
    }

    /// What the row of the catalogue decides, which is read for every loop.
    fn at_a_glance(&self, listed: &Listed) -> bool {
        let entry = &listed.entry;
        let word = status_word(listed);
        (self.statuses.is_empty() && self.outcomes.is_empty()
            || self.has_status(word, entry.open)
            || (!self.outcomes.is_empty() && word == "completed"))
            && self.since.is_none_or(|since| entry.created_at >= since)
            && (self.words.is_empty() || self.has_words(entry))
    }

    fn has_words(&self, entry: &CatalogueEntry) -> bool {
        let text = format!("{}\n{}\n{}", entry.name, entry.goal, entry.project).to_lowercase();
        self.words.split_whitespace().all(|part| text.contains(part))
    }

    fn has_status(&self, word: &str, open: bool) -> bool {
        self.statuses.iter().any(|said| said == word || (said == "open" && open))
    }

    /// Whether the row alone does not decide.
    fn reads_summaries(&self) -> bool {
        !self.outcomes.is_empty() || self.agent.is_some()
    }

    /// The loops with their summaries, without those whose summaries do not fit.
    async fn in_full(&self, engine: &Engine, some: &[&Listed]) -> Result<Vec<Listed>, Problem> {
        let ids = some.iter().map(|listed| listed.entry.id.clone()).collect();
        let filter = ListFilter { ids: Some(ids), summaries: true, ..ListFilter::default() };
        let mut fitting = Vec::with_capacity(some.len());
        for listed in engine.store.list(filter).await? {
            let listed = settled(engine, listed).await?;
            if !self.reads_summaries() || self.fits(&listed, &view(&listed)?) {
                fitting.push(listed);
            }
        }
        Ok(fitting)
    }

    fn fits(&self, listed: &Listed, view: &LoopView) -> bool {
        (self.outcomes.is_empty()
            || self.has_status(&view.status, listed.entry.open)
            || view.outcome.is_some_and(|outcome| self.outcomes.contains(&outcome)))
            && self.agent.as_ref().is_none_or(|agent| *agent == view.agent)
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    OUTCOMES.into_iter().find(|outcome| outcome.name() == word)
}
