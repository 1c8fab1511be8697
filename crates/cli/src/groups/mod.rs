//! Groups of loops in the terminal.

mod events;
pub mod merges;
mod queue;
pub mod tries;

use std::sync::Arc;

use windlass_core::group::{GroupId, GroupKind};
use windlass_engine::engine::Engine;
use windlass_engine::groups::AnyGroup;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::{print, watch_signals};

pub use queue::queue;

/// Drives a group without anybody watching.
pub async fn drive(engine: &Arc<Engine>, kind: GroupKind, id: &str) -> Result<Exit, Failure> {
    let Some(held) = AnyGroup::take(engine, kind, &GroupId(id.to_owned())).await? else {
        return Err(Failure::usage("the queue of goals does not run in the background", "use `windlass queue start`"));
    };
    let (_told, shutdown) = watch_signals()?;
    let driving = held.drive(engine, shutdown)?;
    print("ready\n");
    driving.ended().await?;
    Ok(Exit::Completed)
}
