//! What reviewers and coders write for the machine to read: verdicts, the review block, the coder's blocks, reports.
//!
//! Readers never guess in the coder's favour: what is unclear is not an acceptance, and what is only quoted, shown as code
//! or repeated from the prompt is not said.

mod block;
mod coder;
mod echo;
mod plain_json;
mod question;
mod report;
mod texts;
mod verdict;

pub use block::{
    Acceptance, AcceptanceVerdict, Audit, AuditVerdict, BlockError, PlanAdjustment, ReportedFinding, read_acceptance,
    read_audit,
};
pub use coder::{CoderDecisions, coder_decisions, section_summary};
pub use question::{MarkedQuestion, marked_questions};
pub use report::{Change, FeatureReport, Lint, Report, ReportedCommit, TestCounts};
pub(crate) use texts::{ask_again, ask_audit_block, ask_decisions, ask_report, ask_verdict};
pub use verdict::Verdict;

use serde::{Deserialize, Serialize};

/// What became of a section, in the auditor's or coder's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionSummary {
    #[serde(deserialize_with = "block::one_or_more")]
    pub done: Vec<String>,
    #[serde(default, deserialize_with = "block::one_or_more")]
    pub deviations: Vec<String>,
    #[serde(default, deserialize_with = "block::one_or_more")]
    pub follow_ups: Vec<String>,
}
