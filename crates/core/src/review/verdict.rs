//! An acceptor's verdict in its own words.
//!
//! The rule, strict because a wrong acceptance ends the work:
//!
//! 1. A verdict is `ACCEPTED` or `REJECTED` as the first word of a line. Marks of headings and emphasis and a label
//!    (`Verdict:`) may stand before it; `NOT ACCEPTED` is `REJECTED`.
//! 2. Lines in code, quotes, quotation marks and lists say nothing, nor do lines that repeat the prompt.
//! 3. After `ACCEPTED` comes the end of the line, or `.`, `!`, `:`, a dash and more text. Anything else
//!    (`ACCEPTED, but …`, `ACCEPTED or REJECTED`) is a hedge, and a hedge makes the answer unclear.
//! 4. In other than capital letters a verdict stands alone on its line; `Rejected: reason` counts too.
//! 5. Both verdicts in one answer are none.
//! 6. A review block, or an answer that is nothing but such JSON, decides if the words do not say otherwise. An answer
//!    that is nothing but one fence is read as what is in it.
//!
//! What is rejected for comes after the word; failing that, it is what was said before.

use serde::{Deserialize, Serialize};

use super::block::{self, Acceptance, AcceptanceVerdict};
use super::echo::echoes;
use crate::markdown::{self, Kind, Line, joined};
use crate::summary::truncate_str;

/// The reason of a rejection that gives none.
pub const NO_REASON: &str = "no reason given";

/// In characters.
const LONGEST_REASON: usize = 8_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    Rejected {
        reason: String,
    },
    /// No verdict; never an acceptance. Why, in words for the acceptor.
    Unclear {
        why: String,
    },
}

impl Verdict {
    /// The verdict of a whole answer to a prompt.
    pub fn read(answer: &str, prompt: &str) -> Verdict {
        if answer.trim().is_empty() {
            return Verdict::unclear("the answer is empty");
        }
        let lines = markdown::lines(answer);
        let has_block = lines.iter().any(block::is_opening);
        let inside = if has_block { None } else { only_fence(&lines) };
        let words = inside.as_deref().unwrap_or(answer);
        let said = Said::read(words, prompt);
        let written = if has_block {
            Some(block::read_acceptance(answer))
        } else {
            words.trim_start().starts_with('{').then(|| block::acceptance_from_json(words))
        };
        match written {
            None => said.verdict(),
            Some(Err(error)) => Verdict::unclear(&error.to_string()),
            Some(Ok(acceptance)) if said.contradicts(acceptance.verdict) => {
                Verdict::unclear("the words and the block give different verdicts")
            }
            Some(Ok(acceptance)) => Verdict::from(acceptance),
        }
    }

    fn unclear(why: &str) -> Verdict {
        Verdict::Unclear { why: why.to_owned() }
    }

    fn rejected(reason: &str) -> Verdict {
        let reason = reason.trim();
        let reason = if reason.is_empty() { NO_REASON } else { reason };
        Verdict::Rejected { reason: truncate_str(reason, LONGEST_REASON) }
    }
}

impl From<Acceptance> for Verdict {
    fn from(acceptance: Acceptance) -> Self {
        match acceptance.verdict {
            AcceptanceVerdict::Accepted => Verdict::Accepted,
            AcceptanceVerdict::Rejected => Verdict::rejected(acceptance.reason.as_deref().unwrap_or_default()),
        }
    }
}

/// What is in a fence, if the text is nothing else.
pub(super) fn only_fence(lines: &[Line<'_>]) -> Option<String> {
    let full: Vec<&Line<'_>> = lines.iter().filter(|line| line.kind != Kind::Blank).collect();
    let (first, rest) = full.split_first()?;
    let (last, inside) = rest.split_last()?;
    let whole = matches!(first.kind, Kind::FenceOpen { .. })
        && last.kind == Kind::FenceClose
        && inside.iter().all(|line| line.kind == Kind::Fenced);
    let fenced = lines.iter().filter(|line| line.kind == Kind::Fenced);
    whole.then(|| joined(fenced.map(|line| line.text)))
}

/// A verdict on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Accepted { more: &'a str },
    Rejected { more: &'a str },
    Hedged,
}

/// All that the words of an answer say.
#[derive(Debug, Default)]
struct Said {
    accepted: bool,
    hedged: bool,
    /// The reason, if it was rejected.
    rejected: Option<String>,
    /// A verdict in code, a quote or an echo, which does not count.
    repeated: bool,
}

impl Said {
    fn read(answer: &str, prompt: &str) -> Said {
        let lines = markdown::lines(answer);
        let mut said = Said::default();
        for (index, (line, echo)) in lines.iter().zip(echoes(answer, prompt)).enumerate() {
            let Some((word, alone)) = word_on(line.text) else { continue };
            if line.kind.is_code() || line.kind == Kind::Comment || !echo.is_said(alone) {
                said.repeated = true;
                continue;
            }
            match word {
                Word::Accepted { more } if more.contains("REJECTED") => said.hedged = true,
                Word::Accepted { .. } => said.accepted = true,
                Word::Hedged => said.hedged = true,
                Word::Rejected { more } if said.rejected.is_none() => {
                    said.rejected = Some(reason(&lines, index, more));
                }
                Word::Rejected { .. } => {}
            }
        }
        said
    }

    fn contradicts(&self, verdict: AcceptanceVerdict) -> bool {
        match verdict {
            AcceptanceVerdict::Accepted => self.rejected.is_some() || self.hedged,
            AcceptanceVerdict::Rejected => self.accepted,
        }
    }

    fn verdict(self) -> Verdict {
        match (self.accepted, self.hedged, self.rejected) {
            (true, false, None) => Verdict::Accepted,
            (false, false, Some(reason)) => Verdict::rejected(&reason),
            (true, _, Some(_)) | (_, true, Some(_)) => Verdict::unclear("the answer says both ACCEPTED and REJECTED"),
            (_, true, None) => {
                Verdict::unclear("ACCEPTED is followed by a condition; accept, or reject with the reason")
            }
            (false, false, None) if self.repeated => {
                Verdict::unclear("ACCEPTED or REJECTED stands only in code, in a quote or in words of the prompt")
            }
            (false, false, None) => Verdict::unclear("no line begins with ACCEPTED or REJECTED"),
        }
    }
}

/// What stands behind the verdict; failing that, what stands before it.
fn reason(lines: &[Line<'_>], at: usize, more: &str) -> String {
    let texts = |lines: &[Line<'_>]| joined(lines.iter().map(|line| line.text));
    let after = joined([more, &texts(&lines[at + 1..])]);
    if after.is_empty() { texts(&lines[..at]) } else { after }
}

const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];
const COLONS: [char; 2] = [':', '：'];

/// Marks before a word that say nothing: heading, emphasis, and the ticks and crosses that models like.
fn is_mark(c: char) -> bool {
    let picture =
        matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f300}'..='\u{1faff}');
    c.is_whitespace() || c == '#' || EMPHASIS.contains(&c) || picture
}

/// The verdict that a line begins with, and whether it is all there is on the line.
fn word_on(line: &str) -> Option<(Word<'_>, bool)> {
    if markdown::list_item(line).is_some() {
        return None;
    }
    let line = without_label(line.trim_start_matches(is_mark));
    let (first, rest) = split_word(line);
    let (word, rest, negated) = if first.eq_ignore_ascii_case("not") {
        let (word, rest) = split_word(rest.trim_start_matches(is_mark));
        (word, rest, true)
    } else {
        (first, rest, false)
    };
    let accepted = word.eq_ignore_ascii_case("accepted") && !negated;
    let rejected =
        (word.eq_ignore_ascii_case("rejected") && !negated) || (word.eq_ignore_ascii_case("accepted") && negated);
    if !accepted && !rejected {
        return None;
    }
    let loud = !word.contains(|c: char| c.is_ascii_lowercase());
    let tail = rest.trim_start_matches(EMPHASIS);
    let alone = tail.trim_matches(|c: char| is_mark(c) || matches!(c, '.' | '!' | '。' | '！')).is_empty();
    let more = without_separator(tail);
    let counted =
        alone || (loud && (rejected || more.is_some())) || (rejected && tail.trim_start().starts_with(COLONS));
    let more = more.unwrap_or(tail).trim().trim_end_matches(['*', '_']);
    match (accepted, counted) {
        (true, true) => Some((Word::Accepted { more }, alone)),
        (true, false) if loud => Some((Word::Hedged, false)),
        (false, true) => Some((Word::Rejected { more }, alone)),
        (_, false) => None,
    }
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len()))
}

fn without_label(line: &str) -> &str {
    let labelled = ["final verdict", "verdict", "结论", "結論"].iter().find_map(|label| {
        let rest =
            line.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label)).map(|_| &line[label.len()..])?;
        rest.trim_start_matches(is_mark).strip_prefix(COLONS)
    });
    labelled.map_or(line, |rest| rest.trim_start_matches(is_mark))
}

/// What follows a mark that may stand between a verdict and more text.
fn without_separator(tail: &str) -> Option<&str> {
    let spaced = tail.starts_with(char::is_whitespace);
    let mut rest = tail.trim_start().chars();
    let separator = rest.next()?;
    let rest = rest.as_str().trim_start_matches(EMPHASIS);
    let before_space = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let fits = match separator {
        ':' | '：' | '。' | '！' | '—' | '–' => true,
        '.' | '!' => before_space,
        '-' => spaced || before_space,
        _ => false,
    };
    fits.then(|| rest.trim_start_matches(['-', '—', '–']).trim_start())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROMPT: &str = "Review it.\n\nYour answer is one of these:\nACCEPTED\nREJECTED: what is not met\n";

    fn read(answer: &str) -> Verdict {
        Verdict::read(answer, PROMPT)
    }

    fn rejected(reason: &str) -> Verdict {
        Verdict::Rejected { reason: reason.to_owned() }
    }

    #[track_caller]
    fn assert_unclear(answer: &str) {
        assert!(matches!(read(answer), Verdict::Unclear { .. }), "{answer:?} is {:?}", read(answer));
    }

    #[test]
    fn s3_15_accepted() {
        for answer in [
            "ACCEPTED",
            "  ACCEPTED\r\n",
            "ACCEPTED.",
            "ACCEPTED! All criteria hold.",
            "ACCEPTED: every criterion is met",
            "ACCEPTED — tests pass",
            "ACCEPTED - tests pass",
            "ACCEPTED：全部满足",
            "ACCEPTED。",
            "I looked at the commit.\n\nACCEPTED\n\nThe tests cover the change.",
            "accepted",
            "Accepted.",
            "**ACCEPTED**",
            "**ACCEPTED**: fine",
            "## ACCEPTED",
            "### Verdict: ACCEPTED",
            "**Verdict:** ACCEPTED",
            "**Final verdict**: **ACCEPTED**",
            "结论：ACCEPTED",
            "`ACCEPTED`",
            "✅ ACCEPTED",
            "ACCEPTED ✅",
            "ACCEPTED\n\nAgain: fine.\n\nACCEPTED",
            "```\nACCEPTED\n```",
            "```windlass-review\n{\"verdict\": \"accepted\"}\n```",
            "ACCEPTED\n\n```windlass-review\n{\"verdict\": \"accepted\"}\n```",
            "{\"verdict\": \"accepted\"}",
            "```json\n{\"verdict\": \"ACCEPTED\"}\n```",
        ] {
            assert_eq!(read(answer), Verdict::Accepted, "{answer:?}");
        }
    }

    #[test]
    fn s3_15_rejected_with_its_reason() {
        for (answer, reason) in [
            ("REJECTED: no tests", "no tests"),
            ("REJECTED： 没有测试", "没有测试"),
            ("rejected: no tests", "no tests"),
            ("Rejected：no tests", "no tests"),
            ("**REJECTED**: no tests", "no tests"),
            ("**REJECTED: no tests**", "no tests"),
            ("**REJECTED:** no tests", "no tests"),
            ("## Verdict: REJECTED: no tests", "no tests"),
            ("❌ REJECTED — no tests", "no tests"),
            ("REJECTED because there are no tests", "because there are no tests"),
            ("NOT ACCEPTED: no tests", "no tests"),
            ("**Not accepted**: no tests", "no tests"),
            (
                "Looked at it.\n\nREJECTED: two things\n- a is wrong\n\n- b is ACCEPTED but slow\n",
                "two things\n- a is wrong\n\n- b is ACCEPTED but slow",
            ),
            ("REJECTED\n\nThere are no tests.", "There are no tests."),
            ("There are no tests.\n\nREJECTED", "There are no tests."),
            ("REJECTED: a\nREJECTED: b", "a\nREJECTED: b"),
            ("REJECTED: `f` prints\n```\nACCEPTED\n```", "`f` prints\n```\nACCEPTED\n```"),
            ("REJECTED", NO_REASON),
            ("REJECTED:", NO_REASON),
            ("{\"verdict\": \"rejected\", \"reason\": \" \"}", NO_REASON),
            ("```windlass-review\n{\"verdict\": \"rejected\", \"reason\": \"no tests\"}\n```", "no tests"),
        ] {
            assert_eq!(read(answer), rejected(reason), "{answer:?}");
        }
    }

    #[test]
    fn b_3_7_what_is_unclear_is_no_acceptance() {
        for answer in [
            "",
            " \n\t",
            "Looks good to me.",
            "The work is ACCEPTED",
            "It was not rejected.",
            "NOT REJECTED",
            "ACCEPTED\n\nREJECTED: on second thoughts",
            "ACCEPTED: nothing was REJECTED",
            "ACCEPTED or REJECTED: reason",
            "ACCEPTED / REJECTED",
            "ACCEPTED, but the tests fail",
            "ACCEPTED with reservations",
            "ACCEPTED (if the tests are fixed)",
            "ACCEPTED?",
            "ACCEPTED\n\nACCEPTED only if the docs follow",
            "ACCEPTED_CRITERIA are in the file",
            "ACCEPTEDLY",
            "ACCEPTED.md is missing",
            "accepted formats are JSON and XML",
            "Accepted: yes",
            "> ACCEPTED",
            "\"ACCEPTED\"",
            "“ACCEPTED”",
            "- ACCEPTED\n- REJECTED: b",
            "1. ACCEPTED",
            "The rule:\n\n    ACCEPTED\n",
            "The rule:\n```\nACCEPTED\n```",
            "```\nACCEPTED",
            "<!--\nACCEPTED\n-->",
            "{\"verdict\": \"accepted\", \"because\": 1}",
            "{\"verdict\": \"accepted\"",
            "```windlass-review\n{\"verdict\": \"accepted\"}\n```\nand more",
            "REJECTED: no\n\n```windlass-review\n{\"verdict\": \"accepted\"}\n```",
            "ACCEPTED\n\n```windlass-review\n{\"verdict\": \"rejected\"}\n```",
        ] {
            assert_unclear(answer);
        }
    }

    #[test]
    fn b_3_7_an_echo_of_the_prompt_is_no_verdict() {
        assert_unclear(PROMPT);
        let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
        assert_unclear(&quoted);
        assert_unclear("REJECTED: what is not met");
        assert_eq!(read(&format!("{PROMPT}\nSo:\n\nREJECTED: no tests")), rejected("no tests"));
        assert_eq!(read(&format!("{quoted}\nI read the diff.\n\nACCEPTED")), Verdict::Accepted);
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let Verdict::Rejected { reason } = read(&format!("REJECTED: {}", "错".repeat(20_000))) else { panic!() };
        assert_eq!(reason.chars().count(), LONGEST_REASON + 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_accepted_without_the_word_and_any_text_is_read(answer in "\\PC{0,80}") {
            let accepted = read(&answer) == Verdict::Accepted;
            prop_assert!(!accepted || answer.to_lowercase().contains("accepted"));
        }

        #[test]
        fn a_rejection_and_an_acceptance_are_never_an_acceptance(
            before in prop::sample::select(vec!["", "# ", "**", "Verdict: ", "✅ "]),
            between in "[a-z \n.]{0,30}",
            first in any::<bool>(),
        ) {
            let (accepted, rejected) = (format!("{before}ACCEPTED\n"), format!("{before}REJECTED: x\n"));
            let answer = if first { format!("{accepted}{between}\n{rejected}") } else { format!("{rejected}{between}\n{accepted}") };
            let unclear = matches!(read(&answer), Verdict::Unclear { .. });
            prop_assert!(unclear, "{}", answer);
        }
    }
}
