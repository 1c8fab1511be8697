//! ssh-keygen, which signs and checks signatures as git has it do.
//!
//! Invariant: it gets the environment of a git child and nothing from the repository. It stays in the terminal's foreground, so
//! that it can request a passphrase.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::GitHost;

/// How it ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) passed: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program that signs: what the user's git is told to use, else ssh-keygen.
pub(crate) fn program(host: &GitHost, wished: Option<&str>) -> Option<PathBuf> {
    match wished {
        Some(path) if Path::new(path).is_absolute() => Some(PathBuf::from(path)),
        Some(name) => host.on_path(name),
        None => host.on_path("ssh-keygen"),
    }
}

/// Runs it to its end with this on its standard input.
pub(crate) async fn run(host: &GitHost, program: &Path, args: &[&str], input: &[u8]) -> std::io::Result<Ran> {
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(host.env().iter().map(|(name, value)| (name, value)))
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take();
    let feed = async {
        if let Some(stdin) = &mut stdin {
            // A program that has read enough closes the pipe; its exit code reports whether that was right.
            let _ = stdin.write_all(input).await;
        }
        drop(stdin);
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    let output = output?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Ok(Ran {
        passed: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: text(&output.stderr),
    })
}
