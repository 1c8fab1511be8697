//! How agents are told to hand in their work. The texts are in files; values go in once and are never read as a
//! template.
//!
//! None of them, repeated as an answer, says anything: an example is never a verdict, a report or a claim.

use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};

use super::block::FENCE;
use super::report::ALL_FEATURES_COMPLETE;

const AUDIT_BLOCK: &str = include_str!("texts/audit_block.md");
const VERDICT: &str = include_str!("texts/verdict.md");
const DECISIONS: &str = include_str!("texts/decisions.md");
const REPORT: &str = include_str!("texts/report.md");
const AGAIN: &str = include_str!("texts/again.md");

/// For an auditor without tools: the review block. With sections it also sums up, and may adjust the plan.
pub fn ask_audit_block(sectioned: bool) -> String {
    fill(AUDIT_BLOCK, context! { fence => FENCE, sectioned })
}

/// For an acceptor that answers in words.
pub fn ask_verdict() -> String {
    fill(VERDICT, context! {})
}

/// For a coder whose work is audited.
pub fn ask_decisions() -> String {
    fill(DECISIONS, context! {})
}

/// For a developer: the report of this iteration, or that all features are built.
pub fn ask_report(iteration: u32) -> String {
    fill(REPORT, context! { iteration, complete => ALL_FEATURES_COMPLETE })
}

/// After an answer that could not be read: what is wrong with it, and what was requested.
pub fn ask_again(problem: &str, asked: &str) -> String {
    fill(AGAIN, context! { problem, asked })
}

fn fill(text: &str, values: Value) -> String {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The texts are part of the program and filled by tests: one that does not render is a bug.
    environment.render_str(text, values).unwrap_or_else(|error| unreachable!("{error:#}")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{
        Report, Verdict, coder_decisions, read_acceptance, read_audit, section_summary as read_summary,
    };

    #[test]
    fn no_text_repeated_as_an_answer_says_anything() {
        let texts = [
            ask_audit_block(true),
            ask_audit_block(false),
            ask_verdict(),
            ask_decisions(),
            ask_report(3),
            ask_again("it was cut off", &ask_verdict()),
        ];
        for text in texts {
            // Also without the prompt to compare with: an agent may repeat only a part of it.
            for prompt in [text.as_str(), ""] {
                assert!(matches!(Verdict::read(&text, prompt), Verdict::Unclear { .. }), "{text}");
                assert!(matches!(Report::read(&text, prompt), Report::Unparsed { .. }), "{text}");
            }
            assert!(read_audit(&text).is_err() && read_acceptance(&text).is_err(), "{text}");
            assert_eq!(coder_decisions(&text), None, "{text}");
            assert_eq!(read_summary(&text), None, "{text}");
        }
    }

    #[test]
    fn a_text_with_sections_asks_for_their_summary() {
        assert!(ask_audit_block(true).contains("section_summary"));
        assert!(!ask_audit_block(false).contains("section_summary"));
    }

    #[test]
    fn an_answer_is_asked_for_again_with_the_problem() {
        let error = read_audit("nothing").unwrap_err().to_string();
        insta::assert_snapshot!(ask_again(&error, &ask_audit_block(true)));
    }

    #[test]
    fn the_report_is_asked_for() {
        insta::assert_snapshot!(ask_report(3));
    }
}
