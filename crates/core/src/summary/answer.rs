//! What is made of a model's answer: cleaned, judged, cut.
//!
//! Nothing a model writes goes further without this: tags, fences and terminal escapes stay here.

use super::INVALID_OUTPUT;
use super::filter::is_api_error;
use crate::text::{CountTokens, start_within, without_controls};

pub(super) const SUMMARY_MARK: &str = "<<<SUMMARY>>>";
pub(super) const MESSAGE_MARK: &str = "<<<COMMIT MESSAGE>>>";
pub(super) const END_MARK: &str = "<<<END>>>";

/// Where models put what is not the answer.
const ASIDE: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<analysis>", "</analysis>"),
    ("<system-reminder>", "</system-reminder>"),
];

/// Whether an answer can be a summary.
pub fn is_valid_summary(answer: &str) -> bool {
    let answer = answer.trim();
    let refused = ["Prompt is too long", "Error:", "<!DOCTYPE", "<html"];
    answer.chars().any(char::is_alphanumeric)
        && !is_api_error(answer)
        && !refused.iter().any(|beginning| answer.starts_with(beginning))
}

/// The answer without asides, wrapping tags and code fences.
pub fn cleanup_summary_tags(answer: &str) -> String {
    let mut text = without_controls(answer);
    for (open, close) in ASIDE {
        while let Some(at) = text.find(open) {
            // An aside that does not end leaves no answer behind it.
            let end = text[at..].find(close).map_or(text.len(), |end| at + end + close.len());
            text.replace_range(at..end, "");
        }
        // Some servers eat the opening tag and leave the rest.
        if let Some(end) = text.find(close) {
            text.replace_range(..end + close.len(), "");
        }
    }
    if let Some(at) = text.find("<summary>") {
        text.replace_range(..at + "<summary>".len(), "");
    }
    if let Some(at) = text.find("</summary>") {
        text.truncate(at);
    }
    without_fence(text.trim()).to_owned()
}

/// The summary that is kept: cleaned, valid, within its budget.
pub fn clean_summary(answer: &str, most_tokens: usize, count: CountTokens<'_>) -> String {
    let text = cleanup_summary_tags(answer);
    if !is_valid_summary(&text) {
        return INVALID_OUTPUT.to_owned();
    }
    let kept = start_within(&text, most_tokens, count);
    if kept.len() == text.len() {
        return text;
    }
    // A whole sentence reads better than half of one more, if that is not most of what there is.
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
    match kept.char_indices().rev().find(|(_, c)| ends(*c)) {
        Some((at, c)) if at >= kept.len() / 2 => kept[..at + c.len_utf8()].to_owned(),
        Some(_) | None => format!("{}...", start_within(&text, most_tokens.saturating_sub(1), count).trim_end()),
    }
}

/// Both texts of an answer in the three-mark form; none if it has another form.
///
/// An agent may echo what it was asked, so the last complete form counts.
pub fn read_both(answer: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = answer.lines().collect();
    let last = |mark: &str, before: usize| lines[..before].iter().rposition(|line| line.trim() == mark);
    let end = last(END_MARK, lines.len())?;
    let message = last(MESSAGE_MARK, end)?;
    let summary = last(SUMMARY_MARK, message)?;
    let between = |from: usize, to: usize| lines[from + 1..to].join("\n").trim().to_owned();
    let has_mark = lines[summary + 1..message].iter().any(|line| [MESSAGE_MARK, END_MARK].contains(&line.trim()));
    (!has_mark).then(|| (between(summary, message), between(message, end)))
}

pub(super) fn without_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    // The rest of the opening line names a language.
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, body)| body.trim())
}
