//! The texts that prompts are made of, each with its name and the values that it may use. A recipe may replace any of them.
//!
//! Invariant: a replaced text cannot stop a loop. `check` refuses what cannot be rendered before a loop is made, and a text
//! that fails later all the same gives way to the built-in one.

use std::collections::BTreeSet;

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use thiserror::Error as ThisError;

use crate::machine::LoopState;
use crate::nearest::nearest;

/// Instructions that a replaced text may execute: more than any prompt needs, and still fast.
const FUEL: u64 = 200_000;

/// Errors that no value can avoid.
const IS_ALWAYS_WRONG: [ErrorKind; 4] =
    [ErrorKind::UnknownFilter, ErrorKind::UnknownTest, ErrorKind::UnknownFunction, ErrorKind::OutOfFuel];

/// One text of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    pub name: &'static str,
    /// When an agent gets it.
    pub about: &'static str,
    /// The text if no recipe replaces it.
    pub built_in: &'static str,
    /// The names of the values that it may use.
    pub values: &'static [&'static str],
}

/// Why a text cannot replace a built-in one.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("{problem}")]
pub struct TextError {
    pub problem: String,
    pub hint: String,
    /// The line of the text, from 1, if it is known.
    pub line: Option<usize>,
}

macro_rules! texts {
    ($($constant:ident = $name:literal, $about:literal, [$($value:ident),*];)*) => {
        $(pub(super) const $constant: &Text = &Text {
            name: $name,
            about: $about,
            built_in: include_str!(concat!("texts/", $name, ".md")),
            values: &[$(stringify!($value)),*],
        };)*

        /// Every text.
        pub const TEXTS: &[&Text] = &[$($constant),*];
    };
}

texts! {
    GOAL = "goal", "The task, in the first turn and in every turn that continues a session", [goal];
    ASK_PROMISE = "ask_promise", "How to claim completion", [promise];
    COMMITS_ENGINE = "commits_engine", "Windlass commits the work", [];
    COMMITS_AGENT = "commits_agent", "The agent commits the work", [];
    PLAN = "plan", "The plan, in the first turn", [plan];
    TASK_CONTEXT = "task_context", "The task and what was done so far, for a fresh session",
        [goal, plan, iteration, total, base_commit, older, records, commits];
    BASELINE = "baseline", "Gates that failed or were flaky before the first turn", [failing, flaky];
    GATES_FAILED = "gates_failed", "Gates that failed", [claimed, gates, when, failing];
    HIDDEN_FAILED = "hidden_failed", "Hidden gates failed", [hidden];
    HELD_BACK = "held_back", "Changes that Windlass does not commit", [files];
    PROTECTED = "protected", "Protected files that were restored", [files];
    MERGED_TARGET = "merged_target", "The target branch was merged into the loop's branch", [branch, conflicts, failing];
    FORKED = "forked", "The loop was forked, so the workspace has earlier work on the task",
        [parent, agent, iteration, base_commit];
    RECOVERY = "recovery", "The previous turn was cut off, and its session continues", [why, commits_itself];
    BEGUN_AGAIN = "begun_again", "The previous turn was cut off, and a fresh session starts at the last commit", [saved];
    RESTORED = "restored", "The previous turn was lost with its machine, and a fresh session starts at a snapshot of its files",
        [taken_at, commits_itself];
    OVERFLOW = "overflow", "The previous session ran out of context", [];
    NUDGE = "nudge", "Nothing has changed for some turns", [iterations, failing];
    STEERING = "steering", "A message from a user (windlass steer)", [text];
    ANSWER = "answer", "The answer to a question of the agent", [question, answer, by_person];
    ASK_QUESTION = "ask_question", "How to ask the user, if questions wait for an answer", [wait, tools];
    STEERING_PENDING = "steering_pending", "A claim was refused because a message was not read yet", [];
    AUDITED_CODER = "audited_coder", "The task of a coder whose work an auditor reviews",
        [iteration, max, goal, documents, preamble, finished, section, count, trailing, changed_plan];
    FINDINGS = "findings", "The auditor's open findings, for the coder", [findings, more];
    NOTHING_CHANGED = "nothing_changed", "The coder changed nothing, so there was no review", [];
    AUDITOR = "auditor", "The task of the auditor",
        [goal, documents, section, number, count, plan, finished, trailing, from, to, nothing, files, fence, diff, gates,
         decisions, findings, warnings_block];
    AUDITOR_TOOLS = "auditor_tools", "The auditor's tools", [section];
    DEVELOPER = "developer", "The task of the developer of a milestone",
        [branch, documents, milestone, iteration, max, accepted, fixing, commits];
    REJECTED = "rejected", "The acceptor or a user rejected the work", [by_person, whole, reason];
    ACCEPTOR = "acceptor", "The task of the acceptor of a milestone",
        [documents, milestone, whole, feature, acceptance, fence, report, from, to, log, files, diff_fence, diff, gates];
    ACCEPTOR_TOOLS = "acceptor_tools", "The acceptor's tools", [];
    PLANNER = "planner", "The task of the agent that writes the plan", [goal, documents];
    FINISHER = "finisher", "The task of the agent that runs the post-action", [skill, prompt, goal];
}

impl Text {
    pub fn named(name: &str) -> Option<&'static Text> {
        TEXTS.iter().copied().find(|text| text.name == name)
    }

    /// Whether `own` can replace this text.
    pub fn check(&self, own: &str) -> Result<(), TextError> {
        let of = |error: &Error| TextError {
            problem: error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
            hint: "write a minijinja template; `{{ name }}` inserts a value".to_owned(),
            line: error.line(),
        };
        let environment = lenient();
        let template = environment.template_from_str(own).map_err(|error| of(&error))?;
        let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        if let Some(unknown) = used.iter().find(|name| !self.values.contains(&name.as_str())) {
            let hint = match (nearest(unknown, self.values.iter().copied()), self.values) {
                (Some(near), _) => format!("did you mean '{near}'?"),
                (None, []) => "this text has no values".to_owned(),
                (None, values) => format!("known values: {}", values.join(", ")),
            };
            let line = own.lines().position(|line| line.contains(unknown.as_str())).map(|before| before + 1);
            return Err(TextError { problem: format!("unknown value '{unknown}' in this text"), hint, line });
        }
        // Filters and functions are looked up only when a text is rendered. What a value must be for them is not known here.
        let nothing = self.values.iter().map(|name| (*name, Value::from(Vec::<Value>::new())));
        match template.render(nothing.collect::<Value>()) {
            Err(error) if IS_ALWAYS_WRONG.contains(&error.kind()) => Err(of(&error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The text with its values, as the loop's recipe has it.
    pub(super) fn fill(&self, state: &LoopState, values: Value) -> String {
        let own = state.spec.prompts.get(self.name);
        let replaced = own.and_then(|own| lenient().render_str(own, values.clone()).ok());
        let text = replaced.unwrap_or_else(|| {
            // It is part of the program and filled by tests: one that does not render is a bug.
            strict().render_str(self.built_in, values).unwrap_or_else(|error| unreachable!("{error:#}"))
        });
        text.trim_end().to_owned()
    }
}

fn strict() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("length", minijinja::filters::length);
    environment
}

/// For texts of users: all filters, missing values are empty, and execution is limited.
fn lenient() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_uses_exactly_the_values_that_it_declares() {
        for text in TEXTS {
            let environment = lenient();
            let used = environment.template_from_str(text.built_in).unwrap().undeclared_variables(false);
            let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
            assert_eq!(used, text.values.iter().copied().collect(), "{}", text.name);
            assert_eq!(Text::named(text.name), Some(*text));
            assert_eq!(text.check(text.built_in), Ok(()), "{}", text.name);
        }
    }

    #[test]
    fn check_names_an_unknown_value_its_line_and_the_nearest() {
        let error = AUDITOR.check("Look.\n\n{{ gaol }}").unwrap_err();
        assert_eq!((error.line, error.hint.as_str()), (Some(3), "did you mean 'goal'?"));
        assert!(error.problem.contains("'gaol'"), "{error}");
    }

    #[test]
    fn check_refuses_what_cannot_be_rendered() {
        assert_eq!(GOAL.check("{{ goal").unwrap_err().line, Some(1));
        assert!(GOAL.check("{{ goal | nonsense }}").is_err());
        assert!(
            GOAL.check("{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}").is_err()
        );
        assert_eq!(GOAL.check("Please: {{ goal | upper }}"), Ok(()));
    }
}
