//! Where a trigger may start: a test of four bytes that is nearly always negative.
//!
//! A table of bits, small enough for the processor's first cache, says for a hash of four bytes whether any trigger starts
//! with them. Hundreds of triggers cost no more than a few; an automaton of them all is three times as slow.

const BITS: u32 = 17;
/// Spreads the bytes over the upper bits.
const SPREAD: u32 = 0x9E37_79B1;

pub(super) struct Beginnings {
    table: Box<[u8]>,
    /// The values behind the bits, sorted: four bytes, or three of a short trigger.
    fours: Vec<[u8; 4]>,
    threes: Vec<[u8; 3]>,
}

impl Beginnings {
    /// Triggers have three bytes at least; those of `in_any_case` are also found in capitals, and with a capital.
    pub(super) fn of<'a>(exact: impl Iterator<Item = &'a [u8]>, in_any_case: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut beginnings = Self { table: vec![0; 1 << (BITS - 3)].into(), fours: Vec::new(), threes: Vec::new() };
        exact.for_each(|trigger| beginnings.add(trigger));
        for trigger in in_any_case {
            let mut written = trigger.to_ascii_lowercase();
            beginnings.add(&written);
            written[0].make_ascii_uppercase();
            beginnings.add(&written);
            beginnings.add(&trigger.to_ascii_uppercase());
        }
        beginnings.fours.sort_unstable();
        beginnings.threes.sort_unstable();
        beginnings
    }

    fn add(&mut self, trigger: &[u8]) {
        match *trigger {
            [a, b, c, d, ..] => {
                self.set([a, b, c, d]);
                self.fours.push([a, b, c, d]);
            }
            // Secrets contain no other characters.
            [a, b, c] => {
                (b'!'..=b'~').for_each(|d| self.set([a, b, c, d]));
                self.threes.push([a, b, c]);
            }
            _ => {}
        }
    }

    fn set(&mut self, four: [u8; 4]) {
        let (byte, bit) = place(four);
        self.table[byte] |= bit;
    }

    /// The next position where a trigger may start; the last few bytes are too few to decide.
    pub(super) fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        let may = |four: &[u8; 4]| {
            let (byte, bit) = place(*four);
            self.table[byte] & bit != 0 && self.begins(*four)
        };
        let found = rest.array_windows::<4>().position(may).unwrap_or(rest.len().saturating_sub(3));
        (found < rest.len()).then_some(from + found)
    }
}

impl Beginnings {
    #[cold]
    fn begins(&self, four: [u8; 4]) -> bool {
        let [a, b, c, _] = four;
        self.fours.binary_search(&four).is_ok() || self.threes.binary_search(&[a, b, c]).is_ok()
    }
}

fn place(four: [u8; 4]) -> (usize, u8) {
    let hash = u32::from_le_bytes(four).wrapping_mul(SPREAD) >> (32 - BITS);
    ((hash >> 3) as usize & ((1 << (BITS - 3)) - 1), 1 << (hash & 7))
}
