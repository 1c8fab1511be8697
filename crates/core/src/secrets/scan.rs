//! The secrets in something of any length, which comes in pieces and is never held whole.
//!
//! Invariant: what is found does not depend on the pieces. Windows overlap by more than the longest secret, and each
//! counts only what begins in its own part.

use super::Rules;
use super::stream::LONGEST_KEY;

#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// How much is searched at once.
    window: usize,
    /// More than the longest value that is looked for, in its longest form.
    overlap: usize,
}

const SIZES: Sizes = Sizes { window: 1 << 20, overlap: 8 * LONGEST_KEY };
/// What stands before a secret is part of the judgement.
const BEFORE: usize = 2;

/// A secret and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    /// From 1 on.
    pub line: usize,
    pub value: Vec<u8>,
}

/// Searches what is pushed.
#[derive(Debug)]
pub struct Scan {
    rules: Rules,
    sizes: Sizes,
    window: Vec<u8>,
    /// The line on which the window begins.
    line: usize,
    /// What begins before this place of the window was judged with the one before.
    from: usize,
    places: Vec<Place>,
}

impl Scan {
    /// More are not told apart: one of them is enough to act on.
    const MOST: usize = 10_000;

    pub fn new(rules: Rules) -> Self {
        Self::with(rules, SIZES)
    }

    fn with(rules: Rules, sizes: Sizes) -> Self {
        Self { rules, sizes, window: Vec::new(), line: 1, from: 0, places: Vec::new() }
    }

    pub fn push(&mut self, mut bytes: &[u8]) {
        let Sizes { window, overlap } = self.sizes;
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(window + overlap - self.window.len()));
            self.window.extend_from_slice(piece);
            bytes = rest;
            if self.window.len() == window + overlap {
                self.look(window);
                let gone = window - BEFORE;
                self.line += lines(&self.window[..gone]);
                self.window.drain(..gone);
                self.from = self.from.max(window) - gone;
            }
        }
    }

    pub fn finish(mut self) -> Vec<Place> {
        self.look(self.window.len());
        self.places
    }

    /// Notes what begins before `end`.
    fn look(&mut self, end: usize) {
        for found in self.rules.find(&self.window) {
            if found.from < self.from || found.from >= end || self.places.len() >= Self::MOST {
                continue;
            }
            let line = self.line + lines(&self.window[..found.from]);
            let value = self.window[found.from..found.to].to_vec();
            self.places.push(Place { name: found.name, line, value });
            self.from = found.to;
        }
    }
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: usize = 8 << 10;
    const OVERLAP: usize = 1 << 10;
    const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn scan(text: &[u8], piece: usize) -> Vec<Place> {
        let mut scan = Scan::with(Rules::default(), Sizes { window: WINDOW, overlap: OVERLAP });
        text.chunks(piece).for_each(|piece| scan.push(piece));
        scan.finish()
    }

    #[test]
    fn a_secret_is_found_once_wherever_the_windows_meet() {
        let line = b"nothing to see on this line of text, which is an ordinary one\n";
        let whole: Vec<u8> = line.iter().copied().cycle().take(3 * WINDOW).collect();
        let seams = [0, WINDOW - KEY.len(), WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + OVERLAP - 7, 2 * WINDOW - 3];
        for at in seams {
            let mut text = whole.clone();
            let with = format!("\n{KEY}\n");
            text.splice(at..at, with.into_bytes());
            let expected = Place { name: "github-token".into(), line: 2 + lines(&text[..at]), value: KEY.into() };
            for piece in [text.len(), 4_093, 7] {
                assert_eq!(scan(&text, piece), std::slice::from_ref(&expected), "at {at} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_one_at_the_beginning_of_a_window_is_none() {
        for before in 0..4 {
            let mut text = vec![b'x'; WINDOW - before];
            text.extend_from_slice(KEY.as_bytes());
            text.resize(2 * WINDOW, b' ');
            assert_eq!(scan(&text, text.len()), [], "it is part of a longer word");
        }
    }
}
