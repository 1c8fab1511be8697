//! Byte pair encoding of one piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many tokens a piece has: neighbouring parts are merged, the pair of the lowest rank first, until no pair has a rank.
pub(super) fn count(piece: &[u8], rank: impl Fn(&[u8]) -> Option<u32>) -> usize {
    let mut parts = Parts::of(piece.len());
    let mut pairs = BinaryHeap::new();
    let ranked = |parts: &Parts, first: usize| {
        let end = parts.end_of_pair(first)?;
        Some(Reverse((rank(&piece[first..end])?, first, end)))
    };
    pairs.extend((0..piece.len()).filter_map(|first| ranked(&parts, first)));
    let mut left = piece.len();
    while let Some(Reverse((_, first, end))) = pairs.pop() {
        // One of its parts has been merged with another one.
        if parts.end_of_pair(first) != Some(end) {
            continue;
        }
        parts.merge(first, end);
        left -= 1;
        pairs.extend(ranked(&parts, first));
        pairs.extend(parts.before(first).and_then(|before| ranked(&parts, before)));
    }
    left
}

/// Parts by where they start.
struct Parts {
    ends: Vec<usize>,
    /// Where the part before starts.
    befores: Vec<usize>,
    gone: Vec<bool>,
}

impl Parts {
    /// One part for each byte.
    fn of(length: usize) -> Self {
        let befores = (0..length).map(|at| at.saturating_sub(1)).collect();
        Self { ends: (1..=length).collect(), befores, gone: vec![false; length] }
    }

    /// Where the part ends that follows the part at `first`.
    fn end_of_pair(&self, first: usize) -> Option<usize> {
        if self.gone[first] {
            return None;
        }
        self.ends.get(self.ends[first]).copied()
    }

    fn before(&self, first: usize) -> Option<usize> {
        (first > 0).then(|| self.befores[first])
    }

    fn merge(&mut self, first: usize, end: usize) {
        let second = self.ends[first];
        self.gone[second] = true;
        self.ends[first] = end;
        if let Some(before) = self.befores.get_mut(end) {
            *before = first;
        }
    }
}
