//! What a reviewed loop is about: what an audit and an acceptance share, and what each has of its own.

mod acceptance;
mod audit;
mod review_event;

pub use acceptance::{AcceptedFeature, Accepting};
pub use audit::{Auditing, FinishedSection, PlanAim};
pub use review_event::ReviewEvent;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::commit_message;
use crate::findings::{Findings, Scope};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::Then;
use crate::machine::shared::Shared;
use crate::machine::state::LoopState;
use crate::plan::{Plan, Section};
use crate::review::{Report, SectionSummary};
use crate::spec::{ReviewKind, ReviewSpec};

/// The reasons that are kept for a person who has to say how to go on.
const REASONS_KEPT: usize = 3;

/// What the coder works at and the reviewer looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Aim {
    /// One section of the plan, or one feature after the other.
    Section { number: u32 },
    /// All that was done since the base. A coder's turn with this aim only mends.
    Whole,
}

/// What a reviewer thinks of the work: what it says through a tool or in its answer, and what its turn came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Opinion {
    /// Nothing is open that blocks.
    Clean {
        /// What was done in the section.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<SectionSummary>,
    },
    Dirty {
        /// The findings that block, once the turn is over.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<String>,
    },
    Accepted,
    Rejected {
        reason: String,
    },
}

/// Why no reviewer was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SkippedBecause {
    Gates {
        failing: Vec<String>,
    },
    NothingChanged,
    /// The report names a commit that the turn did not make.
    UnknownCommit {
        commit: String,
    },
}

/// An unanswered question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeferredQuestion {
    pub turn: TurnKey,
    pub question: String,
    /// What the agent goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Why the work is not accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Objection {
    pub reason: String,
    /// It was said of all of it.
    pub whole: bool,
}

/// What became of the post-action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PostActionRecord {
    /// The agent's last message, verbatim; empty if the post-action failed.
    pub summary: String,
    pub commit: Option<String>,
    /// Gates that failed on it, so that its changes were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone_for: Vec<String>,
}

/// What the last reviewer agreed to.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    pub commit: Option<String>,
    pub tree: Option<String>,
}

/// The judged part of a loop's state.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    pub judging: Judging,
    /// None until it is written.
    pub plan: Option<Plan>,
    /// What the reviewer said through a tool in the turn that is under way.
    pub said: Option<Opinion>,
    /// Why the last answers of the same reviewer (or planner) could not be read.
    pub unreadable: Vec<String>,
    pub last: Option<(TurnKey, Opinion)>,
    pub skipped: Option<SkippedBecause>,
    /// In a row.
    pub rejections: u32,
    /// The last reasons in a row, oldest first.
    pub reasons: Vec<String>,
    /// What was last said against the work, until it is accepted.
    pub objection: Option<Objection>,
    /// What a person said when the loop asked.
    pub direction: Option<String>,
    pub questions: Vec<DeferredQuestion>,
    pub agreed: Option<Agreed>,
    pub post_action: Option<PostActionRecord>,
    /// What was known when each iteration was over.
    pub past: Shared<BTreeMap<u32, Arc<Known>>>,
}

/// Who judges, and what that kind of review knows.
#[derive(Debug, Clone, PartialEq)]
pub enum Judging {
    /// An auditor looks for findings, section by section and then in the whole.
    Audit(Auditing),
    /// An acceptor accepts features one by one, and then the whole.
    Acceptance(Accepting),
}

/// What a review knows and going back takes along.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    plan: Option<Plan>,
    judging: Judging,
}

impl Review {
    pub(in crate::machine) fn new(kind: ReviewKind) -> Self {
        Self {
            judging: match kind {
                ReviewKind::Audit => Judging::Audit(Auditing::default()),
                ReviewKind::Acceptance => Judging::Acceptance(Accepting::default()),
            },
            plan: None,
            said: None,
            unreadable: Vec::new(),
            last: None,
            skipped: None,
            rejections: 0,
            reasons: Vec::new(),
            objection: None,
            direction: None,
            questions: Vec::new(),
            agreed: None,
            post_action: None,
            past: Shared::default(),
        }
    }

    pub(in crate::machine) fn known(&self) -> Known {
        Known { plan: self.plan.clone(), judging: self.judging.clone() }
    }

    pub(in crate::machine) fn go_back_to(&mut self, known: &Known) {
        // A plan that was written before anything was done is not undone.
        let planned = known.plan.is_some();
        if planned {
            self.plan.clone_from(&known.plan);
        }
        match (&mut self.judging, &known.judging) {
            (Judging::Audit(now), Judging::Audit(then)) => now.go_back_to(then, planned),
            (Judging::Acceptance(now), Judging::Acceptance(then)) => now.go_back_to(then, planned),
            // A loop's kind of review never changes.
            (Judging::Audit(_), Judging::Acceptance(_)) | (Judging::Acceptance(_), Judging::Audit(_)) => {}
        }
    }

    pub fn audit(&self) -> Option<&Auditing> {
        match &self.judging {
            Judging::Audit(audit) => Some(audit),
            Judging::Acceptance(_) => None,
        }
    }

    pub(in crate::machine) fn audit_mut(&mut self) -> Option<&mut Auditing> {
        match &mut self.judging {
            Judging::Audit(audit) => Some(audit),
            Judging::Acceptance(_) => None,
        }
    }

    pub fn acceptance(&self) -> Option<&Accepting> {
        match &self.judging {
            Judging::Acceptance(acceptance) => Some(acceptance),
            Judging::Audit(_) => None,
        }
    }

    pub(in crate::machine) fn acceptance_mut(&mut self) -> Option<&mut Accepting> {
        match &mut self.judging {
            Judging::Acceptance(acceptance) => Some(acceptance),
            Judging::Audit(_) => None,
        }
    }

    /// What is worked at and judged, as people and scripts see it.
    pub fn aim(&self) -> Aim {
        self.section_number().map_or(Aim::Whole, |number| Aim::Section { number })
    }

    pub fn aims_at_whole(&self) -> bool {
        match &self.judging {
            Judging::Audit(audit) => audit.aim == PlanAim::Whole,
            Judging::Acceptance(acceptance) => acceptance.whole,
        }
    }

    pub(in crate::machine) fn set_aim(&mut self, aim: Aim) {
        match &mut self.judging {
            Judging::Audit(audit) => audit.set_aim(aim),
            Judging::Acceptance(acceptance) => acceptance.whole = aim == Aim::Whole,
        }
    }

    /// All findings of an audit; an acceptor writes none.
    pub fn findings(&self) -> &Findings {
        static NONE: Findings = Findings::NONE;
        self.audit().map_or(&NONE, |audit| &audit.findings)
    }

    /// The sections that the auditor found clean.
    pub fn finished(&self) -> &[FinishedSection] {
        self.audit().map_or(&[], |audit| &audit.finished)
    }

    /// What the auditor says was done in the section that it just found clean.
    pub fn section_summary(&self) -> Option<&SectionSummary> {
        match &self.last {
            Some((_, Opinion::Clean { summary })) => summary.as_ref(),
            Some((_, Opinion::Dirty { .. } | Opinion::Accepted | Opinion::Rejected { .. })) | None => None,
        }
    }

    /// The features that the acceptor accepted.
    pub fn accepted(&self) -> &[AcceptedFeature] {
        self.acceptance().map_or(&[], |acceptance| &acceptance.accepted)
    }

    /// The section that is worked at; none once the whole is mended.
    pub fn section(&self) -> Option<&Section> {
        self.plan.as_ref()?.section(self.section_number()?)
    }

    /// The goal of a loop whose features are accepted is its only section.
    pub fn section_number(&self) -> Option<u32> {
        match &self.judging {
            Judging::Audit(audit) => audit.section_number(),
            Judging::Acceptance(acceptance) => (!acceptance.whole).then_some(1),
        }
    }

    pub fn section_count(&self) -> u32 {
        self.plan.as_ref().map_or(0, Plan::count)
    }

    pub(in crate::machine) fn rejected(&mut self, reason: &str) {
        self.objection = Some(Objection { reason: reason.to_owned(), whole: false });
        self.rejections += 1;
        self.reasons.push(reason.to_owned());
        let kept = self.reasons.len().saturating_sub(REASONS_KEPT);
        self.reasons.drain(..kept);
    }

    pub(in crate::machine) fn forget_rejections(&mut self) {
        self.rejections = 0;
        self.reasons.clear();
    }
}

impl LoopState {
    /// The specification and the state of the review, in a loop that has one.
    pub fn reviewed(&self) -> Option<(&ReviewSpec, &Review)> {
        self.spec.review.as_ref().zip(self.review.as_deref())
    }

    /// What comes first once a workspace is ready: the plan, if somebody has to write one.
    pub(in crate::machine) fn first(&self) -> Then {
        match self.reviewed() {
            Some((spec, review)) if spec.planning && review.plan.is_none() => Then::Plan,
            Some(_) | None => Then::Work,
        }
    }

    /// Whether all of the work is mended or judged, and not a part of it.
    pub(in crate::machine) fn aims_at_whole(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.aims_at_whole())
    }

    /// The message of the commit that closes the last turn: a milestone's names the feature or the goal, since a
    /// developer's answer is a report in a fixed form; any other has the agent's own words.
    pub fn commit_message(&self) -> String {
        let report = self.last_turn.as_ref().map(|last| &last.report);
        if !self.accepts_features() {
            let last_words = report.map(|report| report.last_words.as_str()).unwrap_or_default();
            return commit_message::compose(self.iteration, last_words, self.spec.done.promise());
        }
        let name = match report.and_then(|report| report.developer.as_deref()) {
            Some(Report::Feature(report)) => match &report.feature_id {
                Some(id) if !report.feature.starts_with(id.as_str()) => format!("{id}: {}", report.feature),
                Some(_) | None => report.feature.clone(),
            },
            Some(Report::AllFeaturesComplete { .. } | Report::Unparsed { .. }) | None => self.spec.goal.clone(),
        };
        commit_message::titled(self.iteration, &name)
    }

    /// Whether features of a milestone are accepted one by one.
    pub fn accepts_features(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.acceptance().is_some())
    }

    /// The next key of a role in this iteration.
    pub(in crate::machine) fn next_key(&self, role: Role) -> TurnKey {
        match self.last_keys.get(&role) {
            Some(last) if last.iteration == self.iteration => last.next_attempt(),
            Some(_) | None => TurnKey::first(self.iteration, role),
        }
    }

    /// The ids of the findings that stand against what the loop aims at.
    pub(in crate::machine) fn blocking_findings(&self) -> Vec<String> {
        let Some((spec, review)) = self.reviewed() else { return Vec::new() };
        let scope = review.section_number().map_or(Scope::All, |section| Scope::Section { section });
        review.findings().blocking(spec.warnings_block, scope).map(|finding| finding.id.to_string()).collect()
    }

    /// Failing gates that stand against the aim. What failed on the base already need not pass before the end.
    pub(in crate::machine) fn blocking_gates(&self) -> Vec<String> {
        let whole = self.review.as_ref().is_none_or(|review| review.aims_at_whole());
        let failing = self.gates.iter().filter(|(_, gate)| !gate.verdict.passed());
        failing
            .filter(|(index, _)| whole || !self.failed_before(**index))
            .map(|(_, gate)| gate.command.clone())
            .collect()
    }

    /// Whether anything at all was done since the base.
    pub(in crate::machine) fn differs_from_base(&self) -> bool {
        let Some(workspace) = &self.workspace else { return true };
        match (&workspace.base_tree, &workspace.tree) {
            (Some(base), Some(tree)) => base != tree,
            (None, _) | (_, None) => workspace.base_commit != workspace.head_commit,
        }
    }
}
