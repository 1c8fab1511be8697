//! Questions to the user that an agent without tools leaves in its answer, each on a line of its own.

use serde::{Deserialize, Serialize};

use super::echo::echoes;
use crate::promise::undecorated;
use crate::text::truncate_str;

/// Questions of one answer; more is not a question to a person.
const MOST_QUESTIONS: usize = 5;
/// In characters, of the question and of its default.
const LONGEST: usize = 2_000;

/// What an agent asks, and what it does if nobody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MarkedQuestion {
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Lines such as `<question default="SQLite">Which database?</question>`. A line of the prompt is an echo, not a question.
pub fn marked_questions(answer: &str, prompt: &str) -> Vec<MarkedQuestion> {
    if !answer.contains("<question") {
        return Vec::new();
    }
    let mut found: Vec<MarkedQuestion> = Vec::new();
    let said = answer.lines().zip(echoes(answer, prompt)).filter(|(_, echo)| echo.is_said(false));
    for question in said.filter_map(|(line, _)| read(undecorated(line))) {
        if !found.iter().any(|known| known.question == question.question) {
            found.push(question);
        }
    }
    found.truncate(MOST_QUESTIONS);
    found
}

fn read(line: &str) -> Option<MarkedQuestion> {
    let rest = line.strip_prefix("<question")?.strip_suffix("</question>")?;
    let (default, question) = match rest.strip_prefix('>') {
        Some(question) => (None, question),
        None => {
            let given = rest.strip_prefix(char::is_whitespace)?.trim_start().strip_prefix("default=")?;
            let quote = given.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
            let (default, question) = given[1..].split_once(&format!("{quote}>"))?;
            (Some(default), question)
        }
    };
    let bounded = |text: &str| Some(truncate_str(text.trim(), LONGEST)).filter(|text| !text.is_empty());
    Some(MarkedQuestion { question: bounded(question)?, default: default.and_then(bounded) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str, default: Option<&str>) -> MarkedQuestion {
        MarkedQuestion { question: question.into(), default: default.map(str::to_owned) }
    }

    #[test]
    fn a_marked_line_is_a_question_with_or_without_a_default() {
        let answer = "I looked.\n<question default=\"SQLite, as now\">Which \"database\"?</question>\n\n\
                      - `<question>Is 2 > 1?</question>`\n  <question default='x'>Why?</question>";
        assert_eq!(
            marked_questions(answer, ""),
            [asked("Which \"database\"?", Some("SQLite, as now")), asked("Is 2 > 1?", None), asked("Why?", Some("x"))]
        );
    }

    #[test]
    fn anything_else_is_not_a_question() {
        for answer in [
            "Which database?",
            "I could write <question>this</question> or not",
            "<question></question>",
            "<question>cut off",
            "<questions>no</questions>",
            "<question other=\"a\">no</question>",
            "<question default=a>no</question>",
        ] {
            assert_eq!(marked_questions(answer, ""), [], "{answer}");
        }
    }

    #[test]
    // promise: questions-4
    fn an_echo_of_the_prompt_is_not_a_question() {
        let prompt = "Ask on a line of its own:\n<question default=\"your default\">your question</question>";
        assert_eq!(marked_questions(prompt, prompt), []);
        assert_eq!(marked_questions("> <question default=\"your default\">your question</question>", prompt), []);
        let own = format!("{prompt}\n\n<question>Mine?</question>");
        assert_eq!(marked_questions(&own, prompt), [asked("Mine?", None)]);
    }

    #[test]
    fn repeated_questions_count_once_and_all_are_bounded() {
        let line = |number: usize| format!("<question>{number} {}</question>\n", "a".repeat(5_000));
        let answer: String = (0..20).chain(0..20).map(line).collect();
        let read = marked_questions(&answer, "");
        assert_eq!(read.len(), MOST_QUESTIONS);
        assert!(read.iter().all(|question| question.question.chars().count() <= LONGEST + 3));
    }
}
