//! How `cl100k_base` splits a text before it looks for tokens. Its pattern is
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! ```
//!
//! By hand, this needs neither a library for such patterns nor its tables of Unicode.

use std::iter;
use std::sync::LazyLock;

/// First and last of each range of letters, as two numbers of four bytes.
const LETTERS: &[u8] = include_bytes!("../../tables/letters.bin");

static RANGES: LazyLock<Vec<(u32, u32)>> = LazyLock::new(|| {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    LETTERS.chunks_exact(8).map(|range| (number(&range[..4]), number(&range[4..]))).collect()
});

/// The pieces of a text, in order.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let (piece, after) = rest.split_at(first(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// How long the first piece is: the alternatives of the pattern, in their order.
fn first(text: &str) -> usize {
    let Some(c) = text.chars().next() else { return 0 };
    let after = &text[c.len_utf8()..];
    if c == '\'' {
        let ending = ending(after);
        if ending > 0 {
            return 1 + ending;
        }
    }
    let letters = span(after, is_letter);
    if is_letter(c) || letters > 0 && !c.is_numeric() && !is_break(c) {
        return c.len_utf8() + letters;
    }
    if c.is_numeric() {
        return text.chars().take(3).take_while(|c| c.is_numeric()).map(char::len_utf8).sum();
    }
    let blank = usize::from(c == ' ');
    let marks = span(&text[blank..], |c| !c.is_whitespace() && !is_letter(c) && !c.is_numeric());
    if marks > 0 {
        return blank + marks + span(&text[blank + marks..], is_break);
    }
    let blanks = span(text, char::is_whitespace);
    if blanks == text.len() {
        return blanks;
    }
    if let Some(last) = text[..blanks].rfind(is_break) {
        return last + 1;
    }
    // The last blank belongs to the word behind it, unless it is the only one.
    match text[..blanks].char_indices().next_back() {
        Some((last, _)) if last > 0 => last,
        _ => blanks,
    }
}

/// The length of an English ending that follows an apostrophe.
fn ending(text: &str) -> usize {
    let mut chars = text.chars();
    let first = chars.next().map(|c| if c == 'ſ' { ('s', c.len_utf8()) } else { (c.to_ascii_lowercase(), 1) });
    let second = chars.next().map(|c| c.to_ascii_lowercase());
    match (first, second) {
        (Some(('s' | 'd' | 'm' | 't', length)), _) => length,
        (Some(('l', _)), Some('l')) | (Some(('v' | 'r', _)), Some('e')) => 2,
        _ => 0,
    }
}

/// How long the start of the text is whose characters are all like that.
fn span(text: &str, like: impl Fn(char) -> bool) -> usize {
    text.find(|c| !like(c)).unwrap_or(text.len())
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// Whether the character is in Unicode's category L. Rust's `is_alphabetic` also takes marks and numbers.
fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    let c = u32::from(c);
    let after = RANGES.partition_point(|(start, _)| *start <= c);
    after.checked_sub(1).is_some_and(|at| c <= RANGES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `UPDATE=1` writes the table again.
    #[test]
    fn letters_are_the_librarys() {
        let letter = regex::Regex::new(r"^\p{L}$").unwrap();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for c in '\0'..=char::MAX {
            if letter.is_match(c.encode_utf8(&mut [0; 4])) {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == u32::from(c) => *last += 1,
                    _ => ranges.push((c.into(), c.into())),
                }
            }
        }
        let made: Vec<u8> = ranges.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()].concat()).collect();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tables/letters.bin"), &made).unwrap();
        }
        assert!(
            made == LETTERS,
            "UPDATE=1 cargo test -p windlass-engine --lib letters_are_the_librarys writes it again"
        );
    }

    #[test]
    fn splits_at_the_places_of_the_pattern() {
        for (text, expected) in [
            ("don't  stop", vec!["don", "'t", " ", " stop"]),
            ("a1234 ==\n\n b", vec!["a", "123", "4", " ==\n\n", " b"]),
            ("x \n  \n  y  ", vec!["x", " \n  \n", " ", " y", "  "]),
        ] {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
