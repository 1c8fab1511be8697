//! A history is a list, and its copies share what they can.

use super::*;

fn of(count: usize) -> History<usize> {
    let mut history = History::default();
    (0..count).for_each(|number| history.push(number));
    history
}

#[test]
fn a_history_is_a_list_at_every_length() {
    for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
        let history = of(count);
        assert_eq!((history.len(), history.is_empty()), (count, count == 0));
        assert!(history.iter().map(|entry| **entry).eq(0..count));
        assert!(history.iter().rev().map(|entry| **entry).eq((0..count).rev()));
        assert!((0..count).all(|index| *history[index] == index));
        assert_eq!(history.last().map(|entry| **entry), count.checked_sub(1));
        assert_eq!(history, of(count));
    }
}

#[test]
fn a_change_of_a_copy_is_not_a_change_of_the_other() {
    for count in [1, BLOCK, BLOCK + 1] {
        let before = of(count);
        let mut after = before.clone();
        *after.last_mut().unwrap() = 1_000;
        assert_eq!((**before.last().unwrap(), **after.last().unwrap()), (count - 1, 1_000));
        let mut after = before.clone();
        after.iter_mut().for_each(|entry| **entry += 1);
        assert!(before.iter().map(|entry| **entry).eq(0..count));
        assert!(after.iter().map(|entry| **entry).eq(1..=count));
    }
    assert_eq!(History::<usize>::default().last_mut(), None);
}

#[test]
fn a_copy_shares_all_blocks_but_the_one_that_it_adds_to() {
    let before = of(3 * BLOCK + 5);
    let mut after = before.clone();
    assert_eq!(after.not_shared_with(&before).count(), 0);
    after.push(0);
    assert_eq!(after.not_shared_with(&before).count(), 6);
    assert!(after[3 * BLOCK].is_same_as(&before[3 * BLOCK]), "its entries are shared all the same");
}
