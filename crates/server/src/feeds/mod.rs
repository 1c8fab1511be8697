//! What the live streams of all readers have in common: the board of all loops, and for each loop a tape of its feed.

pub(crate) mod board;
pub(crate) mod tape;
pub(crate) mod wakes;
