//! Milestones: units of work with features, acceptance criteria and a branch of their own, written by a user.
//!
//! ```text
//! ---
//! requires_human_review: true         optional, see `FrontMatter`
//! ---
//! # Title
//! ## Goal
//! ## Features                         optionally under ### Bug Fixes, ### New Features, ### Optimizations
//! - [ ] F1: text (acceptance: …)      the id may be left out; [x] is done already
//! ## Acceptance Criteria
//! - [ ] text
//! ## Constraints                      optional
//! ```
//!
//! A file that has another shape is an error with its line: what is skipped would never be built.

mod anima;
pub(crate) mod feature_id;
mod front_matter;
mod item;
mod parse;
mod render;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use anima::AnimaRecord;
pub use front_matter::FrontMatter;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Milestone {
    pub id: String,
    pub title: String,
    pub goal: String,
    pub features: Vec<Feature>,
    pub acceptance_criteria: Vec<Criterion>,
    /// Empty if there are none.
    pub constraints: String,
    pub front_matter: FrontMatter,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Feature {
    /// As given, or `F1`, `F2`, … in order, without the numbers that are given elsewhere.
    pub id: String,
    pub text: String,
    /// What is written below the text, without its indentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    pub acceptance: Option<String>,
    pub kind: Option<FeatureKind>,
    pub done: bool,
}

impl Feature {
    /// A feature in the words of an item: `F1: text (acceptance: …)`. Without an id it gets one when it is written.
    pub fn read(text: &str) -> Result<Feature, MilestoneError> {
        parse::feature(text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeatureKind {
    BugFix,
    NewFeature,
    Optimization,
}

impl FeatureKind {
    pub const ALL: [FeatureKind; 3] = [FeatureKind::BugFix, FeatureKind::NewFeature, FeatureKind::Optimization];

    /// The heading above features of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            FeatureKind::BugFix => "Bug Fixes",
            FeatureKind::NewFeature => "New Features",
            FeatureKind::Optimization => "Optimizations",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Criterion {
    pub text: String,
    pub done: bool,
}

/// What is wrong with a milestone's file, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct MilestoneError {
    pub line: u32,
    pub what: String,
    pub hint: String,
}

impl MilestoneError {
    fn new(line: u32, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, what: what.into(), hint: hint.into() }
    }
}

impl Milestone {
    pub fn parse(id: &str, text: &str) -> Result<Milestone, MilestoneError> {
        parse::parse(id, text, None)
    }

    /// With what another tool recorded beside the file, where the file itself says nothing.
    pub fn parse_with(id: &str, text: &str, record: &AnimaRecord) -> Result<Milestone, MilestoneError> {
        parse::parse(id, text, Some(record))
    }

    /// The file's text. Reading it gives a milestone that was read before again; for a new one see `write`.
    pub fn render(&self) -> String {
        render::render(self)
    }

    /// The file of a new milestone, and the milestone as it reads: features without an id have one then.
    pub fn write(&self) -> Result<(String, Milestone), MilestoneError> {
        let text = self.render();
        let read = Milestone::parse(&self.id, &text)?;
        let mut meant = self.clone();
        // Those without a kind come first, as they do in the file.
        meant.features.sort_by_key(|feature| feature.kind.is_some());
        for (feature, read) in meant.features.iter_mut().zip(&read.features) {
            if feature.id.is_empty() {
                feature.id.clone_from(&read.id);
            }
        }
        if meant != read {
            let what = "the milestone contains Markdown that changes its structure";
            let hint = "remove line breaks, headings, checkboxes, and acceptance brackets from its texts";
            return Err(MilestoneError::new(1, what, hint));
        }
        Ok((text, read))
    }

    /// Features that are not ticked off in the file.
    pub fn open_features(&self) -> impl Iterator<Item = &Feature> {
        self.features.iter().filter(|feature| !feature.done)
    }

    /// The feature that a report means: by id, else by its words, if those fit only one.
    pub fn feature(&self, id: Option<&str>, text: &str) -> Option<&Feature> {
        let by_id = id.and_then(|id| self.features.iter().find(|feature| feature.id.eq_ignore_ascii_case(id)));
        by_id.or_else(|| {
            let plain = |text: &str| -> String {
                text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
            };
            let said = plain(text);
            let only = |fits: &dyn Fn(&str) -> bool| {
                let mut fitting = self.features.iter().filter(|feature| fits(&plain(&feature.text)));
                fitting.next().filter(|_| fitting.next().is_none())
            };
            if said.is_empty() {
                return None;
            }
            only(&|known| known == said).or_else(|| only(&|known| known.contains(&said) || said.contains(known)))
        })
    }
}

/// Whether a milestone may have this id: it names a file and a branch.
pub fn is_valid_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&id.len())
        && id.bytes().all(allowed)
        && !id.starts_with(['.', '-'])
        && !id.ends_with('.')
        && !id.contains("..")
        && !id.to_ascii_lowercase().ends_with(".lock")
}

#[cfg(test)]
mod tests;
