//! The engine's side: start a shim, read its reports, stop it.
//!
//! Invariant: the events of a [`Running`] end with exactly one of [`ProcessEvent::Closed`] and
//! [`ProcessEvent::Lost`]. Memory per running tree is a few hundred bytes whatever the tree prints,
//! because output goes to files and only offsets come here.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use crate::contain::Containment;
use crate::nursery::Nursery;
use crate::record::{Ended, ExitRecord, SpawnFailure};
use crate::spec::{ShimSpec, TurnPaths};
use crate::wire::{self, Order, Status};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the supervisor {program}", program = program.display())]
    Spawn {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot encode the command for the supervisor")]
    Encode(#[source] serde_json::Error),
    #[error("the command is too long: {0} bytes")]
    TooLong(usize),
    #[error("the supervisor did not accept the command")]
    Send(#[source] io::Error),
}

/// How to start a shim.
#[derive(Debug, Clone)]
pub struct Launcher {
    shim_program: PathBuf,
    shim_args: Vec<String>,
    /// Opened for the first shim, and again if it was killed.
    nursery: Arc<Mutex<Option<Nursery>>>,
}

impl Launcher {
    pub fn new(shim_program: impl Into<PathBuf>) -> Self {
        Self { shim_program: shim_program.into(), shim_args: vec!["shim".to_owned()], nursery: Arc::default() }
    }

    /// The running binary as its own shim.
    pub fn current() -> io::Result<Self> {
        // The link names the image that runs even after an upgrade has replaced the file, so engine and
        // shim always speak the same protocol.
        let link = PathBuf::from("/proc/self/exe");
        Ok(Self::new(if link.exists() { link } else { std::env::current_exe()? }))
    }

    pub async fn start(&self, spec: &ShimSpec) -> Result<Running, StartError> {
        let json = serde_json::to_vec(spec).map_err(StartError::Encode)?;
        let length = u32::try_from(json.len())
            .ok()
            .filter(|length| *length <= wire::MAX_SPEC)
            .ok_or(StartError::TooLong(json.len()))?;

        let spawn = |source| StartError::Spawn { program: self.shim_program.clone(), source };
        let (shim, control, status) = self.fork().map_err(spawn)?;
        let mut control = pipe::Sender::from_owned_fd(control.into()).map_err(StartError::Send)?;
        let status = pipe::Receiver::from_owned_fd(status.into()).map_err(StartError::Send)?;
        let message = [&length.to_le_bytes(), &json[..]].concat();
        control.write_all(&message).await.map_err(StartError::Send)?;
        let control = control.into_blocking_fd().map_err(StartError::Send)?;
        Ok(Running { control, status, shim, unread: Vec::new(), end: End::Open, input: Feeding::default() })
    }

    fn fork(&self) -> io::Result<(u32, PipeWriter, PipeReader)> {
        let mut nursery = self.nursery.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*nursery
            && let Ok(forked) = forked(open)
        {
            return Ok(forked);
        }
        let forked = forked(nursery.insert(Nursery::open(&self.shim_program, &self.shim_args)?));
        if forked.is_err() {
            *nursery = None;
        }
        forked
    }
}

/// A new shim: its process id, and our ends of its standard input and output. They are new in each attempt, because a nursery that is
/// given up may still fork.
fn forked(nursery: &Nursery) -> io::Result<(u32, PipeWriter, PipeReader)> {
    let (their_control, control) = io::pipe()?;
    let (status, their_status) = io::pipe()?;
    let shim = nursery.fork([their_control.as_fd(), their_status.as_fd()])?;
    Ok((shim, control, status))
}

/// What a tree did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The agent runs; `pid` is its process id as the engine sees it.
    Started { pid: u32, containment: Containment },
    /// Nothing runs; `Closed` follows.
    SpawnFailed(SpawnFailure),
    /// The transcript files are this long now.
    Output { stdout: u64, stderr: u64 },
    /// The main process ended. Others may still run and write.
    Exited(Ended),
    /// The turn's record is on disk; the process lives on. Only after [`Running::end_turn`].
    TurnOver(ExitRecord),
    /// Output goes to the new turn's files now. Only after [`Running::begin_turn`].
    TurnBegun,
    /// Everything has ended and is written.
    Closed(ExitRecord),
    /// The shim died or stopped making sense. What became of the work is unknown.
    Lost { why: String },
}

/// A running tree. Dropping it closes the control pipe, which kills the tree.
#[derive(Debug)]
pub struct Running {
    control: OwnedFd,
    status: pipe::Receiver,
    shim: u32,
    unread: Vec<u8>,
    end: End,
    input: Feeding,
}

/// Input on its way to the main process. The engine never sends more than the shim may buffer.
#[derive(Debug, Default)]
struct Feeding {
    unsent: VecDeque<u8>,
    /// Sent, and not yet taken by the process.
    under_way: usize,
    closing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Told,
    Gone,
}

impl Running {
    /// Process id of the shim, while it runs.
    pub fn shim_pid(&self) -> Option<u32> {
        (self.end != End::Gone).then_some(self.shim)
    }

    /// Asks the tree to end: TERM, and KILL after the grace. Harmless if it has ended.
    pub fn stop(&self) {
        self.order(&Order::Stop);
    }

    /// Ends the tree at once. Harmless if it has ended.
    pub fn kill(&self) {
        self.order(&Order::Kill);
    }

    /// Writes to the main process's standard input, if that is a pipe: as far as there is room now, the rest
    /// while [`Running::next`] is awaited.
    pub fn send(&mut self, bytes: &[u8]) {
        self.input.unsent.extend(bytes);
        self.feed();
    }

    /// The end of standard input, after what was sent.
    pub fn close_input(&mut self) {
        self.input.closing = true;
        self.feed();
    }

    /// Says that the turn is over while the process lives. Answered by `TurnOver`; or, if the process was
    /// ending already, by its end.
    pub fn end_turn(&self) {
        self.order(&Order::EndTurn);
    }

    /// The next turn of the same process. Answered by `TurnBegun`; or, if the process has ended meanwhile,
    /// by its end, and then nothing was written for this turn.
    pub fn begin_turn(&self, paths: &TurnPaths) {
        self.order(&Order::BeginTurn(paths.clone()));
    }

    fn feed(&mut self) {
        loop {
            let room = wire::MAX_INPUT.saturating_sub(self.input.under_way);
            let size = room.min(self.input.unsent.len());
            if size == 0 {
                break;
            }
            let bytes: Vec<u8> = self.input.unsent.drain(..size).collect();
            self.input.under_way += size;
            self.order(&Order::Input(bytes));
        }
        if self.input.closing && self.input.unsent.is_empty() {
            self.input.closing = false;
            self.order(&Order::CloseInput);
        }
    }

    fn order(&self, order: &Order) {
        // Orders are short and the shim reads them at once, so this does not block. It fails only if the shim
        // is gone, and then the tree is too: the end comes out of `next`.
        let bytes = order.encode();
        let mut left = &bytes[..];
        while !left.is_empty() {
            match rustix::io::write(&self.control, left) {
                Ok(written) => left = &left[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The next event; `None` after the last. Cancel-safe.
    pub async fn next(&mut self) -> Option<ProcessEvent> {
        loop {
            match self.end {
                End::Gone => return None,
                End::Told => {
                    // Only the shim has the other end, which closes when it exits.
                    self.unread.clear();
                    let gone = !matches!(self.status.read_buf(&mut self.unread).await, Ok(1..));
                    if gone {
                        self.end = End::Gone;
                    }
                    continue;
                }
                End::Open => {}
            }
            match Status::decode(&mut self.unread) {
                Ok(Some(status)) => match self.tell(status) {
                    Some(event) => return Some(event),
                    None => continue,
                },
                Ok(None) => {}
                Err(error) => {
                    self.kill();
                    self.end = End::Told;
                    return Some(ProcessEvent::Lost { why: error.to_string() });
                }
            }
            self.unread.reserve(256);
            match self.status.read_buf(&mut self.unread).await {
                Ok(0) => {
                    self.end = End::Gone;
                    let why = "the supervisor exited early".to_owned();
                    return Some(ProcessEvent::Lost { why });
                }
                Ok(_) => {}
                Err(error) => {
                    self.kill();
                    self.end = End::Told;
                    return Some(ProcessEvent::Lost { why: format!("cannot read from the supervisor: {error}") });
                }
            }
        }
    }

    /// What the engine hears of it, if anything.
    fn tell(&mut self, status: Status) -> Option<ProcessEvent> {
        Some(match status {
            Status::Started(started) => ProcessEvent::Started { pid: started.pid, containment: started.containment },
            Status::SpawnFailed(failure) => ProcessEvent::SpawnFailed(failure),
            Status::Output { stdout, stderr } => ProcessEvent::Output { stdout, stderr },
            Status::Exited(ended) => ProcessEvent::Exited(ended),
            Status::Closed(record) => {
                self.end = End::Told;
                ProcessEvent::Closed(record)
            }
            Status::TurnOver(record) => ProcessEvent::TurnOver(record),
            Status::TurnBegun => ProcessEvent::TurnBegun,
            Status::InputTaken { bytes } => {
                let taken = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.input.under_way = self.input.under_way.saturating_sub(taken);
                self.feed();
                return None;
            }
        })
    }
}
