//! The API and the log lines of the Copilot loop specification, for programs and people that know them.
//!
//! Nothing is decided here: the tracker asks the machine, and the lines say what the machine decided.

mod log_lines;
mod tracker;

pub(crate) use log_lines::log;
pub use log_lines::not_started;
pub use tracker::{LoopTracker, Registration, TrackError, Tracked, check_completion_promise};
