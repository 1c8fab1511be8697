//! A message on the user's desktop, by what the system has for that.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::command::run_to_end;
use super::message::Message;
use crate::engine::Engine;

/// The words come as arguments, so nothing in them is read as script.
const SCRIPT: &str = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

pub(super) async fn show(engine: &Engine, message: &Message) -> Result<(), String> {
    let title = format!("Windlass: {}", message.name);
    let (program, args) = if cfg!(target_os = "macos") {
        ("osascript", vec!["-e", SCRIPT, &title, &message.words])
    } else {
        ("notify-send", vec!["--app-name=Windlass", "--", &title, &message.words])
    };
    let Some(program) = found(program, engine) else {
        tracing::debug!(program, "neither notify-send nor osascript found");
        return Ok(());
    };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(&engine.env);
    run_to_end(command, b"").await
}

fn found(program: &str, engine: &Engine) -> Option<PathBuf> {
    let path = engine.env.get("PATH")?;
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
