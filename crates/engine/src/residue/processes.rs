//! Processes of a loop: those that carry its tag, and those that dropped it but still work in its directory.

use std::path::Path;

use super::{LOOP_TAG, Places};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) tagged: bool,
}

pub(super) fn of_loop(places: &Places) -> Vec<Seen> {
    let mut pids = windlass_supervise::find_tagged(LOOP_TAG, &places.id.0).unwrap_or_default();
    pids.sort_unstable();
    let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    let mut seen: Vec<Seen> = pids.into_iter().map(|pid| Seen { pid, name: name(pid), tagged: true }).collect();
    if let (Some(dir), Some(started)) = (&places.workspace, places.started_at) {
        for pid in all().filter(|pid| strayed(*pid, dir, started.as_second())) {
            if seen.iter().all(|known| known.pid != pid) {
                seen.push(Seen { pid, name: name(pid), tagged: false });
            }
        }
    }
    seen
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(move |pid| *pid != own)
}

/// A daemon in the workspace: started since the loop, without a terminal and a parent. A user's shell or editor that
/// stands there has one of them.
fn strayed(pid: u32, dir: &Path, since: i64) -> bool {
    let there = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
    there
        && std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| Facts::read(&stat))
            .is_some_and(|facts| facts.parent == 1 && facts.terminal == 0 && facts.began_at() >= since)
}

#[derive(Debug, PartialEq, Eq)]
struct Facts {
    parent: u32,
    terminal: i64,
    start_ticks: i64,
}

impl Facts {
    fn read(stat: &str) -> Option<Self> {
        // The name in parentheses may hold anything, so count from the last one: state, parent, group, session, terminal.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            terminal: fields.get(4)?.parse().ok()?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// In seconds since 1970, a second more or less.
    fn began_at(&self) -> i64 {
        const TICKS_A_SECOND: i64 = 100;
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<i64>().ok()).unwrap_or(0);
        boot + self.start_ticks / TICKS_A_SECOND + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 34816 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        assert_eq!(Facts::read(stat), Some(Facts { parent: 1, terminal: 34816, start_ticks: 12345 }));
        assert_eq!(Facts::read("7 (cut"), None);
    }
}
