//! A loop that a person takes over by hand.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use windlass_core::ids::{LoopId, Role};
use windlass_core::stop::Status;
use windlass_engine::command::{Answer, Command};
use windlass_engine::engine::Engine;
use windlass_engine::journal;

use crate::local::Local;
use crate::loops::about_a_loop;
use crate::problem::Problem;
use crate::reports::{SessionToEnter, TakeoverReport};
use crate::request::Request;
use crate::work::not_at_a_desk;

about_a_loop! {
    "Pause it and show how to open its workspace and session." TakeOver
}

impl Request for TakeOver {
    type Report = TakeoverReport;
    const NAME: &'static str = "takeover";

    async fn perform(self, here: &Local) -> Result<TakeoverReport, Problem> {
        let id = LoopId(here.found(&self.id).await?.entry.id);
        enter(&here.engine().await?, &id).await
    }
}

/// Pauses a loop that is under way, and says where a person goes on.
async fn enter(engine: &Arc<Engine>, id: &LoopId) -> Result<TakeoverReport, Problem> {
    let state = journal::load(engine.store.as_ref(), id).await?;
    not_at_a_desk(engine, &state, "takeover")?;
    if let Status::Queued | Status::Running | Status::Waiting { .. } = state.status() {
        match engine.command(id, &Command::Pause { now: true }).await? {
            Answer::Accepted { .. } | Answer::Done { .. } => {}
            Answer::Refused { message } => {
                return Err(Problem::refused(format!("{}: {message}", state.name), "check it with `windlass status`"));
            }
        }
    }
    let state = journal::load(engine.store.as_ref(), id).await?;
    let session = |(role, session): (&Role, &String)| {
        let words = windlass_agents::takeover(&state.agent(*role).profile, session)?;
        let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
        Some(SessionToEnter { role: *role, command })
    };
    Ok(TakeoverReport {
        name: state.name.clone(),
        status: state.status().name().to_owned(),
        dir: state.workspace_dir().unwrap_or(&state.project).to_owned(),
        sessions: state.sessions.iter().filter_map(session).collect(),
    })
}
