//! Blocks that a coder or an auditor leaves in its answer between two comments.
//!
//! Lenient where nothing depends on it: spacing, prefixes and a fence around the block do not matter, and the last
//! block that can be read counts, so an example repeated from the prompt does no harm. What comes out is bounded.

use serde::{Deserialize, Serialize};

use super::SectionSummary;
use crate::text::markdown::{self, Kind, Label, Line};
use crate::text::truncate_str;

const MOST_ITEMS: usize = 100;
/// In characters.
const LONGEST_ITEM: usize = 2_000;

/// What a coder tells whoever reviews its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CoderDecisions {
    pub decisions: Vec<String>,
    /// Commands that show that the work is right.
    pub verification: Vec<String>,
    pub notes: Vec<String>,
}

/// The last readable `coder-decisions` block.
pub fn coder_decisions(answer: &str) -> Option<CoderDecisions> {
    const PARTS: [&[&str]; 3] = [&["decisions", "decision"], &["verification"], &["notes", "note"]];
    last_readable(answer, "coder-decisions", |body| {
        let Parts { named: [decisions, verification, notes], before } = parts(body, &PARTS);
        let notes = before.into_iter().chain(notes).collect();
        let read = CoderDecisions { decisions, verification: commands(verification), notes };
        (read != CoderDecisions::default()).then_some(read)
    })
}

/// The last readable `section-summary` block; it must say what was done.
pub fn section_summary(answer: &str) -> Option<SectionSummary> {
    const PARTS: [&[&str]; 3] =
        [&["done"], &["deviations", "deviation"], &["follow-ups", "follow-up", "follow ups", "followups"]];
    last_readable(answer, "section-summary", |body| {
        let [done, deviations, follow_ups] = parts(body, &PARTS).named;
        (!done.is_empty()).then_some(SectionSummary { done, deviations, follow_ups })
    })
}

fn last_readable<T>(answer: &str, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut open: Option<usize> = None;
    let mut bodies: Vec<&str> = Vec::new();
    for (range, edge) in edges(answer, name) {
        match edge {
            Edge::Start => open = Some(range.end),
            Edge::End => bodies.extend(open.take().map(|from| &answer[from..range.start])),
        }
    }
    bodies.into_iter().rev().find_map(read)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

/// Where the comments that start and end a block of this name are.
fn edges(text: &str, name: &str) -> Vec<(std::ops::Range<usize>, Edge)> {
    /// No such comment is longer; so a text full of openings costs no more than its length.
    const LONGEST_COMMENT: usize = 80;
    let comment = |at: usize| {
        let start = at + "<!--".len();
        let window = &text[start..text.floor_char_boundary(start + LONGEST_COMMENT)];
        let inside = &window[..window.find("-->")?];
        let label = inside.trim().to_ascii_lowercase();
        let label = label.strip_prefix("windlass-").or_else(|| label.strip_prefix("forge-")).unwrap_or(&label);
        let edge = match label.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim_start() {
            "start" => Edge::Start,
            "end" => Edge::End,
            _ => return None,
        };
        Some((at..start + inside.len() + "-->".len(), edge))
    };
    text.match_indices("<!--").filter_map(|(at, _)| comment(at)).collect()
}

/// The items below each label, and those before any.
struct Parts<const N: usize> {
    named: [Vec<String>; N],
    before: Vec<String>,
}

fn parts<const N: usize>(body: &str, names: &[&[&str]; N]) -> Parts<N> {
    let lines = markdown::lines(body);
    let mut texts: [Vec<Line<'_>>; N] = std::array::from_fn(|_| Vec::new());
    let mut before: Vec<Line<'_>> = Vec::new();
    let mut current: Option<usize> = None;
    for line in lines {
        let begun = label_of(line).and_then(|label| {
            let index = names.iter().position(|names| names.iter().any(|name| label.is(name)))?;
            Some((index, label.rest))
        });
        if let Some((index, rest)) = begun {
            current = Some(index);
            texts[index].push(Line { number: line.number, text: rest, kind: kind_of(rest) });
        } else {
            current.map_or(&mut before, |index| &mut texts[index]).push(line);
        }
    }
    Parts { named: texts.map(|lines| items(&lines)), before: items(&before) }
}

fn kind_of(rest: &str) -> Kind<'_> {
    if rest.is_empty() { Kind::Blank } else { Kind::Prose }
}

/// A label, unless it is the start of an item: `- Notes: …` in a list of decisions is a decision.
fn label_of(line: Line<'_>) -> Option<Label<'_>> {
    let plain_item = markdown::list_item(line.text).is_some_and(|item| !item.starts_with(['*', '_']));
    if plain_item { None } else { markdown::label(line) }
}

/// One text for each item of a list, each paragraph and each line of code; without those that say that there is none.
fn items(lines: &[Line<'_>]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        let text = line.text.trim();
        match line.kind {
            Kind::Blank | Kind::FenceOpen { .. } | Kind::FenceClose | Kind::Comment => open = false,
            Kind::Fenced | Kind::Indented => {
                items.push(text.to_owned());
                open = false;
            }
            Kind::Heading { title, .. } => {
                items.push(title.to_owned());
                open = false;
            }
            Kind::Prose => {
                let item = markdown::list_item(text);
                let nested = markdown::columns(line.text) >= 2;
                match items.last_mut().filter(|_| open && (item.is_none() || nested)) {
                    Some(last) => last.extend(["\n", text]),
                    None => items.push(item.unwrap_or(text).to_owned()),
                }
                open = true;
            }
        }
    }
    items.retain(|item| !says_none(item));
    items.truncate(MOST_ITEMS);
    items.iter().map(|item| truncate_str(item, LONGEST_ITEM)).collect()
}

fn says_none(item: &str) -> bool {
    let word = markdown::without_emphasis(item).trim_end_matches(['.', '。']).to_lowercase();
    ["", "none", "n/a", "na", "-", "nothing", "无", "無"].contains(&word.as_str())
}

/// Commands without the prompt of a shell before them.
fn commands(items: Vec<String>) -> Vec<String> {
    items.into_iter().map(|item| item.strip_prefix("$ ").map_or(item.clone(), |rest| rest.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_coders_decisions_are_read() {
        let answer = "Done.\n<!-- coder-decisions:start -->\n### Decisions\n- Chose X\n  because of Y\n- Notes: are kept\n### Verification commands\n```sh\n$ cargo test\ncargo clippy\n```\n### Notes for auditor\n- none\n<!-- coder-decisions:end -->\nBye.";
        let read = coder_decisions(answer).unwrap();
        assert_eq!(read.decisions, texts(&["Chose X\nbecause of Y", "Notes: are kept"]));
        assert_eq!(read.verification, texts(&["cargo test", "cargo clippy"]));
        assert_eq!(read.notes, texts(&[]));
    }

    #[test]
    fn the_section_summary_is_read() {
        for answer in [
            "<!-- section-summary:start -->\n**Done**: built it\n**Deviations**: none\n**Follow-ups**:\n- docs\n<!-- section-summary:end -->",
            "<!--windlass-section-summary : START-->\nDone:\n\nbuilt it\n\n## Deviations\nN/A\n## Follow ups\n1. docs\n<!-- forge-section-summary:end -->",
            "```md\n<!-- section-summary:start -->\r\n### Done\r\n- built it\r\n### Follow-up\r\n- docs\r\n<!-- section-summary:end -->\r\n```",
        ] {
            let summary = section_summary(answer).unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(summary.done, texts(&["built it"]), "{answer}");
            assert_eq!(summary.deviations, texts(&[]), "{answer}");
            assert_eq!(summary.follow_ups, texts(&["docs"]), "{answer}");
        }
    }

    #[test]
    fn the_last_block_that_can_be_read_counts() {
        let block =
            |done: &str| format!("<!-- section-summary:start -->\nDone: {done}\n<!-- section-summary:end -->\n");
        let done = |answer: &str| section_summary(answer).map(|summary| summary.done);
        assert_eq!(done(&format!("{}{}", block("one"), block("two"))), Some(texts(&["two"])));
        assert_eq!(done(&format!("{}{}", block("one"), block(""))), Some(texts(&["one"])));
        assert_eq!(done(&format!("{}<!-- section-summary:start -->\nDone: cut", block("one"))), Some(texts(&["one"])));
        assert_eq!(
            done(&format!("<!-- section-summary:start -->\nDone: lost\n{}", block("two"))),
            Some(texts(&["two"]))
        );
        for none in [
            "",
            "Done: x",
            "<!-- section-summary:start -->\nDone: x",
            "Done: x\n<!-- section-summary:end -->",
            "<!-- section-summary:end -->\nDone: x\n<!-- section-summary:start -->",
            "<!-- section-summary:start -->\njust words\n<!-- section-summary:end -->",
            "<!-- section-summary:begin -->\nDone: x\n<!-- section-summary:end -->",
        ] {
            assert_eq!(done(none), None, "{none}");
        }
        assert_eq!(coder_decisions("<!-- coder-decisions:start --> <!-- coder-decisions:end -->"), None);
        let words = coder_decisions("<!-- coder-decisions:start -->just words<!-- coder-decisions:end -->").unwrap();
        assert_eq!(words.notes, texts(&["just words"]));
    }

    #[test]
    fn a_block_of_any_size_is_bounded() {
        let long = format!("- {}\n", "界".repeat(5_000)).repeat(300);
        let answer = format!("<!-- coder-decisions:start -->\n### Decisions\n{long}<!-- coder-decisions:end -->");
        let read = coder_decisions(&answer).unwrap();
        assert_eq!(read.decisions.len(), MOST_ITEMS);
        assert!(read.decisions.iter().all(|item| item.chars().count() <= LONGEST_ITEM + 3));
        assert_eq!(section_summary(&"<!--".repeat(200_000)), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_not(body in "\\PC{0,100}") {
            let answer = format!("{body}<!-- section-summary:start -->\nDone: {body}\n<!-- section-summary:end -->{body}");
            let _ = section_summary(&answer);
            let _ = coder_decisions(&body);
        }
    }
}
