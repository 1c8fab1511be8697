//! Running a program that may hang.
//!
//! Invariant: whatever the program does, this returns when its time is over, and the program itself is gone by then.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Runs it to its end, at most so long; how it ended, and all it has printed.
pub(crate) fn run_limited(mut command: Command, limit: Duration) -> Result<(ExitStatus, String), String> {
    // A file, not a pipe: a child of the program that has its output open must not hold this up.
    let mut printed = tempfile::tempfile().map_err(|e| format!("has no place for its output: {e}"))?;
    let again = |file: &File| file.try_clone().map_err(|e| format!("has no place for its output: {e}"));
    command.stdout(again(&printed)?).stderr(again(&printed)?);
    let mut child = command.spawn().map_err(|e| format!("does not start: {e}"))?;
    // Of its input, which may be a lock, nothing is to stay open here.
    drop(command);
    let pid = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let status = child.wait();
        let _ = ended.send(());
        status
    });
    let in_time = end.recv_timeout(limit).is_ok();
    if !in_time {
        // It has not been waited for yet, or only in this instant: the pid is still its own.
        let _ = kill_process(pid, Signal::KILL);
    }
    let status = waiting.join().expect("waiting does not panic").map_err(|e| format!("cannot be waited for: {e}"))?;
    let mut said = Vec::new();
    let _ = printed.rewind().and_then(|()| printed.read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said).into_owned();
    if in_time { Ok((status, said)) } else { Err(format!("did not end within {limit:?} and was killed\n{said}")) }
}
