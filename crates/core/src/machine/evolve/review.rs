//! The fold of what happens around a review.

use std::sync::Arc;

use super::activity;
use crate::agent::TurnReport;
use crate::ids::{Role, TurnKey};
use crate::machine::event::Opener;
use crate::machine::input::CheckpointReport;
use crate::machine::review::{
    Agreed, Auditing, DeferredQuestion, FinishedSection, Judging, Objection, Opinion, PlanAim, PostActionRecord,
    Review, ReviewEvent,
};
use crate::machine::shared::Shared;
use crate::machine::state::{LoopState, known};
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
    let Some(review) = &mut state.review else { return };
    // A verdict belongs to the turn it was given in.
    review.said = None;
    if key.role != Role::Coder {
        return;
    }
    match &mut review.judging {
        Judging::Audit(audit) => {
            audit.decisions = None;
            audit.began_at.get_or_insert(head);
        }
        Judging::Acceptance(acceptance) => acceptance.report = None,
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
    judge_anew(review);
    if new_goal {
        review.plan = None;
        match &mut review.judging {
            Judging::Audit(audit) => {
                audit.finished.clear();
                audit.aim = PlanAim::Unplanned;
            }
            Judging::Acceptance(acceptance) => acceptance.whole = false,
        }
    }
}

/// Discards what reviewers said about the work.
fn judge_anew(review: &mut Review) {
    review.unreadable.clear();
    review.post_action = None;
    review.agreed = None;
    review.objection = None;
    review.forget_rejections();
    if let Some(audit) = review.audit_mut() {
        audit.began_at = None;
    }
}

/// The review state at the end of an iteration, for a rollback to it.
pub(super) fn remember(state: &mut LoopState) {
    let iteration = state.iteration;
    if let Some(review) = &mut state.review {
        let now = review.known();
        review.past.entry(iteration).or_insert_with(|| Arc::new(now));
    }
}

/// Findings, sections and adjustments are again what they were then.
pub(super) fn rolled_back(state: &mut LoopState, to_iteration: u32) {
    remember(state);
    let Some(review) = &mut state.review else { return };
    judge_anew(review);
    review.last = None;
    if let Some(then) = review.past.get(&to_iteration).cloned() {
        review.go_back_to(&then);
    }
}

pub(super) fn apply(state: &mut LoopState, event: &ReviewEvent) {
    let iteration = state.iteration;
    let Some(review) = &mut state.review else { return };
    match event {
        ReviewEvent::Planned { plan } => {
            review.plan = Some((**plan).clone());
            review.unreadable.clear();
            in_audit(review, Auditing::planned);
            activity::answered(state);
        }
        ReviewEvent::MilestoneAmended { milestone } => {
            if let Some(spec) = &mut state.spec.review {
                spec.milestone = Some((**milestone).clone());
            }
        }
        ReviewEvent::AimChanged { aim } => review.set_aim(*aim),
        ReviewEvent::FindingWritten { finding, .. } => in_audit(review, |audit| audit.findings.put(finding.clone())),
        ReviewEvent::FindingResolved { turn, id } => in_audit(review, |audit| audit.findings.close(*id, *turn)),
        ReviewEvent::PlanAdjusted { adjustment, .. } => {
            if let Some(plan) = &mut review.plan {
                plan.apply(adjustment);
            }
            in_audit(review, |audit| audit.adjustments.push(adjustment.clone()));
        }
        ReviewEvent::VerdictGiven { verdict, .. } => review.said = Some(verdict.clone()),
        ReviewEvent::Reported { report, .. } => {
            if let Some(acceptance) = review.acceptance_mut() {
                acceptance.report = Some((**report).clone());
            }
        }
        ReviewEvent::DecisionsTold { decisions, .. } => {
            in_audit(review, |audit| audit.decisions = Some(decisions.clone()));
        }
        ReviewEvent::QuestionDeferred { turn, question, default } => review.questions.push(DeferredQuestion {
            turn: *turn,
            question: question.clone(),
            default: default.clone(),
        }),
        ReviewEvent::ReviewSkipped { because, .. } => review.skipped = Some(because.clone()),
        ReviewEvent::AnswerUnreadable { why, .. } => review.unreadable.push(why.clone()),
        ReviewEvent::Reviewed { turn, ruling, same } => {
            reviewed(state, *turn, ruling, *same);
            activity::answered(state);
        }
        ReviewEvent::RejectedUnseen { reason, .. } => review.rejected(reason),
        ReviewEvent::SectionFinished { section, title, checkpoint } => {
            let summary = review.section_summary().cloned().unwrap_or_default();
            in_audit(review, |audit| {
                let (title, commit) = (title.clone(), checkpoint.commit.clone());
                audit.finished.push(FinishedSection { number: *section, title, iteration, commit, summary });
            });
            sealed(state, checkpoint);
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
                workspace.tree = known(tree);
            }
        }
        ReviewEvent::PersonRuled { approved, reason } => person_ruled(state, *approved, reason.as_deref()),
    }
}

fn in_audit(review: &mut Review, change: impl FnOnce(&mut Auditing)) {
    if let Some(audit) = review.audit_mut() {
        change(audit);
    }
}

fn sealed(state: &mut LoopState, checkpoint: &CheckpointReport) {
    state.counters.not_tried.remove(&Step::Seal);
    if let Some(workspace) = &mut state.workspace {
        if checkpoint.commit.is_some() {
            workspace.head_commit.clone_from(&checkpoint.commit);
        }
        workspace.tree = known(&checkpoint.tree);
    }
}

fn person_ruled(state: &mut LoopState, approved: bool, reason: Option<&str>) {
    let iteration = state.iteration;
    let head = state.head_commit().map(str::to_owned);
    let Some(review) = &mut state.review else { return };
    // Approving the whole says nothing of a single feature; overruling the reviewer does.
    if approved
        && review.rejections > 0
        && let Some(acceptance) = review.acceptance_mut()
    {
        acceptance.accept(iteration, head);
    }
    review.forget_rejections();
    review.objection = None;
    // Why somebody agreed is for the journal; only a rejection gives the coder something to do.
    review.direction = reason.filter(|_| !approved).map(str::to_owned);
    if !approved {
        // What was agreed to is worked at once more.
        review.post_action = None;
    }
    activity::person_ruled(state);
}

fn reviewed(state: &mut LoopState, turn: TurnKey, ruling: &Opinion, same: Option<u32>) {
    let commit = state.head_commit().map(str::to_owned);
    let tree = state.workspace.as_ref().and_then(|workspace| workspace.tree.clone());
    let Some(review) = &mut state.review else { return };
    review.said = None;
    review.skipped = None;
    review.unreadable.clear();
    review.last = Some((turn, ruling.clone()));
    let whole = review.aims_at_whole();
    match &mut review.judging {
        Judging::Audit(audit) => audit.findings.audited(),
        Judging::Acceptance(acceptance) if *ruling == Opinion::Accepted && !whole => {
            acceptance.accept(turn.iteration, commit.clone());
        }
        Judging::Acceptance(_) => {}
    }
    match ruling {
        Opinion::Clean { .. } | Opinion::Accepted => {
            review.forget_rejections();
            review.objection = None;
            if whole {
                review.agreed = Some(Agreed { commit, tree });
                state.claims.made += 1;
            }
            state.counters.same = 0;
        }
        Opinion::Dirty { open } => state.counters.unchanged(same.unwrap_or(1), tree, open, String::new()),
        Opinion::Rejected { reason } if !whole => review.rejected(reason),
        // A final rejection goes to the developer. It is not a consecutive rejection; only its turns count.
        Opinion::Rejected { reason } => {
            review.objection = Some(Objection { reason: reason.clone(), whole: true });
        }
    }
}
