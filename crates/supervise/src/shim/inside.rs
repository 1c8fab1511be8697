//! The way into a sandbox: bubblewrap is started by the shim, and starts this program again as the reaper inside. Docker
//! is another way to the same reaper (`container`).
//!
//! ```text
//! shim ──▶ bwrap ──▶ reaper (process 1 inside) ──▶ agent
//! ```
//!
//! The reaper is the same as without a sandbox, speaks over the same socket and starts the agent in the same way, so
//! that exit statuses, reasons of failed starts and the end of the tree are those of the agent and not of a program in
//! between. Invariants: nothing of the shim but the descriptors named here gets inside; the agent cannot look into the
//! reaper or change it, and it finds the system call filter in place.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use windlass_process::CommandSpec;

use super::bridge::Bridge;
use super::exec::Prepared;
use super::reaper::Reaper;
use crate::cgroup::Placement;
use crate::sandbox::{Layers, SandboxPolicy, bwrap_arguments, fill_copies, restrict};
use crate::spec::Containment;
use crate::sys::{self, Forked, StringArray};

/// The word behind the shim's own arguments that means this.
pub(super) const WORD: &str = "inside";

/// The orders for the reaper inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inside {
    pub(super) command: CommandSpec,
    pub(super) stdio: [RawFd; 3],
    pub(super) report: RawFd,
    pub(super) socket: RawFd,
    #[serde(default)]
    pub(super) bridge: Option<Bridge>,
}

/// The descriptor of the orders for the reaper inside.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Orders {
    Descriptor(RawFd),
    /// A socket, from which the descriptors come as well.
    Door(PathBuf),
}

/// What makes the sandbox, started: bubblewrap, or the client of a container.
#[derive(Debug)]
pub(super) struct Wrapped {
    pub(super) pid: i32,
    /// Its own output.
    pub(super) errors: File,
    /// It has something to remove when all inside has ended, and must live until then.
    pub(super) clears_up: bool,
}

impl Wrapped {
    /// Why its reaper did not start.
    pub(super) fn complaint(&mut self) -> String {
        let mut text = String::new();
        let read = self.errors.rewind().and_then(|()| (&self.errors).take(4096).read_to_string(&mut text));
        match (read, text.lines().next()) {
            (Ok(_), Some(line)) => line.trim().to_owned(),
            _ => "exited without output".to_owned(),
        }
    }
}

/// In the shim: starts bubblewrap with the reaper of this command inside.
pub(super) fn start(
    program: &Path,
    policy: &SandboxPolicy,
    command: &CommandSpec,
    placement: &Placement,
    stdio: [RawFd; 3],
    report: BorrowedFd<'_>,
    socket: BorrowedFd<'_>,
) -> io::Result<Wrapped> {
    let inside = Inside {
        command: command.clone(),
        stdio,
        report: report.as_raw_fd(),
        socket: socket.as_raw_fd(),
        bridge: Bridge::of(&policy.network),
    };
    let mut orders = memory("windlass-orders")?;
    orders.write_all(&serde_json::to_vec(&inside)?)?;
    orders.rewind()?;
    let errors = memory("windlass-errors")?;
    // By descriptor, because the sandbox may hide its directory.
    let own = File::open("/proc/self/exe")?;
    let args = arguments(program, policy, own.as_raw_fd(), orders.as_raw_fd())?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let program = CString::new(program.as_os_str().as_bytes())?;
    let nothing = StringArray::new(Vec::new());
    let [stdin, stdout, stderr] = stdio.map(sys::borrowed);
    let layers = Layers::of(policy)?;
    if layers.is_none() {
        fill_copies(policy);
    }
    match placement.fork(layers.as_ref().map_or(0, Layers::namespaces))? {
        Forked::Parent { child } => Ok(Wrapped { pid: child, errors, clears_up: false }),
        Forked::Child => {
            // What cannot be mounted is seen as empty.
            let _ = layers.as_ref().map(Layers::mount);
            let kept = [stdin, stdout, stderr, report, socket, orders.as_fd(), own.as_fd()];
            let error = become_wrapper(&kept, null.as_fd(), errors.as_fd(), || sys::execute(&program, &args, &nothing));
            let _ = (&errors).write_all(format!("{}: {error}", program.to_string_lossy()).as_bytes());
            sys::exit_now(127)
        }
    }
}

fn arguments(program: &Path, policy: &SandboxPolicy, own: RawFd, orders: RawFd) -> io::Result<StringArray> {
    let mut words: Vec<OsString> = vec![program.as_os_str().to_owned()];
    words.extend(bwrap_arguments(policy, rustix::process::geteuid().is_root()));
    words.push(format!("/proc/self/fd/{own}").into());
    words.extend(std::env::args_os().skip(1).filter(|word| word != crate::nursery::WORD));
    words.extend([WORD.into(), orders.to_string().into()]);
    let words: Result<Vec<_>, _> = words.into_iter().map(|word| CString::new(word.into_vec())).collect();
    Ok(StringArray::new(words?))
}

/// The last steps before bubblewrap takes over; returns only why it did not.
fn become_wrapper(
    kept: &[BorrowedFd<'_>],
    null: BorrowedFd<'_>,
    errors: BorrowedFd<'_>,
    execute: impl FnOnce() -> io::Error,
) -> io::Error {
    let prepare = || -> io::Result<()> {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        for fd in kept {
            fcntl_setfd(fd, FdFlags::empty())?;
        }
        // The control pipe and the status pipe are the shim's alone.
        for (fd, onto) in [(null, 0), (null, 1), (errors, 2)] {
            sys::duplicate_onto(fd.as_raw_fd(), onto)?;
        }
        Ok(())
    };
    match prepare() {
        Ok(()) => execute(),
        Err(error) => error,
    }
}

pub(super) fn memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// The place of the orders, if this process is to be the reaper inside.
pub(super) fn orders() -> Option<Orders> {
    let mut args = std::env::args_os().skip(1).rev();
    let place = args.next()?;
    if args.next()? != WORD {
        return None;
    }
    let number = place.to_str().and_then(|text| text.parse().ok());
    Some(number.map_or_else(|| Orders::Door(place.into()), Orders::Descriptor))
}

/// The reaper inside. Early errors go to standard error, which the shim reads.
pub(super) fn main(orders: &Orders) -> ! {
    let error = match settle(orders) {
        Ok((inside, prepared, bridge)) => Reaper {
            containment: Containment::PidNamespace,
            inside: true,
            in_container: matches!(orders, Orders::Door(_)),
            bridge,
            command: &prepared,
            socket: sys::borrowed(inside.socket),
            stdio: inside.stdio,
            report: sys::borrowed(inside.report),
            maps: None,
            cap: None,
        }
        .run(),
        Err(error) => error,
    };
    let _ = io::stderr().write_all(format!("cannot enter the sandbox: {error}\n").as_bytes());
    sys::exit_now(1)
}

fn settle(orders: &Orders) -> io::Result<(Inside, Prepared, Option<i32>)> {
    let _ = rustix::thread::set_name(c"windlass-reaper");
    let inside = match orders {
        Orders::Descriptor(number) => {
            let mut text = Vec::new();
            let orders: OwnedFd = sys::borrowed(*number).try_clone_to_owned()?;
            File::from(orders).read_to_end(&mut text)?;
            serde_json::from_slice(&text)?
        }
        Orders::Door(door) => super::container::enter(door)?,
    };
    // Or the agent, which is the same user, could trace it and reach the shim's socket.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // Needed for the next line, and what bubblewrap and Docker set already.
    rustix::thread::set_no_new_privs(true)?;
    sys::leave_abstract_sockets()?;
    restrict()?;
    let prepared = Prepared::new(&inside.command).map_err(io::Error::other)?;
    let bridge = inside.bridge.as_ref().map(Bridge::start).transpose()?;
    Ok((inside, prepared, bridge))
}
