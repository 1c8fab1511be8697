//! One git process: its environment, its pipes, its end.
//!
//! Invariant: the process is gone and its output is whole when `start` returns `Ok`; a dropped future kills it with all
//! that it started.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::guard::PINNED;
use super::tree::Tree;
use super::{Call, FALLBACK_EMAIL, FALLBACK_NAME, GitError, Output, TIME_LIMIT, failure, pipes};

/// As much of stderr as a user would read.
const STDERR_TAIL: usize = 8 * 1024;

/// How long a filter's grandchild may keep the pipes open after git has exited.
const PIPE_GRACE: Duration = Duration::from_secs(5);

pub(super) async fn start(call: &Call<'_>) -> Result<Output, GitError> {
    let name = call.args.first().copied().unwrap_or_default().to_owned();
    let started = std::time::Instant::now();
    let mut child = command(call).spawn().map_err(|source| match call.git.cwd.try_exists() {
        Ok(false) => GitError::DirectoryMissing { path: call.git.cwd.clone() },
        Ok(true) | Err(_) => GitError::Spawn { program: call.git.host.program().to_owned(), source },
    })?;
    let mut tree = Tree::of(child.id());
    windlass_faults::point("git.running");
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let (Some(mut stdin), Some(input)) = (stdin, call.input.as_deref()) {
            // A git that has read enough closes the pipe; its exit code reports whether that was right.
            let _ = stdin.write_all(input).await;
        }
    };
    let read = async {
        let (stdout, stderr, ()) = tokio::join!(whole(stdout, call.limit), tail(stderr), feed);
        (stdout, stderr)
    };
    tokio::pin!(read);
    let outcome = tokio::time::timeout(TIME_LIMIT, async {
        let ended = tokio::select! {
            read = &mut read => match read.0 {
                Some(_) => (child.wait().await, Some(read)),
                None => {
                    let _ = child.start_kill();
                    (child.wait().await, Some(read))
                }
            },
            status = child.wait() => (status, tokio::time::timeout(PIPE_GRACE, &mut read).await.ok()),
            never = pipes::keep_clear(call.git.work_tree.as_deref()) => match never {},
            error = tree.reads_too_much(call.git.work_tree.as_deref()) => return Err(error),
        };
        Ok(ended)
    });
    let seconds = TIME_LIMIT.as_secs();
    let (status, read) = outcome.await.map_err(|_| GitError::TimedOut { command: name.clone(), seconds })??;
    tree.has_ended();
    let status = status.map_err(|source| GitError::Spawn { program: call.git.host.program().to_owned(), source })?;
    let Some((stdout, stderr)) = read else {
        return Err(GitError::TimedOut { command: name, seconds: PIPE_GRACE.as_secs() });
    };
    let Some(stdout) = stdout else {
        return Err(GitError::TooMuchOutput { command: name, limit: call.limit });
    };
    windlass_faults::point("git.ended");
    let elapsed_us = started.elapsed().as_micros();
    tracing::trace!(command = name, code = status.code(), elapsed_us, "git ended");
    Ok(Output { stdout, stderr, code: status.code().unwrap_or(-1) })
}

pub(super) fn failure(call: &Call<'_>, output: &Output) -> GitError {
    let name = call.args.first().copied().unwrap_or_default();
    if output.code < 0 {
        return GitError::Killed { command: name.to_owned() };
    }
    failure::classify(name, format!("exit {}", output.code), &output.stderr, &call.git.cwd)
}

fn command(call: &Call<'_>) -> Command {
    let git = call.git;
    let mut command = Command::new(git.host.program());
    command
        .args(&call.args)
        .current_dir(&git.cwd)
        .env_clear()
        .envs(git.host.env().iter().map(|(name, value)| (name, value)))
        .env("LC_ALL", "C")
        .env("LANG", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_EDITOR", "false")
        .env("GIT_PAGER", "cat")
        .env("GIT_ASKPASS", "false")
        // Ignore replacement objects, which an agent could add.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null/none")
        .stdin(if call.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C in the terminal is for Windlass: a running commit finishes.
        .process_group(0)
        .kill_on_drop(true);
    if call.literal {
        command.env("GIT_LITERAL_PATHSPECS", "1");
    }
    if git.local_only {
        command.env("GIT_ALLOW_PROTOCOL", "file").env("GIT_NO_LAZY_FETCH", "1");
    }
    let places = [
        ("GIT_DIR", &git.git_dir),
        ("GIT_COMMON_DIR", &git.common_dir),
        ("GIT_WORK_TREE", &git.work_tree),
        ("GIT_INDEX_FILE", &git.index),
    ];
    for (name, place) in places {
        if let Some(place) = place {
            command.env(name, place);
        }
    }
    if let Some(held) = &git.held {
        command.env("GIT_OBJECT_DIRECTORY", held.dir());
    }
    if git.fallback_identity {
        command
            .env("GIT_AUTHOR_NAME", FALLBACK_NAME)
            .env("GIT_AUTHOR_EMAIL", FALLBACK_EMAIL)
            .env("GIT_COMMITTER_NAME", FALLBACK_NAME)
            .env("GIT_COMMITTER_EMAIL", FALLBACK_EMAIL);
    }
    // Ownership is git's to judge while the repository is yet to be found.
    let pinned = PINNED.iter().filter(|(key, _)| git.git_dir.is_some() || *key != "safe.directory").copied();
    let settings = pinned.chain(git.overrides.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let mut count = 0;
    for (key, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command
}

/// All of it, or nothing if it is more than `limit`.
async fn whole(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(pipe) = pipe else {
        return Some(bytes);
    };
    let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes).await;
    (bytes.len() <= limit).then_some(bytes)
}

/// The end of it, with bounded memory.
async fn tail(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(mut pipe) = pipe else {
        return bytes;
    };
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.len() > 2 * STDERR_TAIL {
            bytes.drain(..bytes.len() - STDERR_TAIL);
        }
    }
    let surplus = bytes.len().saturating_sub(STDERR_TAIL);
    bytes.drain(..surplus);
    bytes
}
