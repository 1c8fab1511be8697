//! What a reviewer says, and what follows from it: the next section, mending, the end, a person.

use super::{Batch, Refusal};
use crate::agent::TurnReport;
use crate::findings::{FindingRefusal, NewFinding};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Doing, Next, Phase, Then};
use crate::machine::event::{Event, Interrupt, RefusedBecause};
use crate::machine::input::{Act, CheckpointReport};
use crate::machine::review::{Aim, Ruling, Said, SkippedBecause};
use crate::machine::review_event::ReviewEvent;
use crate::machine::state::Wish;
use crate::machine::turn::EndedTurn;
use crate::milestone::Milestone;
use crate::plan::Plan;
use crate::review::{self, Audit, AuditVerdict, Report, SectionSummary, Verdict};
use crate::spec::{CommitPolicy, ReviewKind};
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

    fn planned(&mut self, plan: Plan) {
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
        let (spec, review) = self.state.reviewed()?;
        let last = self.state.iterations.last()?;
        if !self.state.differs_from_base() {
            return Some(SkippedBecause::NothingChanged);
        }
        match spec.kind {
            ReviewKind::Audit => None,
            ReviewKind::Acceptance if review.aim == Aim::Whole => None,
            ReviewKind::Acceptance => {
                let made = &last.checkpoint;
                if made.files_changed == 0 && made.agent_commits.is_empty() {
                    return Some(SkippedBecause::NothingChanged);
                }
                let Some(Report::Feature(report)) = &review.report else { return None };
                let commit = report.commit.as_ref().filter(|_| self.state.spec.commit == CommitPolicy::Agent)?;
                let is = |known: &String| known.starts_with(commit.as_str());
                let known = made.agent_commits.iter().any(is) || made.commit.as_ref().is_some_and(is);
                (!known).then(|| SkippedBecause::UnknownCommit { commit: commit.clone() })
            }
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
    pub(super) fn side_turn_closed(&mut self, ended: &EndedTurn) {
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
            Role::Auditor => self.audited(turn, report),
            Role::Acceptor => self.judged_by_acceptor(turn, report),
            Role::Planner => self.plan_written(turn, report),
            Role::Finisher => self.enter(Phase::Checkpoint),
            Role::Coder | Role::Summariser => {}
        }
    }

    fn plan_written(&mut self, turn: TurnKey, report: &TurnReport) {
        match Plan::parse(report.answer.as_deref().unwrap_or_default()) {
            // Any text can be read as a plan; one that was asked for has the marks that were asked for.
            Ok(plan) if !plan.marked => self.unreadable(turn, "it has no section markers".to_owned()),
            Ok(plan) => {
                self.planned(plan);
                self.unless_told_to_rest(Self::next_iteration);
            }
            Err(error) => self.unreadable(turn, format!("{error} ({})", error.hint())),
        }
    }

    fn audited(&mut self, turn: TurnKey, report: &TurnReport) {
        let answer = report.answer.as_deref().unwrap_or_default();
        let said = self.state.review.as_ref().and_then(|review| review.said.clone());
        let said = match said {
            Some(said) => said,
            None => match review::read_audit(answer) {
                Ok(audit) => match self.take_audit(turn, audit, review::section_summary(answer)) {
                    Ok(said) => said,
                    Err(why) => return self.unreadable(turn, why),
                },
                Err(error) => return self.unreadable(turn, error.to_string()),
            },
        };
        let open = self.state.blocking_findings();
        let section = self.state.review.as_ref().and_then(|review| review.section_number());
        let (ruling, summary) = match said {
            Said::Clean { summary: None } if section.is_some() && open.is_empty() => {
                return self.unreadable(turn, "a clean section requires a summary".to_owned());
            }
            Said::Clean { summary } if open.is_empty() => (Ruling::Clean, summary),
            // What is open blocks, whatever else is said.
            Said::Clean { .. } => (Ruling::Dirty { open }, None),
            Said::Dirty if open.is_empty() => {
                let why = "the verdict is dirty, but no blocking finding is open; write one";
                return self.unreadable(turn, why.to_owned());
            }
            Said::Dirty => (Ruling::Dirty { open }, None),
            Said::Accepted | Said::Rejected { .. } => {
                return self.unreadable(turn, "an auditor must report clean or dirty".to_owned());
            }
        };
        let same = match &ruling {
            Ruling::Dirty { open } => {
                let tree = self.state.workspace.as_ref().map_or("", |workspace| &workspace.tree);
                Some(self.state.counters.same_with(tree, open, ""))
            }
            Ruling::Clean | Ruling::Accepted | Ruling::Rejected { .. } => None,
        };
        self.push(ReviewEvent::Reviewed { turn, ruling: ruling.clone(), summary, same });
        match ruling {
            Ruling::Clean if section.is_some() => self.enter(Phase::Seal),
            Ruling::Clean | Ruling::Accepted => self.agreed(),
            Ruling::Dirty { .. } | Ruling::Rejected { .. } => self.mend(),
        }
    }

    /// Writes down what the auditor's block says; an id that nobody knows makes the block unreadable.
    fn take_audit(&mut self, turn: TurnKey, answer: Audit, summary: Option<SectionSummary>) -> Result<Said, String> {
        let section = self.state.review.as_ref().and_then(|review| review.section_number());
        for id in &answer.resolved {
            match self.resolve_finding(turn, id) {
                // Through a tool, or in an answer that could not be read to its end.
                Ok(()) | Err(Refusal::Finding(FindingRefusal::AlreadyResolved { .. })) => {}
                Err(refusal) => return Err(refusal.to_string()),
            }
        }
        for finding in answer.findings {
            match self.write_finding(turn, &finding.in_section(section)) {
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
            AuditVerdict::Clean => Said::Clean { summary: answer.section_summary.or(summary) },
            AuditVerdict::Dirty => Said::Dirty,
        })
    }

    fn judged_by_acceptor(&mut self, turn: TurnKey, report: &TurnReport) {
        let said = self.state.review.as_ref().and_then(|review| review.said.clone());
        match said {
            Some(Said::Accepted) => self.accepted(turn),
            Some(Said::Rejected { reason }) => self.rejected(turn, reason),
            Some(Said::Clean { .. } | Said::Dirty) | None => match report.verdict.clone() {
                Some(Verdict::Accepted) => self.accepted(turn),
                Some(Verdict::Rejected { reason }) => self.rejected(turn, reason),
                Some(Verdict::Unclear { why }) => self.unreadable(turn, why),
                None => self.unreadable(turn, "no answer".to_owned()),
            },
        }
    }

    fn accepted(&mut self, turn: TurnKey) {
        let whole = self.state.aims_at_whole();
        self.push(ReviewEvent::Reviewed { turn, ruling: Ruling::Accepted, summary: None, same: None });
        if whole {
            self.agreed();
        } else {
            self.next_iteration();
        }
    }

    /// The acceptor's no to a feature counts; its no to the whole only sends the developer back.
    fn rejected(&mut self, turn: TurnKey, reason: String) {
        let whole = self.state.aims_at_whole();
        self.push(ReviewEvent::Reviewed { turn, ruling: Ruling::Rejected { reason }, summary: None, same: None });
        if whole {
            self.push(ReviewEvent::AimChanged { aim: Aim::Section { number: 1 } });
            self.next_iteration();
        } else {
            self.ask_after_rejections();
        }
    }

    /// What the engine itself finds wanting counts as a rejection where rejections are counted.
    pub(super) fn reject_or_mend(&mut self, reason: &str) {
        if !self.state.accepts_features() {
            return self.mend();
        }
        self.push(ReviewEvent::RejectedUnseen { iteration: self.state.iteration, reason: reason.to_owned() });
        self.ask_after_rejections();
    }

    /// Counts a failed turn of the coder as a rejection; whether that was one too many.
    pub(super) fn rejects_failure(&mut self, message: &str) -> bool {
        self.push(ReviewEvent::RejectedUnseen {
            iteration: self.state.iteration,
            reason: format!("the turn failed: {message}"),
        });
        let asks = self.state.reviewed().is_some_and(|(spec, review)| review.rejections >= spec.max_rejections);
        if asks {
            self.ask_after_rejections();
        }
        asks
    }

    fn ask_after_rejections(&mut self) {
        let Some((spec, review)) = self.state.reviewed() else { return };
        if review.rejections >= spec.max_rejections {
            let reasons = review.reasons.clone();
            self.push(Event::LoopPaused { why: PauseReason::Rejections { reasons } });
        } else {
            self.next_iteration();
        }
    }

    fn mend(&mut self) {
        self.watch_progress();
        if self.state.is_open() {
            self.next_iteration();
        }
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

    /// The reviewer agrees to all of it.
    fn agreed(&mut self) {
        let iteration = self.state.iteration;
        let files = self.state.held_back().to_vec();
        if !files.is_empty() {
            self.push(Event::ClaimRefused { iteration, because: RefusedBecause::HeldBack { files } });
            return self.next_iteration();
        }
        if self.state.undelivered_steering().next().is_some() {
            self.push(Event::ClaimRefused { iteration, because: RefusedBecause::SteeringPending });
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
        let changed =
            self.state.review.as_ref().is_some_and(|review| review.agreed.as_deref() != self.state.head_commit());
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
        if self.state.undelivered_steering().next().is_some() {
            let iteration = self.state.iteration;
            self.push(Event::ClaimRefused { iteration, because: RefusedBecause::SteeringPending });
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

    /// What is accepted already stays accepted; what is not is measured by the new text.
    pub(super) fn amend_milestone(&mut self, milestone: &Milestone) -> Result<(), Refusal> {
        self.expect_rest()?;
        if let Activity::Completed { .. } = self.state.activity {
            return Err(Refusal::Completed);
        }
        if !self.state.accepts_features() {
            return Err(Refusal::NotReviewed);
        }
        self.push(ReviewEvent::MilestoneAmended { milestone: Box::new(milestone.clone()) });
        Ok(())
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

    /// Something that an agent does through the engine while its turn is under way.
    pub(super) fn act(&mut self, turn: TurnKey, act: &Act) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        if self.state.review.is_none() {
            return Err(Refusal::NotReviewed);
        }
        match act {
            Act::WriteFinding { finding } => self.as_role(turn, Role::Auditor)?.write_finding(turn, finding),
            Act::ResolveFinding { id } => self.as_role(turn, Role::Auditor)?.resolve_finding(turn, id),
            Act::AdjustPlan { section, body, rationale } => {
                self.as_role(turn, Role::Auditor)?.adjust_plan(turn, *section, body, rationale)
            }
            Act::Say { verdict } => {
                match verdict {
                    Said::Clean { .. } | Said::Dirty => self.as_role(turn, Role::Auditor)?,
                    Said::Accepted | Said::Rejected { .. } => self.as_role(turn, Role::Acceptor)?,
                };
                self.push(ReviewEvent::VerdictGiven { turn, verdict: verdict.clone() });
                Ok(())
            }
            Act::Report { text } => {
                self.as_role(turn, Role::Coder)?;
                let report = Report::read(text, "");
                self.push(ReviewEvent::Reported { turn, report: Box::new(report) });
                Ok(())
            }
            Act::Ask { question, default } => {
                self.push(ReviewEvent::QuestionDeferred { turn, question: question.clone(), default: default.clone() });
                Ok(())
            }
        }
    }

    fn as_role(&mut self, turn: TurnKey, role: Role) -> Result<&mut Self, Refusal> {
        if turn.role == role { Ok(self) } else { Err(Refusal::NotYourRole { role: turn.role }) }
    }

    fn write_finding(&mut self, turn: TurnKey, new: &NewFinding) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let mut new = new.clone();
        if new.section.is_none() {
            new.section = review.section_number();
        }
        let finding = review.findings.check(&new, turn, self.state.workspace_dir())?;
        self.push(ReviewEvent::FindingWritten { turn, finding });
        Ok(())
    }

    fn resolve_finding(&mut self, turn: TurnKey, which: &str) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let id = review.findings.to_resolve(which, self.state.workspace_dir())?;
        self.push(ReviewEvent::FindingResolved { turn, id });
        Ok(())
    }

    fn adjust_plan(&mut self, turn: TurnKey, section: u32, body: &str, rationale: &str) -> Result<(), Refusal> {
        let Some((_, review)) = self.state.reviewed() else { return Err(Refusal::NotReviewed) };
        let current = review.section_number().unwrap_or_else(|| review.section_count() + 1);
        let Some(plan) = &review.plan else { return Err(Refusal::NotReviewed) };
        let adjustment = plan.adjust(section, body, rationale, current)?;
        self.push(ReviewEvent::PlanAdjusted { turn, adjustment });
        Ok(())
    }

    /// What the coder says of its own turn.
    pub(super) fn note_report(&mut self, turn: TurnKey, report: &TurnReport) {
        if turn.role != Role::Coder || self.state.review.is_none() {
            return;
        }
        if let Some(decisions) = report.answer.as_deref().and_then(review::coder_decisions) {
            self.push(ReviewEvent::DecisionsTold { turn, decisions });
        }
        if !self.state.accepts_features() {
            return;
        }
        let told = self.state.review.as_ref().is_some_and(|review| review.report.is_some());
        if let (false, Some(report)) = (told, &report.developer) {
            self.push(ReviewEvent::Reported { turn, report: report.clone() });
        }
        let Some(review) = &self.state.review else { return };
        let aim = match &review.report {
            Some(Report::AllFeaturesComplete { .. }) => Aim::Whole,
            Some(Report::Feature(_) | Report::Unparsed { .. }) | None => Aim::Section { number: 1 },
        };
        if aim != review.aim {
            self.push(ReviewEvent::AimChanged { aim });
        }
    }
}
