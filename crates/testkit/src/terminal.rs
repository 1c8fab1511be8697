//! A terminal for programs that show themselves differently on one.
//!
//! Invariant: the program has the terminal as all its three streams, 80 columns wide; whatever it writes is kept as it
//! came, escapes and all.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::HUNG;

/// Runs a program on a terminal to its end; what it has written, and how it ended.
///
/// # Panics
/// If it cannot be started or does not end within [`HUNG`].
#[track_caller]
pub fn run_in_terminal(command: Command) -> (String, ExitStatus) {
    type_in_terminal(command, "")
}

/// The same, with somebody who has typed this before it asks.
#[track_caller]
pub fn type_in_terminal(mut command: Command, typed: &str) -> (String, ExitStatus) {
    let what = format!("{command:?}");
    let (mut ours, theirs) = pair().unwrap_or_else(|e| panic!("no terminal: {e}"));
    ours.write_all(typed.as_bytes()).unwrap_or_else(|e| panic!("cannot type: {e}"));
    let again = || theirs.try_clone().expect("a descriptor");
    command.stdin(again()).stdout(again()).stderr(again());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
    // Or the terminal would have no end: it has one when nobody holds the other side.
    drop((command, theirs));
    let (done, written) = mpsc::channel();
    std::thread::spawn(move || done.send(read_all(ours)));
    let Ok(text) = written.recv_timeout(HUNG) else {
        let _ = child.kill();
        panic!("still runs after {HUNG:?}: {what}");
    };
    (text, child.wait().expect("it is a child"))
}

fn pair() -> std::io::Result<(File, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes()))?;
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((ours.into(), theirs))
}

/// The end of a terminal is an error to its reader.
fn read_all(mut from: File) -> String {
    let mut all = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        all.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}
