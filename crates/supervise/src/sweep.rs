//! Finding and ending processes by a tag in their environment.
//!
//! Containment ends a tree with its engine or shim. This is for what is left when that was not
//! possible: a shim killed on the lowest rung, a machine without namespaces. Invariant: only a process
//! that carries the tag at the moment it is signalled is killed, because the check is made again on a
//! pidfd, which cannot come to mean another process.

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
            if pid != own && carries(pid, &tag) && kill_if_tagged(pid, &tag) {
                found = true;
                if !killed.contains(&pid) {
                    killed.push(pid);
                }
            }
        }
        empty = if found { 0 } else { empty + 1 };
        if empty == EMPTY_SCANS {
            break;
        }
    }
    Ok(killed)
}

#[cfg(not(target_os = "linux"))]
pub fn sweep(_key: &str, _value: &str) -> io::Result<Vec<u32>> {
    Ok(Vec::new())
}

#[cfg(target_os = "linux")]
fn carries(pid: u32, tag: &[u8]) -> bool {
    // Unreadable means another user's, or gone: either way not ours. A zombie's is empty.
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == tag))
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
    if !carries(pid, tag) || pidfd_send_signal(&pidfd, Signal::KILL).is_err() {
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
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn only_tagged_processes_are_killed() {
        let value = format!("sweep-test-{}", std::process::id());
        let mut tagged = Command::new("sleep").arg("60").env("WINDLASS_SWEEP_TEST", &value).spawn().unwrap();
        let mut longer =
            Command::new("sleep").arg("60").env("WINDLASS_SWEEP_TEST", format!("{value}0")).spawn().unwrap();
        assert_eq!(sweep("WINDLASS_SWEEP_TEST", &value).unwrap(), vec![tagged.id()]);
        assert_eq!(tagged.wait().unwrap().signal(), Some(9));
        assert_eq!(longer.try_wait().unwrap(), None, "a tag is compared whole");
        assert!(sweep("WINDLASS_SWEEP_TEST", &value).unwrap().is_empty());
        longer.kill().unwrap();
        longer.wait().unwrap();
    }
}
