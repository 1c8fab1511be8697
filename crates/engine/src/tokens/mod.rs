//! Counting tokens with a real tokenizer.
//!
//! Its tables are loaded when a text is first counted, once per process: a loop whose texts are short never pays for
//! them. No text is too long or too odd to be counted.

mod merge;
mod split;

use std::collections::HashMap;
use std::iter;
use std::sync::{LazyLock, Mutex, PoisonError};

/// `cl100k_base`: half the memory and load time of `o200k_base`. It counts other scripts somewhat higher, and too high
/// is the safe side of a budget.
static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new(Box::leak(unpacked(TABLE).into_boxed_slice())));

/// The tokens in the order of their ranks, each after a byte with its length, compressed by `build.rs`. A test makes the
/// file from a library's table and compares them.
const TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.bin.z"));

fn unpacked(compressed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec_zlib(compressed)
        .unwrap_or_else(|error| unreachable!("build.rs compressed this table: {error}"))
}

struct Tokenizer {
    ranks: HashMap<&'static [u8], u32>,
}

impl Tokenizer {
    fn new(table: &'static [u8]) -> Self {
        Self { ranks: ranked(table).collect() }
    }

    fn count(&self, text: &str) -> usize {
        let rank = |bytes: &[u8]| self.ranks.get(bytes).copied();
        let tokens = |piece: &str| match rank(piece.as_bytes()) {
            Some(_) => 1,
            None => merge::count(piece.as_bytes(), rank),
        };
        split::pieces(text).map(tokens).sum()
    }
}

/// Each token of a table with its rank.
fn ranked(table: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut rest = table;
    let tokens = iter::from_fn(move || {
        let (length, after) = rest.split_first()?;
        let (token, after) = after.split_at_checked(usize::from(*length))?;
        rest = after;
        Some(token)
    });
    tokens.zip(0..)
}

/// Longer texts are counted in parts, so that a megabyte without a break takes no more memory than this needs.
const PIECE: usize = 4 * 1024;

/// Counts of short texts: a prompt tells of the same iterations again in each turn.
static COUNTED: LazyLock<Mutex<HashMap<Box<str>, usize>>> = LazyLock::new(Mutex::default);

/// Longer texts are not kept.
const KEPT_TEXT: usize = 1024;

/// At most a few megabytes; then all are forgotten.
const KEPT_COUNTS: usize = 16 * 1024;

/// The tokens of a text that is likely to be counted again.
pub(crate) fn count_again(text: &str) -> usize {
    if text.len() > KEPT_TEXT {
        return count(text);
    }
    let counted = || COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = counted().get(text) {
        return *known;
    }
    let tokens = count(text);
    let mut counted = counted();
    if counted.len() >= KEPT_COUNTS {
        counted.clear();
    }
    counted.insert(text.into(), tokens);
    tokens
}

/// The tokens of a text. Exact up to a piece; above that each seam may add one.
pub fn count(text: &str) -> usize {
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(seam(rest));
        tokens += TOKENIZER.count(piece);
        rest = after;
    }
    tokens
}

/// Whether a text is within a budget. A token is at least a byte, so a short text needs no tokenizer.
pub fn fits(text: &str, budget: usize) -> bool {
    text.len() <= budget || count(text) <= budget
}

/// Where the next piece ends: before the last word that does not fit, or in the middle of one without end.
fn seam(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let most = text.floor_char_boundary(PIECE);
    // A blank belongs to the word behind it.
    let word = text[..most].rmatch_indices([' ', '\n']).map(|(at, _)| at).find(|at| *at > most / 2);
    word.unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_encoding() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("[... truncated for length ...]"), 7);
        assert!(count("修复了所有的测试") >= 6);
        assert_eq!(count("<|endoftext|>"), 7, "a user's text holds no special tokens");
    }

    /// `UPDATE=1` writes the table again.
    #[test]
    fn table_is_the_librarys() {
        let library = tiktoken_rs::cl100k_base().unwrap();
        let mut made = Vec::new();
        for token in (0..).map_while(|rank| library.decode_bytes(&[rank]).ok()) {
            made.push(u8::try_from(token.len()).unwrap());
            made.extend(token);
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tables/cl100k_base.bin"), &made).unwrap();
        }
        assert!(
            made == unpacked(TABLE),
            "UPDATE=1 cargo test -p windlass-engine --lib table_is_the_librarys writes it again"
        );
        for text in [
            "It's  done:\n\n\tlet x = 12345;  ",
            "修复了所有的测试",
            "🦀 café\r\n   end   ",
            "WE'LL SEE 100%",
            " \n \n",
            "we'LL they'ſ 'x ''s don't'",
            "١٢٣٤٥ ½²Ⅷ x²y a\u{301}bc \u{200d}\u{3000}\u{a0}",
            "fn main() { println!(\"{:?}\", a[1..=22222]); }\r\n\r\n    // ====\r\n",
            &"internationalisation".repeat(150),
            &"=-\t \n".repeat(300),
        ] {
            assert_eq!(TOKENIZER.count(text), library.count_ordinary(text), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_counts_as_in_the_library(text in "(\\PC|[a-zA-Z '\\r\\n\\t0-9]){0,60}") {
            static LIBRARY: LazyLock<tiktoken_rs::CoreBPE> = LazyLock::new(|| tiktoken_rs::cl100k_base().unwrap());
            // Digits and letters of a newer Unicode than the library's are not compared.
            let known = regex::Regex::new(r"^[\s\p{L}\p{N}\p{M}\p{P}\p{S}\p{Zs}]*$").unwrap();
            if known.is_match(&text) {
                proptest::prop_assert_eq!(TOKENIZER.count(&text), LIBRARY.count_ordinary(&text));
            }
        }
    }

    #[test]
    fn a_text_counts_the_same_again_however_many_came_between() {
        let first = count_again("hello world");
        for number in 0..KEPT_COUNTS {
            let _ = count_again(&number.to_string());
        }
        assert_eq!((first, count_again("hello world")), (2, 2));
        assert!(COUNTED.lock().unwrap().len() <= KEPT_COUNTS);
    }

    #[test]
    fn a_long_text_counts_like_its_parts() {
        let sentence = "The quick brown fox jumps over the lazy dog. ";
        let (one, many) = (count(sentence), count(&sentence.repeat(5_000)));
        assert!((one - 2) * 5_000 < many && many < (one + 1) * 5_000, "{one} {many}");
    }

    #[test]
    fn odd_texts_are_counted_piece_by_piece() {
        for odd in [" ", "\n", "a", "=-", "🦀", "\0", "\u{301}"] {
            let text = odd.repeat(64 * 1024 / odd.len());
            assert!((1..=text.len()).contains(&count(&text)), "{odd:?}");
        }
    }
}
