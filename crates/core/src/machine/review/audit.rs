//! What an audit knows: its findings, and how far the plan is worked off.

use serde::{Deserialize, Serialize};

use super::Aim;
use crate::findings::Findings;
use crate::machine::shared::Shared;
use crate::plan::Adjustment;
use crate::review::{CoderDecisions, SectionSummary};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Auditing {
    pub aim: PlanAim,
    pub adjustments: Shared<Vec<Adjustment>>,
    /// The commit at which the work on the present section began, once it has.
    pub began_at: Option<Option<String>>,
    pub finished: Shared<Vec<FinishedSection>>,
    pub findings: Shared<Findings>,
    /// The coder's own account of its last turn.
    pub decisions: Option<CoderDecisions>,
}

/// How far the plan is worked off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlanAim {
    /// There is no plan yet.
    #[default]
    Unplanned,
    Section {
        number: u32,
    },
    /// All that was done since the base. A coder's turn with this aim only mends.
    Whole,
}

/// A section that the auditor found clean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FinishedSection {
    pub number: u32,
    pub title: String,
    pub iteration: u32,
    pub commit: Option<String>,
    pub summary: SectionSummary,
}

impl Auditing {
    /// The first section comes first; a loop that is not planned yet will begin with it.
    pub(super) fn section_number(&self) -> Option<u32> {
        match self.aim {
            PlanAim::Unplanned => Some(1),
            PlanAim::Section { number } => Some(number),
            PlanAim::Whole => None,
        }
    }

    pub(super) fn set_aim(&mut self, aim: Aim) {
        self.aim = match aim {
            Aim::Section { number } => PlanAim::Section { number },
            Aim::Whole => PlanAim::Whole,
        };
        self.began_at = None;
    }

    pub(in crate::machine) fn planned(&mut self) {
        if self.aim == PlanAim::Unplanned {
            self.aim = PlanAim::Section { number: 1 };
        }
    }

    pub(super) fn go_back_to(&mut self, then: &Auditing, planned: bool) {
        if planned {
            self.adjustments.clone_from(&then.adjustments);
            self.aim = then.aim;
        }
        self.finished.clone_from(&then.finished);
        self.findings.go_back_to(&then.findings);
    }
}
