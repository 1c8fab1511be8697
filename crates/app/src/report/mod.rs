//! Reports for people: one loop for a pull request, and all loops over time.

mod document;
mod of_loop;
mod outcomes;
mod over_time;
mod usage;

pub use document::Document;
pub use of_loop::{ChangedLines, LoopReport, ReportLoop};
pub use outcomes::{OutcomeRow, OutcomesReport, ReportOutcomes};
pub use usage::{ReportRow, ReportUsage, UsageReport};
