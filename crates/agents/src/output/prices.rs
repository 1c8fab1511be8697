//! List prices, for agents that count tokens but name no cost.
//!
//! A model that is not in the table has no price: an unknown cost is reported as unknown, never as 0.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use windlass_core::profile::{AgentProfile, ModelPrice};
use windlass_core::usage::{CostBasis, Usage};

/// The table, as it is shipped.
const TABLE: &str = include_str!("../../prices.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The release of the newest model in the list they are from.
    as_of: String,
    models: BTreeMap<String, ModelPrice>,
}

static PRICES: LazyLock<Option<Table>> = LazyLock::new(|| toml::from_str(TABLE).ok());

/// How recent the price table is: the release of the newest model in its source.
pub fn prices_as_of() -> &'static str {
    PRICES.as_ref().map_or("", |table| &table.as_of)
}

/// The prices for one agent: its profile's, then the built-in list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, ModelPrice>,
}

impl Prices {
    pub fn of(profile: &AgentProfile) -> Self {
        Self { own: profile.prices.iter().map(|(model, price)| (model.to_ascii_lowercase(), *price)).collect() }
    }

    /// Whether the model has a price.
    pub fn know(&self, model: &str) -> bool {
        self.find(model).is_some()
    }

    /// What the tokens cost; `None` if the model has no price.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let price = self.find(model)?;
        let of = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1_000_000.0;
        Some(
            of(usage.input_tokens, price.input)
                + of(usage.output_tokens, price.output)
                + of(usage.reasoning_tokens, price.reasoning.unwrap_or(price.output))
                + of(usage.cache_read_tokens, price.cache_read.unwrap_or(price.input))
                + of(usage.cache_write_tokens, price.cache_write.unwrap_or(price.input)),
        )
    }

    /// The usage with its cost by price, if there is one.
    pub(crate) fn priced(&self, model: &str, usage: Usage) -> Usage {
        let cost_usd = self.cost(model, &usage);
        let cost_basis = if cost_usd.is_some() { CostBasis::ListPrice } else { CostBasis::Unknown };
        Usage { cost_usd, cost_basis, ..usage }
    }

    fn find(&self, model: &str) -> Option<&ModelPrice> {
        let built_in = || find(&PRICES.as_ref()?.models, model);
        self.own.get(&model.to_ascii_lowercase()).or_else(|| find(&self.own, model)).or_else(built_in)
    }
}

/// The same model goes by several names: with a provider before it, a date or a variant behind it.
fn find<'a>(models: &'a BTreeMap<String, ModelPrice>, model: &str) -> Option<&'a ModelPrice> {
    let name = model.rsplit('/').next()?.to_ascii_lowercase();
    let name = name.split('[').next()?.trim();
    let name = name.strip_suffix("-latest").unwrap_or(name);
    // Copilot writes claude-sonnet-4.5 where others write claude-sonnet-4-5.
    let get = |name: &str| models.get(name).or_else(|| models.get(&name.replace('.', "-")));
    get(name).or_else(|| get(undated(name)?))
}

/// Without the date behind it: only that may be left off, for a -mini or -pro is another model.
fn undated(name: &str) -> Option<&str> {
    let (start, last) = name.rsplit_once(['-', '@'])?;
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(last, 8) || digits(last, 4) {
        return Some(start);
    }
    let (start, month) = start.rsplit_once('-')?;
    let (start, year) = start.rsplit_once('-')?;
    (digits(year, 4) && digits(month, 2) && digits(last, 2)).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(model: &str, usage: &Usage) -> Option<f64> {
        Prices::default().cost(model, usage)
    }

    #[test]
    fn prices_of_a_profile_go_before_the_list() {
        let price = ModelPrice { input: 1.0, output: 2.0, cache_read: Some(0.5), ..ModelPrice::default() };
        let models = ["claude-sonnet-4-5", "Mine/Special"];
        let prices = models.map(|model| (model.to_owned(), price)).into_iter().collect();
        let prices = Prices::of(&AgentProfile { prices, ..AgentProfile::default() });
        for model in ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5", "mine/special"] {
            assert_eq!(prices.cost(model, &a_million()), Some(3.0), "{model}");
        }
        let cached = Usage { cache_read_tokens: 1_000_000, cache_write_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(prices.cost("mine/special", &cached), Some(1.5), "writing to a cache is input");
        assert_eq!(prices.cost("gpt-4o", &a_million()), Some(12.5), "the rest of the list holds");
        assert!(!prices.know("special") && !prices.know("theirs/special"), "a provider is part of a name of one's own");
    }

    fn a_million() -> Usage {
        Usage { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Usage::default() }
    }

    #[test]
    fn the_table_reads_and_is_dated() {
        let table = PRICES.as_ref().unwrap();
        assert!(table.models.len() > 20);
        assert!(prices_as_of().parse::<jiff::civil::Date>().is_ok());
        for (model, price) in &table.models {
            assert!(
                price.input > 0.0
                    && price.output >= price.input
                    && price.cache_read.is_none_or(|read| read <= price.input),
                "{model}"
            );
        }
    }

    #[test]
    fn a_model_is_found_by_each_of_its_names() {
        for name in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4.5",
            "anthropic/claude-sonnet-4-5",
            "Claude-Sonnet-4-5[1m]",
            "claude-sonnet-4-5@20250929",
        ] {
            assert_eq!(price(name, &a_million()), Some(18.0), "{name}");
        }
    }

    #[test]
    fn a_date_behind_the_name_does_not_matter() {
        assert_eq!(price("gpt-4o-2024-08-06", &a_million()), Some(12.5));
        assert_eq!(price("gpt-4o-0806", &a_million()), Some(12.5));
        assert_eq!(undated("2024-08-06"), None);
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        for name in
            ["", "scripted", "gpt-5-nonesuch", "claude", "/", "gpt-4.1-unheard", "claude-opus-5-10", "-2024-08-06"]
        {
            assert_eq!(price(name, &a_million()), None, "{name}");
        }
    }
}
