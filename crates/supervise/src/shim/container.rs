//! Creates a container from a separate process next to the shim, with this program as the first process.
//!
//! ```text
//! shim ──▶ client ──(API)──▶ Docker ──▶ reaper (process 1 inside) ──▶ agent
//!   └───────────── socket, pipes, passed by the client ──────────────┘
//! ```
//!
//! The reaper finds a socket mounted into the container, its *door*. Through that the client hands it the very descriptors
//! that a reaper without a container is born with; from then on Docker is not involved in the communication. Invariants: the
//! client ends only when its container is gone, or Docker does not answer; the container ends with the shim, because the
//! reaper does; the door is used once, and shut before the agent starts.

use std::fs::DirBuilder;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use windlass_process::CommandSpec;

use super::bridge::Bridge;
use super::inside::{Inside, WORD, Way, Wrapped, memory};
use crate::docker::{Daemon, DockerError, Start, create_body};
use crate::sandbox::{Docker, SandboxPolicy, fill_copies};
use crate::spec::TreeLimits;
use crate::sys::{self, Forked};

/// Standard input, output and error, the report and the reaper's socket.
const HANDED_OVER: usize = 5;
/// How long the first process of a started container may take to connect: a daemon may hang there too.
const TO_ENTER: Duration = Duration::from_secs(30);
/// How long Docker may take to remove a container whose processes are gone.
const TO_REMOVE: Duration = Duration::from_secs(10);

/// In the shim: starts the client of this container.
pub(super) fn start(
    docker: &Docker,
    policy: &SandboxPolicy,
    command: &CommandSpec,
    limits: &TreeLimits,
    stdio: [RawFd; 3],
    report: BorrowedFd<'_>,
    socket: BorrowedFd<'_>,
) -> io::Result<Wrapped> {
    let own_program = std::fs::read_link("/proc/self/exe")?;
    let orders = serde_json::to_vec(&Inside {
        command: command.clone(),
        stdio,
        report: report.as_raw_fd(),
        socket: socket.as_raw_fd(),
        bridge: Bridge::of(&policy.network),
    })?;
    let errors = memory("windlass-errors")?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let [stdin, stdout, stderr] = stdio.map(sys::borrowed);
    match sys::fork()? {
        Forked::Parent { child } => Ok(Wrapped { pid: child, errors, way: Way::Container }),
        Forked::Child => {
            let handed = [stdin, stdout, stderr, report, socket];
            let client = || -> Result<(), String> {
                let handed = become_client(handed, null.as_fd(), errors.as_fd()).map_err(|error| error.to_string())?;
                run(docker, policy, &own_program, limits, handed, &orders)
            };
            let code = match client() {
                Ok(()) => 0,
                Err(why) => {
                    let _ = (&errors).write_all(why.as_bytes());
                    1
                }
            };
            sys::exit_now(code)
        }
    }
}

/// Closes all descriptors of the shim. What is left to pass on belongs to this process, so that it can be closed too.
fn become_client(
    handed: [BorrowedFd<'_>; HANDED_OVER],
    null: BorrowedFd<'_>,
    errors: BorrowedFd<'_>,
) -> io::Result<Vec<OwnedFd>> {
    let _ = rustix::thread::set_name(c"windlass-docker");
    // Then the container goes too, even if its first process is frozen.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
    let handed = handed.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<Vec<_>>>()?;
    for fd in 0..3 {
        sys::duplicate_onto(null.as_raw_fd(), fd)?;
    }
    let mut keep: Vec<RawFd> = handed.iter().map(AsRawFd::as_raw_fd).chain([errors.as_raw_fd()]).collect();
    keep.sort_unstable();
    sys::close_all_but(&keep);
    Ok(handed)
}

fn run(
    docker: &Docker,
    policy: &SandboxPolicy,
    own_program: &Path,
    limits: &TreeLimits,
    handed: Vec<OwnedFd>,
    orders: &[u8],
) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut told_to_end = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
        fill_copies(policy, |_| true);
        let (door, listener) = Door::open(&docker.doors).map_err(|error| error.to_string())?;
        let mut args: Vec<String> =
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        args.extend([WORD.to_owned(), door.path.to_string_lossy().into_owned()]);
        let body = create_body(&Start {
            docker,
            policy,
            own_program,
            args,
            shown: vec![&door.path],
            user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            limits,
        });
        let daemon = Daemon::at(&docker.socket);
        let container = daemon.create(&body).await.map_err(|error| explain(&error, docker))?;
        let mut gone = Box::pin(container.gone().await.map_err(|error| explain(&error, docker))?);
        let lived = async {
            let words = container.listen().await.map_err(|error| explain(&error, docker))?;
            container.start().await.map_err(|error| explain(&error, docker))?;
            let entered = tokio::select! {
                entered = listener.accept() => entered.map_err(|error| error.to_string())?.0,
                () = tokio::time::sleep(TO_ENTER) => {
                    let seconds = TO_ENTER.as_secs();
                    return Err(format!("the container started, but did not connect within {seconds} s"));
                }
                code = &mut gone => return Err(early_end(code, &words.await.unwrap_or_default())),
                _ = told_to_end.recv() => return Ok(Left::There),
            };
            hand_over(entered, &handed, orders).map_err(|error| format!("cannot enter it: {error}"))?;
            drop((handed, listener, door));
            tokio::select! {
                _ = &mut gone => Ok(Left::Nothing),
                // The reaper saw the end of the shim as well, but may not be able to do anything about it.
                _ = told_to_end.recv() => Ok(Left::There),
            }
        };
        let lived = lived.await;
        if !matches!(lived, Ok(Left::Nothing)) {
            let _ = container.remove().await;
            let _ = tokio::time::timeout(TO_REMOVE, gone).await;
        }
        lived.map(drop)
    })
}

/// Of a container, when its client has nothing more to do for it.
#[derive(Debug)]
enum Left {
    Nothing,
    There,
}

fn explain(error: &DockerError, docker: &Docker) -> String {
    match error.status() {
        Some(404) => format!("{error}; pull the image first: docker pull {}", docker.image),
        _ => error.to_string(),
    }
}

fn early_end(code: Option<i64>, words: &str) -> String {
    match (words.lines().next(), code) {
        (Some(line), _) => line.trim().to_owned(),
        (None, Some(code)) => format!("its first process exited with code {code} without output"),
        (None, None) => "Docker lost the container".to_owned(),
    }
}

/// A socket in its own directory, both gone with it.
#[derive(Debug)]
struct Door {
    path: PathBuf,
}

impl Door {
    fn open(doors: &Path) -> io::Result<(Self, UnixListener)> {
        let dir = doors.join(format!("c{}", std::process::id()));
        // One of the same number that was killed.
        let _ = std::fs::remove_dir_all(&dir);
        let make = || DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        // Another of this loop may have taken the directory above away, being the last that was in it.
        make().or_else(|_| make())?;
        let door = Self { path: dir.join("door") };
        let listener = UnixListener::bind(&door.path)?;
        Ok((door, listener))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(dir) = self.path.parent() {
            let _ = std::fs::remove_dir_all(dir);
            // That of the loop, once nothing else is in it.
            let _ = dir.parent().map(std::fs::remove_dir);
        }
    }
}

fn hand_over(entered: tokio::net::UnixStream, handed: &[OwnedFd], orders: &[u8]) -> io::Result<()> {
    let mut entered = entered.into_std()?;
    entered.set_nonblocking(false)?;
    let fds: Vec<BorrowedFd<'_>> = handed.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(&entered, &[IoSlice::new(&[1])], &mut beside, SendFlags::empty())?;
    entered.write_all(orders)
}

/// In the container: what the reaper was sent through the door.
pub(super) fn enter(door: &Path) -> io::Result<Inside> {
    let mut client = UnixStream::connect(door)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&client, &mut [IoSliceMut::new(&mut [0])], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let received: Vec<RawFd> = beside
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            RecvAncillaryMessage::ScmCredentials(_) | _ => None,
        })
        .flatten()
        .map(IntoRawFd::into_raw_fd)
        .collect();
    let [stdin, stdout, stderr, report, socket] = received[..] else {
        return Err(io::Error::other("cannot share files with the container; check that Docker runs on this machine"));
    };
    let mut text = Vec::new();
    client.read_to_end(&mut text)?;
    let mut inside: Inside = serde_json::from_slice(&text)?;
    (inside.stdio, inside.report, inside.socket) = ([stdin, stdout, stderr], report, socket);
    add_image_environment(&mut inside.command);
    Ok(inside)
}

/// The image's variables apply where the loop sets none; its programs come first in PATH.
fn add_image_environment(command: &mut CommandSpec) {
    for (name, value) in std::env::vars() {
        match command.env.get_mut(&name) {
            Some(own) if name == "PATH" => *own = format!("{value}:{own}"),
            Some(_) => {}
            None => drop(command.env.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_handed_over_arrives_whole_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let (door, listener) = Door::open(&dir.path().join("loop")).unwrap();
        let path = door.path.clone();
        let command = CommandSpec {
            program: "true".into(),
            args: Vec::new(),
            env: [("PATH".to_owned(), "/of/the/loop".to_owned())].into(),
            cwd: "/".into(),
            stdin: windlass_process::Stdin::Null,
        };
        let orders = Inside { command, stdio: [90, 91, 92], report: 93, socket: 94, bridge: None };
        let orders = serde_json::to_vec(&orders).unwrap();
        let entering = std::thread::spawn(move || enter(&path).unwrap());
        let (entered, _) = listener.accept().await.unwrap();
        let files: Vec<OwnedFd> = (0..HANDED_OVER).map(|_| memory("a").unwrap().into()).collect();
        hand_over(entered, &files, &orders).unwrap();
        let inside = entering.join().unwrap();
        let [stdin, stdout, stderr] = inside.stdio;
        for (own, theirs) in files.iter().zip([stdin, stdout, stderr, inside.report, inside.socket]) {
            let same = |fd: RawFd| rustix::fs::fstat(sys::borrowed(fd)).unwrap().st_ino;
            assert_eq!(same(own.as_raw_fd()), same(theirs));
        }
        let image = std::env::var("PATH").unwrap();
        assert_eq!(inside.command.env["PATH"], format!("{image}:/of/the/loop"));
        assert_eq!(inside.command.env.get("HOME"), std::env::var("HOME").ok().as_ref());
        let path = door.path.clone();
        drop(door);
        assert!(!path.exists() && !dir.path().join("loop").exists());
    }
}
