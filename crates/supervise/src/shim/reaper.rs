//! The parent of the agent: reaps everything, reports on the main process, ends with the tree.
//!
//! It is process 1 of a PID namespace, or a subreaper, or merely the parent, and speaks with the shim
//! over a socket. Invariant: while it lives the shim can end the tree through it; when the shim is gone
//! (the socket closes) it kills the tree; otherwise it exits only when nothing is left.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::time::Timespec;

use super::exec::{self, Prepared};
use crate::contain::Containment;
use crate::sys::{self, Forked, Waited};

/// Commands of the shim.
pub(super) const TERMINATE_MAIN: u8 = b't';
pub(super) const TERMINATE_ALL: u8 = b'a';
pub(super) const KILL_ALL: u8 = b'k';
/// To a reaper in a sandbox, before all others: nothing of the shim's is in there any more, so the agent may come.
pub(super) const START: u8 = b's';

/// A reaper's report, in nine bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Ready,
    /// The containment does not work; nothing was started.
    Unable {
        obstacle: u8,
        errno: i32,
    },
    /// The main process ended with this wait status, and so many others are left.
    MainEnded {
        status: i32,
        left: u32,
    },
    /// How often the tree reached the limits of the container it is in; the last word.
    Hits {
        memory: u32,
        processes: u32,
    },
}

impl Message {
    pub(super) const SIZE: usize = 9;

    fn encode(self) -> [u8; Self::SIZE] {
        let (kind, first, second) = match self {
            Message::Ready => (1, 0, 0),
            Message::Unable { obstacle, errno } => (2, errno, u32::from(obstacle)),
            Message::MainEnded { status, left } => (3, status, left),
            Message::Hits { memory, processes } => (4, memory.cast_signed(), processes),
        };
        let mut bytes = [0; Self::SIZE];
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&first.to_le_bytes());
        bytes[5..].copy_from_slice(&second.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let [kind, a, b, c, d, e, f, g, h] = bytes;
        let first = i32::from_le_bytes([a, b, c, d]);
        let second = u32::from_le_bytes([e, f, g, h]);
        match kind {
            1 => Some(Message::Ready),
            2 => Some(Message::Unable { obstacle: u8::try_from(second).unwrap_or(0), errno: first }),
            3 => Some(Message::MainEnded { status: first, left: second }),
            4 => Some(Message::Hits { memory: first.cast_unsigned(), processes: second }),
            _ => None,
        }
    }
}

/// What a reaper is born with. The descriptors belong to the shim's copy of memory; here they are
/// simply used until the process ends.
#[derive(Debug)]
pub(super) struct Reaper<'a> {
    pub(super) containment: Containment,
    /// Process 1 of a sandbox already, which is its place.
    pub(super) inside: bool,
    /// Process 1 of a container, whose group is invisible outside.
    pub(super) in_container: bool,
    /// A second child next to the agent, which lives as long as any other process.
    pub(super) bridge: Option<i32>,
    pub(super) command: &'a Prepared,
    pub(super) socket: BorrowedFd<'a>,
    pub(super) stdio: [RawFd; 3],
    pub(super) report: BorrowedFd<'a>,
    /// Identity maps to write, if this process is in a new user namespace.
    #[cfg(target_os = "linux")]
    pub(super) maps: Option<&'a crate::contain::Maps>,
    /// What it caps its own namespace with, before it starts anything.
    #[cfg(target_os = "linux")]
    pub(super) cap: Option<&'a std::ffi::CStr>,
}

impl Reaper<'_> {
    pub(super) fn run(&self) -> ! {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.live()));
        sys::exit_now(match outcome {
            Ok(Ok(())) => 0,
            Ok(Err(_)) => 1,
            Err(_) => 101,
        })
    }

    fn live(&self) -> io::Result<()> {
        let outer_proc = match self.settle() {
            Ok(outer_proc) => outer_proc,
            Err((obstacle, error)) => {
                let errno = error.raw_os_error().unwrap_or(0);
                self.say(Message::Unable { obstacle, errno });
                return Ok(());
            }
        };
        self.let_go_of_the_rest(outer_proc.as_ref())?;
        let (wake, waker) = io::pipe()?;
        rustix::io::ioctl_fionbio(&wake, true)?;
        rustix::io::ioctl_fionbio(&waker, true)?;
        sys::tell_of_children(waker.as_raw_fd())?;
        self.say(Message::Ready);
        if self.inside && !self.may_start() {
            return Ok(());
        }

        let main = match sys::fork() {
            Ok(Forked::Parent { child }) => child,
            Ok(Forked::Child) => {
                let pid = outer_proc.as_ref().map_or_else(own_pid, outer_pid);
                self.command.run(self.stdio, self.report, pid)
            }
            Err(error) => {
                exec::report_no_child(self.report, &error);
                return Ok(());
            }
        };
        drop(outer_proc);
        // The agent's ends must be closed here, or their end would never be seen.
        let socket = self.socket.as_raw_fd();
        let mut keep = [socket, wake.as_raw_fd(), waker.as_raw_fd()];
        keep.sort_unstable();
        sys::close_all_but(&keep);
        let ended = Watch { reaper: self, main, main_ended: false, wake: wake.into() }.run();
        #[cfg(target_os = "linux")]
        if self.in_container {
            let hits = crate::cgroup::hits_of_container();
            let count = |hits: u64| u32::try_from(hits).unwrap_or(u32::MAX);
            self.say(Message::Hits { memory: count(hits.memory), processes: count(hits.processes) });
        }
        ended
    }

    /// Takes its place on the rung. Returns the `/proc` of the engine's namespace, if it left that.
    #[cfg(target_os = "linux")]
    fn settle(&self) -> Result<Option<OwnedFd>, (u8, io::Error)> {
        use rustix::process::{Pid, Signal, set_child_subreaper, set_parent_process_death_signal};
        if self.inside {
            return Ok(None);
        }
        match self.containment {
            Containment::PidNamespace => {
                // The shim has one thread, so this is bound to the whole shim. If the shim died before,
                // the socket is already closed, and the first check shows it.
                set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| (0, errno.into()))?;
                let outer = crate::contain::enter(self.maps).map_err(|(obstacle, error)| (obstacle as u8, error))?;
                // `docs/limits.md` covers systems without it.
                let _ = self.cap.map(crate::process_cap::cap_own);
                Ok(Some(outer))
            }
            Containment::Subreaper => {
                // Any process will do: the call looks only at whether there is one.
                set_child_subreaper(Some(Pid::INIT)).map_err(|errno| (0, errno.into()))?;
                Ok(None)
            }
            Containment::ProcessGroup => Ok(None),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn settle(&self) -> Result<Option<OwnedFd>, (u8, io::Error)> {
        match self.containment {
            Containment::ProcessGroup => Ok(None),
            Containment::PidNamespace | Containment::Subreaper => Err((0, io::ErrorKind::Unsupported.into())),
        }
    }

    /// Control and status pipe above all: held here, they would outlive the shim.
    fn let_go_of_the_rest(&self, outer_proc: Option<&OwnedFd>) -> io::Result<()> {
        let [stdin, stdout, stderr] = self.stdio;
        let mut keep = vec![stdin, stdout, stderr, self.report.as_raw_fd(), self.socket.as_raw_fd()];
        keep.extend(outer_proc.map(AsRawFd::as_raw_fd));
        keep.sort_unstable();
        sys::close_all_but(&keep);
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        for fd in 0..3 {
            sys::duplicate_onto(null.as_raw_fd(), fd)?;
        }
        let _ = rustix::process::setsid();
        Ok(())
    }

    /// Waits until the shim has prepared the namespace, for which a process of its own enters it: an agent that is there
    /// already would find that process, count it, and could stop it.
    fn may_start(&self) -> bool {
        let mut command = [0];
        loop {
            match read(self.socket, &mut command) {
                Ok(1) => return command == [START],
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return false,
            }
        }
    }

    fn say(&self, message: Message) {
        // Nine bytes fit into an empty socket. If the shim exited, the next check shows it.
        let _ = write(self.socket, &message.encode());
    }
}

fn own_pid() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get().cast_unsigned()
}

/// This process's id as the engine sees it. Signal-safe; 0 if unknown.
fn outer_pid(outer_proc: &OwnedFd) -> u32 {
    let mut buffer = [std::mem::MaybeUninit::<u8>::uninit(); 16];
    let Ok((digits, _)) = rustix::fs::readlinkat_raw(outer_proc, c"self", &mut buffer[..]) else { return 0 };
    digits.iter().fold(0_u32, |pid, digit| pid.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}

/// The reaper once the agent runs.
#[derive(Debug)]
struct Watch<'a> {
    reaper: &'a Reaper<'a>,
    main: i32,
    main_ended: bool,
    wake: OwnedFd,
}

impl Watch<'_> {
    fn run(mut self) -> io::Result<()> {
        loop {
            if self.reap() {
                return Ok(());
            }
            // A process group has no event for "the last one left".
            let grouped = self.main_ended && self.reaper.containment == Containment::ProcessGroup;
            let soon = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let mut events =
                [PollFd::from_borrowed_fd(self.reaper.socket, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            match poll(&mut events, grouped.then_some(&soon)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let commanded = !events[0].revents().is_empty();
            let mut bytes = [0; 64];
            while matches!(read(self.wake.as_fd(), &mut bytes), Ok(1..)) {}
            if commanded && self.obey() {
                return Ok(());
            }
        }
    }

    /// Takes in what has ended. True if nothing is left.
    fn reap(&mut self) -> bool {
        let mut status_of_main = None;
        let nothing_left = loop {
            match sys::wait_for_any(false) {
                Waited::Ended { pid, status } if pid == self.main && !self.main_ended => {
                    self.main_ended = true;
                    status_of_main = Some(status);
                }
                Waited::Ended { .. } => {}
                Waited::Running => break self.only_the_bridge_is_left(),
                Waited::NoChildren => break self.group_is_empty(),
            }
        };
        if let Some(status) = status_of_main {
            let left = if nothing_left { 0 } else { self.count().max(1) };
            self.reaper.say(Message::MainEnded { status, left });
        }
        nothing_left
    }

    /// Every process that ends wakes this one, so it is seen when the last of them has.
    fn only_the_bridge_is_left(&self) -> bool {
        self.main_ended && self.reaper.bridge.is_some() && self.count() == 0
    }

    fn group_is_empty(&self) -> bool {
        self.reaper.containment != Containment::ProcessGroup || sys::kill(-self.main, 0).is_err()
    }

    /// Follows one command. True if the tree is gone.
    fn obey(&mut self) -> bool {
        let mut command = [0];
        match read(self.reaper.socket, &mut command) {
            Ok(1) => {}
            Err(Errno::INTR | Errno::AGAIN) => return false,
            Ok(_) | Err(_) => command = [KILL_ALL],
        }
        match command[0] {
            TERMINATE_MAIN if !self.main_ended => {
                // Before its setsid, the child has no group of its own and is alone.
                if sys::kill(-self.main, libc::SIGTERM).is_err() {
                    let _ = sys::kill(self.main, libc::SIGTERM);
                }
                false
            }
            TERMINATE_ALL => {
                self.terminate_all();
                false
            }
            KILL_ALL => {
                self.kill_all();
                true
            }
            _ => false,
        }
    }

    fn terminate_all(&self) {
        match self.reaper.containment {
            Containment::PidNamespace => drop(sys::kill(-1, libc::SIGTERM)),
            #[cfg(target_os = "linux")]
            Containment::Subreaper => {
                crate::descendants::signal_all(Some(rustix::process::Signal::TERM));
            }
            #[cfg(not(target_os = "linux"))]
            Containment::Subreaper => {}
            Containment::ProcessGroup => drop(sys::kill(-self.main, libc::SIGTERM)),
        }
    }

    fn kill_all(&mut self) {
        match self.reaper.containment {
            // Process 1 takes everything with it.
            Containment::PidNamespace => {}
            #[cfg(target_os = "linux")]
            Containment::Subreaper => {
                let (main, mut status_of_main) = (self.main, None);
                crate::descendants::end_all(|pid, status| {
                    if pid == main {
                        status_of_main = Some(status);
                    }
                });
                self.tell_late(status_of_main);
            }
            #[cfg(not(target_os = "linux"))]
            Containment::Subreaper => {}
            Containment::ProcessGroup => {
                if sys::kill(-self.main, libc::SIGKILL).is_err() && !self.main_ended {
                    let _ = sys::kill(self.main, libc::SIGKILL);
                }
                if !self.main_ended
                    && let Waited::Ended { status, .. } = sys::wait_for(self.main)
                {
                    self.tell_late(Some(status));
                }
            }
        }
    }

    fn tell_late(&mut self, status_of_main: Option<i32>) {
        if let Some(status) = status_of_main
            && !self.main_ended
        {
            self.main_ended = true;
            self.reaper.say(Message::MainEnded { status, left: 0 });
        }
    }

    fn bridge_lives(&self) -> bool {
        self.reaper.bridge.is_some_and(|pid| sys::kill(pid, 0).is_ok())
    }

    /// The number of other processes, without this one and its helper.
    fn count(&self) -> u32 {
        match self.reaper.containment {
            // The `/proc` of this namespace shows exactly them and this process.
            Containment::PidNamespace => {
                let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
                let numbers =
                    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
                let own = 1 + u32::from(self.bridge_lives());
                u32::try_from(numbers.count()).unwrap_or(u32::MAX).saturating_sub(own)
            }
            #[cfg(target_os = "linux")]
            Containment::Subreaper => crate::descendants::signal_all(None).signalled,
            #[cfg(not(target_os = "linux"))]
            Containment::Subreaper => 0,
            Containment::ProcessGroup => 0,
        }
    }
}
