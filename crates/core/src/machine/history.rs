//! Lists that grow with a loop, and that copies of its state share.

use std::ops::Index;

use super::shared::Shared;

/// Entries in a block. A copy that adds an entry copies the references of the last block, and one reference to each full one
/// when that block is full too.
const BLOCK: usize = 64;

/// What a loop went through, oldest first. No entry is ever copied to add another.
#[derive(Debug, Clone, PartialEq)]
pub struct History<T> {
    full: Shared<Vec<Block<T>>>,
    last: Block<T>,
}

type Block<T> = Shared<Vec<Shared<T>>>;

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { full: Shared::new(Vec::new()), last: Shared::new(Vec::new()) }
    }
}

impl<T> Index<usize> for History<T> {
    type Output = Shared<T>;

    fn index(&self, index: usize) -> &Shared<T> {
        let block = self.full.get(index / BLOCK).unwrap_or(&self.last);
        &block[index % BLOCK]
    }
}

impl<T> History<T> {
    pub fn len(&self) -> usize {
        self.full.len() * BLOCK + self.last.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn last(&self) -> Option<&Shared<T>> {
        self.iter().next_back()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Shared<T>> {
        self.full.iter().chain([&self.last]).flat_map(|block| block.iter())
    }

    /// The entries that are not in a block that both have.
    pub fn not_shared_with<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Shared<T>> {
        let others = move || other.full.iter().chain([&other.last]);
        let blocks = self.full.iter().chain([&self.last]);
        blocks.filter(move |block| !others().any(|other| other.is_same_as(block))).flat_map(|block| block.iter())
    }
}

impl<T: Clone> History<T> {
    pub fn push(&mut self, entry: T) {
        self.last.push(Shared::new(entry));
        if self.last.len() == BLOCK {
            self.full.push(std::mem::replace(&mut self.last, Shared::new(Vec::new())));
        }
    }

    pub fn last_mut(&mut self) -> Option<&mut T> {
        let block = if self.last.is_empty() { self.full.last_mut()? } else { &mut self.last };
        block.last_mut().map(|entry| &mut **entry)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Shared<T>> {
        self.full.iter_mut().chain([&mut self.last]).flat_map(|block| block.iter_mut())
    }
}

#[cfg(test)]
mod tests;
