//! The way into a sandbox: the shim forks the reaper into namespaces, where it changes to its view (`sandbox::entry`). If the
//! kernel refuses that, the shim starts bubblewrap, which starts this program again as the reaper inside. Docker is another way
//! to the same reaper (`container`).
//!
//! ```text
//! shim ──▶ reaper (process 1 inside) ──▶ agent
//! shim ──▶ bwrap ──▶ reaper (process 1 inside) ──▶ agent
//! ```
//!
//! The reaper is the same as without a sandbox, speaks over the same socket and starts the agent in the same way, so
//! that exit statuses, reasons of failed starts and the end of the tree are those of the agent and not of a program in
//! between. Invariants: nothing of the shim but the descriptors named here gets inside; the agent cannot look into the
//! reaper or change it, and it finds the system call filter in place.

use std::ffi::{CStr, CString, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use windlass_process::CommandSpec;

use super::bridge::Bridge;
use super::exec::Prepared;
use super::reaper::Reaper;
use crate::cgroup::Placement;
use crate::contain::Containment;
use crate::sandbox::{Layers, SandboxPolicy, View, bwrap_arguments, enter, fill_copies, namespaces, restrict};
use crate::spec::ShimSpec;
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

/// What makes the sandbox, started: the reaper itself, bubblewrap, or the client of a container.
#[derive(Debug)]
pub(super) struct Wrapped {
    pub(super) pid: i32,
    /// Its own output.
    pub(super) errors: File,
    pub(super) way: Way,
}

/// How a reaper got into its sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Forked by the shim, so it is the process that the shim knows, and has capped itself.
    Forked,
    /// The only child of bubblewrap.
    Bubblewrap,
    /// Through a client, which has something to remove when all inside has ended, and must live until then.
    Container,
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

/// In the shim: starts the reaper of this command inside a sandbox.
pub(super) fn start(
    program: &Path,
    policy: &SandboxPolicy,
    spec: &ShimSpec,
    placement: &Placement,
    stdio: [RawFd; 3],
    report: BorrowedFd<'_>,
    socket: BorrowedFd<'_>,
) -> io::Result<Wrapped> {
    let inside = Inside {
        command: spec.command.clone(),
        stdio,
        report: report.as_raw_fd(),
        socket: socket.as_raw_fd(),
        bridge: Bridge::of(&policy.network),
    };
    let cap = crate::process_cap::words(spec.limits.most_processes());
    if let Some(pid) = fork_reaper(policy, &inside, placement, cap.as_deref())? {
        return Ok(Wrapped { pid, errors: memory("windlass-errors")?, way: Way::Forked });
    }
    start_bubblewrap(program, policy, placement, &inside)
}

/// Forks the reaper into its namespaces. None if this machine does not allow that.
fn fork_reaper(
    policy: &SandboxPolicy,
    inside: &Inside,
    placement: &Placement,
    cap: Option<&CStr>,
) -> io::Result<Option<i32>> {
    let Some(view) = View::of(policy)? else { return Ok(None) };
    // Closed when the reaper is inside; a byte before that means that it is not, and whether a link stood in the way.
    let (failed, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match placement.fork(namespaces(policy, &view)) {
        Err(_) => Ok(None),
        Ok(Forked::Parent { child }) => {
            drop(tell);
            let mut by_link = [0_u8];
            if rustix::io::retry_on_intr(|| rustix::io::read(&failed, &mut by_link))? == 0 {
                return Ok(Some(child));
            }
            let _ = sys::wait_for(child);
            match by_link {
                [0] => Ok(None),
                // bubblewrap would follow it.
                _ => Err(io::Error::other("a symbolic link took the place of a path in its view")),
            }
        }
        Ok(Forked::Child) => {
            let entered = || -> io::Result<(Prepared, Option<i32>)> {
                enter(policy, &view, cap)?;
                // After the last change of rights, which would clear it. If the shim is gone already, the socket shows it.
                set_parent_process_death_signal(Some(Signal::KILL))?;
                settle(inside)
            };
            match entered() {
                Ok((prepared, bridge)) => {
                    drop(tell);
                    run(inside, &prepared, bridge, false)
                }
                Err(error) => {
                    let by_link = error.raw_os_error() == Some(libc::ELOOP);
                    let _ = rustix::io::write(&tell, &[u8::from(by_link)]);
                    sys::exit_now(127)
                }
            }
        }
    }
}

/// With overlays mounted, or copies in their places; bubblewrap mounts the rest, and starts this program again.
fn start_bubblewrap(
    program: &Path,
    policy: &SandboxPolicy,
    placement: &Placement,
    inside: &Inside,
) -> io::Result<Wrapped> {
    let mut orders = memory("windlass-orders")?;
    orders.write_all(&serde_json::to_vec(inside)?)?;
    orders.rewind()?;
    let errors = memory("windlass-errors")?;
    // By descriptor, because the sandbox may hide its directory.
    let own = File::open("/proc/self/exe")?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let [stdin, stdout, stderr] = inside.stdio.map(sys::borrowed);
    let [report, socket] = [inside.report, inside.socket].map(sys::borrowed);
    let kept = [stdin, stdout, stderr, report, socket, orders.as_fd(), own.as_fd()];
    let args = arguments(program, policy, own.as_raw_fd(), orders.as_raw_fd())?;
    let program = CString::new(program.as_os_str().as_bytes())?;
    let (layers, refused) = Layers::of(policy)?;
    if !refused.is_empty() {
        fill_copies(policy, |kept| refused.iter().any(|one| one == kept));
    }
    match placement.fork(layers.as_ref().map_or(0, Layers::namespaces))? {
        Forked::Parent { child } => Ok(Wrapped { pid: child, errors, way: Way::Bubblewrap }),
        Forked::Child => {
            // They could be mounted a moment ago; one that cannot now is seen as empty.
            let _ = layers.as_ref().map(Layers::mount);
            let nothing = StringArray::new(Vec::new());
            let execute = || sys::execute(&program, &args, &nothing);
            let error = become_wrapper(&kept, null.as_fd(), errors.as_fd(), execute);
            let said = format!("{}: {error}", program.to_string_lossy());
            let _ = rustix::io::write(&errors, said.as_bytes());
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
        set_parent_process_death_signal(Some(Signal::KILL))?;
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
    let entered = || -> io::Result<(Inside, Prepared, Option<i32>)> {
        let inside = read_orders(orders)?;
        let (prepared, bridge) = settle(&inside)?;
        Ok((inside, prepared, bridge))
    };
    let error = match entered() {
        Ok((inside, prepared, bridge)) => run(&inside, &prepared, bridge, matches!(orders, Orders::Door(_))),
        Err(error) => error,
    };
    let _ = io::stderr().write_all(format!("cannot enter the sandbox: {error}\n").as_bytes());
    sys::exit_now(1)
}

fn read_orders(orders: &Orders) -> io::Result<Inside> {
    match orders {
        Orders::Descriptor(number) => {
            let mut text = Vec::new();
            let orders: OwnedFd = sys::borrowed(*number).try_clone_to_owned()?;
            File::from(orders).read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        }
        Orders::Door(door) => super::container::enter(door),
    }
}

/// The last steps before the agent, which sees their results: the program is looked for in here.
fn settle(inside: &Inside) -> io::Result<(Prepared, Option<i32>)> {
    let _ = rustix::thread::set_name(c"windlass-reaper");
    // Or the agent, which is the same user, could trace it and reach the shim's socket.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // Needed for the next line, and what bubblewrap and Docker set already.
    rustix::thread::set_no_new_privs(true)?;
    sys::leave_abstract_sockets()?;
    restrict()?;
    let prepared = Prepared::new(&inside.command).map_err(io::Error::other)?;
    let bridge = inside.bridge.as_ref().map(Bridge::start).transpose()?;
    Ok((prepared, bridge))
}

fn run(inside: &Inside, prepared: &Prepared, bridge: Option<i32>, in_container: bool) -> ! {
    Reaper {
        containment: Containment::PidNamespace,
        inside: true,
        in_container,
        bridge,
        command: prepared,
        socket: sys::borrowed(inside.socket),
        stdio: inside.stdio,
        report: sys::borrowed(inside.report),
        maps: None,
        cap: None,
    }
    .run()
}
