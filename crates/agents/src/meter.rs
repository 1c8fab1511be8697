//! Usage of one turn, from figures that come late, twice, or summed over a session's life.
//!
//! What is reported sums up to the agent's own final figures where it gives them, and to what was seen of it where the
//! turn ends without them.

use std::collections::BTreeMap;

use windlass_core::usage::{Usage, UsageByModel, total};

use crate::jsonl::Turn;
use crate::prices::price;

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
    /// Whether the agent names a cost at the end.
    gives_cost: bool,
}

impl Meter {
    pub(crate) fn new(gives_cost: bool) -> Self {
        Self { gives_cost, ..Self::default() }
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
        grown.cost_usd = price(model, &grown);
        if self.gives_cost && grown.cost_usd.is_none() {
            // An unknown part would make the sum unknown for good, although the agent will name it.
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
            let counted = Usage { messages: usage.messages, cost_usd: Some(0.0), ..Usage::default() };
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
        messages: figures.messages.saturating_sub(before.messages),
    }
}
