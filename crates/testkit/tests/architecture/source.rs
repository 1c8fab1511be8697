//! A look at Rust source that is just good enough for the rules: comments and literals blanked out, test modules
//! known, `mod` declarations found.
//!
//! Invariant: the blanked text has the same length and the same lines as the source, so that every offset found in
//! it is a place in the file.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// One source file.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The text with spaces for comments and for the inside of literals.
    pub(crate) code: String,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) name: String,
    /// Whether it names another file.
    pub(crate) elsewhere: bool,
    /// The value of its `#[path]`.
    pub(crate) path: Option<String>,
    pub(crate) line: usize,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Source {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
        Source::new(path, text)
    }

    pub(crate) fn new(path: &Path, text: String) -> Source {
        let code = blank(&text);
        Source { path: path.to_owned(), text, code }
    }

    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset].iter().filter(|&&b| b == b'\n').count() + 1
    }

    /// Where the word stands in code, with nothing of an identifier around it.
    pub(crate) fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let part = |c: char| c == '_' || c.is_ascii_alphanumeric();
        self.code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
            let (before, after) = (&self.code[..at], &self.code[at + word.len()..]);
            !before.ends_with(part) && !after.starts_with(part)
        })
    }

    /// The ranges of `#[cfg(test)] mod … { … }`.
    pub(crate) fn test_modules(&self) -> Vec<Range<usize>> {
        let mark = "#[cfg(test)]";
        let mut found: Vec<Range<usize>> = Vec::new();
        for (start, _) in self.code.match_indices(mark) {
            if found.last().is_some_and(|r| r.contains(&start)) {
                continue;
            }
            let mut item = self.code[start + mark.len()..].trim_start();
            while item.starts_with("#[") {
                item = item.split_once(']').map_or("", |(_, rest)| rest).trim_start();
            }
            let item_start = self.code.len() - item.len();
            let head = item.split(['{', ';']).next().unwrap_or_default();
            let is_module = head.split_whitespace().any(|w| w == "mod");
            if is_module && item[head.len()..].starts_with('{') {
                found.push(start..closing(&self.code, item_start + head.len()));
            }
        }
        found
    }

    /// Lines outside test modules.
    pub(crate) fn production_lines(&self) -> usize {
        let all = self.text.lines().count();
        let test = |r: &Range<usize>| self.line_of(r.end.saturating_sub(1)) - self.line_of(r.start) + 1;
        all - self.test_modules().iter().map(test).sum::<usize>()
    }

    pub(crate) fn modules(&self) -> Vec<Module> {
        self.words("mod")
            .filter_map(|at| {
                let rest = self.code[at + 3..].trim_start();
                let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?;
                let (name, after) = rest.split_at(end);
                let elsewhere = after.trim_start().starts_with(';');
                if name.is_empty() || !(elsewhere || after.trim_start().starts_with('{')) {
                    return None;
                }
                Some(Module { name: name.to_owned(), elsewhere, path: self.path_attribute(at), line: self.line_of(at) })
            })
            .collect()
    }

    /// `#[path = "…"]` between the end of the item before and the `mod` at this offset.
    fn path_attribute(&self, at: usize) -> Option<String> {
        let start = self.code[..at].rfind([';', '{', '}']).map_or(0, |i| i + 1);
        let attribute = start + self.code[start..at].find("#[path")?;
        // The blanked text has lost the value; the source has it at the same place.
        self.text[attribute..at].split('"').nth(1).map(str::to_owned)
    }
}

/// The offset after the bracket that closes the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, b) in code.bytes().enumerate().skip(open) {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 1 => return i + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Spaces for comments and for the inside of string and character literals.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (inside, next) = literal_or_comment(bytes, at);
        for b in &mut code[inside] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
        at = next;
    }
    String::from_utf8(code).expect("only whole literals and comments are blanked")
}

/// What to blank at this offset, and where to continue.
fn literal_or_comment(bytes: &[u8], at: usize) -> (Range<usize>, usize) {
    let rest = &bytes[at..];
    let find = |from: usize, what: &[u8]| {
        bytes[from..].windows(what.len()).position(|w| w == what).map_or(bytes.len(), |i| from + i)
    };
    if rest.starts_with(b"//") {
        let end = find(at, b"\n");
        return (at..end, end);
    }
    if rest.starts_with(b"/*") {
        let end = block_comment_end(bytes, at);
        return (at..end, end);
    }
    if let Some(hashes) = raw_string_hashes(bytes, at) {
        let open = at + 2 + hashes;
        let close: Vec<u8> = [b"\"".to_vec(), vec![b'#'; hashes]].concat();
        let end = find(open, &close);
        return (open..end, (end + close.len()).min(bytes.len()));
    }
    if rest.starts_with(b"\"") {
        let end = quote_end(bytes, at + 1, b'"');
        return (at + 1..end, (end + 1).min(bytes.len()));
    }
    if rest.starts_with(b"'") {
        // A character has its closing quote after one character or an escape; else it is a lifetime.
        let character = rest.get(1) == Some(&b'\\') || closes_after_one(rest);
        if character {
            let end = quote_end(bytes, at + 1, b'\'');
            return (at + 1..end, (end + 1).min(bytes.len()));
        }
    }
    (at..at, at + 1)
}

fn closes_after_one(rest: &[u8]) -> bool {
    let length = match rest.get(1) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        Some(_) => 1,
        None => return false,
    };
    rest.get(1 + length) == Some(&b'\'')
}

fn quote_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn block_comment_end(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The number of hashes if a raw string starts at this `r`; `br` and `cr` are found at their `r`.
fn raw_string_hashes(bytes: &[u8], at: usize) -> Option<usize> {
    let inside =
        |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(|b| *b == b'_' || b.is_ascii_alphanumeric());
    let prefixed = at > 0 && matches!(bytes[at - 1], b'b' | b'c') && !inside(at.checked_sub(2));
    if bytes[at] != b'r' || (inside(at.checked_sub(1)) && !prefixed) {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|&&b| b == b'#').count();
    (bytes.get(at + 1 + hashes) == Some(&b'"')).then_some(hashes)
}
