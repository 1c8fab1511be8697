//! What a process holds, as the kernel counts it.

use std::process::{Child, Command};
use std::time::Duration;

/// The most memory that a run had resident at once.
#[derive(Debug)]
pub struct Peak {
    pub mb: f64,
}

impl Peak {
    /// Runs a command that must end with this code. The kernel keeps the peak itself; it is read until the process is
    /// gone, so only what it did in its last moments can be missed.
    pub fn of(mut command: Command, code: i32) -> Self {
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut peak = 0;
        let status = loop {
            peak = peak.max(high_water_kb(&child).unwrap_or(0));
            if let Some(status) = child.try_wait().expect("it is our child") {
                break status;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(code), "{command:?}");
        Self { mb: peak as f64 / 1024.0 }
    }
}

fn high_water_kb(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    kb(&status, "VmHWM:")
}

/// Memory that nobody shares with this process, in KB.
pub fn private_kb(pid: u32) -> Option<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    Some(kb(&rollup, "Private_Clean:")? + kb(&rollup, "Private_Dirty:")?)
}

fn kb(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Every process below this one, with its name, children before grandchildren.
pub fn descendants(root: u32) -> Vec<(u32, String)> {
    let all: Vec<(u32, u32, String)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name is in parentheses and may itself hold some.
            let (before, after) = stat.rsplit_once(") ")?;
            let parent = after.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent, before.split_once('(')?.1.to_owned()))
        })
        .collect();
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut look_at = vec![root];
    while let Some(parent) = look_at.pop() {
        for (pid, _, name) in all.iter().filter(|(_, its_parent, _)| *its_parent == parent) {
            found.push((*pid, name.clone()));
            look_at.push(*pid);
        }
    }
    found
}
