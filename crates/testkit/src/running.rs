//! A program under way whose output can be waited for.
//!
//! Invariant: waiting blocks on events (output, end of the process), never on time; the only clock is the one that
//! gives up a hung test.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::HUNG;
use crate::output::Output;

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A started program.
#[derive(Debug)]
pub struct Running {
    pid: Pid,
    what: String,
    shared: Arc<Shared>,
    /// Where the next `wait_line` starts to look, for stdout and stderr.
    seen: [usize; 2],
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    streams: [Captured; 2],
    status: Option<ExitStatus>,
}

#[derive(Debug, Default)]
struct Captured {
    bytes: Vec<u8>,
    closed: bool,
}

impl Running {
    /// Starts the command with both outputs captured; its stdin is what the command says.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start(mut command: Command) -> Running {
        let what = format!("{command:?}");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
        let pid = Pid::from_child(&child);
        let shared = Arc::new(Shared::default());
        capture(&shared, Stream::Stdout, child.stdout.take().expect("stdout is piped"));
        capture(&shared, Stream::Stderr, child.stderr.take().expect("stderr is piped"));
        reap(&shared, child, pid);
        Running { pid, what, shared, seen: [0, 0] }
    }

    /// Starts the command and feeds it the bytes; its stdin is closed after them.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start_with_input(mut command: Command, input: Vec<u8>) -> Running {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        command.stdin(reader);
        let running = Running::start(command);
        // A program that ends without reading is not a fault of the test.
        std::thread::spawn(move || writer.write_all(&input));
        running
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends a signal, unless the program has ended.
    pub fn signal(&self, signal: Signal) {
        // Under the lock the process is not reaped, so its pid cannot have been reused.
        let state = self.lock();
        if state.status.is_none() {
            let _ = kill_process(self.pid, signal);
        }
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether it has ended; its output may still be open.
    pub fn ended(&self) -> bool {
        self.lock().status.is_some()
    }

    /// Blocks for the next whole line on the stream that contains the text, and returns it without its newline.
    ///
    /// # Panics
    /// If the stream ends without one, or after [`HUNG`].
    #[track_caller]
    pub fn wait_line(&mut self, stream: Stream, text: &str) -> String {
        let i = stream.index();
        let mut from = self.seen[i];
        let mut found = None;
        let done = self.wait_for(|state| {
            let captured = &state.streams[i];
            while let Some(len) = captured.bytes[from..].iter().position(|&b| b == b'\n') {
                let line = String::from_utf8_lossy(&captured.bytes[from..from + len]).into_owned();
                from += len + 1;
                if line.contains(text) {
                    found = Some(line);
                    return true;
                }
            }
            captured.closed
        });
        self.seen[i] = from;
        match found {
            Some(line) => line,
            None => {
                let why = if done { "the stream ended" } else { "timed out" };
                panic!("no line with {text:?} on {stream:?}: {why}\n{}", self.so_far());
            }
        }
    }

    /// Blocks until the stream has brought at least `count` bytes in all.
    ///
    /// # Panics
    /// If it ends before, or after [`HUNG`].
    #[track_caller]
    pub fn wait_bytes(&self, stream: Stream, count: usize) {
        let captured = |s: &State| s.streams[stream.index()].bytes.len();
        self.wait_for(|s| captured(s) >= count || s.streams[stream.index()].closed);
        let got = captured(&self.lock());
        assert!(got >= count, "{got} of {count} bytes on {stream:?}\n{}", self.so_far());
    }

    /// What it has written to stdout up to now.
    pub fn stdout_so_far(&self) -> Vec<u8> {
        self.lock().streams[Stream::Stdout.index()].bytes.clone()
    }

    /// Blocks until the program has ended and both outputs are closed.
    ///
    /// # Panics
    /// After [`HUNG`], and kills the program then.
    #[track_caller]
    pub fn wait(self) -> Output {
        let done = self.wait_for(|s| s.status.is_some() && s.streams.iter().all(|c| c.closed));
        if !done {
            let ended = self.ended();
            self.kill();
            let why = if ended { "ended, but its output is still open" } else { "still runs" };
            panic!("{why} after {HUNG:?}\n{}", self.so_far());
        }
        let mut state = self.lock();
        let [stdout, stderr] = std::mem::take(&mut state.streams);
        let status = state.status.expect("it has ended");
        Output::new(self.what.clone(), status, stdout.bytes, stderr.bytes)
    }

    /// Blocks until the program has ended, whoever still holds its output.
    ///
    /// # Panics
    /// After [`HUNG`].
    #[track_caller]
    pub fn wait_ended(&self) -> ExitStatus {
        assert!(self.wait_for(|s| s.status.is_some()), "still runs\n{}", self.so_far());
        self.lock().status.expect("it has ended")
    }

    /// What it has written up to now, for a user to read.
    pub fn so_far(&self) -> String {
        let state = self.lock();
        let text = |i: usize| String::from_utf8_lossy(&state.streams[i].bytes).into_owned();
        format!("{}\n--- stdout\n{}\n--- stderr\n{}", self.what, text(0), text(1))
    }

    fn wait_for(&self, mut done: impl FnMut(&State) -> bool) -> bool {
        let deadline = Instant::now() + HUNG;
        let mut state = self.lock();
        loop {
            if done(&state) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            (state, _) = self.shared.changed.wait_timeout(state, left).expect("no panic under the lock");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("no panic under the lock")
    }
}

impl Stream {
    fn index(self) -> usize {
        match self {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        }
    }
}

fn capture(shared: &Arc<Shared>, stream: Stream, mut from: impl Read + Send + 'static) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut chunk).unwrap_or(0);
            let mut state = shared.state.lock().expect("no panic under the lock");
            let captured = &mut state.streams[stream.index()];
            captured.bytes.extend_from_slice(&chunk[..read]);
            captured.closed = read == 0;
            shared.changed.notify_all();
            if read == 0 {
                return;
            }
        }
    });
}

fn reap(shared: &Arc<Shared>, mut child: Child, pid: Pid) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        // First only look, then reap under the lock: whoever holds the lock may signal the pid.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), look).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        let mut state = shared.state.lock().expect("no panic under the lock");
        state.status = child.wait().ok();
        shared.changed.notify_all();
    });
}
