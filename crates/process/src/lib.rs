//! What is said of a process by those who do not start it: its command, and what a machine holds its limits with.
//!
//! Plain data, so that adapters and the machine's specs need not know who starts processes, and who starts them need know
//! neither agents nor loops.

mod command;
mod holder;

pub use command::{CommandSpec, Stdin};
pub use holder::{Holder, Means};
