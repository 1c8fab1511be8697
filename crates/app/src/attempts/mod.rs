//! Several attempts at one goal: forks of a loop, and how loops compare.

mod compare;
mod fork;

pub use compare::{ChangeSize, CompareLoops, Compared, ComparedLoop, Difference};
pub use fork::ForkLoop;
