//! Recipes: named defaults for a loop's policies, as data.

use serde::Deserialize;
use thiserror::Error;

use crate::spec::{CommitPolicy, OnFailure, OnLimit, ReviewKind, SessionPolicy, TimeLimits};

/// What a recipe says; every loop is one of these with the user's wishes on top.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    pub name: String,
    pub about: String,
    pub session: SessionPolicy,
    pub commit: CommitPolicy,
    pub done: DoneKind,
    pub max_iterations: u32,
    pub on_limit: OnLimit,
    pub on_failure: OnFailure,
    pub time: TimeLimits,
    /// Who judges the work besides the gates.
    #[serde(default)]
    pub review: Option<ReviewKind>,
    #[serde(default)]
    pub max_rejections: Option<u32>,
}

/// Which claim ends the loop; its parameters come from the loop's own options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneKind {
    Promise,
    Gates,
    Target,
    /// The auditor has nothing left that blocks.
    FindingsClear,
    /// The acceptor says accepted.
    Verdict,
}

#[derive(Debug, Error)]
#[error("cannot read recipe `{name}`")]
pub struct RecipeError {
    pub name: String,
    #[source]
    pub source: toml::de::Error,
}

const BUILT_IN: [(&str, &str); 4] = [
    ("promise", include_str!("../recipes/promise.toml")),
    ("refine", include_str!("../recipes/refine.toml")),
    ("audited", include_str!("../recipes/audited.toml")),
    ("milestone", include_str!("../recipes/milestone.toml")),
];

pub fn parse(name: &str, text: &str) -> Result<Recipe, RecipeError> {
    toml::from_str(text).map_err(|source| RecipeError { name: name.to_owned(), source })
}

pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A built-in recipe. They are part of the program, so one that does not parse is a bug.
pub fn built_in(name: &str) -> Option<Recipe> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(parse(name, text).unwrap_or_else(|error| unreachable!("{error}: {}", error.source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_recipe_parses_under_its_own_name() {
        for name in built_in_names() {
            assert_eq!(built_in(name).unwrap().name, name);
        }
        assert_eq!(built_in("nonsense"), None);
    }

    #[test]
    fn an_unknown_key_in_a_recipe_is_an_error() {
        let text = include_str!("../recipes/promise.toml").replace("max_iterations", "max_iteration");
        assert!(parse("promise", &text).is_err());
    }
}
