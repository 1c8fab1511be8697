//! Commands about a loop's work: `diff`, `rollback`, `merge`, `minimise`, `clean`, `compare`, `proof`, `verify`.

mod clean;
mod compare;
mod diff;
mod merge;
mod minimise;
mod proof;
mod queue;
mod report;
mod residue;
mod rollback;

pub use clean::clean;
pub use compare::compare;
pub use diff::diff;
pub use merge::merge;
pub use minimise::minimise;
pub use proof::{proof, verify};
pub use report::{pr, report};
pub use rollback::rollback;
