//! How questions and their answers change the state.

use jiff::Timestamp;

use crate::ids::TurnKey;
use crate::machine::event::Event;
use crate::machine::question::{Question, QuestionAnswer};
use crate::machine::state::LoopState;

pub(super) fn asked(state: &mut LoopState, at: Timestamp, event: &Event) {
    let Event::QuestionAsked { id, turn, question, default, until } = event else { return };
    state.questions.push(Question {
        id: id.clone(),
        turn: *turn,
        question: question.clone(),
        default: default.clone(),
        asked_at: at,
        until: *until,
        answer: None,
    });
}

pub(super) fn answered(state: &mut LoopState, at: Timestamp, event: &Event) {
    let Event::QuestionAnswered { id, by, answer, told } = event else { return };
    if let Some(question) = state.questions.iter_mut().find(|question| question.id == *id) {
        let delivered = told.then_some(question.turn);
        question.answer = Some(QuestionAnswer { by: *by, text: answer.clone(), at, delivered });
    }
}

pub(super) fn delivered(state: &mut LoopState, turn: TurnKey, answers: &[String]) {
    if answers.is_empty() {
        return;
    }
    for question in state.questions.iter_mut().filter(|question| answers.contains(&question.id)) {
        if let Some(answer) = &mut question.answer {
            answer.delivered = Some(turn);
        }
    }
}

/// What the agent was told in a turn that is tried again, it is told again.
pub(super) fn told_again(state: &mut LoopState, turn: TurnKey) {
    let told = |question: &Question| question.answer.as_ref().is_some_and(|answer| answer.delivered == Some(turn));
    if !state.questions.iter().any(told) {
        return;
    }
    for answer in state.questions.iter_mut().filter_map(|question| question.answer.as_mut()) {
        if answer.delivered == Some(turn) {
            answer.delivered = None;
        }
    }
}
