//! Cutting texts to a length, in characters or in tokens.
//!
//! No cut falls inside a character, and what comes out never counts more than was allowed.

use super::CountTokens;

/// The text if it has at most `most` characters, else its first `most` and `...`.
pub fn truncate_str(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", &text[..at]),
    }
}

/// Whether a text is within a budget. A token is at least a byte, so a short text needs no tokenizer.
pub(crate) fn fits(text: &str, budget: usize, count: CountTokens<'_>) -> bool {
    text.len() <= budget || count(text) <= budget
}

/// The longest beginning that is within the budget.
pub fn start_within<'a>(text: &'a str, budget: usize, count: CountTokens<'_>) -> &'a str {
    if fits(text, budget, count) {
        return text;
    }
    // `good` bytes are known to fit, `bad` are known not to.
    let (mut good, mut bad) = (text.floor_char_boundary(budget), text.len());
    while let Some(middle) = between(text, good, bad) {
        if fits(&text[..middle], budget, count) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    &text[..good]
}

/// The longest end that is within the budget.
pub fn end_within<'a>(text: &'a str, budget: usize, count: CountTokens<'_>) -> &'a str {
    if fits(text, budget, count) {
        return text;
    }
    let (mut bad, mut good) = (0, text.ceil_char_boundary(text.len() - budget));
    while let Some(middle) = between(text, bad, good) {
        if fits(&text[middle..], budget, count) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    &text[good..]
}

/// A place between characters, about halfway between two others.
fn between(text: &str, low: usize, high: usize) -> Option<usize> {
    let middle = text.floor_char_boundary(low + (high - low) / 2);
    let middle = if middle > low { middle } else { text.ceil_char_boundary(low + 1) };
    (middle < high).then_some(middle)
}

/// Characters that would act on a terminal instead of being shown.
pub(crate) fn without_controls(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}
