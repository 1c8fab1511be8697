//! Which parts of a change can be dropped: delta debugging, one question at a time.
//!
//! Whole files are tried first, in halves, then single parts, until none of those that are left can be dropped alone. The questions
//! follow from the answers, so a search that was cut off asks the same ones again. Nothing here runs anything.

use std::collections::BTreeSet;

/// A search under way.
#[derive(Debug)]
pub(super) struct Search {
    kept: BTreeSet<usize>,
    pinned: BTreeSet<usize>,
    /// What is dropped together.
    items: Vec<Vec<usize>>,
    /// So many items at once, from this one on.
    size: usize,
    at: usize,
    /// In this round.
    dropped: bool,
    /// Parts are tried one by one.
    single: bool,
}

impl Search {
    /// All parts, file by file, of which some are never dropped.
    pub(super) fn new(files: &[Vec<usize>], pinned: BTreeSet<usize>) -> Self {
        let kept: BTreeSet<usize> = files.iter().flatten().copied().collect();
        let free =
            |file: &Vec<usize>| -> Vec<usize> { file.iter().copied().filter(|part| !pinned.contains(part)).collect() };
        let items: Vec<Vec<usize>> = files.iter().map(free).filter(|file| !file.is_empty()).collect();
        let size = items.len().max(1);
        let mut search = Self { kept, pinned, items, size, at: 0, dropped: false, single: false };
        search.settle();
        search
    }

    /// The smallest set that is known to pass, if everything does.
    pub(super) fn kept(&self) -> &BTreeSet<usize> {
        &self.kept
    }

    /// Whether these pass? Nothing if no part can be dropped alone.
    pub(super) fn question(&self) -> Option<BTreeSet<usize>> {
        let chunk: BTreeSet<usize> = self.chunk()?.iter().flatten().copied().collect();
        Some(self.kept.difference(&chunk).copied().collect())
    }

    /// The answer to the question.
    pub(super) fn answer(&mut self, passes: bool) {
        let Some(question) = self.question() else { return };
        if passes {
            self.kept = question;
            let end = (self.at + self.size).min(self.items.len());
            self.items.drain(self.at..end);
            self.dropped = true;
        } else {
            self.at += self.size;
        }
        self.settle();
    }

    fn chunk(&self) -> Option<&[Vec<usize>]> {
        let end = (self.at + self.size).min(self.items.len());
        self.items.get(self.at..end).filter(|chunk| !chunk.is_empty())
    }

    /// Goes to the next round while this one has no question left.
    fn settle(&mut self) {
        while self.chunk().is_none() {
            let last = self.size == 1 && !self.dropped;
            match (self.items.is_empty() || last, self.single) {
                (true, true) => return,
                (true, false) => {
                    self.single = true;
                    self.items = self.kept.difference(&self.pinned).map(|part| vec![*part]).collect();
                    self.size = self.items.len().div_ceil(2).max(1);
                }
                (false, _) => self.size = self.size.div_ceil(2),
            }
            self.at = 0;
            self.dropped = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches to the end; with the number of questions.
    fn smallest(
        files: &[Vec<usize>],
        pinned: &[usize],
        passes: impl Fn(&BTreeSet<usize>) -> bool,
    ) -> (Vec<usize>, usize) {
        let mut search = Search::new(files, pinned.iter().copied().collect());
        let mut asked = 0;
        while let Some(question) = search.question() {
            asked += 1;
            assert!(asked < 10_000, "it comes to an end");
            search.answer(passes(&question));
        }
        (search.kept().iter().copied().collect(), asked)
    }

    fn files(count: usize, each: usize) -> Vec<Vec<usize>> {
        (0..count).map(|file| (file * each..(file + 1) * each).collect()).collect()
    }

    #[test]
    fn keeps_exactly_the_parts_that_are_needed() {
        let (kept, asked) = smallest(&files(20, 10), &[], |set| set.contains(&7) && set.contains(&123));
        assert_eq!(kept, [7, 123]);
        assert!(asked < 60, "{asked} questions for 200 parts");
    }

    #[test]
    fn keeps_parts_that_need_each_other() {
        // 3 needs 17 and 17 needs 3; 5 breaks without 9.
        let sound = |set: &BTreeSet<usize>| {
            set.contains(&3) == set.contains(&17) && (!set.contains(&5) || set.contains(&9)) && set.contains(&5)
        };
        let (kept, _) = smallest(&files(4, 5), &[], sound);
        assert!(sound(&kept.iter().copied().collect()), "{kept:?}");
        assert!(kept.contains(&5) && kept.contains(&9) && kept.len() <= 4, "{kept:?}");
    }

    #[test]
    fn no_part_of_the_result_can_be_dropped_alone() {
        for seed in 0..200_usize {
            let needed: BTreeSet<usize> = (0..30).filter(|part| (part * 7 + seed * 13) % 5 == 0).collect();
            let passes = |set: &BTreeSet<usize>| needed.is_subset(set) || set.len() + seed % 3 > 30;
            let (kept, _) = smallest(&files(6, 5), &[], passes);
            let kept: BTreeSet<usize> = kept.into_iter().collect();
            for part in &kept {
                let without: BTreeSet<usize> = kept.iter().copied().filter(|one| one != part).collect();
                assert!(!passes(&without), "seed {seed}: {part} of {kept:?}");
            }
        }
    }

    #[test]
    fn pinned_parts_stay_and_nothing_is_asked_of_nothing() {
        assert_eq!(smallest(&files(2, 2), &[1], |_| true).0, [1]);
        assert_eq!(smallest(&files(2, 2), &[0, 1, 2, 3], |_| true), (vec![0, 1, 2, 3], 0));
        assert_eq!(smallest(&[], &[], |_| true), (vec![], 0));
    }
}
