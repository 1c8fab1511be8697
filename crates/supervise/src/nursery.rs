//! The engine's side of the nursery: one process that forks every shim of this engine.
//!
//! A shim used to be an `exec` of this binary: the loader maps and relocates all of it, for each turn and each gate. A
//! fork of a process that did so once shares those pages, which also halves the memory of a running agent's helpers.
//!
//! Invariant: a shim depends on its nursery for nothing but its start. It outlives a nursery that is dropped or killed.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// The word behind the shim's own arguments that means this.
pub(crate) const WORD: &str = "nursery";

/// A fork takes less than a millisecond. A nursery that somebody stopped is replaced.
const PATIENCE: Duration = Duration::from_secs(10);

/// A nursery that is gone is an error and not a signal. Elsewhere it is an error by what the program does with the signal.
#[cfg(target_os = "linux")]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIETLY: SendFlags = SendFlags::empty();

#[derive(Debug)]
pub(crate) struct Nursery {
    socket: UnixStream,
    child: Child,
}

impl Nursery {
    pub(crate) fn open(program: &Path, args: &[String]) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        // No `pre_exec` here: it would force `fork`, which takes 100 ms from a large engine. Its own group keeps it out
        // of reach of the terminal's Ctrl-C; an empty environment keeps tags and secrets of the engine out of it.
        let child = Command::new(program)
            .arg0("windlass")
            .args(args)
            .arg(WORD)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket, child })
    }

    /// Forks a shim with these as its standard input and output. Returns its process id.
    pub(crate) fn fork(&self, stdio: [BorrowedFd<'_>; 2]) -> io::Result<u32> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        beside.push(SendAncillaryMessage::ScmRights(&stdio));
        sendmsg(&self.socket, &[IoSlice::new(&[1])], &mut beside, QUIETLY)?;
        let mut answer = [0; 4];
        (&self.socket).read_exact(&mut answer)?;
        match i32::from_le_bytes(answer) {
            pid @ 1.. => Ok(pid.cast_unsigned()),
            errno => Err(io::Error::from_raw_os_error(-errno)),
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        // It ends with the socket. One that is stopped cannot, and would be waited for.
        let _ = self.socket.shutdown(Shutdown::Both);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
