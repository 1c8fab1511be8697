//! The steps of a search, as its record has them: what follows it reads the file, from this process, another one or a server.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::ids::LoopId;
use windlass_engine::changes;
use windlass_engine::data::private_dir;

use super::{record, record_file};
use crate::local::Local;
use crate::problem::Problem;
use crate::request::Request;

/// How long a request waits for a step, so that none waits forever for a search that is not running.
const MOST_WAIT: Duration = Duration::from_secs(30);

/// The steps of `minimise` for a loop.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimiseSteps {
    #[schemars(skip)]
    pub id: String,
    /// Leave out so many.
    pub after: usize,
    /// If there is none, wait up to 30 s for one.
    pub wait: bool,
}

/// The steps after those that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepsReport {
    pub steps: Vec<MinimiseStep>,
    /// The number of the last one, for `after`.
    pub last: usize,
}

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MinimiseStep {
    /// A call starts: Windlass makes the checkout and runs the set-up in it.
    Started {
        /// Hunks of the loop's work.
        hunks: usize,
        /// Candidates that an earlier call judged.
        known: usize,
    },
    /// The gates start on a candidate.
    Judging {
        /// The number of this run in the call.
        run: u32,
        why: Why,
        /// Hunks of the candidate.
        hunks: usize,
    },
    /// The gates have judged it.
    Judged {
        run: u32,
        why: Why,
        hunks: usize,
        passed: bool,
        /// Hunks of the smallest candidate that passed so far.
        smallest: usize,
        duration_ms: u64,
    },
}

/// Why a candidate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The whole work has to pass twice.
    Whole,
    /// Something may be dropped.
    Smaller,
    /// The smallest one has to pass again.
    Confirm,
}

impl Request for MinimiseSteps {
    type Report = StepsReport;
    const NAME: &'static str = "minimise_steps";

    async fn perform(self, here: &Local) -> Result<StepsReport, Problem> {
        let engine = here.readable().await?;
        let id = LoopId(here.found(&self.id).await?.entry.id);
        let file = record_file(&engine, &id);
        let read = || {
            let mut steps = record::steps(&file);
            let last = steps.len();
            steps.drain(..self.after.min(last));
            StepsReport { steps, last }
        };
        if !self.wait {
            return Ok(read());
        }
        let dir = engine.data.transcripts(&id);
        private_dir(&dir)?;
        let mut written = changes::watch_closed(&dir)?;
        let next = async {
            loop {
                let report = read();
                if !report.steps.is_empty() || written.changed().await.is_err() {
                    return report;
                }
            }
        };
        Ok(tokio::time::timeout(MOST_WAIT, next).await.unwrap_or_else(|_| read()))
    }
}
