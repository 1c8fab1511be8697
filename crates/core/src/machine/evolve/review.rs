//! The fold of what happens around a review.

use std::sync::Arc;

use super::activity;
use crate::agent::TurnReport;
use crate::ids::{Role, TurnKey};
use crate::machine::event::Opener;
use crate::machine::review::{
    AcceptedFeature, Aim, DeferredQuestion, FinishedSection, Objection, PostActionRecord, Review, Ruling,
};
use crate::machine::review_event::ReviewEvent;
use crate::machine::shared::Shared;
use crate::machine::state::LoopState;
use crate::review::Report;
use crate::trouble::Step;

pub(super) fn opened(state: &mut LoopState, by: Opener) {
    let most = state.spec.review.as_ref().map_or(0, |spec| spec.max_rejections);
    let Some(review) = &mut state.review else { return };
    review.unreadable.clear();
    // Who opens a loop that asked has answered.
    if review.rejections >= most || by == Opener::Restart {
        review.forget_rejections();
    }
}

pub(super) fn turn_started(state: &mut LoopState, key: TurnKey) {
    let head = state.head_commit().map(str::to_owned);
    let tree = state.workspace.as_ref().map(|workspace| workspace.tree.clone()).unwrap_or_default();
    let Some(review) = &mut state.review else { return };
    // A verdict belongs to the turn it was given in.
    review.said = None;
    if key.role == Role::Coder {
        review.report = None;
        review.decisions = None;
        review.started_at.get_or_insert((head, tree));
    }
}

/// Who takes over was not asked yet.
pub(super) fn agent_changed(state: &mut LoopState) {
    if let Some(review) = &mut state.review {
        review.unreadable.clear();
    }
}

pub(super) fn turn_ended(state: &mut LoopState, key: TurnKey, report: &TurnReport) {
    if state.review.is_some() && key.role == Role::Coder {
        state.last_work = Some(Shared::new(report.clone()));
    }
}

/// What a person said has reached the coder.
pub(super) fn checkpointed(state: &mut LoopState) {
    if let Some(review) = &mut state.review {
        review.direction = None;
    }
}

/// The work continues, and the steps after it run again.
pub(super) fn claim_refused(state: &mut LoopState) {
    if let Some(review) = &mut state.review {
        review.post_action = None;
    }
}

/// The final review runs again, or a new goal is planned first.
pub(super) fn continued(state: &mut LoopState, new_goal: bool) {
    let Some(review) = &mut state.review else { return };
    review.unreadable.clear();
    review.post_action = None;
    review.agreed = None;
    review.agreed_tree = None;
    review.started_at = None;
    review.objection = None;
    review.forget_rejections();
    if new_goal {
        review.plan = None;
        review.finished.clear();
        review.aim = Aim::Section { number: 1 };
    }
}

/// The review state at the end of an iteration, for a rollback to it.
pub(super) fn remember(state: &mut LoopState) {
    let iteration = state.iteration;
    if let Some(review) = &mut state.review {
        let known = review.known();
        review.past.entry(iteration).or_insert_with(|| Arc::new(known));
    }
}

/// Findings, sections and adjustments are again what they were then.
pub(super) fn rolled_back(state: &mut LoopState, to_iteration: u32) {
    remember(state);
    let Some(review) = &mut state.review else { return };
    review.unreadable.clear();
    review.post_action = None;
    review.agreed = None;
    review.agreed_tree = None;
    review.started_at = None;
    review.last = None;
    review.objection = None;
    review.forget_rejections();
    if let Some(known) = review.past.get(&to_iteration).cloned() {
        review.go_back_to(&known);
    }
}

pub(super) fn apply(state: &mut LoopState, event: &ReviewEvent) {
    let iteration = state.iteration;
    let head = state.head_commit().map(str::to_owned);
    let Some(review) = &mut state.review else { return };
    match event {
        ReviewEvent::Planned { plan } => {
            review.plan = Some((**plan).clone());
            review.unreadable.clear();
            activity::answered(state);
        }
        ReviewEvent::MilestoneAmended { milestone } => {
            if let Some(spec) = &mut state.spec.review {
                spec.milestone = Some((**milestone).clone());
            }
        }
        ReviewEvent::AimChanged { aim } => {
            review.aim = *aim;
            review.started_at = None;
        }
        ReviewEvent::FindingWritten { finding, .. } => review.findings.put(finding.clone()),
        ReviewEvent::FindingResolved { turn, id } => review.findings.close(*id, *turn),
        ReviewEvent::PlanAdjusted { adjustment, .. } => {
            if let Some(plan) = &mut review.plan {
                plan.apply(adjustment);
            }
            review.adjustments.push(adjustment.clone());
        }
        ReviewEvent::VerdictGiven { verdict, .. } => review.said = Some(verdict.clone()),
        ReviewEvent::Reported { report, .. } => review.report = Some((**report).clone()),
        ReviewEvent::DecisionsTold { decisions, .. } => review.decisions = Some(decisions.clone()),
        ReviewEvent::QuestionDeferred { turn, question, default } => review.questions.push(DeferredQuestion {
            turn: *turn,
            question: question.clone(),
            default: default.clone(),
        }),
        ReviewEvent::ReviewSkipped { because, .. } => {
            review.skipped = Some(because.clone());
        }
        ReviewEvent::AnswerUnreadable { why, .. } => review.unreadable.push(why.clone()),
        ReviewEvent::Reviewed { turn, ruling, summary, same } => {
            review.summary.clone_from(summary);
            reviewed(state, *turn, ruling, *same);
            activity::answered(state);
        }
        ReviewEvent::RejectedUnseen { reason, .. } => {
            review.rejected(reason);
        }
        ReviewEvent::SectionFinished { section, title, checkpoint } => {
            let summary = review.summary.take().unwrap_or_default();
            review.finished.push(FinishedSection {
                number: *section,
                title: title.clone(),
                iteration,
                commit: checkpoint.commit.clone(),
                summary,
            });
            state.counters.not_tried.remove(&Step::Seal);
            if let Some(workspace) = &mut state.workspace {
                if checkpoint.commit.is_some() {
                    workspace.head_commit.clone_from(&checkpoint.commit);
                }
                workspace.tree.clone_from(&checkpoint.tree);
            }
        }
        ReviewEvent::PostActionEnded { summary, commit } => {
            review.post_action =
                Some(PostActionRecord { summary: summary.clone(), commit: commit.clone(), undone_for: Vec::new() });
        }
        ReviewEvent::PostActionRefused { failing } => {
            if let Some(record) = &mut review.post_action {
                record.undone_for.clone_from(failing);
            }
        }
        ReviewEvent::PostActionUndone { commit, tree, .. } => {
            if let Some(record) = &mut review.post_action {
                record.commit = None;
            }
            state.counters.not_tried.remove(&Step::Undo);
            if let Some(workspace) = &mut state.workspace {
                workspace.head_commit = Some(commit.clone());
                workspace.tree.clone_from(tree);
            }
        }
        ReviewEvent::PersonRuled { approved, reason } => {
            // Approving the whole says nothing of a single feature; overruling the reviewer does.
            if *approved && review.rejections > 0 {
                accept_feature(review, iteration, head);
            }
            review.forget_rejections();
            review.objection = None;
            // Why somebody agreed is for the journal; only a rejection gives the coder something to do.
            review.direction = reason.clone().filter(|_| !*approved);
            if !*approved {
                // The accepted work is open again.
                review.post_action = None;
            }
            activity::person_ruled(state);
        }
    }
}

fn reviewed(state: &mut LoopState, turn: TurnKey, ruling: &Ruling, same: Option<u32>) {
    let head = state.head_commit().map(str::to_owned);
    let tree = state.workspace.as_ref().map(|workspace| workspace.tree.clone()).unwrap_or_default();
    let Some(review) = &mut state.review else { return };
    review.said = None;
    review.skipped = None;
    review.unreadable.clear();
    review.last = Some((turn, ruling.clone()));
    let whole = review.aim == Aim::Whole;
    match ruling {
        Ruling::Clean | Ruling::Dirty { .. } => review.findings.audited(),
        Ruling::Accepted if !whole => accept_feature(review, turn.iteration, head.clone()),
        Ruling::Accepted | Ruling::Rejected { .. } => {}
    }
    match ruling {
        Ruling::Clean | Ruling::Accepted => {
            review.forget_rejections();
            review.objection = None;
            if whole {
                review.agreed = head;
                review.agreed_tree = Some(tree.clone());
                state.claims.made += 1;
            }
            state.counters.same = 0;
        }
        Ruling::Dirty { open } => state.counters.unchanged(same.unwrap_or(1), tree, open, String::new()),
        Ruling::Rejected { reason } if !whole => review.rejected(reason),
        // A final rejection goes to the developer. It is not a consecutive rejection; only its turns count.
        Ruling::Rejected { reason } => {
            review.objection = Some(Objection { reason: reason.clone(), whole: true });
        }
    }
}

fn accept_feature(review: &mut Review, iteration: u32, commit: Option<String>) {
    let (id, feature) = match &review.report {
        Some(Report::Feature(report)) => (report.feature_id.clone(), report.feature.clone()),
        Some(Report::AllFeaturesComplete { .. } | Report::Unparsed { .. }) | None => (None, String::new()),
    };
    // Accepting the same feature again does not count twice; without a report it is unknown which one it is.
    review.accepted.retain(|known| known.id != id || (id.is_none() && known.feature != feature));
    review.accepted.push(AcceptedFeature { iteration, id, feature, commit });
}
