//! A command made ready for `exec`, and the last steps of the child that becomes it.
//!
//! Invariant: whatever keeps the program from running is reported over the report pipe as the step and
//! the system's error, so that the user reads which program or directory it was. The child keeps to
//! signal-safe calls: all memory it needs is made before the fork.

use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::io::Errno;
use windlass_process::CommandSpec;

use crate::record::{SpawnFailure, SpawnFailureKind};
use crate::sys::{self, StringArray};

/// Where to look when the child's environment has no `PATH`, as `execvp` does.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Debug)]
pub(super) struct Prepared {
    candidates: Vec<CString>,
    args: StringArray,
    env: StringArray,
    directory: CString,
}

impl Prepared {
    pub(super) fn new(command: &CommandSpec) -> Result<Self, SpawnFailure> {
        Self::build(command).map_err(|_| SpawnFailure {
            kind: SpawnFailureKind::Other,
            os_error: None,
            message: format!("the command for `{}` contains a NUL byte", command.program),
        })
    }

    fn build(command: &CommandSpec) -> Result<Self, NulError> {
        let candidates = if command.program.contains('/') || command.program.is_empty() {
            vec![CString::new(command.program.as_str())?]
        } else {
            search_path(command)
                .split(':')
                .map(|directory| match directory {
                    "" => CString::new(command.program.as_str()),
                    directory => CString::new(format!("{directory}/{}", command.program)),
                })
                .collect::<Result<_, _>>()?
        };
        let args = std::iter::once(&command.program)
            .chain(&command.args)
            .map(|arg| CString::new(arg.as_str()))
            .collect::<Result<_, _>>()?;
        let env =
            command.env.iter().map(|(key, value)| CString::new(format!("{key}={value}"))).collect::<Result<_, _>>()?;
        Ok(Self {
            candidates,
            args: StringArray::new(args),
            env: StringArray::new(env),
            directory: CString::new(command.cwd.as_os_str().as_bytes())?,
        })
    }

    /// In the child: becomes the program. `stdio` must be above 2.
    pub(super) fn run(&self, stdio: [RawFd; 3], report: BorrowedFd<'_>, pid: u32) -> ! {
        let _ = rustix::io::write(report, &pid.to_le_bytes());
        let (step, error) = self.attempt(stdio);
        let errno = error.raw_os_error().unwrap_or(0);
        send_failure(report, step, errno);
        sys::exit_now(127)
    }

    fn attempt(&self, stdio: [RawFd; 3]) -> (Step, io::Error) {
        sys::reset_signals();
        let _ = rustix::process::setsid();
        for (onto, fd) in (0..).zip(stdio) {
            if let Err(error) = sys::duplicate_onto(fd, onto) {
                return (Step::Other, error);
            }
        }
        sys::close_rest_on_exec();
        if let Err(errno) = rustix::process::chdir(self.directory.as_c_str()) {
            return (Step::Directory, errno.into());
        }
        let mut refusal = None;
        for candidate in &self.candidates {
            let error = sys::execute(candidate, &self.args, &self.env);
            match error.raw_os_error() {
                // A file that is there and still "not found" names an interpreter that is not.
                Some(libc::ENOENT) => {
                    if rustix::fs::access(candidate.as_c_str(), rustix::fs::Access::EXISTS).is_ok() {
                        return (Step::Interpreter, error);
                    }
                }
                Some(libc::ENOTDIR) => {}
                Some(libc::EACCES) => refusal = Some(error),
                _ => return (Step::Program, error),
            }
        }
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        (Step::Program, refusal.unwrap_or_else(missing))
    }
}

fn search_path(command: &CommandSpec) -> &str {
    command.env.get("PATH").map_or(DEFAULT_PATH, String::as_str)
}

/// The step that failed before the program started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Directory = 1,
    Program = 2,
    Interpreter = 3,
    Fork = 4,
    Other = 5,
}

fn send_failure(report: BorrowedFd<'_>, step: Step, errno: i32) {
    let mut bytes = [0; 5];
    bytes[0] = step as u8;
    bytes[1..].copy_from_slice(&errno.to_le_bytes());
    let _ = rustix::io::write(report, &bytes);
}

/// In the reaper: no child can report.
pub(super) fn report_no_child(report: BorrowedFd<'_>, error: &io::Error) {
    let _ = rustix::io::write(report, &0_u32.to_le_bytes());
    send_failure(report, Step::Fork, error.raw_os_error().unwrap_or(0));
}

/// Our end of a report channel, and the child's. From a sandbox, the child's PID is invalid here; on a socket the
/// system reports the right one.
pub(super) fn report_channel(from_sandbox: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    if from_sandbox {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        rustix::net::sockopt::set_socket_passcred(&ours, true)?;
        return Ok((ours.into(), theirs.into()));
    }
    let _ = from_sandbox;
    let (ours, theirs) = io::pipe()?;
    Ok((ours.into(), theirs.into()))
}

/// Reads a part of a report; its `first` part starts with the child's number.
pub(super) fn read_report(report: BorrowedFd<'_>, bytes: &mut [u8], first: bool) -> Result<usize, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(report, &mut [io::IoSliceMut::new(bytes)], &mut beside, RecvFlags::empty()) {
            Ok(received) => {
                let sender = beside.drain().find_map(|message| {
                    let RecvAncillaryMessage::ScmCredentials(sender) = message else { return None };
                    Some(sender.pid.as_raw_nonzero().get())
                });
                if let (true, Some(pid), Some(told)) = (first, sender, bytes.first_chunk_mut::<4>())
                    && received.bytes >= 4
                {
                    *told = pid.to_le_bytes();
                }
                return Ok(received.bytes);
            }
            Err(Errno::NOTSOCK) => {}
            Err(errno) => return Err(errno),
        }
    }
    let _ = first;
    rustix::io::read(report, bytes)
}

/// Everything from the report pipe until it closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    Runs { pid: u32 },
    Failed(SpawnFailure),
}

pub(super) fn understand(report: &[u8], command: &CommandSpec, image: Option<&str>) -> Report {
    let Some((pid, failure)) = report.split_first_chunk::<4>() else {
        return Report::Failed(SpawnFailure {
            kind: SpawnFailureKind::Other,
            os_error: None,
            message: format!("`{}` was killed before it could start", command.program),
        });
    };
    let Some((step, errno)) = failure.split_first() else {
        return Report::Runs { pid: u32::from_le_bytes(*pid) };
    };
    let errno = errno.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
    Report::Failed(explain(*step, errno, command, image))
}

fn explain(step: u8, errno: i32, command: &CommandSpec, image: Option<&str>) -> SpawnFailure {
    use SpawnFailureKind as Kind;
    let program = &command.program;
    let directory = command.cwd.display();
    let error = io::Error::from_raw_os_error(errno);
    let (kind, message) = match (step, errno) {
        (1, libc::ENOENT) => (Kind::DirectoryNotFound, format!("directory {directory} does not exist")),
        (1, _) => (Kind::DirectoryNotUsable, format!("cannot enter directory {directory}: {error}")),
        (2, libc::ENOENT) if image.is_some() => {
            let image = image.unwrap_or_default();
            (Kind::ProgramNotFound, format!("program `{program}` is not in the image {image}"))
        }
        (2, libc::ENOENT) if program.contains('/') => {
            (Kind::ProgramNotFound, format!("program `{program}` does not exist"))
        }
        (2, libc::ENOENT) => {
            let path = search_path(command);
            (Kind::ProgramNotFound, format!("program `{program}` not found on PATH ({path})"))
        }
        (2, libc::EACCES) => (Kind::ProgramNotPermitted, format!("no permission to execute `{program}`: {error}")),
        (2, libc::ENOEXEC) => (
            Kind::ProgramNotRunnable,
            format!("program `{program}` is neither a binary for this machine nor a script with a `#!` line"),
        ),
        (3, _) => {
            (Kind::InterpreterNotFound, format!("program `{program}` exists, but its interpreter or loader does not"))
        }
        (4, _) => (Kind::Other, format!("cannot create a process for `{program}`: {error}")),
        (_, _) => (Kind::Other, format!("cannot execute `{program}`: {error}")),
    };
    SpawnFailure { kind, os_error: Some(errno), message: shorten(message) }
}

/// Messages go into the exit record, whose space is reserved.
pub(super) fn shorten(mut message: String) -> String {
    const MOST: usize = 1000;
    if message.len() > MOST {
        message.truncate(message.floor_char_boundary(MOST));
        message.push('…');
    }
    message
}
