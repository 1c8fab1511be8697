//! One tree from start to exit record, in one `poll` loop.
//!
//! Invariant: every wait is for an event or a deadline that the contract sets, and always also for the
//! engine's end. What ended the main process is decided once, by whichever came first.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read};
use rustix::time::Timespec;
use windlass_redact::secrets::Rules;

use super::exec::{self, Report};
use super::input::Input;
use super::reaper::Message;
use super::restraint::Restraint;
use super::status::StatusPipe;
use super::transcript::{Times, Transcript};
use super::tree::Tree;
use crate::record::{Ended, EndedBy, ExitRecord, PendingRecord, SpawnFailure};
use crate::spec::ShimSpec;
use crate::wire::{Order, Started, Status};

/// The default capacity of a pipe, so one read empties it.
const CHUNK: usize = 64 << 10;
/// What is left when the main process has exited gets this long to exit.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// The ends of pipes that the tree reads from and writes to, until each is at its end.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) stdin: Input,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) report: Option<OwnedFd>,
}

#[derive(Debug)]
pub(super) struct Outputs {
    pub(super) stdout: Transcript,
    pub(super) stderr: Transcript,
    pub(super) times: Option<Times>,
    pub(super) record: Option<PendingRecord>,
    /// The directory of the record.
    pub(super) beside: PathBuf,
    pub(super) rules: Rules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) spec: ShimSpec,
    grace: Duration,
    pub(super) tree: Tree,
    inputs: Inputs,
    pub(super) outputs: Outputs,
    pub(super) status: StatusPipe,
    /// Between two turns of a process that lives through several: nothing is read from it.
    pub(super) idle: bool,
    /// Until the engine is gone.
    control: Option<BorrowedFd<'static>>,
    /// The start of an order whose rest is to come.
    orders: Vec<u8>,
    report: Vec<u8>,
    started: bool,
    pub(super) stop_asked: bool,
    kill_at: Option<Instant>,
    by: EndedBy,
    /// The wait status of the main process.
    pub(super) main_ended: Option<Ended>,
    /// The outcome that overrides it.
    pub(super) failure: Option<Ended>,
    leftovers: u32,
    pub(super) restraint: Restraint,
    buffer: Vec<u8>,
}

impl Session {
    pub(super) fn new(
        spec: ShimSpec,
        tree: Tree,
        inputs: Inputs,
        outputs: Outputs,
        status: StatusPipe,
        restraint: Restraint,
    ) -> Self {
        Self {
            grace: Duration::from_millis(spec.grace_ms.min(ShimSpec::MAX_GRACE_MS)),
            spec,
            tree,
            inputs,
            outputs,
            status,
            idle: false,
            orders: Vec::new(),
            control: Some(rustix::stdio::stdin()),
            report: Vec::new(),
            started: false,
            stop_asked: false,
            kill_at: None,
            by: EndedBy::Itself,
            main_ended: None,
            failure: None,
            leftovers: 0,
            restraint,
            buffer: vec![0; CHUNK],
        }
    }

    pub(super) fn run(mut self) {
        while self.step() {}
        self.close();
    }

    /// Waits for something and takes it in. False when the tree is gone.
    fn step(&mut self) -> bool {
        let ready = self.wait();
        // The engine is to hear of the start first. What has written has started, so the report is, or
        // is about to be, complete.
        if ready.stdout || ready.stderr {
            self.finish_report();
        } else if ready.report {
            self.take_report();
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            // Nothing to do about a failed read: if it was not an interruption, the tree's end follows.
            if ready.output(stream) {
                let _ = self.take_output(stream);
            }
        }
        if ready.stdin {
            self.give_input();
        }
        if ready.control {
            self.take_orders();
        }
        if self.kill_at.is_some_and(|at| at <= Instant::now()) {
            self.tree.kill();
        }
        if self.restraint.is_exceeded() {
            self.tree.kill();
        }
        self.status.progress();
        if !ready.tree {
            return true;
        }
        match self.tree.next_message() {
            Some(Message::MainEnded { status, left }) => {
                self.main_has_ended(status, left);
                // Only the reaper is left then. Taking its namespace down can take longer than the agent ran, so
                // the end is told first.
                left > 0 || self.tree.must_be_awaited()
            }
            Some(Message::Hits { memory, processes }) => {
                self.restraint.told(memory.into(), processes.into());
                true
            }
            Some(Message::Ready | Message::Unable { .. }) => true,
            None => false,
        }
    }

    fn wait(&self) -> Ready {
        let sources = [
            (self.control, PollFlags::IN),
            (self.readable(&self.inputs.stdout), PollFlags::IN),
            (self.readable(&self.inputs.stderr), PollFlags::IN),
            (self.inputs.report.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Some(self.tree.events()), PollFlags::IN),
            (self.inputs.stdin.waiting(), PollFlags::OUT),
            (self.status.is_waiting().then(|| self.status.pipe()), PollFlags::OUT),
        ];
        // What is at its end would be ready forever. Its place is filled, and then not checked.
        let mut events = sources.map(|(source, flags)| match source {
            Some(fd) => PollFd::from_borrowed_fd(fd, flags),
            None => PollFd::from_borrowed_fd(self.tree.events(), PollFlags::empty()),
        });
        let kill_at = self.kill_at.filter(|_| !self.tree.was_killed());
        let look_at = self.restraint.deadline().filter(|_| !self.tree.was_killed());
        let deadline = [kill_at, look_at, self.status.deadline()].into_iter().flatten().min();
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        if poll(&mut events, timeout.as_ref()).is_err() {
            return Ready::default();
        }
        let ready = |at: usize| sources[at].0.is_some() && !events[at].revents().is_empty();
        Ready {
            control: ready(0),
            stdout: ready(1),
            stderr: ready(2),
            report: ready(3),
            tree: ready(4),
            stdin: ready(5),
        }
    }

    fn readable<'a>(&self, pipe: &'a Option<OwnedFd>) -> Option<BorrowedFd<'a>> {
        pipe.as_ref().filter(|_| !self.idle).map(AsFd::as_fd)
    }

    fn take_report(&mut self) {
        let Some(pipe) = &self.inputs.report else { return };
        let mut bytes = [0; 16];
        match exec::read_report(pipe.as_fd(), &mut bytes, self.report.is_empty()) {
            Ok(got @ 1..) => return self.report.extend_from_slice(&bytes[..got]),
            Err(Errno::INTR) => return,
            Ok(_) | Err(_) => self.inputs.report = None,
        }
        let image = self.spec.sandbox.as_ref().and_then(|policy| policy.backend.image());
        match exec::understand(&self.report, &self.spec.command, image) {
            Report::Runs { pid } => {
                self.started = true;
                let containment = self.tree.containment;
                self.status.tell(&Status::Started(Started { pid, containment }));
                if self.stop_asked {
                    self.tree.terminate_main();
                }
            }
            Report::Failed(failure) => {
                self.status.tell(&Status::SpawnFailed(failure.clone()));
                self.failure = Some(Ended::SpawnFailed(failure));
            }
        }
    }

    fn finish_report(&mut self) {
        while self.inputs.report.is_some() {
            self.take_report();
        }
    }

    fn take_orders(&mut self) {
        let Some(control) = self.control else { return };
        match read(control, &mut self.buffer) {
            Ok(got @ 1..) => self.orders.extend_from_slice(&self.buffer[..got]),
            Err(Errno::INTR | Errno::AGAIN) => return,
            Ok(_) | Err(_) => {
                self.control = None;
                return self.end_for(EndedBy::EngineGone);
            }
        }
        loop {
            match Order::decode(&mut self.orders) {
                Ok(Some(order)) => self.obey(order),
                Ok(None) => return,
                // What is not understood is taken for the safe order.
                Err(_) => {
                    self.orders.clear();
                    self.obey(Order::Kill);
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Stop => self.stop(),
            Order::Kill => self.end_for(EndedBy::Stopped),
            Order::Input(bytes) => {
                self.inputs.stdin.add(&bytes);
                self.give_input();
            }
            Order::CloseInput => self.inputs.stdin.close(),
            Order::EndTurn => self.end_turn(),
            Order::BeginTurn(paths) => self.begin_turn(paths),
        }
    }

    fn blame(&mut self, whom: EndedBy) {
        if self.main_ended.is_none() && self.by != EndedBy::Stopped {
            self.by = whom;
        }
    }

    fn end_for(&mut self, whom: EndedBy) {
        self.blame(whom);
        self.tree.kill();
    }

    fn give_input(&mut self) {
        let bytes = self.inputs.stdin.give();
        if bytes > 0 {
            self.status.tell(&Status::InputTaken { bytes });
        }
    }

    fn stop(&mut self) {
        self.blame(EndedBy::Stopped);
        // If the main process is gone, what is left is being ended already.
        if self.stop_asked || self.main_ended.is_some() {
            return;
        }
        self.stop_asked = true;
        self.kill_at = Some(Instant::now() + self.grace);
        // Until the program runs, the child ignores TERM; it is sent again then.
        if self.started {
            self.tree.terminate_main();
        }
    }

    fn main_has_ended(&mut self, status: i32, left: u32) {
        self.finish_report();
        let ended = if libc::WIFSIGNALED(status) {
            Ended::Signaled { signal: libc::WTERMSIG(status) }
        } else {
            Ended::Exited { code: libc::WEXITSTATUS(status) }
        };
        if self.started {
            self.status.tell(&Status::Exited(ended.clone()));
        }
        self.main_ended = Some(ended);
        if left > 0 {
            self.leftovers = left;
            self.tree.terminate_all();
            let at = Instant::now() + LEFTOVER_GRACE;
            self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// One chunk from the child to its file; its length, or 0 at the end.
    fn take_output(&mut self, stream: Stream) -> Result<usize, Errno> {
        let (pipe, transcript) = match stream {
            Stream::Stdout => (&mut self.inputs.stdout, &mut self.outputs.stdout),
            Stream::Stderr => (&mut self.inputs.stderr, &mut self.outputs.stderr),
        };
        let Some(source) = pipe else { return Ok(0) };
        let got = match read(&*source, &mut self.buffer) {
            Ok(0) => {
                *pipe = None;
                return Ok(0);
            }
            Ok(got) => got,
            Err(errno) => return Err(errno),
        };
        if stream == Stream::Stdout
            && let Some(times) = &mut self.outputs.times
        {
            times.note(transcript.offset());
        }
        let written = transcript.take(&self.buffer[..got]);
        self.status.output(self.outputs.stdout.offset(), self.outputs.stderr.offset());
        if let Err(error) = written {
            self.output_failed(stream, &error);
        }
        Ok(got)
    }

    /// An agent whose words are lost must not continue.
    fn output_failed(&mut self, stream: Stream, error: &std::io::Error) {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.failure.get_or_insert(Ended::WriteFailed {
            out_of_space: matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)),
            message: exec::shorten(format!("cannot write the transcript of {name}: {error}")),
        });
        self.inputs.stdout = None;
        self.inputs.stderr = None;
        self.tree.kill();
    }

    /// What the tree had written when it ended. A process outside it may also have the pipe open (a descriptor
    /// can be passed on), so neither its end nor its emptiness is waited for.
    pub(super) fn drain(&mut self, stream: Stream) {
        let mut budget = self.waiting_output(stream);
        while budget > 0 {
            match self.take_output(stream) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(got) => budget = budget.saturating_sub(got as u64),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn waiting_output(&self, stream: Stream) -> u64 {
        let pipe = match stream {
            Stream::Stdout => &self.inputs.stdout,
            Stream::Stderr => &self.inputs.stderr,
        };
        pipe.as_ref().map_or(0, |pipe| rustix::io::ioctl_fionread(pipe).unwrap_or(0))
    }

    fn close(mut self) {
        let empty = self.main_ended.is_some() && self.leftovers == 0 && !self.tree.must_be_awaited();
        if !empty {
            self.tree.wait_until_gone();
        }
        self.finish_report();
        if self.idle {
            self.keep_what_came_late();
        }
        let (stdout, stderr) = self.complete_outputs();
        let (memory_kills, refused_forks) = self.restraint.hits();
        if self.is_lost() && memory_kills == 0 {
            // Somebody outside ended the sandbox or its reaper: what the program would have come to is not known. To the engine, a
            // supervisor that ends without a record is lost.
            crate::sys::exit_now(1);
        }
        let main_ended = self.main_ended.take().unwrap_or_else(|| {
            // Killed together with its reaper, so no process could report it.
            let ended = Ended::Signaled { signal: libc::SIGKILL };
            if self.started {
                self.status.tell(&Status::Exited(ended.clone()));
            }
            ended
        });
        let mut record = ExitRecord {
            ended: self.failure.take().unwrap_or(main_ended),
            by: self.by,
            stdout_bytes: stdout,
            stderr_bytes: stderr,
            ended_at: jiff::Timestamp::now(),
            leftovers: self.leftovers,
            memory_kills,
            refused_forks,
            not_recorded: None,
        };
        // Between turns there is none to record: each has its own.
        if !self.idle {
            write_record(self.outputs.record.take(), &mut record, self.control.is_none());
        }
        self.status.tell(&Status::Closed(record));
        self.status.finish(self.control);
        if empty {
            self.tree.wait_until_gone();
        }
    }

    /// Whether the tree ended with its reaper, and neither this process nor the tree can have done it.
    fn is_lost(&self) -> bool {
        let unknown = self.started && !self.idle && self.main_ended.is_none() && self.failure.is_none();
        unknown && self.by == EndedBy::Itself && !self.tree.was_killed() && self.tree.guards_reaper()
    }

    /// Writes all pending output and reports the length of the transcripts.
    pub(super) fn complete_outputs(&mut self) -> (u64, u64) {
        self.drain(Stream::Stdout);
        self.drain(Stream::Stderr);
        if !matches!(self.failure, Some(Ended::WriteFailed { .. })) {
            if let Err(error) = self.outputs.stdout.close() {
                self.output_failed(Stream::Stdout, &error);
            }
            if let Err(error) = self.outputs.stderr.close() {
                self.output_failed(Stream::Stderr, &error);
            }
        }
        let (stdout, stderr) = (self.outputs.stdout.offset(), self.outputs.stderr.offset());
        self.status.output(stdout, stderr);
        (stdout, stderr)
    }
}

#[derive(Debug, Default)]
struct Ready {
    control: bool,
    stdout: bool,
    stderr: bool,
    report: bool,
    tree: bool,
    stdin: bool,
}

impl Ready {
    fn output(&self, stream: Stream) -> bool {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }
}

/// Nothing could be started.
pub(super) fn refuse(mut status: StatusPipe, outputs: Option<Outputs>, failure: SpawnFailure) {
    status.tell(&Status::SpawnFailed(failure.clone()));
    let length =
        |transcript: fn(&Outputs) -> &Transcript| outputs.as_ref().map_or(0, |outputs| transcript(outputs).offset());
    let mut record = ExitRecord {
        ended: Ended::SpawnFailed(failure),
        by: EndedBy::Itself,
        stdout_bytes: length(|outputs| &outputs.stdout),
        stderr_bytes: length(|outputs| &outputs.stderr),
        ended_at: jiff::Timestamp::now(),
        leftovers: 0,
        memory_kills: 0,
        refused_forks: 0,
        not_recorded: None,
    };
    write_record(outputs.and_then(|outputs| outputs.record), &mut record, false);
    status.tell(&Status::Closed(record));
    status.finish(Some(rustix::stdio::stdin()));
}

pub(super) fn write_record(pending: Option<PendingRecord>, record: &mut ExitRecord, nobody_hears: bool) {
    let written = match pending {
        Some(pending) => pending.commit(record, nobody_hears).map_err(|error| error.to_string()),
        None => Err("cannot open it".to_owned()),
    };
    record.not_recorded = written.err();
}
