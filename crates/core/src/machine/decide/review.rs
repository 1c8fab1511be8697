//! What audit and acceptance share: when a reviewer is asked, and what follows once it agrees to the whole.

use super::{Batch, Refusal};
use crate::agent::TurnReport;
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Doing, Next, Phase, Then};
use crate::machine::answer::Answer;
use crate::machine::event::{Event, Interrupt, RefusedBecause};
use crate::machine::review::{Agreed, Aim, Judging, ReviewEvent, SkippedBecause};
use crate::machine::state::Wish;
use crate::machine::turn::EndedTurn;
use crate::plan::Plan;
use crate::stop::{PauseReason, Status, StopReason};

impl Batch {
    /// Splits the plan into its sections, once; a loop without one has its goal for a plan.
    pub(super) fn plan_once(&mut self) {
        let Some((spec, review)) = self.state.reviewed() else { return };
        if review.plan.is_some() || spec.planning {
            return;
        }
        // A plan that cannot be read is refused before the loop is made; a goal is one section whatever is in it.
        let plan = match &self.state.spec.context.plan {
            Some(text) => Plan::parse(text).unwrap_or_else(|_| Plan::whole(text)),
            None => Plan::whole(&self.state.spec.goal),
        };
        self.planned(plan);
    }

    pub(super) fn planned(&mut self, plan: Plan) {
        let single = plan.count() <= 1 && !self.state.accepts_features();
        self.push(ReviewEvent::Planned { plan: Box::new(plan) });
        // The audit of the only section is the audit of the whole.
        if single {
            self.push(ReviewEvent::AimChanged { aim: Aim::Whole });
        }
    }

    /// What is due, in a workspace that is ready.
    pub(super) fn next_step(&mut self) {
        match self.state.activity.then() {
            Some(Then::Plan) => self.start_side_turn(Role::Planner),
            Some(Then::Review) => self.start_review(),
            Some(Then::PostAction) => self.start_side_turn(Role::Finisher),
            Some(Then::AskPerson) => self.push(Event::LoopPaused { why: PauseReason::Review }),
            Some(Then::Work | Then::Retry(_)) | None => self.next_iteration(),
        }
    }

    /// The coder's turn is committed and judged by the gates.
    pub(super) fn after_work(&mut self) {
        match self.not_worth_a_review() {
            None => self.start_review(),
            Some(because) => {
                self.push(ReviewEvent::ReviewSkipped { iteration: self.state.iteration, because: because.clone() });
                match because {
                    SkippedBecause::Gates { .. } => self.mend(),
                    SkippedBecause::NothingChanged => self.reject_or_mend("no changes"),
                    SkippedBecause::UnknownCommit { commit } => {
                        self.reject_or_mend(&format!("the reported commit {commit} does not exist"));
                    }
                }
            }
        }
    }

    fn not_worth_a_review(&self) -> Option<SkippedBecause> {
        let failing = self.state.blocking_gates();
        if !failing.is_empty() {
            return Some(SkippedBecause::Gates { failing });
        }
        let review = self.state.review.as_ref()?;
        if !self.state.iterations.is_empty() && !self.state.differs_from_base() {
            return Some(SkippedBecause::NothingChanged);
        }
        match &review.judging {
            Judging::Audit(_) => None,
            Judging::Acceptance(acceptance) => self.not_worth_acceptance(acceptance),
        }
    }

    fn start_review(&mut self) {
        let Some((spec, _)) = self.state.reviewed() else { return };
        let role = spec.kind.role();
        self.start_side_turn(role);
    }

    /// A turn that is not the coder's: it takes no iteration, but time and money.
    pub(super) fn start_side_turn(&mut self, role: Role) {
        if self.state.activity != Activity::Deciding(Next::Reopen(Then::after(role))) {
            self.enter(Phase::of_role(role));
        }
        if let Some(limit) = StopReason::spent_limit(&self.state, self.now) {
            return self.limit_reached(limit);
        }
        let key = self.state.next_key(role);
        self.unless_told_to_rest(|batch| batch.start_turn(key));
    }

    /// A reviewer, planner or finisher ended its turn, in whatever way.
    pub(super) fn side_turn_closed(&mut self, ended: &EndedTurn, answer: &Answer) {
        let (turn, report) = (ended.key, &ended.report);
        if self.state.wish == Some(Wish::Stop) && turn.role != Role::Finisher {
            // What was said is not acted upon: it is asked for anew when the loop goes on.
            return self.stop_loop(StopReason::Cancelled);
        }
        match turn.role {
            // Nobody failed and nobody was judged: the turn is due again once there is time and money for it.
            Role::Auditor | Role::Acceptor | Role::Planner
                if !report.outcome.is_finished()
                    && let Some(Interrupt::Limit { limit }) = &ended.interrupt =>
            {
                self.limit_reached(limit.clone());
            }
            Role::Auditor | Role::Acceptor | Role::Planner if !report.outcome.is_finished() => {
                self.side_turn_failed(turn.role, &report.outcome);
            }
            Role::Finisher => self.enter(Phase::Checkpoint),
            Role::Auditor | Role::Acceptor | Role::Planner | Role::Coder | Role::Summariser => match answer {
                Answer::Plan(plan) => self.plan_written(turn, plan),
                Answer::Audit(audit) => self.audited(turn, audit),
                Answer::Acceptance(opinion) => self.judged_by_acceptor(turn, opinion),
                Answer::Work { .. } | Answer::Unread => self.unreadable(turn, "no answer".to_owned()),
            },
        }
    }

    pub(super) fn mend(&mut self) {
        self.watch_progress();
        if self.state.is_open() {
            self.next_iteration();
        }
    }

    /// The reviewer agrees to all of it.
    pub(super) fn agreed(&mut self) {
        let iteration = self.state.iteration;
        let files = self.state.held_back().to_vec();
        if !files.is_empty() {
            self.push(Event::ClaimRefused { iteration, because: RefusedBecause::HeldBack { files } });
            return self.next_iteration();
        }
        if let Some(because) = self.unheard() {
            self.push(Event::ClaimRefused { iteration, because });
            return self.next_iteration();
        }
        let wants_more = self
            .state
            .reviewed()
            .is_some_and(|(spec, review)| spec.post_action.is_some() && review.post_action.is_none());
        if wants_more {
            self.start_side_turn(Role::Finisher);
        } else {
            self.complete();
        }
    }

    /// The post-action is over, well or not: it cannot cost what was accepted.
    pub(super) fn finisher_closed(&mut self, report: &TurnReport) {
        let summary = report.answer.clone().filter(|_| report.outcome.is_finished()).unwrap_or_default();
        self.push(ReviewEvent::PostActionEnded { summary, commit: self.state.head_commit().map(str::to_owned) });
        let agreed = self.state.review.as_ref().and_then(|review| review.agreed.as_ref());
        let changed = agreed.and_then(|Agreed { commit, .. }| commit.as_deref()) != self.state.head_commit();
        let stops = self.state.wish == Some(Wish::Stop);
        if stops || (changed && !self.state.spec.gates.is_empty()) {
            self.enter(Phase::Gates);
            if stops {
                self.stop_loop(StopReason::Cancelled);
            }
        } else {
            self.complete();
        }
    }

    /// The gates have judged what the post-action left.
    pub(super) fn after_post_action(&mut self) {
        let failing = self.state.failing_gates();
        if failing.is_empty() {
            return self.complete();
        }
        self.push(ReviewEvent::PostActionRefused { failing });
        self.enter(Phase::Undo);
    }

    pub(super) fn undone(&mut self, commit: &str, tree: &str, saved: Option<&str>) -> Result<(), Refusal> {
        let Some(Doing::Undo { .. }) = self.state.running() else { return Err(Refusal::Stale) };
        self.push(ReviewEvent::PostActionUndone {
            commit: commit.to_owned(),
            tree: tree.to_owned(),
            saved: saved.map(str::to_owned),
        });
        if self.state.wish == Some(Wish::Stop) {
            // After a resume it runs again without effect, and then the loop is completed.
            self.stop_loop(StopReason::Cancelled);
        } else {
            self.complete();
        }
        Ok(())
    }

    fn complete(&mut self) {
        // Somebody spoke while the post-action ran.
        if let Some(because) = self.unheard() {
            let iteration = self.state.iteration;
            self.push(Event::ClaimRefused { iteration, because });
            return self.next_iteration();
        }
        let asks = self.state.spec.review.as_ref().is_some_and(|review| review.human_review);
        if asks {
            self.enter(Phase::Decide);
            self.push(Event::LoopPaused { why: PauseReason::Review });
        } else {
            self.stop_loop(StopReason::Completed);
        }
    }

    /// A person agrees: to the whole, or, after too many rejections, to what was rejected last.
    pub(super) fn approve(&mut self, reason: Option<&str>) -> Result<(), Refusal> {
        let ruled = ReviewEvent::PersonRuled { approved: true, reason: reason.map(str::to_owned) };
        match &self.state.status() {
            Status::Paused { why: PauseReason::Review } => {
                self.push(ruled);
                self.stop_loop(StopReason::Completed);
                Ok(())
            }
            Status::Paused { why: PauseReason::Rejections { .. } } => {
                self.push(ruled);
                self.prepare();
                Ok(())
            }
            Status::Ended { end } => Err(Refusal::Ended { end: *end }),
            Status::Queued | Status::Running | Status::Waiting { .. } | Status::Paused { .. } => {
                Err(Refusal::NothingToRule)
            }
        }
    }

    pub(super) fn reject(&mut self, reason: &str) -> Result<(), Refusal> {
        match &self.state.status() {
            Status::Paused { why: PauseReason::Review | PauseReason::Rejections { .. } } => {
                self.push(ReviewEvent::PersonRuled { approved: false, reason: Some(reason.to_owned()) });
                self.prepare();
                Ok(())
            }
            Status::Ended { end } => Err(Refusal::Ended { end: *end }),
            Status::Queued | Status::Running | Status::Waiting { .. } | Status::Paused { .. } => {
                Err(Refusal::NothingToRule)
            }
        }
    }

    /// What the coder says of its own turn.
    pub(super) fn note_answer(&mut self, turn: TurnKey, answer: &Answer) {
        let Answer::Work { decisions, report } = answer else { return };
        if self.state.review.is_none() {
            return;
        }
        if let Some(decisions) = decisions {
            self.push(ReviewEvent::DecisionsTold { turn, decisions: decisions.clone() });
        }
        self.note_developer(turn, report.as_deref());
    }
}
