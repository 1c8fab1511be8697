//! The secrets in something of any length, which comes in pieces and is never held whole.
//!
//! Invariant: what is found does not depend on the pieces. Windows overlap by more than the longest secret, and each
//! counts only what starts in its own part.
//!
//! Text in UTF-16 is searched too, in a copy with one byte for each character.

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
/// The bytes before a secret affect the decision.
const BEFORE: usize = 2;

/// A secret and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    /// From 1 on.
    pub line: usize,
    pub value: Vec<u8>,
}

/// Searches what is pushed, as it is and as UTF-16.
#[derive(Debug)]
pub struct Scan {
    plain: Windows,
    /// What is left where every other byte is zero; made with the first zero.
    narrowed: Option<Narrowed>,
}

#[derive(Debug)]
struct Narrowed {
    windows: Windows,
    /// The two bytes before the next.
    last: [u8; 2],
}

#[derive(Debug)]
struct Windows {
    rules: Rules,
    sizes: Sizes,
    window: Vec<u8>,
    /// The line on which the window starts.
    line: usize,
    /// What starts before this place of the window was judged with the one before.
    from: usize,
    places: Vec<Place>,
}

impl Scan {
    pub fn new(rules: Rules) -> Self {
        Self::with(rules, SIZES)
    }

    fn with(rules: Rules, sizes: Sizes) -> Self {
        Self { plain: Windows::new(rules, sizes), narrowed: None }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.narrowed.is_none() && bytes.contains(&0) {
            let mut windows = Windows::new(self.plain.rules.clone(), self.plain.sizes);
            // The zero may belong to the byte before these.
            let (before, last) = self.plain.window.split_at(self.plain.window.len().saturating_sub(1));
            windows.line = self.plain.line + lines(before);
            let mut narrowed = Narrowed { windows, last: [0, 0] };
            narrowed.push(last);
            self.narrowed = Some(narrowed);
        }
        self.plain.push(bytes);
        if let Some(narrowed) = &mut self.narrowed {
            narrowed.push(bytes);
        }
    }

    pub fn finish(self) -> Vec<Place> {
        let mut places = self.plain.finish();
        places.extend(self.narrowed.map(|narrowed| narrowed.windows.finish()).unwrap_or_default());
        places
    }
}

impl Narrowed {
    /// Passes on all bytes but the zeros. Inserts a zero between bytes that are not two apart, because those are not UTF-16 text.
    fn push(&mut self, bytes: &[u8]) {
        let mut narrow = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if byte != 0 {
                let in_text = self.last[0] != 0 && self.last[1] == 0;
                narrow.extend_from_slice(if in_text { &[] } else { &[0] });
                narrow.push(byte);
            }
            self.last = [self.last[1], byte];
        }
        self.windows.push(&narrow);
    }
}

impl Windows {
    /// More are not distinguished: one of them is enough to act on.
    const MOST: usize = 10_000;

    fn new(rules: Rules, sizes: Sizes) -> Self {
        Self { rules, sizes, window: Vec::new(), line: 1, from: 0, places: Vec::new() }
    }

    fn push(&mut self, mut bytes: &[u8]) {
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

    fn finish(mut self) -> Vec<Place> {
        self.look(self.window.len());
        self.places
    }

    /// Notes what starts before `end`.
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
    fn a_secret_in_utf_16_is_found_in_both_orders_with_and_without_a_mark() {
        let text = format!("\u{feff}first\nGrüße, 世界: '{KEY}'\n");
        let expected = Place { name: "github-token".into(), line: 2, value: KEY.into() };
        for text in [text.as_str(), &text[3..]] {
            for order in [u16::to_le_bytes, u16::to_be_bytes] {
                let wide: Vec<u8> = text.encode_utf16().flat_map(order).collect();
                for piece in [wide.len(), 7, 1] {
                    assert_eq!(scan(&wide, piece), std::slice::from_ref(&expected), "in pieces of {piece}");
                }
            }
        }
        let wide: Vec<u8> = KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(scan(&wide, 1), [Place { line: 1, ..expected.clone() }]);
        let later = [b"ten\nlines\n".repeat(5), wide].concat();
        assert_eq!(scan(&later, 7), [Place { line: 11, ..expected }]);
    }

    #[test]
    fn words_between_single_zeros_are_no_utf_16() {
        assert_eq!(scan(b"ghp_\x0016C7e42F292c\x006912E7710c83\x008347Ae178B4a\0", 7), []);
    }

    #[test]
    fn what_only_looks_like_one_at_the_beginning_of_a_window_is_none() {
        for before in 0..4 {
            let mut text = vec![b'x'; WINDOW - before];
            text.extend_from_slice(b"sk-0123456789abcdef0123456789abcdef");
            text.resize(2 * WINDOW, b' ');
            assert_eq!(scan(&text, text.len()), [], "it is part of a longer word");
        }
    }
}
