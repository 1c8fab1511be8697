//! A reviewer or planner that fails or cannot be read: it is tried again, then replaced, then a person is asked.
//!
//! Invariant: its failure never judges the work.

use super::Batch;
use super::turn::back_off_ms;
use crate::agent::TurnOutcome;
use crate::ids::{Role, TurnKey};
use crate::machine::effect::later;
use crate::machine::event::Event;
use crate::machine::review::ReviewEvent;
use crate::spec::OnFailure;
use crate::stop::{PauseReason, StopReason, WaitReason};

/// Asks again once after an invalid answer.
const MOST_UNREADABLE: usize = 2;
/// A reviewer that fails is tried again so often before it is replaced.
const REVIEW_RETRIES: u32 = 2;

impl Batch {
    /// A reviewer or planner failed: it is tried again on the same commit, then replaced. The work is not judged by it.
    pub(super) fn side_turn_failed(&mut self, role: Role, outcome: &TurnOutcome) {
        let message = outcome.failure();
        let retries = match self.state.spec.on_failure {
            OnFailure::Retry { times } => times,
            OnFailure::Stop | OnFailure::Continue | OnFailure::CountAsRejection if role.reviews() => REVIEW_RETRIES,
            OnFailure::Stop | OnFailure::Continue | OnFailure::CountAsRejection => 0,
        };
        let failures = self.state.counters.failures;
        if failures <= retries {
            let until = later(self.now, back_off_ms(failures.saturating_sub(1)));
            return self.wait(until, WaitReason::TurnFailed { role, message });
        }
        self.reviewer_gave_up(role, &message);
    }

    /// A reviewer or planner failed for good: its fallback takes over, or a person is asked.
    pub(super) fn reviewer_gave_up(&mut self, role: Role, message: &str) {
        let agent = self.state.agent(role).label();
        if self.fall_back(role, message) {
            return self.unless_told_to_rest(Self::prepare);
        }
        let message = message.to_owned();
        if role.reviews() {
            let why = PauseReason::Reviewer { role, agent, message };
            return self.unless_told_to_rest(|batch| batch.push(Event::LoopPaused { why }));
        }
        self.stop_loop(StopReason::AgentFailed { message });
    }

    /// The answer is not usable. The machine asks again in the same session.
    pub(super) fn unreadable(&mut self, turn: TurnKey, why: String) {
        self.push(ReviewEvent::AnswerUnreadable { turn, why: why.clone() });
        let times = self.state.review.as_ref().map_or(0, |review| review.unreadable.len());
        if times < MOST_UNREADABLE {
            return self.start_side_turn(turn.role);
        }
        let message = format!("the {}'s answer was invalid twice: {why}", turn.role);
        self.reviewer_gave_up(turn.role, &message);
    }
}
