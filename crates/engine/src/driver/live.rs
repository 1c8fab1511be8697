//! Agents whose process lives from turn to turn.
//!
//! They wait here while no turn of their role runs. Invariant: whoever drops this, or calls `end_all`, ends them; a
//! process that waits is never shared, and is given only a turn of the very session it is in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::ids::Role;
use windlass_core::machine::LoopState;
use windlass_supervise::Running;

use crate::tools::ToolSocket;

/// The variable by which such a process is found again, in whatever turn it was.
pub(super) const TAG: &str = "WINDLASS_PROCESS";

pub(super) fn tag(state: &LoopState, role: Role) -> String {
    format!("{}.{role}", state.id)
}

/// A process that waits for its next turn.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) running: Running,
    /// The agent's session it is in.
    pub(super) session: Option<String>,
    /// Its tools, which go with it.
    pub(super) tools: Option<ToolSocket>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LiveAgents(Arc<Mutex<BTreeMap<Role, Live>>>);

impl LiveAgents {
    /// The process that waits for a turn of this role in this session; one in another session is ended.
    pub(super) async fn take(&self, role: Role, session: Option<&str>) -> Option<Live> {
        let live = self.all().remove(&role)?;
        if live.session.is_some() && live.session.as_deref() == session {
            return Some(live);
        }
        end(live.running).await;
        None
    }

    pub(super) fn keep(&self, role: Role, live: Live) {
        self.all().insert(role, live);
    }

    pub(super) async fn end_all(&self) {
        let all = std::mem::take(&mut *self.all());
        for live in all.into_values() {
            end(live.running).await;
        }
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<Role, Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a process that is between turns, and waits until its tree is gone.
pub(super) async fn end(mut running: Running) {
    // Most agents end by themselves when nothing can come any more; the others are told to.
    running.close_input();
    running.stop();
    while running.next().await.is_some() {}
}
