//! The summary that needs nobody: what changed, which tools were used, what the agent said last.

use super::filter::is_api_error;
use super::message::files_display;
use super::{Material, NO_ACTIONS};
use crate::text::{truncate_str, without_controls};

const MOST_TOOLS: usize = 4;
const MOST_SENTENCES: usize = 2;
const LONGEST_SENTENCE: usize = 200;
const LONGEST_FILES: usize = 400;
/// A longer message is not a closing word: only its last paragraph is.
const LONGEST_CLOSING: usize = 2_000;

/// At most five short sentences, each of them a fact.
pub fn from_facts(material: &Material) -> String {
    let said = closing_words(material);
    if said.is_empty() && material.tools.is_empty() && material.files_changed == 0 && material.files.is_empty() {
        return NO_ACTIONS.to_owned();
    }
    let mut sentences = said;
    sentences.push(files(material));
    sentences.extend(tools(&material.tools));
    match material.failed_calls {
        0 => {}
        1 => sentences.push("1 tool call failed.".to_owned()),
        failed => sentences.push(format!("{failed} tool calls failed.")),
    }
    sentences.join(" ")
}

fn files(material: &Material) -> String {
    let count = material.files_changed.max(material.files.len() as u64);
    let list = match material.files.as_slice() {
        [] => String::new(),
        files => format!(": {}", truncate_str(&files_display(files, count), LONGEST_FILES)),
    };
    match count {
        0 => "No files changed.".to_owned(),
        1 => format!("Changed 1 file{list}."),
        count => format!("Changed {count} files{list}."),
    }
}

fn tools(tools: &[(String, u64)]) -> Option<String> {
    if tools.is_empty() {
        return None;
    }
    let shown: Vec<String> = tools.iter().take(MOST_TOOLS).map(|(name, uses)| format!("{name} ×{uses}")).collect();
    let more = tools.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("Tools used: {}{more}.", shown.join(", ")))
}

fn closing_words(material: &Material) -> Vec<String> {
    let words = without_controls(&material.last_words);
    let promise = material.promise.as_deref().filter(|promise| !promise.is_empty());
    let own: Vec<&str> =
        words.lines().filter(|line| promise.is_none_or(|promise| !line.contains(promise))).map(str::trim).collect();
    let words = own.join("\n");
    let mut words = words.trim();
    if is_api_error(words) {
        return Vec::new();
    }
    if words.len() > LONGEST_CLOSING {
        words = words.rsplit("\n\n").map(str::trim).find(|part| !part.is_empty()).unwrap_or_default();
    }
    sentences(words)
}

/// The first sentences of a text; a line's end ends one too.
fn sentences(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in words.lines() {
        let mut rest = line.trim_start_matches(['#', '*', '-', '>', '`', ' ']).trim_end_matches(['*', '`', ' ']);
        while !rest.is_empty() && found.len() < MOST_SENTENCES {
            let at = sentence_end(rest);
            let sentence = rest[..at].trim();
            rest = rest[at..].trim_start();
            if sentence.chars().any(char::is_alphanumeric) {
                found.push(closed(&truncate_str(sentence, LONGEST_SENTENCE)));
            }
        }
    }
    found
}

/// Behind the first full stop that ends a sentence: `1.5` and `main.rs` continue.
fn sentence_end(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        let wide = matches!(c, '。' | '！' | '？');
        if wide || (matches!(c, '.' | '!' | '?') && text[after..].chars().next().is_none_or(char::is_whitespace)) {
            return after;
        }
    }
    text.len()
}

fn closed(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches([':', ',', ';']);
    let ended = sentence.ends_with(['.', '!', '?', '。', '！', '？', '…']);
    if ended { sentence.to_owned() } else { format!("{sentence}.") }
}
