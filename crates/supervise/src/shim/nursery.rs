//! The process that forks shims for its engine (`crate::nursery`).
//!
//! Invariant: it has one thread, holds nothing of a shim after its fork, and ends with the engine.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::nursery::WORD;
use crate::sys::{self, Forked};

/// Whether this process is to be one.
pub(super) fn is_wanted() -> bool {
    std::env::args_os().next_back().is_some_and(|word| word == WORD)
}

/// Forks shims until the engine closes the socket. Returns only in a shim, with its own standard input and output.
pub(super) fn serve() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"windlass-nurse");
    // The system reaps shims; their engine sees their end by their pipes.
    sys::ignore_signals(&[libc::SIGCHLD]);
    let socket = rustix::stdio::stdin();
    loop {
        let stdio = match receive(socket) {
            Ok(Some(stdio)) => stdio,
            Ok(None) | Err(_) => sys::exit_now(0),
        };
        let answer = match sys::fork() {
            Ok(Forked::Child) => match become_shim(stdio) {
                Ok(()) => return,
                Err(_) => sys::exit_now(70),
            },
            Ok(Forked::Parent { child }) => child,
            Err(error) => -error.raw_os_error().unwrap_or(libc::EAGAIN),
        };
        drop(stdio);
        if rustix::io::write(socket, &answer.to_le_bytes()).is_err() {
            sys::exit_now(0);
        }
    }
}

fn become_shim(stdio: [OwnedFd; 2]) -> io::Result<()> {
    sys::default_signal(libc::SIGCHLD);
    // As it would have been started by the engine: in its own group.
    let _ = rustix::process::setpgid(None, None);
    let stdio = stdio.map(IntoRawFd::into_raw_fd);
    sys::duplicate_onto(stdio[0], 0)?;
    sys::duplicate_onto(stdio[1], 1)?;
    sys::close_all_but(&[]);
    Ok(())
}

/// The two descriptors of a request; `None` if the engine is gone.
fn receive(socket: BorrowedFd<'_>) -> Result<Option<[OwnedFd; 2]>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut beside, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            other => break other?.bytes,
        }
    };
    let found = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors.collect::<Vec<_>>()),
        _ => None,
    });
    let pair = found.and_then(|found| <[OwnedFd; 2]>::try_from(found).ok());
    Ok(pair.filter(|_| got > 0).inspect(|pair| debug_assert!(pair.iter().all(|one| one.as_raw_fd() > 2))))
}
