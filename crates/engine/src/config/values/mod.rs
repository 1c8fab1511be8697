//! The kinds of values that settings have.

pub(super) mod amounts;
pub(super) mod gates;
pub(super) mod lists;
pub(super) mod value;
pub(super) mod wake;
pub(super) mod words;

pub use amounts::{Days, Iterations, Millis, Percent, Processes, Returns, Size, Slots, Tokens, Usd, Wait, Weight};
pub use gates::{Gate, Gates};
pub use lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
pub use value::{Promise, Value, ValueError};
pub use wake::Wake;
pub use words::{BranchTemplate, Sandbox};
