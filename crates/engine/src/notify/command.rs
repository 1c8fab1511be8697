//! A command of the user's, with the body on its standard input.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::message::Message;
use super::settings::NotifySettings;
use crate::engine::Engine;
use crate::environment::for_commands;

const LONGEST_RUN: Duration = Duration::from_secs(30);
/// Of what it says on its standard error.
const LONGEST_WORDS: u64 = 8 * 1024;

pub(super) async fn run(engine: &Engine, settings: &NotifySettings, message: &Message) -> Result<(), String> {
    let Some(line) = &settings.command else { return Ok(()) };
    let mut command = Command::new(engine.shell());
    command.arg("-c").arg(line).env_clear().envs(for_commands(&engine.env, &settings.env_pass));
    command.env("WINDLASS_EVENT", message.event).env("WINDLASS_LOOP", &message.name);
    run_to_end(command, message.body.as_bytes()).await
}

/// Runs it in its own process group, which is gone afterwards.
pub(super) async fn run_to_end(mut command: Command, input: &[u8]) -> Result<(), String> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
    let mut group = Group::of(child);
    let talked = tokio::time::timeout(LONGEST_RUN, talk(&mut group.child, input)).await;
    let (status, words) = talked.map_err(|_| format!("timed out after {} s", LONGEST_RUN.as_secs()))??;
    if status.success() {
        return Ok(());
    }
    let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output").trim().to_owned();
    Err(format!("{status}: {last}"))
}

async fn talk(child: &mut Child, input: &[u8]) -> Result<(ExitStatus, String), String> {
    let stdin = child.stdin.take();
    let stderr = child.stderr.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // One that does not read is not a failure.
            let _ = stdin.write_all(input).await;
        }
    };
    let read = async {
        let mut words = Vec::new();
        if let Some(stderr) = stderr {
            let mut start = stderr.take(LONGEST_WORDS);
            let _ = start.read_to_end(&mut words).await;
            // The rest is passed over, so that it can be written.
            let _ = tokio::io::copy(&mut start.into_inner(), &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&words).into_owned()
    };
    let ((), words, status) = tokio::join!(write, read, child.wait());
    let status = status.map_err(|error| format!("cannot wait for it: {error}"))?;
    Ok((status, words))
}

/// A process group that ends with its guard, also when the task is given up.
struct Group {
    child: Child,
    id: Option<Pid>,
}

impl Group {
    fn of(child: Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { child, id }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}
