//! The shim's reports to the engine.
//!
//! Invariant: reporting never delays the transcript. A slow engine gets fewer `Output` frames, each with
//! the newest offsets; every other frame is kept until it can be sent.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, write};

use crate::wire::Status;

/// Offsets are reported at most this often: an agent that writes byte by byte must not keep the engine busy.
const OUTPUT_APART: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct StatusPipe {
    pipe: BorrowedFd<'static>,
    queue: Vec<u8>,
    told: (u64, u64),
    current: (u64, u64),
    quiet_until: Option<Instant>,
    broken: bool,
}

impl StatusPipe {
    /// `pipe` is made non-blocking.
    pub(super) fn new(pipe: BorrowedFd<'static>) -> Self {
        if let Ok(flags) = rustix::fs::fcntl_getfl(pipe) {
            let _ = rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK);
        }
        Self { pipe, queue: Vec::new(), told: (0, 0), current: (0, 0), quiet_until: None, broken: false }
    }

    pub(super) fn pipe(&self) -> BorrowedFd<'static> {
        self.pipe
    }

    /// Whether the pipe must be watched for room.
    pub(super) fn is_waiting(&self) -> bool {
        !self.queue.is_empty() && !self.broken
    }

    /// The transcripts are this long. Told at once, or a little later together with what follows.
    pub(super) fn output(&mut self, stdout: u64, stderr: u64) {
        self.current = (stdout, stderr);
    }

    /// The transcripts are others now, and this long.
    pub(super) fn start_at(&mut self, stdout: u64, stderr: u64) {
        self.queue_output();
        self.told = (stdout, stderr);
        self.current = self.told;
    }

    /// When the next report is due, if any.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.current == self.told || self.is_waiting() || self.broken {
            return None;
        }
        Some(self.quiet_until.unwrap_or_else(Instant::now))
    }

    pub(super) fn tell(&mut self, status: &Status) {
        self.queue_output();
        status.encode(&mut self.queue);
        self.send();
    }

    /// Sends what is due and what there is room for.
    pub(super) fn progress(&mut self) {
        if self.deadline().is_some_and(|due| due <= Instant::now()) {
            self.queue_output();
        }
        self.send();
    }

    fn queue_output(&mut self) {
        if self.current == self.told {
            return;
        }
        self.told = self.current;
        self.quiet_until = Some(Instant::now() + OUTPUT_APART);
        let (stdout, stderr) = self.current;
        Status::Output { stdout, stderr }.encode(&mut self.queue);
    }

    fn send(&mut self) {
        while self.is_waiting() {
            match write(self.pipe, &self.queue) {
                Ok(sent) => drop(self.queue.drain(..sent)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.broken = true,
            }
        }
    }

    /// Waits until everything is sent, or `control` shows that the engine is gone.
    pub(super) fn finish(&mut self, control: Option<BorrowedFd<'_>>) {
        while self.is_waiting() {
            let Some(control) = control else { return };
            let mut events = [
                PollFd::from_borrowed_fd(self.pipe, PollFlags::OUT),
                PollFd::from_borrowed_fd(control, PollFlags::empty()),
            ];
            match poll(&mut events, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            if !events[1].revents().is_empty() {
                return;
            }
            self.send();
        }
    }
}
