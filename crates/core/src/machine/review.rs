//! What a reviewed loop is about: its plan, what was found and said, and where in all that the loop is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::activity::Then;
use super::shared::Shared;
use super::state::LoopState;
use crate::commit_message;
use crate::findings::{Findings, Scope};
use crate::ids::{Role, TurnKey};
use crate::plan::{Adjustment, Plan, Section};
use crate::review::{CoderDecisions, Report, SectionSummary};
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

/// What a reviewer's turn came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ruling {
    /// Nothing is open that blocks.
    Clean,
    /// These findings block.
    Dirty {
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

/// What a reviewer said through a tool, before its turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    Clean {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<SectionSummary>,
    },
    Dirty,
    Accepted,
    Rejected {
        reason: String,
    },
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

/// A feature that the acceptor accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AcceptedFeature {
    pub iteration: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub feature: String,
    pub commit: Option<String>,
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

/// The judged part of a loop's state.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// None until it is written.
    pub plan: Option<Plan>,
    pub adjustments: Vec<Adjustment>,
    pub aim: Aim,
    /// Head and tree where the work on the present section began.
    pub started_at: Option<(Option<String>, String)>,
    pub finished: Vec<FinishedSection>,
    pub findings: Findings,
    /// What the reviewer said through a tool in the turn that is under way.
    pub said: Option<Said>,
    /// The coder's own account of its last turn.
    pub decisions: Option<CoderDecisions>,
    pub report: Option<Report>,
    /// Why the last answers of the same reviewer (or planner) could not be read.
    pub unreadable: Vec<String>,
    pub last: Option<(TurnKey, Ruling)>,
    /// What the auditor says was done in the section that it found clean.
    pub summary: Option<SectionSummary>,
    pub skipped: Option<SkippedBecause>,
    /// In a row.
    pub rejections: u32,
    /// The last reasons in a row, oldest first.
    pub reasons: Vec<String>,
    /// What was last said against the work, until it is accepted.
    pub objection: Option<Objection>,
    pub accepted: Vec<AcceptedFeature>,
    /// What a person said when the loop asked.
    pub direction: Option<String>,
    pub questions: Vec<DeferredQuestion>,
    /// The commit that the last reviewer agreed to.
    pub agreed: Option<String>,
    pub agreed_tree: Option<String>,
    pub post_action: Option<PostActionRecord>,
    /// What was known when each iteration was over.
    pub past: Shared<BTreeMap<u32, Arc<Known>>>,
}

/// What a review knows and going back takes along.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    plan: Option<Plan>,
    adjustments: Vec<Adjustment>,
    aim: Aim,
    finished: Vec<FinishedSection>,
    accepted: Vec<AcceptedFeature>,
    findings: Findings,
}

impl Review {
    pub(super) fn known(&self) -> Known {
        Known {
            plan: self.plan.clone(),
            adjustments: self.adjustments.clone(),
            aim: self.aim,
            finished: self.finished.clone(),
            accepted: self.accepted.clone(),
            findings: self.findings.clone(),
        }
    }

    pub(super) fn go_back_to(&mut self, known: &Known) {
        // A plan that was written before anything was done is not undone.
        if known.plan.is_some() {
            self.plan.clone_from(&known.plan);
            self.adjustments.clone_from(&known.adjustments);
            self.aim = known.aim;
        }
        self.finished.clone_from(&known.finished);
        self.accepted.clone_from(&known.accepted);
        self.findings.go_back_to(&known.findings);
    }

    pub(super) fn new() -> Self {
        Self {
            plan: None,
            adjustments: Vec::new(),
            aim: Aim::Section { number: 1 },
            started_at: None,
            finished: Vec::new(),
            findings: Findings::default(),
            said: None,
            decisions: None,
            report: None,
            unreadable: Vec::new(),
            last: None,
            summary: None,
            skipped: None,
            rejections: 0,
            reasons: Vec::new(),
            objection: None,
            accepted: Vec::new(),
            direction: None,
            questions: Vec::new(),
            agreed: None,
            agreed_tree: None,
            post_action: None,
            past: Shared::default(),
        }
    }

    /// The section that is worked at; none once the whole is mended.
    pub fn section(&self) -> Option<&Section> {
        match self.aim {
            Aim::Section { number } => self.plan.as_ref()?.section(number),
            Aim::Whole => None,
        }
    }

    pub fn section_number(&self) -> Option<u32> {
        match self.aim {
            Aim::Section { number } => Some(number),
            Aim::Whole => None,
        }
    }

    pub fn section_count(&self) -> u32 {
        self.plan.as_ref().map_or(0, Plan::count)
    }

    pub(super) fn rejected(&mut self, reason: &str) {
        self.objection = Some(Objection { reason: reason.to_owned(), whole: false });
        self.rejections += 1;
        self.reasons.push(reason.to_owned());
        let kept = self.reasons.len().saturating_sub(REASONS_KEPT);
        self.reasons.drain(..kept);
    }

    pub(super) fn forget_rejections(&mut self) {
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
    pub(super) fn first(&self) -> Then {
        match self.reviewed() {
            Some((spec, review)) if spec.planning && review.plan.is_none() => Then::Plan,
            Some(_) | None => Then::Work,
        }
    }

    /// Whether all of the work is mended or judged, and not a part of it.
    pub(super) fn aims_at_whole(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.aim == Aim::Whole)
    }

    /// Whether features of a milestone are accepted one by one.
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

    pub fn accepts_features(&self) -> bool {
        self.spec.review.as_ref().is_some_and(|review| match review.kind {
            ReviewKind::Acceptance => true,
            ReviewKind::Audit => false,
        })
    }

    /// The next key of a role in this iteration.
    pub(super) fn next_key(&self, role: Role) -> TurnKey {
        match self.last_keys.get(&role) {
            Some(last) if last.iteration == self.iteration => last.next_attempt(),
            Some(_) | None => TurnKey::first(self.iteration, role),
        }
    }

    /// The ids of the findings that stand against what the loop aims at.
    pub(super) fn blocking_findings(&self) -> Vec<String> {
        let Some((spec, review)) = self.reviewed() else { return Vec::new() };
        let scope = review.section_number().map_or(Scope::All, |section| Scope::Section { section });
        review.findings.blocking(spec.warnings_block, scope).map(|finding| finding.id.to_string()).collect()
    }

    /// Failing gates that stand against the aim. What failed on the base already need not pass before the end.
    pub(super) fn blocking_gates(&self) -> Vec<String> {
        let whole = self.review.as_ref().is_none_or(|review| review.aim == Aim::Whole);
        let failing = self.gates.iter().filter(|(_, gate)| !gate.verdict.passed());
        failing
            .filter(|(index, _)| whole || !self.failed_before(**index))
            .map(|(_, gate)| gate.command.clone())
            .collect()
    }

    /// Whether anything at all was done since the base.
    pub(super) fn differs_from_base(&self) -> bool {
        let Some(workspace) = &self.workspace else { return true };
        match (workspace.base_tree.as_str(), workspace.tree.as_str()) {
            ("", _) | (_, "") => workspace.base_commit != workspace.head_commit,
            (base, tree) => base != tree,
        }
    }
}
