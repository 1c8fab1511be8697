//! An acceptor's verdict in its own words.
//!
//! The rule, strict because a wrong acceptance ends the work:
//!
//! 1. A verdict is a line that is `ACCEPTED` and nothing else, or `REJECTED` with or without `: reason`. Marks of
//!    headings and emphasis, a label (`Verdict:`) before it and a full stop behind it say nothing; case does not matter.
//! 2. A line that starts with one of the words and continues in another way (`ACCEPTED: but …`, `ACCEPTED - not`,
//!    `REJECTED because …`, `NOT ACCEPTED`) makes the whole answer unclear: it is requested again, never interpreted.
//!    So does a line that takes the word back: struck through, a cross beside ACCEPTED, a tick beside REJECTED.
//! 3. Lines in code, quotes, quotation marks and lists say nothing, nor do lines that repeat the prompt.
//! 4. Both verdicts in one answer are none.
//! 5. A review block, or an answer that is nothing but such JSON, decides if the words do not say otherwise. An answer
//!    that is nothing but one fence is read as what is in it.
//!
//! What is rejected for comes after the word; failing that, it is what was said before. A rejection without any reason
//! is unclear, because nobody could act on it.

use serde::{Deserialize, Serialize};

use super::block::{self, Acceptance, AcceptanceVerdict, BlockError};
use super::echo::echoes;
use crate::text::markdown::{self, Kind, Line, joined};
use crate::text::truncate_str;

/// In characters.
const LONGEST_REASON: usize = 8_000;
/// In characters, of a line that is quoted back.
const LONGEST_QUOTE: usize = 120;

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
        let written = match block::read_acceptance(answer) {
            Err(BlockError::Missing | BlockError::Hidden { .. }) => None,
            found @ (Ok(_) | Err(_)) => Some(found),
        };
        let inside = if written.is_some() { None } else { only_fence(&lines) };
        let words = inside.as_deref().unwrap_or(answer);
        let said = Said::read(words, prompt);
        let written =
            written.or_else(|| words.trim_start().starts_with('{').then(|| block::acceptance_from_json(words)));
        match written {
            None => said.verdict(),
            Some(Err(error)) => Verdict::unclear(&error.to_string()),
            Some(Ok(acceptance)) if said.contradicts(acceptance.verdict) => {
                Verdict::unclear("the text and the block give different verdicts")
            }
            Some(Ok(acceptance)) => Verdict::from(acceptance),
        }
    }

    fn unclear(why: &str) -> Verdict {
        Verdict::Unclear { why: why.to_owned() }
    }

    fn rejected(reason: &str) -> Verdict {
        match reason.trim() {
            "" => Verdict::unclear("a rejection needs a reason: a line with REJECTED: and what has to change"),
            reason => Verdict::Rejected { reason: truncate_str(reason, LONGEST_REASON) },
        }
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
    Accepted,
    Rejected {
        more: &'a str,
    },
    /// Starts like a verdict and continues otherwise.
    Hedged,
}

/// All that the words of an answer say.
#[derive(Debug, Default)]
struct Said {
    accepted: bool,
    /// The first line that starts like a verdict and is none.
    hedged: Option<String>,
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
                Word::Accepted => said.accepted = true,
                Word::Hedged if said.hedged.is_none() => {
                    said.hedged = Some(truncate_str(line.text.trim(), LONGEST_QUOTE))
                }
                Word::Hedged => {}
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
            AcceptanceVerdict::Accepted => self.rejected.is_some() || self.hedged.is_some(),
            AcceptanceVerdict::Rejected => self.accepted,
        }
    }

    fn verdict(self) -> Verdict {
        match (self.accepted, self.hedged, self.rejected) {
            (_, Some(line), _) => Verdict::unclear(&format!(
                "a verdict is a line with only ACCEPTED, or with REJECTED: and the reason; `{line}` is neither"
            )),
            (true, None, None) => Verdict::Accepted,
            (false, None, Some(reason)) => Verdict::rejected(&reason),
            (true, None, Some(_)) => Verdict::unclear("the answer contains both ACCEPTED and REJECTED"),
            (false, None, None) if self.repeated => {
                Verdict::unclear("ACCEPTED or REJECTED occurs only in code, quotes, or text from the prompt")
            }
            (false, None, None) => Verdict::unclear("no line starts with ACCEPTED or REJECTED"),
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

/// Pictures that go with an acceptance.
const TICKS: [char; 8] = ['✅', '✔', '✓', '☑', '👍', '🎉', '🟢', '💯'];

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f300}'..='\u{1faff}')
}

/// Marks before a word that say nothing: heading, emphasis, and the ticks and crosses that models like.
fn is_mark(c: char) -> bool {
    c.is_whitespace() || c == '#' || c == '\u{fe0f}' || EMPHASIS.contains(&c) || is_picture(c)
}

/// Whether what is around the word takes it back: struck through, a cross before ACCEPTED, a tick before REJECTED.
fn is_taken_back(line: &str, accepted: bool) -> bool {
    // Skin tones follow a thumb.
    let tone = |c: char| matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    let mut pictures = line.chars().filter(|c| is_picture(*c) && !tone(*c));
    let other = if accepted { pictures.any(|c| !TICKS.contains(&c)) } else { pictures.any(|c| TICKS.contains(&c)) };
    other || line.contains("~~")
}

/// The verdict that a line starts with, and whether it is all there is on the line.
fn word_on(line: &str) -> Option<(Word<'_>, bool)> {
    if markdown::list_item(line).is_some() {
        return None;
    }
    let whole = line;
    let line = without_label(line.trim_start_matches(is_mark));
    let (first, rest) = split_word(line);
    let (word, rest, negated) = if first.eq_ignore_ascii_case("not") {
        let (word, rest) = split_word(rest.trim_start_matches(is_mark));
        (word, rest, true)
    } else {
        (first, rest, false)
    };
    let accepted = word.eq_ignore_ascii_case("accepted");
    if !accepted && !word.eq_ignore_ascii_case("rejected") {
        return None;
    }
    let loud = !word.contains(|c: char| c.is_ascii_lowercase());
    let tail = rest.trim_start_matches(EMPHASIS).trim_start();
    let alone = tail.trim_matches(|c: char| is_mark(c) || matches!(c, '.' | '!' | '。' | '！')).is_empty();
    let colon = tail.strip_prefix(COLONS);
    // In small letters the word starts many a sentence; only a sign behind it makes it look like a verdict.
    let looks_like_one = loud || alone || tail.starts_with([':', '：', '-', '–', '—', ',', '(']);
    // What was rejected for may have any picture in it.
    let around = if accepted || alone { whole } else { &whole[..whole.len() - rest.len()] };
    match (accepted, colon) {
        _ if is_taken_back(around, accepted) => looks_like_one.then_some((Word::Hedged, false)),
        _ if negated => looks_like_one.then_some((Word::Hedged, false)),
        (true, _) if alone => Some((Word::Accepted, true)),
        (false, _) if alone => Some((Word::Rejected { more: "" }, true)),
        (false, Some(more)) => Some((
            Word::Rejected { more: more.trim_start_matches(EMPHASIS).trim().trim_end_matches(['*', '_']) },
            false,
        )),
        (true, _) | (false, None) => looks_like_one.then_some((Word::Hedged, false)),
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

#[cfg(test)]
mod tests;
