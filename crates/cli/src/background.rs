//! Loops that a command leaves behind: driven by the server of this data directory, else by a process of their own.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_app::{Background, Context, Kind, Problem};
use windlass_core::ids::LoopId;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::groups::AnyGroup;

use crate::serve;

#[derive(Debug)]
pub struct Detached(pub Context);

#[async_trait]
impl Background for Detached {
    async fn take(&self, engine: &Arc<Engine>, held: Held) -> Result<(), Problem> {
        let (id, name) = (held.state.id.clone(), held.state.name.clone());
        engine.release(held).await?;
        if serve::hand_over(&self.0, engine, &id).await {
            return Ok(());
        }
        start_driver(&self.0, &id, &name)
    }

    async fn take_group(&self, engine: &Arc<Engine>, held: AnyGroup) -> Result<(), Problem> {
        let row = held.row();
        held.release(engine).await?;
        start_driver(&self.0, &LoopId(row.id.0), &row.name)
    }
}

/// Starts `windlass drive` in its own session and waits until it holds the loop.
fn start_driver(context: &Context, id: &LoopId, name: &str) -> Result<(), Problem> {
    let log = context.data().driver_log(id);
    if let Some(dir) = log.parent() {
        windlass_engine::data::private_dir(dir)?;
    }
    let errors = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
    let mut child = std::process::Command::new(std::env::current_exe()?)
        .arg("drive")
        .arg(&id.0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .process_group(0)
        .spawn()?;
    let mut ready = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut ready)?;
    }
    if ready.trim() != "ready" {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("no output").to_owned();
        let message = format!("cannot start the background driver: {last}");
        let hint = format!("see {}, then retry with `windlass resume {name}`", log.display());
        return Err(Problem::new(Kind::Failed, message).hint(hint));
    }
    Ok(())
}
