//! How the API document describes an opinion, by where it stands: it is exact about which fields are there.

use serde::{Deserialize, Serialize};

use crate::review::SectionSummary;

/// What a reviewer's turn came to.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ruling {
    /// Nothing is open that blocks.
    Clean,
    /// These findings block.
    Dirty {
        open: Vec<String>,
    },
    Accepted,
    Rejected {
        reason: String,
    },
}

/// What a reviewer said through a tool, before its turn is over.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    Clean {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<SectionSummary>,
    },
    Dirty,
    Accepted,
    Rejected {
        reason: String,
    },
}
