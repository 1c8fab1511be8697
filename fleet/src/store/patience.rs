//! Waiting for a database that is away. A connection that is lost is no refusal.

use std::time::Duration;

use tokio::time::Instant;
use windlass_store::Result;

use super::failure::{Fault, failed};

/// How long a call waits in all.
const LONGEST: Duration = Duration::from_secs(600);

/// What one call has waited so far.
#[derive(Debug)]
pub(super) struct Patience {
    until: Instant,
    /// How often the step was tried before.
    pub(super) tried: u32,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { until: Instant::now() + LONGEST, tried: 0 }
    }

    /// What the caller gets; `None`, after a pause, if the step is to be tried again.
    pub(super) async fn after<T>(&mut self, outcome: Result<T, Fault>) -> Option<Result<T>> {
        match outcome {
            Ok(done) => Some(Ok(done)),
            Err(Fault::Refused(refusal)) => Some(Err(refusal)),
            Err(Fault::Away(error)) if Instant::now() < self.until => {
                tracing::warn!(%error, tried = self.tried, "the database is away; trying again");
                tokio::time::sleep(Duration::from_millis(50 << self.tried.min(5))).await;
                self.tried += 1;
                None
            }
            Err(Fault::Away(error) | Fault::Failed(error)) => Some(Err(failed(error))),
        }
    }
}

/// Does a step, again while the database is away.
macro_rules! patiently {
    ($step:expr) => {{
        let mut patience = Patience::new();
        loop {
            let outcome = $step.await;
            if let Some(done) = patience.after(outcome).await {
                break done;
            }
        }
    }};
}
pub(super) use patiently;
