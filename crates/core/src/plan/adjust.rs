//! Changing a plan while it is worked on: only what is not done yet, and never what it is measured by.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Plan, TrailingPart, marker, parse};
use crate::text::markdown::{self, joined};

/// A section's new text, with the old one and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Adjustment {
    pub section: u32,
    pub before: String,
    pub after: String,
    pub rationale: String,
}

/// Why a section stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AdjustError {
    #[error("section {section} does not exist; the plan has {count}")]
    NoSuchSection { section: u32, count: u32 },
    #[error("the plan has no sections, so it cannot be changed in part")]
    Unmarked,
    #[error("section {section} is done and cannot change; only section {current} and later ones can")]
    Past { section: u32, current: u32 },
    #[error("the new text of section {section} is empty")]
    EmptyBody { section: u32 },
    #[error("the change to section {section} has no rationale")]
    EmptyRationale { section: u32 },
    #[error("line {line} of the new text of section {section} is a marker; a section cannot add or end sections")]
    Marker { section: u32, line: u32 },
    #[error(
        "line {line} of the new text of section {section} starts ## {}, which a section cannot change",
        part.name()
    )]
    Part { section: u32, line: u32, part: TrailingPart },
    #[error("line {line} of the new text of section {section} opens a code fence or comment that is not closed")]
    Unclosed { section: u32, line: u32 },
    #[error("the new text of section {section} is the same as the old one")]
    Unchanged { section: u32 },
}

impl Plan {
    /// The adjustment of one section, while `current` is worked on. Nothing is changed yet.
    ///
    /// Objective and verification are out of reach: only a section's body is replaced, and that may not start another
    /// part.
    pub fn adjust(&self, section: u32, body: &str, rationale: &str, current: u32) -> Result<Adjustment, AdjustError> {
        let count = self.count();
        let before = self.section(section).ok_or(AdjustError::NoSuchSection { section, count })?.body.clone();
        if !self.marked {
            return Err(AdjustError::Unmarked);
        }
        if section < current {
            return Err(AdjustError::Past { section, current });
        }
        let after = joined(body.lines());
        if after.is_empty() {
            return Err(AdjustError::EmptyBody { section });
        }
        if rationale.trim().is_empty() {
            return Err(AdjustError::EmptyRationale { section });
        }
        may_stand_as(section, &after)?;
        if after == before {
            return Err(AdjustError::Unchanged { section });
        }
        Ok(Adjustment { section, before, after, rationale: rationale.trim().to_owned() })
    }

    /// Puts an adjustment into effect; the section's title follows its text.
    pub fn apply(&mut self, adjustment: &Adjustment) {
        if let Some(section) = self.sections.iter_mut().find(|section| section.number == adjustment.section) {
            section.body.clone_from(&adjustment.after);
            section.title = parse::title_of(&markdown::lines(&adjustment.after), section.number);
        }
    }
}

fn may_stand_as(section: u32, body: &str) -> Result<(), AdjustError> {
    let (lines, unclosed) = markdown::scan(body);
    if let Some(unclosed) = unclosed {
        return Err(AdjustError::Unclosed { section, line: unclosed.line() });
    }
    for line in lines {
        // Also where it would mean nothing: the text around may change.
        if marker::read(line.text).is_some() {
            return Err(AdjustError::Marker { section, line: line.number });
        }
        if let Some(part) = TrailingPart::begun_by(line.kind) {
            return Err(AdjustError::Part { section, line: line.number, part });
        }
    }
    Ok(())
}
