//! Everything below this process, found by walking `/proc`.
//!
//! For a subreaper: orphans become its children, so no descendant can escape.
//! Invariant: [`end_all`] returns only when the kernel reports that no child is left
//! that this user may kill.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::sys::{self, Waited};

/// What became of a signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) signalled: u32,
    /// Processes that gained privileges this one does not have.
    pub(crate) refused: u32,
}

/// Sends `signal` to every descendant; `None` only counts them.
pub(crate) fn signal_all(signal: Option<Signal>) -> Reached {
    let table = if has_children_files() { None } else { Some(parents()) };
    let mut reached = Reached::default();
    let mut pending = vec![std::process::id()];
    while let Some(parent) = pending.pop() {
        let children = match &table {
            Some(table) => table.get(&parent).cloned().unwrap_or_default(),
            None => children_of(parent),
        };
        for child in children {
            // Open first, then look again: if it still has that parent, the handle is the right one.
            let Some(handle) = open(child) else { continue };
            if !matches!(state_and_parent(child), Some((state, now)) if now == parent && state != 'Z') {
                continue;
            }
            pending.push(child);
            match signal.map(|signal| pidfd_send_signal(&handle, signal)) {
                None | Some(Ok(())) => reached.signalled += 1,
                Some(Err(rustix::io::Errno::PERM)) => reached.refused += 1,
                Some(Err(_)) => {}
            }
        }
    }
    reached
}

/// Kills every descendant and waits until none is left, or only such that may not be killed by this
/// user. Tells of each that ended.
pub(crate) fn end_all(mut ended: impl FnMut(i32, i32)) {
    loop {
        // A process that forks meanwhile leaves a child behind. But that child becomes ours before
        // its parent can be waited for, so the next round sees it.
        let reached = signal_all(Some(Signal::KILL));
        let hopeless = reached.signalled == 0 && reached.refused > 0;
        let mut block = !hopeless;
        loop {
            match sys::wait_for_any(block) {
                Waited::Ended { pid, status } => ended(pid, status),
                Waited::Running if hopeless => return,
                Waited::Running => break,
                Waited::NoChildren => return,
            }
            block = false;
        }
    }
}

fn open(pid: u32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()
}

fn has_children_files() -> bool {
    fs::exists("/proc/thread-self/children").unwrap_or(false)
}

pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| text.split_ascii_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect()
}

/// Children by parent, for kernels without `children` files.
fn parents() -> HashMap<u32, Vec<u32>> {
    let mut table = HashMap::<u32, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some((_, parent)) = state_and_parent(pid) {
            table.entry(parent).or_default().push(pid);
        }
    }
    table
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, so count from the last one.
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
