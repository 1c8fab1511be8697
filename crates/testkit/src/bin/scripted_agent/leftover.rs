//! Children that the agent leaves behind, in every way a supervisor must cope with.
//!
//! Invariants: each of them has an alarm that ends it after its capped life, set before it does anything else and
//! never ignored; each has recorded itself before the agent's next step.

use std::ffi::{CString, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_testkit::script::{Leave, LeaveKind};
use windlass_testkit::{Leftover, ProcessId, Records, watch};

use crate::signals;
use crate::speech::{STDOUT, write_all};

/// First argument of the program that a bare leftover becomes.
pub(crate) const BARE_FLAG: &str = "--bare-leftover";

pub(crate) fn leave(leave: &Leave, dir: &Path, records: &Records) -> Result<(), String> {
    let (ready, tell) = handshake()?;
    match fork()? {
        Side::Child => {
            drop(ready);
            let failure = match leave.kind {
                LeaveKind::HoldsStdout => live(leave, dir, records, tell),
                LeaveKind::DoubleFork => in_grandchild(|| live(leave, dir, records, tell)),
                LeaveKind::Setsid => in_own_session(|| live(leave, dir, records, tell)),
                LeaveKind::SetsidBare => in_own_session(|| become_bare(leave, records, tell)),
                LeaveKind::Hopper => in_own_session(|| hop(leave, records, tell)),
            };
            let code = i32::from(failure.is_err());
            // SAFETY: leaves a forked child without running the parent's exit handlers.
            unsafe { libc::_exit(code) }
        }
        Side::Parent(child) => {
            drop(tell);
            // End of file: everyone who must be recorded is.
            let mut byte = [0];
            let said = rustix::io::read(&ready, &mut byte).map_err(|e| e.to_string())?;
            let stays = matches!(leave.kind, LeaveKind::HoldsStdout);
            if !stays {
                // The intermediate one is gone or about to go; a zombie would be a leftover of our own.
                let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
            }
            if said == 0 { Ok(()) } else { Err("a leftover could not be started".to_owned()) }
        }
    }
}

/// A pipe whose reader learns that the other side has recorded itself: end of file.
fn handshake() -> Result<(OwnedFd, OwnedFd), String> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| e.to_string())
}

enum Side {
    Child,
    Parent(rustix::process::Pid),
}

fn fork() -> Result<Side, String> {
    // SAFETY: this program has a single thread, so the child may do whatever the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => Ok(Side::Child),
        pid => rustix::process::Pid::from_raw(pid).map(Side::Parent).ok_or_else(|| "fork gave no pid".to_owned()),
    }
}

/// Continues in a grandchild whose parent ends at once.
fn in_grandchild(then: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    match fork()? {
        Side::Child => then(),
        Side::Parent(_) => Ok(()),
    }
}

fn in_own_session(then: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    rustix::process::setsid().map_err(|e| e.to_string())?;
    in_grandchild(then)
}

/// What every leftover does first: the safety net, then its record.
fn enter(leave: &Leave, records: &Records, left: Duration) -> Result<(), String> {
    set_alarm(left);
    if leave.ignore_signals {
        signals::ignore_usual();
    }
    let kind = match leave.kind {
        LeaveKind::HoldsStdout => "holds_stdout",
        LeaveKind::DoubleFork => "double_fork",
        LeaveKind::Setsid => "setsid",
        LeaveKind::SetsidBare => "setsid_bare",
        LeaveKind::Hopper => "hopper",
    };
    let leftover = Leftover { kind: kind.to_owned(), process: ProcessId::own() };
    records.add_leftover(&leftover).map_err(|e| e.to_string())
}

fn live(leave: &Leave, dir: &Path, records: &Records, tell: OwnedFd) -> Result<(), String> {
    let life = Duration::from_millis(leave.capped_life_ms());
    enter(leave, records, life).inspect_err(|_| fail(&tell))?;
    drop(tell);
    if let Some(name) = &leave.wait_for {
        watch::wait_exists(&dir.join(name), None).map_err(|e| e.to_string())?;
    }
    if let Some(text) = &leave.say {
        return write_all(STDOUT, format!("{text}\n").as_bytes());
    }
    pause()
}

/// Forks and ends, over and over; the last one stays until the life of all of them is over.
fn hop(leave: &Leave, records: &Records, tell: OwnedFd) -> Result<(), String> {
    let end = Instant::now() + Duration::from_millis(leave.capped_life_ms());
    enter(leave, records, end - Instant::now()).inspect_err(|_| fail(&tell))?;
    drop(tell);
    for _ in 0..leave.capped_hops() {
        std::thread::sleep(Duration::from_millis(leave.every_ms.unwrap_or(0)));
        let (ready, tell) = handshake()?;
        match fork()? {
            Side::Parent(_) => {
                // At every moment one of them is both alive and recorded, else a test could not find them.
                drop(tell);
                let _ = rustix::io::read(&ready, &mut [0]);
                return Ok(());
            }
            // An alarm is not inherited: each hop sets what is left.
            Side::Child => enter(leave, records, end.saturating_duration_since(Instant::now()))?,
        }
    }
    pause()
}

/// Becomes a program with an empty environment, no open file and no directory, recorded before it does.
fn become_bare(leave: &Leave, records: &Records, tell: OwnedFd) -> Result<(), String> {
    // The alarm, ignored signals, pid and start time all survive exec.
    let life = Duration::from_millis(leave.capped_life_ms());
    enter(leave, records, life).inspect_err(|_| fail(&tell))?;
    // The pipe survives too: that it closes with the rest tells the agent that nothing is left open.
    rustix::io::fcntl_setfd(&tell, rustix::io::FdFlags::empty()).map_err(|e| e.to_string())?;
    let _ = std::env::set_current_dir("/");
    let exe = CString::new("/proc/self/exe").map_err(|e| e.to_string())?;
    let name = CString::new("sleeper").map_err(|e| e.to_string())?;
    let flag = CString::new(BARE_FLAG).map_err(|e| e.to_string())?;
    let pipe = CString::new(tell.as_raw_fd().to_string()).map_err(|e| e.to_string())?;
    let args = [name.as_ptr(), flag.as_ptr(), pipe.as_ptr(), std::ptr::null()];
    let env = [std::ptr::null()];
    // SAFETY: the strings live until exec, which does not return unless it fails.
    unsafe { libc::execve(exe.as_ptr(), args.as_ptr(), env.as_ptr()) };
    fail(&tell);
    Err("cannot exec".to_owned())
}

/// The rest of a bare leftover's life; `pipe` is the descriptor to close last.
pub(crate) fn live_bare(pipe: Option<&OsString>) -> ! {
    let pipe = pipe.and_then(|p| p.to_str()?.parse().ok()).unwrap_or(-1);
    for fd in (0..1024).filter(|&fd| fd != pipe).chain([pipe]) {
        // SAFETY: this process uses no descriptor from here on; closing one that is not open does nothing.
        unsafe { libc::close(fd) };
    }
    match pause() {
        Ok(()) | Err(_) => std::process::exit(0),
    }
}

/// Sleeps until the alarm.
fn pause() -> Result<(), String> {
    loop {
        // SAFETY: takes nothing.
        unsafe { libc::pause() };
    }
}

fn set_alarm(life: Duration) {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval {
        tv_sec: libc::time_t::try_from(life.as_secs()).unwrap_or(1),
        // Never zero altogether, which would switch the alarm off.
        tv_usec: libc::suseconds_t::from(life.subsec_micros().max(1)),
    };
    let timer = libc::itimerval { it_interval: zero, it_value: value };
    // SAFETY: points at a value that lives through the call.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
}

/// One byte instead of a plain end of file tells the agent that it went wrong.
fn fail(tell: &OwnedFd) {
    // SAFETY: the descriptor is open and one byte is readable at the pointer.
    unsafe { libc::write(tell.as_raw_fd(), [1_u8].as_ptr().cast(), 1) };
}
