//! The process between engine and agent, `windlass shim`.
//!
//! It has one thread, no runtime and small buffers, because there is one for every running agent. It
//! reads a [`ShimSpec`] from descriptor 0, runs it, and reports on descriptor 1. Invariants:
//!
//! * What the agent wrote is in its transcript, whatever happens to the engine.
//! * The exit record is written after the tree is gone and its output is in the files.
//! * The end of descriptor 0 is the end of the engine, and so of the tree.

#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod container;
mod exec;
mod input;
#[cfg(target_os = "linux")]
mod inside;
mod nursery;
mod reaper;
mod restraint;
mod session;
mod status;
mod transcript;
mod tree;
mod turns;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use windlass_process::Stdin;
use windlass_redact::secrets::Rules;

use self::input::Input;
use self::restraint::Restraint;
use self::session::{Inputs, Outputs, Session};
use self::status::StatusPipe;
use self::transcript::{Times, Transcript};
use self::tree::Tree;
use crate::record::{PendingRecord, SpawnFailure, SpawnFailureKind};
use crate::spec::{ShimSpec, TurnPaths};
use crate::{sys, wire};

/// Runs the shim and exits. Call it first thing in `main`, before any runtime or thread starts.
pub fn main() -> ! {
    #[cfg(target_os = "linux")]
    if let Some(orders) = inside::orders() {
        inside::main(&orders);
    }
    prepare_process();
    if nursery::is_wanted() {
        nursery::serve();
    }
    name_process();
    let code = match read_spec() {
        Ok(spec) => {
            run(spec);
            0
        }
        // Nothing was started; closing the status pipe reports the error.
        Err(_) => 70,
    };
    std::process::exit(code)
}

fn prepare_process() {
    // Descriptors that someone leaked to the engine are not for the agent.
    sys::close_all_but(&[]);
    // The engine decides when a tree ends; signals to a group or a terminal that closes do not.
    sys::ignore_signals(&[
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGTSTP,
        libc::SIGXFSZ,
    ]);
}

fn name_process() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"windlass-shim");
}

fn read_spec() -> io::Result<ShimSpec> {
    let mut control = File::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > wire::MAX_SPEC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut json = vec![0; length as usize];
    control.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

fn run(spec: ShimSpec) {
    let status = StatusPipe::new(rustix::stdio::stdout());
    let rules = Rules::new(&spec.secrets);
    let outputs = match open_outputs(&spec.turn(), spec.cap_bytes, rules) {
        Ok(outputs) => outputs,
        Err(failure) => return session::refuse(status, None, failure),
    };
    // An engine that died meanwhile may have a successor, which must not find a tree of ours starting.
    if engine_is_gone() {
        return;
    }
    let mut restraint = Restraint::before(&spec.limits);
    match start(&spec) {
        Ok((tree, inputs)) => {
            restraint.started(&tree);
            Session::new(spec, tree, inputs, outputs, status, restraint).run();
        }
        Err(failure) => session::refuse(status, Some(outputs), failure),
    }
}

fn engine_is_gone() -> bool {
    let mut events = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::empty())];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut events, Some(&now)).is_ok() && !events[0].revents().is_empty()
}

fn open_outputs(turn: &TurnPaths, cap_bytes: Option<u64>, rules: Rules) -> Result<Outputs, SpawnFailure> {
    let unwritable = |path: &Path, error: io::Error| {
        failure(SpawnFailureKind::OutputUnwritable, &format!("cannot write {}", path.display()), &error)
    };
    let stdout = Transcript::open(&turn.stdout, cap_bytes, &rules).map_err(|error| unwritable(&turn.stdout, error))?;
    let stderr = Transcript::open(&turn.stderr, cap_bytes, &rules).map_err(|error| unwritable(&turn.stderr, error))?;
    let times = match &turn.times {
        Some(path) => Some(Times::open(path).map_err(|error| unwritable(path, error))?),
        None => None,
    };
    let record = PendingRecord::reserve(&turn.exit_record).map_err(|error| unwritable(&turn.exit_record, error))?;
    let beside = turn.exit_record.parent().unwrap_or(Path::new("")).to_owned();
    Ok(Outputs { stdout, stderr, times, record: Some(record), beside, rules })
}

fn start(spec: &ShimSpec) -> Result<(Tree, Inputs), SpawnFailure> {
    let (stdin, their_stdin) = open_stdin(&spec.command.stdin)?;
    let (stdout, their_stdout) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    let (report, their_report) = exec::report_channel(spec.sandbox.is_some())
        .map_err(|error| failure(SpawnFailureKind::Other, "cannot create a pipe", &error))?;
    let stdio = [their_stdin.as_raw_fd(), their_stdout.as_raw_fd(), their_stderr.as_raw_fd()];
    let tree = Tree::start(spec, stdio, their_report.as_fd())?;
    // Our ends only: the flag belongs to the open end, so the agent's own stay blocking.
    for pipe in [&stdout, &stderr].into_iter().chain(&stdin) {
        let _ = rustix::io::ioctl_fionbio(pipe, true);
    }
    Ok((tree, Inputs { stdin: Input::new(stdin), stdout: Some(stdout), stderr: Some(stderr), report: Some(report) }))
}

/// Our end, if there is one, and the child's.
fn open_stdin(stdin: &Stdin) -> Result<(Option<OwnedFd>, OwnedFd), SpawnFailure> {
    let path = match stdin {
        Stdin::Null => Path::new("/dev/null"),
        Stdin::File { path } => path,
        Stdin::Pipe => return pipe().map(|(theirs, ours)| (Some(ours), theirs)),
    };
    let file = match stdin {
        Stdin::File { .. } => sealed(path),
        Stdin::Null | Stdin::Pipe => File::open(path),
    };
    let file = file.map_err(|error| {
        let what = format!("cannot read {} for standard input", path.display());
        failure(SpawnFailureKind::StdinUnreadable, &what, &error)
    })?;
    Ok((None, file.into()))
}

/// The file's current content in sealed memory: a process can reopen its standard input and write to what is
/// behind it. So the recorded prompt is the one that was sent.
#[cfg(target_os = "linux")]
fn sealed(path: &Path) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let mut from = File::open(path)?;
    let mut memory = File::from(memfd_create("windlass-input", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    io::copy(&mut from, &mut memory)?;
    io::Seek::rewind(&mut memory)?;
    fcntl_add_seals(&memory, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(memory)
}

#[cfg(not(target_os = "linux"))]
fn sealed(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SpawnFailure> {
    let (reader, writer) =
        io::pipe().map_err(|error| failure(SpawnFailureKind::Other, "cannot create a pipe", &error))?;
    Ok((reader.into(), writer.into()))
}

fn failure(kind: SpawnFailureKind, what: &str, error: &io::Error) -> SpawnFailure {
    let message = exec::shorten(format!("{what}: {error}"));
    SpawnFailure { kind, os_error: error.raw_os_error(), message }
}
