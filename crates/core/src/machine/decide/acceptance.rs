//! What an acceptor says, and what follows from it: the next feature, another try, the end, a person.

use super::{Batch, Refusal};
use crate::ids::TurnKey;
use crate::machine::activity::Activity;
use crate::machine::event::Event;
use crate::machine::review::{Accepting, Aim, Opinion, ReviewEvent, SkippedBecause};
use crate::milestone::Milestone;
use crate::review::Report;
use crate::spec::CommitPolicy;
use crate::stop::PauseReason;

impl Batch {
    pub(super) fn judged_by_acceptor(&mut self, turn: TurnKey, opinion: &Result<Opinion, String>) {
        let told = self.state.review.as_ref().and_then(|review| review.said.clone());
        match told.map_or_else(|| opinion.clone(), Ok) {
            Ok(Opinion::Accepted) => self.accepted(turn),
            Ok(Opinion::Rejected { reason }) => self.rejected(turn, reason),
            Ok(Opinion::Clean { .. } | Opinion::Dirty { .. }) => {
                self.unreadable(turn, "an acceptor says accepted or rejected".to_owned());
            }
            Err(why) => self.unreadable(turn, why),
        }
    }

    fn accepted(&mut self, turn: TurnKey) {
        let whole = self.state.aims_at_whole();
        self.push(ReviewEvent::Reviewed { turn, ruling: Opinion::Accepted, same: None });
        if whole {
            self.agreed();
        } else {
            self.next_iteration();
        }
    }

    /// The acceptor's no to a feature counts; its no to the whole only sends the developer back.
    fn rejected(&mut self, turn: TurnKey, reason: String) {
        let whole = self.state.aims_at_whole();
        self.push(ReviewEvent::Reviewed { turn, ruling: Opinion::Rejected { reason }, same: None });
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

    /// Why the feature that the developer reports is not worth the acceptor's time.
    pub(super) fn not_worth_acceptance(&self, acceptance: &Accepting) -> Option<SkippedBecause> {
        let made = &self.state.iterations.last()?.checkpoint;
        if acceptance.whole {
            return None;
        }
        if made.files_changed == 0 && made.agent_commits.is_empty() {
            return Some(SkippedBecause::NothingChanged);
        }
        let Some(Report::Feature(report)) = &acceptance.report else { return None };
        let commit = report.commit.as_ref().filter(|_| self.state.spec.commit == CommitPolicy::Agent)?;
        let is = |known: &String| known.starts_with(commit.as_str());
        let known = made.agent_commits.iter().any(is) || made.commit.as_ref().is_some_and(is);
        (!known).then(|| SkippedBecause::UnknownCommit { commit: commit.clone() })
    }

    /// What the developer says of its turn, and whether the whole is judged by it.
    pub(super) fn note_developer(&mut self, turn: TurnKey, report: Option<&Report>) {
        let Some(acceptance) = self.state.review.as_ref().and_then(|review| review.acceptance()) else { return };
        if let (None, Some(report)) = (&acceptance.report, report) {
            self.push(ReviewEvent::Reported { turn, report: Box::new(report.clone()) });
        }
        let Some(acceptance) = self.state.review.as_ref().and_then(|review| review.acceptance()) else { return };
        let whole = matches!(acceptance.report, Some(Report::AllFeaturesComplete { .. }));
        if whole != acceptance.whole {
            self.push(ReviewEvent::AimChanged { aim: if whole { Aim::Whole } else { Aim::Section { number: 1 } } });
        }
    }
}
