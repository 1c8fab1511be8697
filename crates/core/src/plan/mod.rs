//! A plan: what is to be built, cut into sections that are worked on one after the other.
//!
//! Reading is deterministic and loses nothing: every line that is not a marker is in exactly one part, whatever its
//! number, and what looks like a mistake is said as a warning, never fixed in silence.
//!
//! ```text
//! <!-- windlass-plan:start -->        optional, with its end; what is outside is kept apart
//! # Objective …                       everything before the first marker
//! <!-- windlass-section -->           its own line, outside code
//! ## Title …                          the section
//! ## Verification                     ends the last section, as do Decisions, Conventions and Key Context
//! <!-- windlass-plan:end -->
//! ```

mod adjust;
mod marker;
mod parse;
mod warning;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text::markdown::{self, Kind};

pub use adjust::{AdjustError, Adjustment};
pub use warning::{Field, PlanWarning, Trouble};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Plan {
    /// What comes before the first section: the objective.
    pub preamble: String,
    pub sections: Vec<Section>,
    /// What follows the sections and holds for all of them.
    pub trailing: Vec<Trailing>,
    /// What stands before and after the wrapper; no part of the plan.
    #[serde(default)]
    pub outside: Outside,
    /// Whether the text had section markers; without any it is one section as a whole.
    pub marked: bool,
    #[serde(default)]
    pub warnings: Vec<PlanWarning>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Section {
    /// From 1.
    pub number: u32,
    pub title: String,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trailing {
    pub part: TrailingPart,
    /// With its heading.
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrailingPart {
    Verification,
    Decisions,
    Conventions,
    KeyContext,
}

impl TrailingPart {
    pub const ALL: [TrailingPart; 4] =
        [TrailingPart::Verification, TrailingPart::Decisions, TrailingPart::Conventions, TrailingPart::KeyContext];

    pub fn name(self) -> &'static str {
        match self {
            TrailingPart::Verification => "Verification",
            TrailingPart::Decisions => "Decisions",
            TrailingPart::Conventions => "Conventions",
            TrailingPart::KeyContext => "Key Context",
        }
    }

    /// The part that a line starts: its name as a heading of the second level.
    fn begun_by(kind: Kind<'_>) -> Option<TrailingPart> {
        let (_, title) = kind.heading().filter(|(level, _)| *level == 2)?;
        let title = markdown::without_emphasis(title).trim_end_matches([':', '：']);
        let title = markdown::without_emphasis(title);
        TrailingPart::ALL.into_iter().find(|part| part.name().eq_ignore_ascii_case(title))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outside {
    pub before: String,
    pub after: String,
}

/// Why a text is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    #[error("the plan is empty")]
    Empty,
    #[error("the plan between the markers of line {line} and line {end} is empty")]
    EmptyWrapper { line: u32, end: u32 },
    #[error("the plan that starts on line {line} has no end marker")]
    Unterminated { line: u32, in_code: Option<u32> },
    #[error("the plan that ends on line {line} has no start marker")]
    MissingStart { line: u32 },
    #[error("line {line} has a second plan marker; the first is on line {first}")]
    Multiple { line: u32, first: u32 },
    #[error("every section of the plan is empty; the first marker is on line {line}")]
    OnlyEmptySections { line: u32 },
}

impl PlanError {
    pub fn hint(&self) -> String {
        match self {
            PlanError::Empty => "add content, or remove the plan".to_owned(),
            PlanError::EmptyWrapper { .. } => "put the plan between the two markers".to_owned(),
            PlanError::Unterminated { in_code: Some(line), .. } => {
                format!("close the code fence or comment of line {line}: it hides the end marker")
            }
            PlanError::Unterminated { in_code: None, .. } => {
                "add a line <!-- windlass-plan:end --> after the plan".to_owned()
            }
            PlanError::MissingStart { .. } => "add a line <!-- windlass-plan:start --> before the plan".to_owned(),
            PlanError::Multiple { .. } => "keep one plan, with one start marker and one end marker".to_owned(),
            PlanError::OnlyEmptySections { .. } => "write each section below its marker".to_owned(),
        }
    }
}

impl Plan {
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        parse::parse(text)
    }

    /// A text that is one section, whatever is in it.
    pub fn whole(text: &str) -> Plan {
        let section = Section { number: 1, title: "Section 1".to_owned(), body: text.trim().to_owned() };
        Plan {
            preamble: String::new(),
            sections: vec![section],
            trailing: Vec::new(),
            outside: Outside::default(),
            marked: false,
            warnings: Vec::new(),
        }
    }

    /// A section by its number, from 1.
    pub fn section(&self, number: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.number == number)
    }

    /// How many sections there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.sections.len()).unwrap_or(u32::MAX)
    }

    /// The body of a part that follows the sections; several of the same name as one.
    pub fn part(&self, part: TrailingPart) -> Option<String> {
        let bodies: Vec<&str> = self.trailing.iter().filter(|t| t.part == part).map(|t| t.body.as_str()).collect();
        (!bodies.is_empty()).then(|| bodies.join("\n\n"))
    }

    /// The name that the plan proposes for its loop: a line `Loop Name: …` before the sections.
    pub fn loop_name(&self) -> Option<&str> {
        let named = |line: &'_ &str| line.get(..10).is_some_and(|label| label.eq_ignore_ascii_case("loop name:"));
        let line = self.preamble.lines().map(|line| line.trim_start_matches(['-', '*', '_', ' '])).find(named)?;
        Some(markdown::without_emphasis(&line[10..])).filter(|name| !name.is_empty())
    }

    /// The plan as text again. Reading that gives the same parts, unless the last one left a fence open.
    pub fn render(&self) -> String {
        let mut parts: Vec<&str> = vec![&self.preamble];
        for section in &self.sections {
            parts.extend(self.marked.then_some(marker::SECTION));
            parts.push(&section.body);
        }
        parts.extend(self.trailing.iter().map(|trailing| trailing.body.as_str()));
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }
}

#[cfg(test)]
mod tests;
