//! Items of the lists in a milestone's file: a text, what is indented below it, and the acceptance in brackets.

use super::MilestoneError;
use crate::text::markdown::{self, Kind, Line, joined};

/// Of the text; what is below it may be longer.
const LONGEST_ITEM: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub line: u32,
    pub done: bool,
    /// On one line.
    pub text: String,
    /// Without the indentation that its lines have in common.
    pub details: String,
}

struct Open<'a> {
    item: Item,
    details: Vec<Line<'a>>,
    /// The next line may continue with the text.
    in_text: bool,
}

impl Open<'_> {
    fn close(self) -> Item {
        Item { details: dedented(&self.details), ..self.item }
    }
}

/// The items of a list. `example` shows what one looks like.
pub(super) fn items(lines: &[Line<'_>], example: &str) -> Result<Vec<Item>, MilestoneError> {
    let mut items: Vec<Item> = Vec::new();
    let mut open: Option<Open<'_>> = None;
    for line in lines {
        let indented = markdown::columns(line.text) >= 2;
        match (begun(*line)?, &mut open) {
            (Some(item), _) => {
                items.extend(open.take().map(Open::close));
                open = Some(Open { item, details: Vec::new(), in_text: true });
            }
            (None, Some(open)) => match line.kind {
                Kind::Blank | Kind::FenceOpen { .. } | Kind::Fenced | Kind::FenceClose => open.add(*line),
                Kind::Prose if open.in_text && (!indented || markdown::list_item(line.text).is_none()) => {
                    open.item.text.extend([" ", line.text.trim()]);
                }
                Kind::Prose | Kind::Indented | Kind::Heading { .. } if indented => open.add(*line),
                Kind::Prose | Kind::Indented | Kind::Heading { .. } | Kind::Comment => {
                    return Err(not_an_item(line.number, example));
                }
            },
            (None, None) if line.kind == Kind::Blank => {}
            (None, None) => return Err(not_an_item(line.number, example)),
        }
    }
    items.extend(open.map(Open::close));
    for item in &items {
        if item.text.is_empty() {
            return Err(MilestoneError::new(item.line, "the item is empty", format!("write it as {example}")));
        }
        if item.text.len() > LONGEST_ITEM {
            let what = format!("the item is longer than {LONGEST_ITEM} bytes");
            return Err(MilestoneError::new(item.line, what, "move the explanation below it, indented"));
        }
    }
    Ok(items)
}

impl<'a> Open<'a> {
    fn add(&mut self, line: Line<'a>) {
        self.details.push(line);
        self.in_text = false;
    }
}

fn not_an_item(line: u32, example: &str) -> MilestoneError {
    MilestoneError::new(line, "not a list item", format!("write it as {example}, or indent it below one"))
}

/// The item that a line starts.
fn begun(line: Line<'_>) -> Result<Option<Item>, MilestoneError> {
    let Some(text) = markdown::list_item(line.text).filter(|_| markdown::columns(line.text) < 2) else {
        return Ok(None);
    };
    match line.kind {
        Kind::Prose => {}
        Kind::FenceOpen { .. } => {
            return Err(MilestoneError::new(line.number, "the item starts with code", "start with a description"));
        }
        Kind::Blank | Kind::Heading { .. } | Kind::Fenced | Kind::FenceClose | Kind::Indented | Kind::Comment => {
            return Ok(None);
        }
    }
    let (done, text) = ticked(text).map_err(|mark| {
        let what = format!("the box has an unknown mark `{}`", mark.escape_debug());
        MilestoneError::new(line.number, what, "use [ ] for open items and [x] for finished ones")
    })?;
    Ok(Some(Item { line: line.number, done, text: text.trim().to_owned(), details: String::new() }))
}

/// Whether the box before a text is ticked, and the text; the box may be missing.
fn ticked(text: &str) -> Result<(bool, &str), char> {
    let mut characters = text.chars();
    let (Some('['), Some(mark), Some(']')) = (characters.next(), characters.next(), characters.next()) else {
        return Ok((false, text.strip_prefix("[]").unwrap_or(text)));
    };
    let rest = characters.as_str();
    match mark {
        ' ' | '\u{3000}' => Ok((false, rest)),
        'x' | 'X' | '✓' | '✔' => Ok((true, rest)),
        // A footnote or an id of one letter, but no box.
        _ if !(rest.is_empty() || rest.starts_with(char::is_whitespace)) => Ok((false, text)),
        other => Err(other),
    }
}

/// Code does not count for what is in common, and loses no more than it has.
fn dedented(lines: &[Line<'_>]) -> String {
    let full = lines.iter().filter(|line| line.kind != Kind::Blank && line.kind != Kind::Fenced);
    let common = full.map(|line| markdown::columns(line.text)).min().unwrap_or(0);
    let texts = lines.iter().map(|line| match line.text.trim() {
        "" => String::new(),
        text => " ".repeat(markdown::columns(line.text).saturating_sub(common)) + text,
    });
    joined(texts.collect::<Vec<_>>().iter().map(String::as_str))
}

const WORDS: [&str; 4] = ["acceptance criteria", "acceptance", "验收标准", "验收"];
const OPENING: [char; 2] = ['(', '（'];
const CLOSING: [char; 2] = [')', '）'];

/// The item's acceptance, taken out of its text (`(acceptance: …)`) and its details (`- acceptance: …`).
pub(super) fn take_acceptance(item: &mut Item) -> Result<Option<String>, MilestoneError> {
    let mut found = Vec::new();
    while let Some((before, inside)) = opening(&item.text) {
        let Some(end) = closing(&item.text[inside..]) else {
            return Err(MilestoneError::new(item.line, "the acceptance bracket is not closed", "close it"));
        };
        found.push(item.text[inside..inside + end].trim().to_owned());
        let after = item.text[inside + end..].trim_start_matches(CLOSING).trim();
        let before = item.text[..before].trim_end();
        item.text = [before, after].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    }
    let (details, below) = split_details(&item.details);
    item.details = details;
    found.extend(below);
    if found.iter().any(String::is_empty) {
        return Err(MilestoneError::new(item.line, "the acceptance is empty", "describe how to check that it is done"));
    }
    Ok((!found.is_empty()).then(|| found.join("; ")))
}

/// Where the bracket with an acceptance is, and where the words in it start.
fn opening(text: &str) -> Option<(usize, usize)> {
    text.char_indices().filter(|(_, c)| OPENING.contains(c)).find_map(|(at, bracket)| {
        let inside = text[at + bracket.len_utf8()..].trim_start();
        let word =
            WORDS.iter().find(|word| inside.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))?;
        let rest = inside[word.len()..].trim_start().strip_prefix([':', '：'])?;
        Some((at, text.len() - rest.len()))
    })
}

/// The length of what stands before the bracket that closes.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        if OPENING.contains(&c) {
            depth += 1;
        } else if CLOSING.contains(&c) {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

/// Whether a text can stand in brackets and come out the same.
pub(super) fn fits_brackets(text: &str) -> bool {
    closing(&format!("{text})")) == Some(text.len()) && !text.contains('\n')
}

/// The details without the items that are an acceptance, and those.
fn split_details(details: &str) -> (String, Vec<String>) {
    let (mut kept, mut found): (Vec<&str>, Vec<Vec<&str>>) = (Vec::new(), Vec::new());
    let mut inside = false;
    for line in markdown::lines(details) {
        let label = markdown::label(line).filter(|_| {
            let top = markdown::columns(line.text) < 2;
            top && markdown::list_item(line.text).is_some()
        });
        match label.filter(|label| WORDS.iter().any(|word| label.name.eq_ignore_ascii_case(word))) {
            Some(label) => {
                inside = true;
                found.push(vec![label.rest]);
            }
            None => {
                inside &= line.kind == Kind::Prose && markdown::columns(line.text) >= 2;
                match found.last_mut().filter(|_| inside) {
                    Some(last) => last.push(markdown::list_item(line.text).unwrap_or(line.text.trim())),
                    None => kept.push(line.text),
                }
            }
        }
    }
    let texts =
        found.into_iter().map(|parts| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "));
    (joined(kept), texts.collect())
}
