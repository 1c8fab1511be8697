//! Live streams: of one loop, and of all loops on the board.

pub(crate) mod board;
pub(crate) mod sse;
mod tape;
pub(crate) mod wakes;
