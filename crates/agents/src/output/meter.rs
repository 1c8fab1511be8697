//! Usage of one turn, from figures that come late, twice, or summed over a session's life.
//!
//! The reports add up to the agent's own final figures if it gives them, and otherwise to what was seen before the
//! turn ends without them.

use std::collections::BTreeMap;

use windlass_core::agent::AgentEvent;
use windlass_core::usage::{CostBasis, Usage, UsageByModel, total};

use super::jsonl::Turn;
use super::prices::Prices;

#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Handed on in this turn.
    reported: UsageByModel,
    /// Seen, but kept until the agent's own cost comes or the output ends.
    held: UsageByModel,
    /// The agent's own figures for this turn so far.
    final_figures: UsageByModel,
    /// The last figures of each message.
    messages: BTreeMap<String, Usage>,
    prices: Prices,
    /// What the cost is that the agent names at the end, if it does.
    names_cost: Option<CostBasis>,
}

impl Meter {
    pub(crate) fn new(prices: Prices) -> Self {
        Self { prices, ..Self::default() }
    }

    /// The agent names the cost itself when it is done; until then it is reckoned.
    pub(crate) fn agent_names(&mut self, basis: CostBasis) {
        self.names_cost = Some(basis);
    }

    /// The figures of a message, which may come several times and grow.
    pub(crate) fn message(&mut self, id: &str, model: &str, figures: Usage, turn: &mut Turn<'_>) {
        let first = !self.messages.contains_key(id);
        let before = self.messages.entry(id.to_owned()).or_default();
        let mut grown = minus(&figures, before);
        *before = figures;
        grown.messages = u64::from(first);
        if grown.is_empty() {
            return;
        }
        let mut grown = self.prices.priced(model, grown);
        if let (Some(basis), Some(_)) = (self.names_cost, grown.cost_usd) {
            // The agent's own figure will put it right.
            grown.cost_basis = basis;
        }
        if self.names_cost.is_some() && grown.cost_usd.is_none() {
            // An unknown part would make the sum unknown permanently, although the agent will name it.
            self.held.entry(model.to_owned()).or_default().add(&grown);
        } else {
            self.report(model, grown, turn);
        }
    }

    fn report(&mut self, model: &str, usage: Usage, turn: &mut Turn<'_>) {
        self.reported.entry(model.to_owned()).or_default().add(&usage);
        turn.usage(model, usage);
    }

    /// The agent's own figures for what it did since the last such: what is missing of them is reported. The cost of a
    /// correction can be negative.
    pub(crate) fn settle(&mut self, figures: &UsageByModel, turn: &mut Turn<'_>) {
        for (model, usage) in figures {
            self.final_figures.entry(model.clone()).or_default().add(usage);
        }
        if total(&self.final_figures).is_empty() {
            return;
        }
        for (model, usage) in std::mem::take(&mut self.held) {
            // The final figures have everything but the number of messages.
            let known = self.final_figures.contains_key(&model);
            let model = if known { model } else { self.main_model() };
            let cost_basis = self.names_cost.unwrap_or_default();
            let counted = Usage { messages: usage.messages, cost_usd: Some(0.0), cost_basis, ..Usage::default() };
            self.report(&model, counted, turn);
        }
        if self.reported.keys().all(|model| self.final_figures.contains_key(model)) {
            for (model, usage) in self.final_figures.clone() {
                let before = self.reported.get(&model).cloned().unwrap_or_default();
                self.correct(&model, &usage, &before, turn);
            }
        } else {
            // The two name the models differently: the sum at least is right.
            let (usage, before) = (total(&self.final_figures), total(&self.reported));
            self.correct(&self.main_model(), &usage, &before, turn);
        }
    }

    fn correct(&mut self, model: &str, figures: &Usage, before: &Usage, turn: &mut Turn<'_>) {
        let mut missing = minus(figures, before);
        missing.messages = 0;
        missing.cost_usd = figures.cost_usd.map(|cost| cost - before.cost_usd.unwrap_or(0.0));
        missing.cost_basis = figures.cost_basis;
        let tokens = missing.tokens() > 0;
        if tokens || missing.cost_usd.is_some_and(|cost| cost.abs() > 1e-12) {
            self.report(model, missing, turn);
        }
    }

    /// The model that did most of the work.
    fn main_model(&self) -> String {
        let most = self.final_figures.iter().max_by_key(|(_, usage)| usage.tokens());
        most.map(|(model, _)| model.clone()).unwrap_or_default()
    }

    /// The output is at its end: what is still held is all there will be.
    pub(crate) fn end(&mut self, turn: &mut Turn<'_>) {
        for (model, usage) in std::mem::take(&mut self.held) {
            self.report(&model, usage, turn);
        }
        if self.names_cost.is_some() && self.final_figures.is_empty() {
            // It never reported the cost, so the calculated cost stays.
            for (model, usage) in &self.reported {
                if usage.cost_usd.is_some() {
                    let basis = Usage { cost_usd: Some(0.0), cost_basis: CostBasis::ListPrice, ..Usage::default() };
                    turn.events.push(AgentEvent::Usage { model: model.clone(), usage: basis });
                }
            }
        }
    }
}

/// Token by token; never below nothing, and with the cost of neither.
pub(crate) fn minus(figures: &Usage, before: &Usage) -> Usage {
    Usage {
        input_tokens: figures.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: figures.output_tokens.saturating_sub(before.output_tokens),
        reasoning_tokens: figures.reasoning_tokens.saturating_sub(before.reasoning_tokens),
        cache_read_tokens: figures.cache_read_tokens.saturating_sub(before.cache_read_tokens),
        cache_write_tokens: figures.cache_write_tokens.saturating_sub(before.cache_write_tokens),
        cost_usd: None,
        cost_basis: CostBasis::Unknown,
        messages: figures.messages.saturating_sub(before.messages),
    }
}
