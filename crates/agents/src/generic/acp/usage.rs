//! What a turn over ACP used. The protocol has a place for tokens in the answer to a prompt and for the cost of the
//! session in updates; agents fill either, neither, or other fields.

use serde_json::Value;
use windlass_core::profile::AgentProfile;
use windlass_core::usage::{CostBasis, Usage, UsageByModel, total};

use crate::output::jsonl::{Turn, count, text};
use crate::output::prices::Prices;

#[derive(Debug)]
pub(super) struct Spent {
    model: String,
    prices: Prices,
    cost_before: f64,
    /// Of the session, as last reported.
    cost: Option<f64>,
    /// Told along the way, for agents whose final answer has no figures.
    pieces: Usage,
    reported: bool,
}

impl Spent {
    pub(super) fn new(profile: &AgentProfile, before: &UsageByModel) -> Self {
        Self {
            model: profile.model.clone().unwrap_or_default(),
            prices: Prices::of(profile),
            cost_before: total(before).cost_usd.unwrap_or(0.0),
            cost: None,
            pieces: Usage::default(),
            reported: false,
        }
    }

    /// The session's model, if none was selected.
    pub(super) fn models(&mut self, session: &Value) {
        if !self.model.is_empty() {
            return;
        }
        let options = session["configOptions"].as_array().into_iter().flatten();
        let option = options.into_iter().find(|option| text(option, "category") == "model");
        let current = option.map_or("", |option| text(option, "currentValue"));
        let current = if current.is_empty() { text(&session["models"], "currentModelId") } else { current };
        // The name may include a provider or an effort.
        let name = current.rsplit('/').next().unwrap_or(current);
        name.split('[').next().unwrap_or(name).clone_into(&mut self.model);
    }

    pub(super) fn update(&mut self, update: &Value) {
        if text(&update["cost"], "currency") == "USD" {
            self.cost = update["cost"]["amount"].as_f64().or(self.cost);
        }
    }

    /// Usage next to a piece of text.
    pub(super) fn piece(&mut self, usage: &Value) {
        if usage.is_object() {
            self.pieces.add(&Usage { messages: 1, cost_usd: Some(0.0), ..figures(usage) });
        }
    }

    /// The answer to the prompt.
    pub(super) fn answered(&mut self, result: &Value, turn: &mut Turn<'_>) {
        let by_model = result["_meta"]["quota"]["model_usage"].as_array();
        if result["usage"].is_object() {
            let models: Vec<&str> = by_model.into_iter().flatten().map(|one| text(one, "model")).collect();
            if let [one] = models[..] {
                one.clone_into(&mut self.model);
            }
            self.report(Usage { messages: 1, ..figures(&result["usage"]) }, turn);
        } else if let Some(list) = by_model.filter(|list| !list.is_empty()) {
            for one in list {
                text(one, "model").clone_into(&mut self.model);
                self.report(Usage { messages: 1, ..figures(&one["token_count"]) }, turn);
            }
        } else {
            self.end(turn);
        }
    }

    /// What is known when there will be nothing more.
    pub(super) fn end(&mut self, turn: &mut Turn<'_>) {
        if !self.reported {
            let pieces = std::mem::take(&mut self.pieces);
            self.report(Usage { cost_usd: None, cost_basis: CostBasis::Unknown, ..pieces }, turn);
        }
    }

    fn report(&mut self, usage: Usage, turn: &mut Turn<'_>) {
        // The first report carries the whole cost of the turn.
        let told = self.cost.filter(|_| !self.reported).map(|cost| self.of_this_turn(cost, &usage));
        let later = self.reported && self.cost.is_some();
        self.reported = true;
        let usage = match told.or_else(|| later.then_some(0.0)) {
            // The protocol contains the agent's calculation; it does not show whether it is charged.
            Some(cost) => Usage { cost_usd: Some(cost), cost_basis: CostBasis::Agent, ..usage },
            None => self.prices.priced(&self.model, usage),
        };
        turn.usage(&self.model, usage);
    }

    /// The protocol has the cost of the session, but some agents count from nothing in every process. A figure below
    /// what was spent before is one of those; of others the reading that is nearer to the list price is taken.
    fn of_this_turn(&self, told: f64, usage: &Usage) -> f64 {
        let since = told - self.cost_before;
        if since < 0.0 {
            return told;
        }
        match self.prices.priced(&self.model, usage.clone()).cost_usd {
            Some(expected) if (told - expected).abs() < (since - expected).abs() => told,
            Some(_) | None => since,
        }
    }
}

fn figures(usage: &Value) -> Usage {
    let either = |camel: &str, snake: &str| count(usage, camel).max(count(usage, snake));
    let (input, output) = (either("inputTokens", "input_tokens"), either("outputTokens", "output_tokens"));
    let (read, write) = (count(usage, "cachedReadTokens"), count(usage, "cachedWriteTokens"));
    let thought = count(usage, "thoughtTokens");
    // Some also count cached tokens as input; their sum shows it.
    let inside = read + write > 0 && count(usage, "totalTokens") == input + output;
    Usage {
        input_tokens: if inside { input.saturating_sub(read + write) } else { input },
        output_tokens: output,
        reasoning_tokens: thought,
        cache_read_tokens: read,
        cache_write_tokens: write,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::profile::ModelPrice;

    use super::*;

    /// What a turn of 1000 input tokens at $10 a million counts as.
    fn counted(before: f64, told: f64, priced: bool) -> f64 {
        let price = ModelPrice { input: 10.0, ..ModelPrice::default() };
        let profile = AgentProfile {
            model: Some("one".into()),
            prices: priced.then(|| ("one".to_owned(), price)).into_iter().collect(),
            ..AgentProfile::default()
        };
        let used = Usage { cost_usd: Some(before), ..Usage::default() };
        let mut spent = Spent::new(&profile, &UsageByModel::from([("one".into(), used)]));
        spent.update(&json!({ "cost": { "amount": told, "currency": "USD" } }));
        spent.of_this_turn(told, &Usage { input_tokens: 1_000, ..Usage::default() })
    }

    #[test]
    // promise: usage-2
    fn a_cost_that_starts_again_with_the_process_is_counted_whole() {
        assert_eq!(counted(0.0135, 0.0112, true), 0.0112);
        assert_eq!(counted(0.0135, 0.0112, false), 0.0112);
        // More than before, but what the turn itself must have cost.
        assert_eq!(counted(0.009, 0.0101, true), 0.0101);
    }

    #[test]
    fn a_cost_of_the_whole_session_counts_by_what_it_grew() {
        assert!((counted(0.05, 0.06, true) - 0.01).abs() < 1e-9);
        assert!((counted(0.05, 0.06, false) - 0.01).abs() < 1e-9);
        assert_eq!(counted(0.0, 0.02, true), 0.02);
    }
}
