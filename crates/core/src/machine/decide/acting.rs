//! What agents do through the engine while their turn is under way, each by its role's right.

use super::{Batch, Refusal};
use crate::ids::{Role, TurnKey};
use crate::machine::input::Act;
use crate::machine::review::{Opinion, ReviewEvent};
use crate::review::MarkedQuestion;

impl Batch {
    /// Something that an agent does through the engine while its turn is under way.
    pub(super) fn act(&mut self, turn: TurnKey, act: &Act) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        if let (Act::Ask { question, default }, Role::Coder) = (act, turn.role) {
            let asked = MarkedQuestion { question: question.clone(), default: default.clone() };
            return self.ask(turn, &asked, true);
        }
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
                    Opinion::Clean { .. } | Opinion::Dirty { .. } => self.as_role(turn, Role::Auditor)?,
                    Opinion::Accepted | Opinion::Rejected { .. } => self.as_role(turn, Role::Acceptor)?,
                };
                self.push(ReviewEvent::VerdictGiven { turn, verdict: verdict.clone() });
                Ok(())
            }
            Act::Report { report } => {
                self.as_role(turn, Role::Coder)?;
                self.push(ReviewEvent::Reported { turn, report: report.clone() });
                Ok(())
            }
            // Only a coder gets answers, so nobody waits for one.
            Act::Ask { question, default } => {
                self.push(ReviewEvent::QuestionDeferred { turn, question: question.clone(), default: default.clone() });
                Ok(())
            }
        }
    }

    fn as_role(&mut self, turn: TurnKey, role: Role) -> Result<&mut Self, Refusal> {
        if turn.role == role { Ok(self) } else { Err(Refusal::NotYourRole { role: turn.role }) }
    }
}
