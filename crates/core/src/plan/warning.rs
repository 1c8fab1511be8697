//! What looks like a mistake in a plan that can be run all the same.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TrailingPart;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanWarning {
    /// From 1, in the text as it was given.
    pub line: u32,
    pub trouble: Trouble,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trouble {
    /// The whole text is one section.
    NoMarkers,
    /// A marker with nothing behind it; it makes no section.
    EmptySection,
    /// A marker inside a fence, indented code, or a comment is ignored.
    MarkerInCode,
    /// Looks like a marker and is none: it has other text on its line, or a name that is not known.
    NotAMarker,
    /// A section marker before or after the wrapper is ignored.
    MarkerOutside,
    /// Everything from here on is taken for code or a comment.
    Unclosed,
    LacksFields {
        section: u32,
        fields: Vec<Field>,
    },
    LacksParts {
        parts: Vec<TrailingPart>,
    },
    AbsolutePath {
        path: String,
    },
    DuplicateTitle {
        title: String,
        first: u32,
    },
    DuplicatePart {
        part: TrailingPart,
        first: u32,
    },
    /// A section starts after a part that should follow all sections.
    SectionAfter {
        section: u32,
        part: TrailingPart,
    },
}

/// What a section should tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    Files,
    Edits,
    AcceptanceCriteria,
    Verification,
}

impl Field {
    pub const ALL: [Field; 4] = [Field::Files, Field::Edits, Field::AcceptanceCriteria, Field::Verification];

    pub fn name(self) -> &'static str {
        match self {
            Field::Files => "Files",
            Field::Edits => "Edits",
            Field::AcceptanceCriteria => "Acceptance Criteria",
            Field::Verification => "Verification",
        }
    }
}

impl fmt::Display for PlanWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.trouble)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NoMarkers => f.write_str("no section marker, so the whole plan is one section"),
            Trouble::EmptySection => f.write_str("the section is empty; skipped"),
            Trouble::MarkerInCode => f.write_str("marker inside code or a comment; ignored"),
            Trouble::NotAMarker => f.write_str("not a marker: it needs the exact name and a separate line"),
            Trouble::MarkerOutside => f.write_str("marker outside the plan; ignored"),
            Trouble::Unclosed => f.write_str("unclosed code fence or comment: everything that follows is part of it"),
            Trouble::LacksFields { section, fields } => {
                let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
                write!(f, "section {section} is missing {}", names.join(", "))
            }
            Trouble::LacksParts { parts } => {
                let names: Vec<String> = parts.iter().map(|part| format!("## {}", part.name())).collect();
                write!(f, "the plan is missing {}", names.join(", "))
            }
            Trouble::AbsolutePath { path } => {
                write!(
                    f,
                    "{path} is absolute, but the agent works in a copy; use a path relative to the repository root"
                )
            }
            Trouble::DuplicateTitle { title, first } => write!(f, "“{title}” is also the title on line {first}"),
            Trouble::DuplicatePart { part, first } => write!(f, "## {} is also on line {first}", part.name()),
            Trouble::SectionAfter { section, part } => {
                write!(f, "section {section} starts after ## {}, which should follow all sections", part.name())
            }
        }
    }
}
