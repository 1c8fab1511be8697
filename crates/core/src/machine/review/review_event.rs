//! What is decided around a review: a part of the journal's vocabulary, never changed once released.

use serde::{Deserialize, Serialize};

use super::{Aim, Opinion, SkippedBecause};
use crate::machine::event::Event;
use crate::machine::input::CheckpointReport;

use crate::findings::{Finding, FindingId};
use crate::ids::TurnKey;
use crate::milestone::Milestone;
use crate::plan::{Adjustment, Plan};
use crate::review::{CoderDecisions, Report};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReviewEvent {
    /// The plan, split into its sections.
    Planned {
        plan: Box<Plan>,
    },
    /// The milestone file changed and was reloaded.
    MilestoneAmended {
        milestone: Box<Milestone>,
    },
    /// What the work and its review are about from here on.
    AimChanged {
        aim: Aim,
    },
    FindingWritten {
        turn: TurnKey,
        finding: Finding,
    },
    FindingResolved {
        turn: TurnKey,
        id: FindingId,
    },
    PlanAdjusted {
        turn: TurnKey,
        adjustment: Adjustment,
    },
    /// What a reviewer says through a tool; its turn continues.
    VerdictGiven {
        turn: TurnKey,
        verdict: Opinion,
    },
    /// What the coder says of its turn.
    Reported {
        turn: TurnKey,
        report: Box<Report>,
    },
    /// What the coder of an audited loop says of its decisions.
    DecisionsTold {
        turn: TurnKey,
        decisions: CoderDecisions,
    },
    /// An unanswered question.
    QuestionDeferred {
        turn: TurnKey,
        question: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    ReviewSkipped {
        iteration: u32,
        because: SkippedBecause,
    },
    /// A reviewer's or planner's answer that cannot be acted upon.
    AnswerUnreadable {
        turn: TurnKey,
        why: String,
    },
    Reviewed {
        turn: TurnKey,
        ruling: Opinion,
        /// Audits in a row with the same findings on the same tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same: Option<u32>,
    },
    /// What counts as a rejection although no reviewer was asked.
    RejectedUnseen {
        iteration: u32,
        reason: String,
    },
    SectionFinished {
        section: u32,
        title: String,
        checkpoint: CheckpointReport,
    },
    PostActionEnded {
        summary: String,
        commit: Option<String>,
    },
    /// Gates fail on what the post-action left.
    PostActionRefused {
        failing: Vec<String>,
    },
    PostActionUndone {
        commit: String,
        tree: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
    },
    /// What a user said to a loop that asked.
    PersonRuled {
        approved: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl From<ReviewEvent> for Event {
    fn from(event: ReviewEvent) -> Self {
        Event::Review(event)
    }
}

impl ReviewEvent {
    /// The tag, as the feed shows it.
    pub fn name(&self) -> &'static str {
        match self {
            ReviewEvent::Planned { .. } => "planned",
            ReviewEvent::MilestoneAmended { .. } => "milestone_amended",
            ReviewEvent::AimChanged { .. } => "aim_changed",
            ReviewEvent::FindingWritten { .. } => "finding_written",
            ReviewEvent::FindingResolved { .. } => "finding_resolved",
            ReviewEvent::PlanAdjusted { .. } => "plan_adjusted",
            ReviewEvent::VerdictGiven { .. } => "verdict_given",
            ReviewEvent::Reported { .. } => "reported",
            ReviewEvent::DecisionsTold { .. } => "decisions_told",
            ReviewEvent::QuestionDeferred { .. } => "question_deferred",
            ReviewEvent::ReviewSkipped { .. } => "review_skipped",
            ReviewEvent::AnswerUnreadable { .. } => "answer_unreadable",
            ReviewEvent::Reviewed { .. } => "reviewed",
            ReviewEvent::RejectedUnseen { .. } => "rejected_unseen",
            ReviewEvent::SectionFinished { .. } => "section_finished",
            ReviewEvent::PostActionEnded { .. } => "post_action_ended",
            ReviewEvent::PostActionRefused { .. } => "post_action_refused",
            ReviewEvent::PostActionUndone { .. } => "post_action_undone",
            ReviewEvent::PersonRuled { .. } => "person_ruled",
        }
    }

    /// The turn that it is about, where it is about one.
    pub fn turn(&self) -> Option<TurnKey> {
        match self {
            ReviewEvent::FindingWritten { turn, .. }
            | ReviewEvent::FindingResolved { turn, .. }
            | ReviewEvent::PlanAdjusted { turn, .. }
            | ReviewEvent::VerdictGiven { turn, .. }
            | ReviewEvent::Reported { turn, .. }
            | ReviewEvent::DecisionsTold { turn, .. }
            | ReviewEvent::QuestionDeferred { turn, .. }
            | ReviewEvent::AnswerUnreadable { turn, .. }
            | ReviewEvent::Reviewed { turn, .. } => Some(*turn),
            ReviewEvent::Planned { .. }
            | ReviewEvent::MilestoneAmended { .. }
            | ReviewEvent::AimChanged { .. }
            | ReviewEvent::ReviewSkipped { .. }
            | ReviewEvent::RejectedUnseen { .. }
            | ReviewEvent::SectionFinished { .. }
            | ReviewEvent::PostActionEnded { .. }
            | ReviewEvent::PostActionRefused { .. }
            | ReviewEvent::PostActionUndone { .. }
            | ReviewEvent::PersonRuled { .. } => None,
        }
    }
}
