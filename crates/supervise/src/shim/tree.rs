//! The shim's handle on a tree: its reaper, through which everything else is reached.
//!
//! Invariant: a tree that was started on a rung stays on it, and [`Tree::wait_until_gone`] returns only
//! when none of its processes runs, as far as the containment can detect.

use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::io::{Errno, read, write};
use windlass_process::CommandSpec;

use super::exec::Prepared;
use super::reaper::{self, Message, Reaper};
#[cfg(target_os = "linux")]
use super::{container, inside, inside::Way};
use crate::cgroup::{Group, Placement};
use crate::contain::Containment;
use crate::record::{SpawnFailure, SpawnFailureKind};
#[cfg(target_os = "linux")]
use crate::sandbox::{Backend, SandboxPolicy};
use crate::spec::{ContainmentRequest, ShimSpec};
use crate::sys::{self, Forked, Waited};

/// The command, wrapped in the sandbox program if needed.
fn confined(spec: &ShimSpec) -> CommandSpec {
    #[cfg(target_os = "macos")]
    if let Some(policy) = &spec.sandbox {
        let own = &spec.command;
        let words = ["-p".to_owned(), crate::sandbox::seatbelt_profile(policy), own.program.clone()];
        let args = words.into_iter().chain(own.args.iter().cloned()).collect();
        return CommandSpec { program: crate::sandbox::SANDBOX_EXEC.to_owned(), args, ..own.clone() };
    }
    spec.command.clone()
}

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) containment: Containment,
    reaper: i32,
    socket: UnixStream,
    killed: bool,
    /// How the reaper got into its sandbox, if there is one. `reaper` is then not always the reaper itself.
    #[cfg(target_os = "linux")]
    way: Option<Way>,
}

impl Tree {
    /// Starts a tree, capped if supported before its command runs, so that endless forks leave room for others.
    pub(super) fn start(spec: &ShimSpec, stdio: [RawFd; 3], report: BorrowedFd<'_>) -> Result<Self, SpawnFailure> {
        let tree = Self::start_somehow(spec, stdio, report)?;
        // A reaper in a sandbox has no permission to do it.
        #[cfg(target_os = "linux")]
        if let Some(way) = tree.way {
            let init = match way {
                Way::Forked => None,
                Way::Bubblewrap | Way::Container => {
                    crate::descendants::children_of(tree.reaper.cast_unsigned()).first().copied()
                }
            };
            // `docs/limits.md` covers systems without it.
            let _ = init.map(|init| crate::process_cap::cap(init, spec.limits.most_processes()));
            tree.command(reaper::START);
        }
        Ok(tree)
    }

    /// Whether the tree's processes are members of the group.
    pub(super) fn is_in(&self, group: &Group) -> bool {
        group.holds(self.reaper.cast_unsigned())
    }

    /// Starts a reaper on the asked-for rung, which starts the command. How that went comes over the
    /// report pipe.
    fn start_somehow(spec: &ShimSpec, stdio: [RawFd; 3], report: BorrowedFd<'_>) -> Result<Self, SpawnFailure> {
        // A group that is gone or closed is found out about by the session.
        let placement = &Placement::open(spec.limits.group.as_ref()).unwrap_or_default();
        #[cfg(target_os = "linux")]
        if let Some(policy) = &spec.sandbox {
            return Self::start_wrapped(policy, spec, placement, stdio, report).map_err(|why| {
                let kind = SpawnFailureKind::SandboxUnavailable;
                SpawnFailure { kind, os_error: None, message: format!("cannot create the sandbox: {why}") }
            });
        }
        let command = &Prepared::new(&confined(spec))?;
        let ladder: &[Containment] = match spec.containment {
            ContainmentRequest::Auto if cfg!(target_os = "linux") => {
                &[Containment::PidNamespace, Containment::Subreaper, Containment::ProcessGroup]
            }
            ContainmentRequest::Auto | ContainmentRequest::ProcessGroup => &[Containment::ProcessGroup],
            ContainmentRequest::PidNamespace => &[Containment::PidNamespace],
            ContainmentRequest::Subreaper => &[Containment::Subreaper],
        };
        let mut why = String::new();
        for containment in ladder {
            match Self::start_on(*containment, spec, command, placement, stdio, report) {
                Ok(tree) => return Ok(tree),
                Err(reason) => why = format!("containment {containment} does not work on this machine: {reason}"),
            }
        }
        let kind = SpawnFailureKind::ContainmentUnavailable;
        Err(SpawnFailure { kind, os_error: None, message: why })
    }

    fn start_on(
        containment: Containment,
        spec: &ShimSpec,
        command: &Prepared,
        placement: &Placement,
        stdio: [RawFd; 3],
        report: BorrowedFd<'_>,
    ) -> Result<Self, String> {
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("cannot create a socket: {error}"))?;

        #[cfg(target_os = "linux")]
        let cap = crate::process_cap::words(spec.limits.most_processes());
        #[cfg(target_os = "linux")]
        let (forked, maps) = {
            let maps = crate::contain::Maps::own();
            match containment {
                Containment::PidNamespace => crate::contain::fork_into_namespace(placement)
                    .map(|(forked, user)| (forked, user.then_some(maps)))
                    .map_err(|error| format!("cannot create a PID namespace: {error}"))?,
                Containment::Subreaper | Containment::ProcessGroup => {
                    (placement.fork(0).map_err(|error| format!("cannot fork: {error}"))?, None)
                }
            }
        };
        #[cfg(not(target_os = "linux"))]
        let _ = spec;
        #[cfg(not(target_os = "linux"))]
        let forked = placement.fork(0).map_err(|error| format!("cannot fork: {error}"))?;

        let reaper = match forked {
            Forked::Parent { child } => child,
            Forked::Child => Reaper {
                containment,
                inside: false,
                in_container: false,
                bridge: None,
                command,
                socket: theirs.as_fd(),
                stdio,
                report,
                #[cfg(target_os = "linux")]
                maps: maps.as_ref(),
                #[cfg(target_os = "linux")]
                cap: cap.as_deref(),
            }
            .run(),
        };
        drop(theirs);
        #[cfg(target_os = "linux")]
        if containment == Containment::Subreaper {
            // If the reaper is killed, the shim inherits its children and kills them.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::Pid::INIT));
        }
        let mut tree = Self {
            containment,
            reaper,
            socket,
            killed: false,
            #[cfg(target_os = "linux")]
            way: None,
        };
        match tree.next_message() {
            Some(Message::Ready) => Ok(tree),
            Some(Message::Unable { obstacle, errno }) => {
                tree.wait_until_gone();
                let error = std::io::Error::from_raw_os_error(errno);
                #[cfg(target_os = "linux")]
                let what = crate::contain::Obstacle::describe(obstacle);
                #[cfg(not(target_os = "linux"))]
                let what = obstacle;
                Err(format!("{what}: {error}"))
            }
            Some(Message::MainEnded { .. } | Message::Hits { .. }) | None => {
                tree.wait_until_gone();
                Err("its first process exited early".to_owned())
            }
        }
    }

    /// Starts the reaper inside a sandbox. There is no fallback: the requested sandbox, or nothing.
    #[cfg(target_os = "linux")]
    fn start_wrapped(
        policy: &SandboxPolicy,
        spec: &ShimSpec,
        placement: &Placement,
        stdio: [RawFd; 3],
        report: BorrowedFd<'_>,
    ) -> Result<Self, String> {
        // If the sandbox's outer process is killed, the shim inherits its reaper and waits for it.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::Pid::INIT));
        let (socket, theirs) = UnixStream::pair().map_err(|error| format!("cannot create a socket: {error}"))?;
        let started = match &policy.backend {
            Backend::Bubblewrap { program } => {
                inside::start(program, policy, spec, placement, stdio, report, theirs.as_fd())
            }
            Backend::Docker(docker) => {
                container::start(docker, policy, &spec.command, &spec.limits, stdio, report, theirs.as_fd())
            }
            Backend::Seatbelt => Err(std::io::ErrorKind::Unsupported.into()),
        };
        let mut wrapped = started.map_err(|error| format!("cannot start {}: {error}", policy.backend.name()))?;
        drop(theirs);
        let (containment, reaper) = (Containment::PidNamespace, wrapped.pid);
        let mut tree = Self { containment, reaper, socket, killed: false, way: Some(wrapped.way) };
        match tree.next_message() {
            Some(Message::Ready) => Ok(tree),
            Some(Message::Unable { .. } | Message::MainEnded { .. } | Message::Hits { .. }) | None => {
                tree.kill();
                tree.wait_until_gone();
                Err(wrapped.complaint())
            }
        }
    }

    pub(super) fn events(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits for the reaper's next report. `None` if it exited.
    pub(super) fn next_message(&mut self) -> Option<Message> {
        let mut bytes = [0; Message::SIZE];
        let mut got = 0;
        while got < bytes.len() {
            match read(&self.socket, &mut bytes[got..]) {
                Ok(0) => return None,
                Ok(more) => got += more,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Message::decode(bytes)
    }

    /// TERM to the main process and its group.
    pub(super) fn terminate_main(&self) {
        self.command(reaper::TERMINATE_MAIN);
    }

    /// TERM to everything that is left.
    pub(super) fn terminate_all(&self) {
        self.command(reaper::TERMINATE_ALL);
    }

    /// KILL to everything.
    pub(super) fn kill(&mut self) {
        if self.killed {
            return;
        }
        self.killed = true;
        match self.containment {
            // It is this process's child and not yet waited for, so the number is still its own.
            Containment::PidNamespace => {
                let signal = if self.clears_up() { libc::SIGTERM } else { libc::SIGKILL };
                drop(sys::kill(self.reaper, signal));
            }
            Containment::Subreaper | Containment::ProcessGroup => self.command(reaper::KILL_ALL),
        }
        if self.is_wrapped() {
            // An unfinished sandbox ends when its reaper finds the shim gone.
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Whether an empty tree is gone only once its reaper is: a sandbox has mounts and files that the next one finds.
    pub(super) fn must_be_awaited(&self) -> bool {
        self.is_wrapped() || self.killed || self.containment != Containment::PidNamespace
    }

    /// Whether nothing in the tree can end the reaper, which is process 1 there. A container is also ended from within.
    pub(super) fn guards_reaper(&self) -> bool {
        self.containment == Containment::PidNamespace && !self.clears_up()
    }

    pub(super) fn was_killed(&self) -> bool {
        self.killed
    }

    fn is_wrapped(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.way.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// It must clean up, so it gets a signal to exit instead of a kill.
    fn clears_up(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.way == Some(Way::Container);
        #[cfg(not(target_os = "linux"))]
        false
    }

    fn command(&self, command: u8) {
        // One byte into a socket that is read promptly. If the reaper is gone, its end reports it.
        let _ = write(&self.socket, &[command]);
    }

    /// Call it when the reaper has closed its socket: that is the end for all it knows of, except
    /// that a namespace may still be going down, and that a killed reaper leaves children to us.
    pub(super) fn wait_until_gone(&mut self) {
        sys::wait_for(self.reaper);
        if self.is_wrapped() {
            while let Waited::Ended { .. } = sys::wait_for_any(true) {}
        }
        #[cfg(target_os = "linux")]
        if self.containment == Containment::Subreaper {
            crate::descendants::end_all(|_, _| {});
        }
    }
}
