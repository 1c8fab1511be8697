//! What an auditor says, and what follows from it: the next section, mending, the end.

use super::{Batch, Refusal};
use crate::findings::{FindingRefusal, NewFinding};
use crate::ids::TurnKey;
use crate::machine::activity::{Doing, Phase};
use crate::machine::input::CheckpointReport;
use crate::machine::review::{Aim, Opinion, ReviewEvent};
use crate::machine::state::Wish;
use crate::plan::Plan;
use crate::review::{Audit, AuditVerdict};
use crate::stop::StopReason;

impl Batch {
    pub(super) fn plan_written(&mut self, turn: TurnKey, plan: &Result<Box<Plan>, String>) {
        match plan {
            Ok(plan) => {
                self.planned((**plan).clone());
                self.unless_told_to_rest(Self::next_iteration);
            }
            Err(why) => self.unreadable(turn, why.clone()),
        }
    }

    pub(super) fn audited(&mut self, turn: TurnKey, audit: &Result<Box<Audit>, String>) {
        let told = self.state.review.as_ref().and_then(|review| review.said.clone());
        let said = match (told, audit) {
            (Some(told), _) => Ok(told),
            (None, Ok(audit)) => self.take_audit(turn, audit),
            (None, Err(why)) => Err(why.clone()),
        };
        let said = match said {
            Ok(said) => said,
            Err(why) => return self.unreadable(turn, why),
        };
        let open = self.state.blocking_findings();
        let section = self.state.review.as_ref().and_then(|review| review.section_number());
        let ruling = match said {
            Opinion::Clean { summary: None } if section.is_some() && open.is_empty() => {
                return self.unreadable(turn, "a clean section requires a summary".to_owned());
            }
            Opinion::Clean { summary } if open.is_empty() => Opinion::Clean { summary },
            Opinion::Dirty { .. } if open.is_empty() => {
                let why = "the verdict is dirty, but no blocking finding is open; write one";
                return self.unreadable(turn, why.to_owned());
            }
            // What is open blocks, whatever else is said.
            Opinion::Clean { .. } | Opinion::Dirty { .. } => Opinion::Dirty { open },
            Opinion::Accepted | Opinion::Rejected { .. } => {
                return self.unreadable(turn, "an auditor must report clean or dirty".to_owned());
            }
        };
        let same = match &ruling {
            Opinion::Dirty { open } => {
                let tree = self.state.workspace.as_ref().and_then(|workspace| workspace.tree.as_deref());
                Some(self.state.counters.same_with(tree, open, ""))
            }
            Opinion::Clean { .. } | Opinion::Accepted | Opinion::Rejected { .. } => None,
        };
        self.push(ReviewEvent::Reviewed { turn, ruling: ruling.clone(), same });
        match ruling {
            Opinion::Clean { .. } if section.is_some() => self.enter(Phase::Seal),
            Opinion::Clean { .. } | Opinion::Accepted => self.agreed(),
            Opinion::Dirty { .. } | Opinion::Rejected { .. } => self.mend(),
        }
    }

    /// Writes down what the auditor's block says; an id that nobody knows makes the block unreadable.
    fn take_audit(&mut self, turn: TurnKey, answer: &Audit) -> Result<Opinion, String> {
        let section = self.state.review.as_ref().and_then(|review| review.section_number());
        for id in &answer.resolved {
            match self.resolve_finding(turn, id) {
                // Through a tool, or in an answer that could not be read to its end.
                Ok(()) | Err(Refusal::Finding(FindingRefusal::AlreadyResolved { .. })) => {}
                Err(refusal) => return Err(refusal.to_string()),
            }
        }
        for finding in &answer.findings {
            match self.write_finding(turn, &finding.clone().in_section(section)) {
                // It is open already, which is what was meant.
                Ok(()) | Err(Refusal::Finding(FindingRefusal::Duplicate { .. })) => {}
                Err(refusal) => return Err(refusal.to_string()),
            }
        }
        for adjustment in &answer.plan_adjustments {
            self.adjust_plan(turn, adjustment.section, &adjustment.body, &adjustment.rationale)
                .map_err(|refusal| refusal.to_string())?;
        }
        Ok(match answer.verdict {
            AuditVerdict::Clean => Opinion::Clean { summary: answer.section_summary.clone() },
            AuditVerdict::Dirty => Opinion::Dirty { open: Vec::new() },
        })
    }

    /// The section's own commit is made.
    pub(super) fn sealed(&mut self, section: u32, checkpoint: &CheckpointReport) -> Result<(), Refusal> {
        if self.state.running() != Some(&Doing::Seal { section }) {
            return Err(Refusal::Stale);
        }
        let title = self.state.review.as_ref().and_then(|review| review.section()).map(|section| section.title.clone());
        self.push(ReviewEvent::SectionFinished {
            section,
            title: title.unwrap_or_default(),
            checkpoint: checkpoint.clone(),
        });
        let count = self.state.review.as_ref().map_or(0, |review| review.section_count());
        if section < count {
            self.push(ReviewEvent::AimChanged { aim: Aim::Section { number: section + 1 } });
            self.enter(Phase::Decide);
        } else {
            self.push(ReviewEvent::AimChanged { aim: Aim::Whole });
            self.enter(Phase::Gates);
        }
        if self.state.wish == Some(Wish::Stop) {
            self.stop_loop(StopReason::Cancelled);
        } else {
            self.go_on();
        }
        Ok(())
    }

    pub(super) fn write_finding(&mut self, turn: TurnKey, new: &NewFinding) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let mut new = new.clone();
        if new.section.is_none() {
            new.section = review.section_number();
        }
        let finding = review.findings().check(&new, turn, self.state.workspace_dir())?;
        self.push(ReviewEvent::FindingWritten { turn, finding });
        Ok(())
    }

    pub(super) fn resolve_finding(&mut self, turn: TurnKey, which: &str) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let id = review.findings().to_resolve(which, self.state.workspace_dir())?;
        self.push(ReviewEvent::FindingResolved { turn, id });
        Ok(())
    }

    pub(super) fn adjust_plan(
        &mut self,
        turn: TurnKey,
        section: u32,
        body: &str,
        rationale: &str,
    ) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let current = review.section_number().unwrap_or_else(|| review.section_count() + 1);
        let Some(plan) = &review.plan else { return Err(Refusal::NotReviewed) };
        let adjustment = plan.adjust(section, body, rationale, current)?;
        self.push(ReviewEvent::PlanAdjusted { turn, adjustment });
        Ok(())
    }
}
