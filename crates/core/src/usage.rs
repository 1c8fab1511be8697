//! Tokens and money, in five buckets, by model and by role.
//!
//! Unknown cost stays unknown: a sum is a number only when every part of it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::Role;

/// What some turns used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub reasoning_tokens: u64,
    #[serde(default)]
    pub cache_read_tokens: u64,
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// `None`: the agent gave no figure and no price is known.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Where `cost_usd` comes from.
    #[serde(default)]
    pub cost_basis: CostBasis,
    /// Assistant messages.
    #[serde(default)]
    pub messages: u64,
}

/// Where a cost comes from. Of a sum it is the one that says least of what was paid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// Nobody has said what it costs, or where the figure is from.
    #[default]
    Unknown,
    /// The agent named what is paid.
    Agent,
    /// Tokens times a list price; on a subscription nothing is paid by the token, and it is only a measure.
    ListPrice,
}

impl Usage {
    /// All tokens, as a token limit counts them.
    pub fn tokens(&self) -> u64 {
        [self.input_tokens, self.output_tokens, self.reasoning_tokens, self.cache_read_tokens, self.cache_write_tokens]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// With the cost as the agent's own word, unless it says itself what the figure is.
    #[must_use]
    pub fn named_by_agent(mut self) -> Self {
        if self.cost_usd.is_some() && self.cost_basis == CostBasis::Unknown {
            self.cost_basis = CostBasis::Agent;
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }

    pub fn add(&mut self, other: &Usage) {
        if other.is_empty() {
            return;
        }
        // An empty sum has no cost yet; taking the other's keeps "unknown" from swallowing the first figure.
        self.cost_usd =
            if self.is_empty() { other.cost_usd } else { self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b) };
        self.cost_basis = match self.cost_usd {
            Some(_) => self.cost_basis.max(other.cost_basis),
            None => CostBasis::Unknown,
        };
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.messages = self.messages.saturating_add(other.messages);
    }
}

/// Usage of one turn, by model name ("" where the agent does not say).
pub type UsageByModel = BTreeMap<String, Usage>;

pub fn total(by_model: &UsageByModel) -> Usage {
    let mut sum = Usage::default();
    for usage in by_model.values() {
        sum.add(usage);
    }
    sum
}

/// Usage over a loop's lifetime.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageLedger {
    pub by_role: BTreeMap<Role, UsageByModel>,
    /// The sum of the costs that are known: less than was spent where a turn gave no figure.
    #[serde(default)]
    pub known_cost_usd: f64,
}

impl UsageLedger {
    pub fn record(&mut self, role: Role, usage: &UsageByModel) {
        let models = self.by_role.entry(role).or_default();
        for (model, used) in usage {
            models.entry(model.clone()).or_default().add(used);
            self.known_cost_usd += used.cost_usd.filter(|cost| cost.is_finite()).unwrap_or(0.0);
        }
    }

    /// What is known of a role's spending.
    pub fn known_cost_of(&self, role: Role) -> f64 {
        let costs = self.by_role.get(&role).into_iter().flat_map(BTreeMap::values);
        costs.filter_map(|used| used.cost_usd).filter(|cost| cost.is_finite()).sum()
    }

    pub fn total(&self) -> Usage {
        let mut sum = Usage::default();
        for usage in self.by_role.values().flat_map(BTreeMap::values) {
            sum.add(usage);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(tokens: u64, cost: Option<f64>) -> Usage {
        Usage { input_tokens: tokens, cost_usd: cost, ..Usage::default() }
    }

    #[test]
    // promise: usage-3
    fn unknown_cost_stays_unknown_in_a_sum() {
        let mut sum = used(1, Some(0.5));
        sum.add(&used(1, None));
        assert_eq!(sum.cost_usd, None);
        assert_eq!(sum.tokens(), 2);
    }

    #[test]
    fn the_first_figure_is_taken_as_it_is() {
        let mut sum = Usage::default();
        sum.add(&used(1, Some(0.5)));
        sum.add(&Usage::default());
        sum.add(&used(1, Some(0.25)));
        assert_eq!(sum.cost_usd, Some(0.75));
    }

    #[test]
    fn a_sum_with_a_list_price_in_it_is_one() {
        let of = |basis| Usage { cost_basis: basis, ..used(1, Some(1.0)) };
        let sum = |a, b| {
            let mut sum = of(a);
            sum.add(&of(b));
            sum.cost_basis
        };
        assert_eq!(sum(CostBasis::Agent, CostBasis::Agent), CostBasis::Agent);
        assert_eq!(sum(CostBasis::Agent, CostBasis::ListPrice), CostBasis::ListPrice);
        assert_eq!(sum(CostBasis::ListPrice, CostBasis::Agent), CostBasis::ListPrice);
        let mut unknown = of(CostBasis::ListPrice);
        unknown.add(&used(1, None));
        assert_eq!((unknown.cost_usd, unknown.cost_basis), (None, CostBasis::Unknown));
    }

    #[test]
    // promise: usage-1
    fn a_ledger_sums_over_roles_and_models() {
        let mut ledger = UsageLedger::default();
        ledger.record(Role::Coder, &UsageByModel::from([("a".into(), used(5, Some(1.0)))]));
        ledger.record(Role::Auditor, &UsageByModel::from([("b".into(), used(7, Some(2.0)))]));
        assert_eq!(ledger.total(), used(12, Some(3.0)));
    }
}
