//! What a summariser is asked. The texts are in files; values go in once and are never read as a template.

use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};

use super::answer::{END_MARK, MESSAGE_MARK, SUMMARY_MARK};
use super::message::{files_display, task_display};
use super::{Material, NO_ACTIONS};

const SUMMARY_SYSTEM: &str = include_str!("texts/summary_system.md");
const SUMMARY_USER: &str = include_str!("texts/summary_user.md");
const COMMIT_SYSTEM: &str = include_str!("texts/commit_system.md");
const COMMIT_USER: &str = include_str!("texts/commit_user.md");
const BOTH: &str = include_str!("texts/both.md");

/// Longest summary that is shown to whoever writes the message, in characters.
const LONGEST_SUMMARY: usize = 4_000;

/// What a model is told and asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub system: String,
    pub user: String,
}

pub fn ask_summary(material: &Material) -> Question {
    Question {
        system: SUMMARY_SYSTEM.trim_end().to_owned(),
        user: fill(SUMMARY_USER, context! { history => material.history.as_str() }),
    }
}

pub fn ask_message(material: &Material, summary: &str) -> Question {
    let iteration = material.iteration;
    let user = context! {
        iteration,
        task => task_display(&material.task),
        files => files_display(&material.files, material.files_changed),
        summary => crate::text::truncate_str(summary, LONGEST_SUMMARY),
    };
    Question { system: fill(COMMIT_SYSTEM, context! { iteration }), user: fill(COMMIT_USER, user) }
}

/// Both in one, for an agent that is asked in a turn; `read_both` reads its answer.
pub fn ask_both(material: &Material) -> String {
    let history = if material.history.is_empty() { NO_ACTIONS } else { material.history.as_str() };
    let values = context! {
        iteration => material.iteration,
        task => task_display(&material.task),
        files => files_display(&material.files, material.files_changed),
        history,
        summary_mark => SUMMARY_MARK,
        message_mark => MESSAGE_MARK,
        end_mark => END_MARK,
    };
    fill(BOTH, values)
}

fn fill(text: &str, values: Value) -> String {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The texts are part of the program and filled by tests: one that does not render is a bug.
    environment.render_str(text, values).unwrap_or_else(|error| unreachable!("{error:#}")).trim_end().to_owned()
}
