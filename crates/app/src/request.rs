//! What can be asked for: a type with its report.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_engine::view::LoopView;

use crate::local::{Local, Opened};
use crate::problem::Problem;

/// One thing that can be asked for.
pub trait Request: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    type Report: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// The name under which a server knows it.
    const NAME: &'static str;

    /// Does it on this machine.
    fn perform(self, here: &Local) -> impl Future<Output = Result<Self::Report, Problem>> + Send;
}

/// A request after which a loop may be under way. Whoever makes it can drive the loop itself; `perform` leaves that to
/// the background.
pub trait Opens: Request<Report = LoopView> {
    fn open(self, here: &Local) -> impl Future<Output = Result<Opened, Problem>> + Send;
}
