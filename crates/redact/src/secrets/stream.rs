//! Redaction of a stream of bytes, cut anywhere.
//!
//! Invariant: what comes out does not depend on where the stream was cut, and no byte of a secret comes out. What may be
//! the start of one is buffered until it is decided; that is never more than a few kilobytes.

use super::shapes::{Judged, Kind, Rest, SHAPES};
use super::{Form, Rules, Start, mark};

/// A private key is never longer; what claims to be is not swallowed whole.
pub(super) const LONGEST_KEY: usize = 16 * 1024;

/// Redacts one stream.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    /// What was kept back.
    carry: Vec<u8>,
    clean: Vec<u8>,
    /// The two bytes before what is checked next.
    behind: [u8; 2],
    dropping: Dropping,
}

/// What of a secret is still to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropping {
    Nothing,
    Token(Kind),
    Key { dropped: usize, dashes: u8, at_end: bool, backslash: bool },
}

impl Redactor {
    pub fn new(rules: Rules) -> Self {
        Self { rules, carry: Vec::new(), clean: Vec::new(), behind: [b'\n'; 2], dropping: Dropping::Nothing }
    }

    /// What may be seen of the next bytes, and of those before that were kept back.
    pub fn push<'a>(&'a mut self, chunk: &'a [u8]) -> &'a [u8] {
        self.clean.clear();
        if self.carry.is_empty() && self.dropping == Dropping::Nothing {
            // Nearly always there is nothing to hide, and then nothing is copied.
            if let Next::Quiet { until } = self.next(chunk, 0, false) {
                self.carry.extend_from_slice(&chunk[until..]);
                self.step_over(&chunk[..until]);
                return &chunk[..until];
            }
        }
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.extend_from_slice(chunk);
        let done = self.pass(&bytes, false);
        bytes.drain(..done);
        self.carry = bytes;
        &self.clean
    }

    /// What was kept back at the end of the stream.
    pub fn finish(&mut self) -> &[u8] {
        self.clean.clear();
        let bytes = std::mem::take(&mut self.carry);
        self.pass(&bytes, true);
        if let Dropping::Key { backslash: true, .. } = self.dropping {
            self.clean.push(b'\\');
        }
        self.dropping = Dropping::Nothing;
        &self.clean
    }

    fn step_over(&mut self, bytes: &[u8]) {
        match *bytes {
            [] => {}
            [last] => self.behind = [self.behind[1], last],
            [.., before, last] => self.behind = [before, last],
        }
    }

    /// Reports every secret of a whole text.
    pub(super) fn walk(&mut self, bytes: &[u8], mut tell: impl FnMut(&str, usize, usize)) {
        let mut at = 0;
        while let Some((name, from, to, rest)) = self.next(bytes, at, true).secret() {
            self.dropping = dropping(rest);
            let (dropped, unseen) = self.drop_from(&bytes[to..]);
            let more = dropped - usize::from(unseen);
            tell(&name, from, to + more);
            at = to + more;
            self.behind = [b' ', b']'];
        }
    }

    /// Writes what may be seen of these bytes; how many are done with.
    fn pass(&mut self, bytes: &[u8], whole: bool) -> usize {
        let mut at = 0;
        loop {
            if self.dropping != Dropping::Nothing {
                let (dropped, unseen) = self.drop_from(&bytes[at..]);
                at += dropped;
                if unseen {
                    self.clean.push(b'\\');
                }
                if self.dropping != Dropping::Nothing {
                    return at;
                }
                self.behind = [b' ', b']'];
            }
            match self.next(bytes, at, whole) {
                Next::Secret { name, from, to, rest } => {
                    self.clean.extend_from_slice(&bytes[at..from]);
                    self.clean.extend_from_slice(mark(&name).as_bytes());
                    self.dropping = dropping(rest);
                    self.behind = [b' ', b']'];
                    at = to;
                }
                Next::Quiet { until } => {
                    self.clean.extend_from_slice(&bytes[at..until]);
                    self.step_over(&bytes[at..until]);
                    return until;
                }
            }
        }
    }

    /// The first secret from a place on, or how far there is none.
    fn next(&self, bytes: &[u8], start: usize, whole: bool) -> Next {
        // A trigger that is cut off at the end may have started before one that is whole.
        let cut = if whole { bytes.len() } else { bytes.len() - self.rules.cut_off(&bytes[start..]) };
        let mut from = start;
        while let Some(at) = self.rules.beginnings.next(bytes, from) {
            if at > cut {
                break;
            }
            let around = behind(&bytes[start..], at - start, self.behind);
            match self.rules.judge(&bytes[at..], around, whole) {
                Found::Secret { name, begin, end, rest } => {
                    return Next::Secret { name, from: at + begin, to: at + end, rest };
                }
                Found::More => return Next::Quiet { until: at },
                Found::Nothing => from = at + 1,
            }
        }
        Next::Quiet { until: cut }
    }

    /// Drops what belongs to the last secret: how many bytes, and whether a backslash was dropped that must be seen.
    fn drop_from(&mut self, bytes: &[u8]) -> (usize, bool) {
        match self.dropping {
            Dropping::Nothing => (0, false),
            Dropping::Token(kind) => {
                let run = bytes.iter().take_while(|&&byte| kind.has(byte)).count();
                if run < bytes.len() {
                    self.dropping = Dropping::Nothing;
                }
                (run, false)
            }
            Dropping::Key { .. } => self.drop_key(bytes),
        }
    }

    /// A private key ends with its last line, or at a character that no key contains.
    fn drop_key(&mut self, bytes: &[u8]) -> (usize, bool) {
        let Dropping::Key { mut dropped, mut dashes, mut at_end, mut backslash } = self.dropping else {
            return (0, false);
        };
        for (at, &byte) in bytes.iter().enumerate() {
            let escape = backslash && matches!(byte, b'n' | b'r' | b't' | b'\\' | b'/');
            let ordinary = Kind::Base64.has(byte) || byte.is_ascii_whitespace() || b"-:,.\\".contains(&byte);
            if dropped >= LONGEST_KEY || backslash && !escape || !ordinary {
                self.dropping = Dropping::Nothing;
                return (at, backslash && !escape);
            }
            backslash = byte == b'\\' && !escape;
            dropped += 1;
            match byte {
                b'-' => dashes = (dashes + 1).min(5),
                b'E' if dashes == 5 && !at_end => (at_end, dashes) = (true, 0),
                _ => dashes = 0,
            }
            if at_end && dashes == 5 {
                self.dropping = Dropping::Nothing;
                return (at + 1, false);
            }
        }
        self.dropping = Dropping::Key { dropped, dashes, at_end, backslash };
        (bytes.len(), false)
    }
}

#[derive(Debug)]
enum Next {
    Secret {
        name: String,
        from: usize,
        to: usize,
        rest: Rest,
    },
    /// None before this position; the rest is undecided.
    Quiet {
        until: usize,
    },
}

impl Next {
    fn secret(self) -> Option<(String, usize, usize, Rest)> {
        match self {
            Next::Secret { name, from, to, rest } => Some((name, from, to, rest)),
            Next::Quiet { .. } => None,
        }
    }
}

enum Found {
    Secret { name: String, begin: usize, end: usize, rest: Rest },
    More,
    Nothing,
}

impl Rules {
    /// What is at a hit of the search. A known value takes precedence over a shape.
    fn judge(&self, bytes: &[u8], behind: [u8; 2], whole: bool) -> Found {
        let at = |place: usize| bytes.get(place).map_or(0, u8::to_ascii_lowercase);
        let starts = &self.starts[usize::from(at(0))];
        // Known values come after the shapes.
        if starts.last().is_some_and(|start| start.number >= SHAPES.len()) {
            match self.judge_known(bytes, whole) {
                Found::Nothing => {}
                known @ (Found::Secret { .. } | Found::More) => return known,
            }
        }
        // Longer triggers first; where they fail, one that they start with may fit.
        let next = [at(1), at(2)];
        let near = starts.iter().filter(|start| start.next == next);
        for shape in near.filter_map(|start| SHAPES.get(start.number)) {
            if !shape.begins(bytes) {
                continue;
            }
            match shape.judge(bytes, behind, whole) {
                Judged::Secret { from, to, rest } => {
                    return Found::Secret { name: shape.name.to_owned(), begin: from, end: to, rest };
                }
                Judged::More => return Found::More,
                Judged::Nothing => {}
            }
        }
        Found::Nothing
    }

    /// The longest known value that the bytes start with.
    fn judge_known(&self, bytes: &[u8], whole: bool) -> Found {
        let mut longest: Option<&Form> = None;
        for form in self.known.iter() {
            let there = form.value.len().min(bytes.len());
            if form.value[..there] != bytes[..there] {
                continue;
            }
            if there < form.value.len() {
                if !whole {
                    return Found::More;
                }
                continue;
            }
            if longest.is_none_or(|other| other.value.len() < form.value.len()) {
                longest = Some(form);
            }
        }
        match longest {
            Some(form) => Found::Secret { name: form.name.clone(), begin: 0, end: form.value.len(), rest: Rest::None },
            None => Found::Nothing,
        }
    }

    /// How many of the last bytes may be the start of a trigger.
    fn cut_off(&self, bytes: &[u8]) -> usize {
        let most = self.longest.saturating_sub(1).min(bytes.len());
        let ends = |length: &usize| {
            let end = &bytes[bytes.len() - length..];
            let begun = |start: &Start| {
                let trigger = &self.triggers[start.number];
                trigger.len() > end.len() && trigger[..end.len()].eq_ignore_ascii_case(end)
            };
            self.starts[usize::from(end[0].to_ascii_lowercase())].iter().any(begun)
        };
        (1..=most).rev().find(ends).unwrap_or(0)
    }
}

fn dropping(rest: Rest) -> Dropping {
    match rest {
        Rest::None => Dropping::Nothing,
        Rest::Token(kind) => Dropping::Token(kind),
        Rest::PrivateKey => Dropping::Key { dropped: 0, dashes: 0, at_end: false, backslash: false },
    }
}

/// The two bytes before a place.
fn behind(bytes: &[u8], at: usize, before: [u8; 2]) -> [u8; 2] {
    match at {
        0 => before,
        1 => [before[1], bytes[0]],
        _ => [bytes[at - 2], bytes[at - 1]],
    }
}
