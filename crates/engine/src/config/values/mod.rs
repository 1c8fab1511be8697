//! The kinds of values that settings have.

pub(super) mod amounts;
pub(super) mod gates;
pub(super) mod lists;
mod occasion;
pub(super) mod value;
pub(super) mod wake;
pub(super) mod words;

pub use amounts::{Iterations, Millis, Percent, Processes, Size, Slots, Tokens, Usd, Wait, Weight};
pub use gates::{Gate, Gates};
pub use lists::{Commands, Files, Globs, Locations, Names};
pub use occasion::Occasion;
pub use value::{Promise, Value, ValueError};
pub use words::{BranchTemplate, MergeBy, Sandbox};
