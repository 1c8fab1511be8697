//! An agent's question to the user, and its answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::LoopState;
use crate::ids::TurnKey;

/// What a coder asked. It is open until somebody answers or its default is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// `q1`, `q2` and so on.
    pub id: String,
    pub turn: TurnKey,
    pub question: String,
    /// What the agent does if nobody answers.
    pub default: Option<String>,
    pub asked_at: Timestamp,
    /// When the default is taken; none if it was taken at once.
    pub until: Option<Timestamp>,
    pub answer: Option<QuestionAnswer>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QuestionAnswer {
    pub by: AnsweredBy,
    /// None if nobody answered and there is no default: the agent uses its own judgment.
    pub text: Option<String>,
    pub at: Timestamp,
    /// The turn whose prompt had it.
    pub delivered: Option<TurnKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    Person,
    /// Nobody answered in time.
    Default,
}

impl AnsweredBy {
    pub fn name(self) -> &'static str {
        match self {
            AnsweredBy::Person => "person",
            AnsweredBy::Default => "default",
        }
    }
}

impl LoopState {
    /// Questions that somebody can still answer.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.answer.is_none())
    }

    /// Answers that no prompt had yet.
    pub(super) fn undelivered_answers(&self) -> impl Iterator<Item = (&Question, &QuestionAnswer)> {
        let answered = self.questions.iter().filter_map(|question| Some((question, question.answer.as_ref()?)));
        answered.filter(|(_, answer)| answer.delivered.is_none())
    }
}
