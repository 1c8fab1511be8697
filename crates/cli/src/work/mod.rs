//! Commands about a loop's work: `diff`, `rollback`, `merge`, `clean`.

mod clean;
mod diff;
mod merge;
mod residue;
mod rollback;

pub use clean::clean;
pub use diff::diff;
pub use merge::merge;
pub use rollback::rollback;
