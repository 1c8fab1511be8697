//! This very program, run for what its command line does: one way to start and stop loops, not two.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use windlass_app::Context;

use super::server::ToolError;

/// Runs `windlass` with these words and this on its standard input; what it printed, or what it said went wrong.
pub async fn run(context: &Context, words: &[String], input: &str) -> Result<String, ToolError> {
    let failed = |error: std::io::Error| ToolError(format!("cannot run windlass: {error}"));
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .args(words)
        .current_dir(&context.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends before it reads says why by itself.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child.wait_with_output().await.map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ToolError(if said.is_empty() {
        format!("windlass {} exited with {}", words.join(" "), output.status)
    } else {
        said
    }))
}
