//! Descriptions of processes for crates that do not start them: commands, and how a machine enforces limits.
//!
//! Plain data, so that adapters and the machine's specs need not know who starts processes, and who starts them need know
//! neither agents nor loops.

mod command;
mod holder;

pub use command::{CommandSpec, Stdin};
pub use holder::{Holder, Means};
