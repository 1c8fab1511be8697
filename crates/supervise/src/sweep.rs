//! Finding and ending processes by a tag in their environment.
//!
//! Containment ends a tree with its engine or shim. This is for what is left when that was not
//! possible: a shim killed on the lowest rung, a machine without namespaces. Invariant: only a process
//! that carries the tag at the moment it is signalled is killed, because the check is recreated on a
//! pidfd, which always refers to the same process.

use std::io;

/// One empty scan proves little against a process that changes its id; so many in a row end a sweep.
#[cfg(target_os = "linux")]
const EMPTY_SCANS: u32 = 2;
/// A sweep ends even against a process that forks faster than it is killed.
#[cfg(target_os = "linux")]
const MAX_SCANS: u32 = 200;

/// Kills every process that has `key=value` in its environment, and returns their ids. Never this
/// process itself. On systems without `/proc` it finds none.
#[cfg(target_os = "linux")]
pub fn sweep(key: &str, value: &str) -> io::Result<Vec<u32>> {
    let tag = format!("{key}={value}").into_bytes();
    let own = std::process::id();
    let mut killed = Vec::new();
    let mut empty = 0;
    for _ in 0..MAX_SCANS {
        let mut found = false;
        for entry in std::fs::read_dir("/proc")? {
            let Ok(entry) = entry else { continue };
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if pid == own {
                continue;
            }
            match look(pid, &tag) {
                Look::Tagged if kill_if_tagged(pid, &tag) => {
                    found = true;
                    if !killed.contains(&pid) {
                        killed.push(pid);
                    }
                }
                Look::Tagged | Look::Other => {}
                // Only the next scan can show what it is.
                Look::InExec => found = true,
            }
        }
        empty = if found { 0 } else { empty + 1 };
        if empty == EMPTY_SCANS {
            break;
        }
    }
    Ok(killed)
}

/// The processes that have `key=value` in their environment now, but never this one.
#[cfg(target_os = "linux")]
pub fn find_tagged(key: &str, value: &str) -> io::Result<Vec<u32>> {
    let tag = format!("{key}={value}").into_bytes();
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Ok(pids.filter(|pid| *pid != own && look(*pid, &tag) == Look::Tagged).collect())
}

#[cfg(not(target_os = "linux"))]
pub fn find_tagged(_key: &str, _value: &str) -> io::Result<Vec<u32>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
pub fn sweep(_key: &str, _value: &str) -> io::Result<Vec<u32>> {
    Ok(Vec::new())
}

#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Tagged,
    Other,
    /// Between the old program and the new one: it has no environment for a moment.
    InExec,
}

#[cfg(target_os = "linux")]
fn look(pid: u32, tag: &[u8]) -> Look {
    // Unreadable means another user's, or gone: either way not ours.
    let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else {
        return Look::Other;
    };
    if environ.split(|byte| *byte == 0).any(|entry| entry == tag) {
        Look::Tagged
    } else if environ.is_empty() && in_exec(pid) {
        Look::InExec
    } else {
        Look::Other
    }
}

/// Tells a process amid `execve` from one that was started with no environment, from a dying one, a zombie, and a kernel thread:
/// only the first is not exiting, has a program, and has no address yet where its environment ends.
#[cfg(target_os = "linux")]
fn in_exec(pid: u32) -> bool {
    if std::fs::read_link(format!("/proc/{pid}/exe")).is_err() {
        return false;
    }
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat_shows_exec(&stat))
}

#[cfg(target_os = "linux")]
fn stat_shows_exec(stat: &str) -> bool {
    /// Fields of `/proc/<pid>/stat`, counted after the name, which may contain anything.
    const FLAGS_AFTER_NAME: usize = 6;
    const ENV_END_AFTER_NAME: usize = 48;
    /// `PF_EXITING`, which the kernel sets before it drops the memory that the environment is in.
    const EXITING: u64 = 0x4;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let field = |at: usize| after_name.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    field(FLAGS_AFTER_NAME).is_some_and(|flags| flags & EXITING == 0) && field(ENV_END_AFTER_NAME) == Some(0)
}

#[cfg(target_os = "linux")]
fn kill_if_tagged(pid: u32, tag: &[u8]) -> bool {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let Some(handle) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let Ok(pidfd) = pidfd_open(handle, PidfdFlags::empty()) else {
        return false;
    };
    if look(pid, tag) != Look::Tagged || pidfd_send_signal(&pidfd, Signal::KILL).is_err() {
        return false;
    }
    // Its end is an event: wait for it, so that the next scan does not find it dying.
    let mut events = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
    let patience = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
    let _ = rustix::event::poll(&mut events, Some(&patience));
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    /// A child that surely runs its own program: it has answered. Its environment is that program's.
    fn running(value: Option<&str>) -> Child {
        let mut command = Command::new("cat");
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(value) = value {
            command.env("WINDLASS_SWEEP_TEST", value);
        }
        let mut child = command.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn only_tagged_processes_are_killed() {
        let value = format!("sweep-test-{}", std::process::id());
        let mut tagged = running(Some(&value));
        let mut longer = running(Some(&format!("{value}0")));
        assert_eq!(find_tagged("WINDLASS_SWEEP_TEST", &value).unwrap(), vec![tagged.id()]);
        assert_eq!(sweep("WINDLASS_SWEEP_TEST", &value).unwrap(), vec![tagged.id()]);
        assert_eq!(tagged.wait().unwrap().signal(), Some(9));
        assert_eq!(longer.try_wait().unwrap(), None, "a tag is compared whole");
        assert!(sweep("WINDLASS_SWEEP_TEST", &value).unwrap().is_empty());
        longer.kill().unwrap();
        longer.wait().unwrap();
    }

    #[test]
    fn a_process_without_an_environment_is_not_taken_for_one_in_exec() {
        let mut bare = running(None);
        assert_eq!(std::fs::read(format!("/proc/{}/environ", bare.id())).unwrap(), b"");
        assert_eq!(look(bare.id(), b"KEY=value"), Look::Other);
        assert!(!in_exec(std::process::id()));
        bare.kill().unwrap();
        assert_eq!(look(bare.id(), b"KEY=value"), Look::Other, "dying or a zombie");
        bare.wait().unwrap();
        assert_eq!(look(bare.id(), b"KEY=value"), Look::Other, "gone");
    }

    #[test]
    fn a_dying_process_whose_memory_is_gone_is_not_taken_for_one_in_exec() {
        let stat = |flags: u64| format!("7 (a) b) R 1 7 7 0 -1 {flags} {}", "0 ".repeat(43));
        assert!(stat_shows_exec(&stat(0x0040_0000)), "amid execve");
        assert!(!stat_shows_exec(&stat(0x0040_0004)), "exiting");
        assert!(!stat_shows_exec("7 (a"));
    }
}
