//! Standard input of the main process, if it is a pipe.
//!
//! Invariant: bytes arrive in order and none is left out while the reader lives. What waits here is
//! bounded, because the engine sends more only after the shim reports progress.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, write};

#[derive(Debug)]
pub(super) struct Input {
    pipe: Option<OwnedFd>,
    bytes: VecDeque<u8>,
    /// The pipe is closed once everything is written.
    closing: bool,
}

impl Input {
    pub(super) fn new(pipe: Option<OwnedFd>) -> Self {
        Self { pipe, bytes: VecDeque::new(), closing: false }
    }

    /// The pipe, while something waits to be written to it.
    pub(super) fn waiting(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.bytes.is_empty()).map(AsFd::as_fd)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
        if self.bytes.is_empty() {
            self.pipe = None;
        }
    }

    /// Writes what there is room for; how much is done with.
    pub(super) fn give(&mut self) -> u64 {
        let mut given = 0;
        while !self.bytes.is_empty() {
            let Some(pipe) = &self.pipe else {
                // It has no reader, and the engine must not wait.
                given += self.bytes.len() as u64;
                self.bytes.clear();
                break;
            };
            match write(pipe, self.bytes.as_slices().0) {
                Ok(written) => {
                    self.bytes.drain(..written);
                    given += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return given,
                Err(_) => self.pipe = None,
            }
        }
        if self.closing {
            self.pipe = None;
        }
        given
    }
}
