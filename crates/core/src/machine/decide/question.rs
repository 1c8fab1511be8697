//! Questions to the user: asked by a coder, answered by a person or, once their time is over, by their default.

use super::{Batch, Refusal};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Doing, Phase};
use crate::machine::effect::later;
use crate::machine::event::{Event, RefusedBecause};
use crate::machine::question::{AnsweredBy, Question, QuestionAnswer};
use crate::review::MarkedQuestion;
use crate::stop::{Status, WaitReason};

impl Batch {
    /// A coder asks, by its tool (`told` at once what follows) or in its answer. What was asked and answered before gets
    /// the same answer: an agent that forgets cannot make the loop wait again and again.
    pub(super) fn ask(&mut self, turn: TurnKey, asked: &MarkedQuestion, told: bool) -> Result<(), Refusal> {
        let MarkedQuestion { question, default } = asked;
        let same = |known: &&Question| known.question == *question;
        let answer = match self.state.questions.iter().rev().find(same) {
            Some(known) if known.turn == turn || known.answer.is_none() => return Err(Refusal::AlreadyAsked),
            Some(known) => known.answer.clone().map(|QuestionAnswer { by, text, .. }| (by, text)),
            None if self.state.spec.question_wait_ms == 0 => Some((AnsweredBy::Default, default.clone())),
            None => None,
        };
        let id = format!("q{}", self.state.questions.len() + 1);
        let until = answer.is_none().then(|| later(self.now, self.state.spec.question_wait_ms));
        let (question, default) = (question.clone(), default.clone());
        self.push(Event::QuestionAsked { id: id.clone(), turn, question, default, until });
        if let Some((by, answer)) = answer {
            self.push(Event::QuestionAnswered { id, by, answer, told });
        }
        Ok(())
    }

    /// The questions in a coder's answer. One that its tool asked already is not asked again.
    pub(super) fn note_questions(&mut self, turn: TurnKey, questions: &[MarkedQuestion]) {
        if turn.role == Role::Coder {
            for question in questions {
                let _ = self.ask(turn, question, false);
            }
        }
    }

    /// A person answers. A question can be answered until its default is taken, which a loop that is paused does not do.
    pub(super) fn answer(&mut self, id: Option<&str>, text: &str) -> Result<(), Refusal> {
        if let Status::Ended { end } = self.state.status() {
            return Err(Refusal::Ended { end });
        }
        let open: Vec<&Question> = self.state.open_questions().collect();
        let known = match (id, open.as_slice()) {
            (Some(id), _) => self.state.questions.iter().find(|known| known.id == id),
            (None, [only]) => Some(*only),
            (None, []) => self.state.questions.last(),
            (None, several) => {
                let open = several.iter().map(|question| question.id.clone()).collect();
                return Err(Refusal::WhichQuestion { open });
            }
        };
        let id = match known {
            None => return Err(Refusal::NoQuestion),
            Some(Question { id, answer: Some(answer), .. }) => {
                return Err(Refusal::Answered { id: id.clone(), by: answer.by });
            }
            Some(Question { id, answer: None, .. }) => id.clone(),
        };
        self.push(Event::QuestionAnswered { id, by: AnsweredBy::Person, answer: Some(text.to_owned()), told: false });
        if let Activity::Waiting { why: WaitReason::Question { .. }, .. } = &self.state.activity {
            self.push(Event::WaitEnded);
            self.go_on();
        }
        Ok(())
    }

    /// Takes the default of questions whose time is over. Whether the loop waits for the others.
    pub(super) fn questions_wait(&mut self) -> bool {
        self.take_defaults(false);
        let next = self.state.open_questions().filter_map(|open| Some((open.until?, open))).min_by_key(|(at, _)| *at);
        let Some((until, open)) = next else { return false };
        let why = WaitReason::Question { id: open.id.clone(), question: open.question.clone() };
        self.wait(until, why);
        true
    }

    /// Whether the loop waits for an answer before it judges the work. The wait comes once the gates have run.
    pub(super) fn judging_waits(&mut self) -> bool {
        self.take_defaults(false);
        if self.state.open_questions().next().is_none() {
            return false;
        }
        // Entering the phase again would forget the verdicts.
        if !matches!(self.state.running(), Some(Doing::Gates)) {
            self.enter(Phase::Gates);
        }
        self.questions_wait()
    }

    /// Nobody can answer a question of a completed loop.
    pub(super) fn take_defaults(&mut self, all: bool) {
        let over = |open: &Question| all || open.until.is_none_or(|until| until <= self.now);
        let due: Vec<Question> = self.state.open_questions().filter(|open| over(open)).cloned().collect();
        for Question { id, default, .. } in due {
            self.push(Event::QuestionAnswered { id, by: AnsweredBy::Default, answer: default, told: false });
        }
    }

    /// What a person said that the agent has to read before its work can be accepted.
    pub(super) fn unheard(&self) -> Option<RefusedBecause> {
        let answered = self.state.undelivered_answers().any(|(_, answer)| answer.by == AnsweredBy::Person);
        (answered || self.state.undelivered_steering().next().is_some()).then_some(RefusedBecause::SteeringPending)
    }
}
