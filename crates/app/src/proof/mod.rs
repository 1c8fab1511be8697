//! Evidence that a stranger can check: `proof` writes it, `verify` checks it.

mod gather;
mod markdown;
mod rerun;
mod signature;
mod statement;
mod verify;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::ids::LoopId;

pub use markdown::markdown;
pub use signature::{PURPOSE as SIGNATURE_PURPOSE, ProofSignature, sign_proof};
pub use statement::*;
pub use verify::{Agreement, Checked, VerifyReport, VerifyWork, read as read_proof};

use crate::local::Local;
use crate::loops::about_a_loop;
use crate::problem::Problem;
use crate::request::Request;

about_a_loop! {
    "Evidence of its work, as an in-toto statement." ProveLoop
}

/// The file of a proof: the same statement gives the same bytes.
pub fn proof_text(statement: &Statement) -> String {
    written(&serde_json::json!(statement))
}

fn written(statement: &serde_json::Value) -> String {
    format!("{statement:#}\n")
}

impl Request for ProveLoop {
    type Report = Statement;
    const NAME: &'static str = "proof";

    async fn perform(self, here: &Local) -> Result<Statement, Problem> {
        let engine = here.readable().await?;
        let id = LoopId(here.found(&self.id).await?.entry.id);
        gather::statement(&engine, &id, u64::MAX).await
    }
}
