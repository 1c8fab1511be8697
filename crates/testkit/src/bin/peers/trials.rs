//! The cases, each in a fresh repository with a fresh home.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use windlass_testkit::{World, watch};

use crate::peer::{Peer, Trial};

/// No run may take longer.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a program gets to clean up after a signal.
const CLEAN_UP: Duration = Duration::from_secs(10);

/// Forms of the promise, each with the agent's exit code.
const FORMS: [(&str, &str, u8); 6] = [
    ("on a line of its own", "Done.\n<promise>COMPLETE</promise>\n", 0),
    ("in bold", "Done.\n**<promise>COMPLETE</promise>**\n", 0),
    ("with a line after it", "<promise>COMPLETE</promise>\nAll tests pass.\n", 0),
    ("at the end of a sentence", "All is done: <promise>COMPLETE</promise>\n", 0),
    ("without a newline", "Done.\n<promise>COMPLETE</promise>", 0),
    ("in colors", "\u{1b}[32m<promise>COMPLETE</promise>\u{1b}[0m\n", 0),
];

pub struct Row {
    pub what: String,
    pub cells: Vec<String>,
}

pub struct Bench {
    pub windlass: PathBuf,
    pub sizes: Vec<u64>,
    pub overhead: bool,
}

/// A world with one trial in it.
struct Place {
    world: World,
    trial: Trial,
}

/// How a run ended.
struct Ended {
    code: Option<i32>,
    peak_mib: f64,
    took: Duration,
    turns: u32,
}

impl Bench {
    pub fn rows(&self, peers: &[Peer]) -> Vec<Row> {
        let row = |what: String, cell: &dyn Fn(Peer) -> String| {
            eprintln!("{what} …");
            Row { what, cells: peers.iter().map(|peer| cell(*peer)).collect() }
        };
        let mut rows = Vec::new();
        if self.overhead {
            rows.push(row("time per iteration, agent included".to_owned(), &|peer| self.overhead(peer)));
        }
        for size in &self.sizes {
            rows.push(row(format!("peak memory at {size} MB of output"), &|peer| self.memory(peer, *size)));
        }
        for (name, signal) in
            [("INT", Signal::INT), ("TERM", Signal::TERM), ("HUP", Signal::HUP), ("KILL", Signal::KILL)]
        {
            rows.push(row(format!("processes left after {name}"), &|peer| self.orphans(peer, signal)));
        }
        rows.push(row("continues after kill -9".to_owned(), &|peer| self.resumes(peer)));
        rows.push(row("an agent that lies".to_owned(), &|peer| self.lie(peer)));
        rows.push(row("promise forms seen".to_owned(), &|peer| self.forms(peer)));
        rows.push(row("an agent that repeats its prompt, which has the promise in it".to_owned(), &|peer| {
            self.echo(peer)
        }));
        rows.push(row("turns with a limit of 3 iterations".to_owned(), &|peer| self.limit(peer)));
        rows
    }

    fn place(&self, mode: &str, limit: u32) -> Place {
        let world = World::new();
        let dir = world.new_dir("trial");
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("the temp directory is writable");
        write("agent.sh", include_str!("agent.sh"));
        write("mode", mode);
        world.install_script("claude", include_str!("claude.sh"));
        let repo = world.repo();
        repo.write("PROMPT.md", "Make it fixed. When done, say <promise>COMPLETE</promise>\n");
        repo.commit("The project of the trial");
        let trial = Trial { repo: repo.path().to_owned(), dir, limit };
        Place { world, trial }
    }

    fn command(&self, place: &Place, peer: Peer, again: bool) -> Command {
        let own = peer.command(&self.windlass, &place.trial, again);
        // Who is started by `nohup`, or in the background of a script, ignores signals, and what it starts does too.
        let mut command = place.world.command("env");
        command.arg("--default-signal").arg(own.get_program()).args(own.get_args());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // Node is where the user has it.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", place.world.bin_dir().display()));
        command.env("PEERS_TRIAL", &place.trial.dir).env("PEERS_AGENT", place.trial.dir.join("agent.sh"));
        command.process_group(0);
        command
    }

    fn run(&self, place: &Place, peer: Peer, again: bool) -> Option<Ended> {
        let begun = Instant::now();
        let child = self.command(place, peer, again).spawn().ok()?;
        let (code, peak_mib) = wait(child, PATIENCE)?;
        Some(Ended { code, peak_mib, took: begun.elapsed(), turns: turns(place) })
    }

    fn overhead(&self, peer: Peer) -> String {
        let of = |limit| {
            let place = self.place("never", limit);
            self.run(&place, peer, false).map(|ended| ended.took.as_secs_f64())
        };
        match (of(2), of(12)) {
            (Some(few), Some(many)) => format!("{:.0} ms", (many - few) * 100.0),
            _ => "did not end".to_owned(),
        }
    }

    fn memory(&self, peer: Peer, megabytes: u64) -> String {
        let place = self.place("flood", 1);
        fs::write(place.trial.dir.join("bytes"), (megabytes * 1_000_000).to_string()).expect("writable");
        match self.run(&place, peer, false) {
            Some(ended) if turns(&place) > 0 => {
                let failed = if ended.code == Some(0) { "" } else { ", failed" };
                format!("{:.0} MiB{failed}", ended.peak_mib)
            }
            Some(ended) => format!("did not start its agent (exit {:?})", ended.code),
            None => "did not end in 2 minutes".to_owned(),
        }
    }

    fn orphans(&self, peer: Peer, signal: Signal) -> String {
        let place = self.place("hangs", 3);
        let Ok(mut child) = self.command(&place, peer, false).spawn() else { return "did not start".to_owned() };
        if !agent_runs(&place, &mut child) {
            let _ = wait(child, Duration::ZERO);
            return "did not start its agent".to_owned();
        }
        if let Some(pid) = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)) {
            // Ctrl-C and a terminal that closes reach every process of the group, `kill` only the one that is named.
            let _ = match signal {
                Signal::INT | Signal::HUP => kill_process_group(pid, signal),
                _ => kill_process(pid, signal),
            };
        }
        let deadline = Instant::now() + CLEAN_UP;
        while Instant::now() < deadline {
            let ended = child.try_wait().is_ok_and(|status| status.is_some());
            if ended && place.world.processes().is_empty() {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        let alive = child.try_wait().is_ok_and(|status| status.is_none());
        let left = place.world.processes().len() - usize::from(alive);
        let _ = child.kill();
        let _ = child.wait();
        match (left, alive) {
            (0, false) => "none".to_owned(),
            (left, false) => format!("**{left}**"),
            (left, true) => format!("**does not end in 10 s**, {left} more"),
        }
    }

    fn resumes(&self, peer: Peer) -> String {
        let place = self.place("dies", 4);
        let Ok(mut child) = self.command(&place, peer, false).spawn() else { return "did not start".to_owned() };
        let began = agent_runs(&place, &mut child);
        let _ = child.kill();
        let _ = child.wait();
        if !began {
            return "did not come to its second turn".to_owned();
        }
        // What it left runs on, and may be in the way; a user would end it by hand.
        let left = place.world.processes().len();
        let again = self.run(&place, peer, true);
        let by_hand = if left > 1 { format!(", {left} processes were left") } else { String::new() };
        match again {
            Some(ended) if ended.code == Some(0) => format!("yes, {} turns in all{by_hand}", ended.turns),
            Some(ended) => format!("**no** (exit {}){by_hand}", ended.code.unwrap_or(-1)),
            None => "**does not end in 2 minutes**".to_owned(),
        }
    }

    fn lie(&self, peer: Peer) -> String {
        let place = self.place("lies", 2);
        match self.run(&place, peer, false) {
            Some(ended) if ended.code == Some(0) => "**accepted**".to_owned(),
            Some(ended) => format!("refused (exit {}, {} turns)", ended.code.unwrap_or(-1), ended.turns),
            None => "did not end in 2 minutes".to_owned(),
        }
    }

    fn forms(&self, peer: Peer) -> String {
        if peer == Peer::Ralphy {
            return "has no promise".to_owned();
        }
        let (mut seen, mut missed) = (0, Vec::new());
        for (name, words, code) in FORMS {
            let place = self.place("says", 3);
            let write = |name: &str, text: &str| fs::write(place.trial.dir.join(name), text).expect("writable");
            write("words", words);
            write("code", &code.to_string());
            match self.run(&place, peer, false) {
                Some(ended) if ended.code == Some(0) && ended.turns == 1 => seen += 1,
                Some(_) | None => missed.push(name),
            }
        }
        let missed = if missed.is_empty() { String::new() } else { format!(", not {}", missed.join(", not ")) };
        format!("{seen} of {}{missed}", FORMS.len())
    }

    /// The work is done, so that no gate decides: only who said the promise.
    fn echo(&self, peer: Peer) -> String {
        if peer == Peer::Ralphy {
            return "has no promise".to_owned();
        }
        let place = self.place("echoes", 2);
        match self.run(&place, peer, false) {
            Some(ended) if ended.code == Some(0) => "**taken for a claim**".to_owned(),
            Some(ended) => format!("no claim (exit {}, {} turns)", ended.code.unwrap_or(-1), ended.turns),
            None => "did not end in 2 minutes".to_owned(),
        }
    }

    fn limit(&self, peer: Peer) -> String {
        let place = self.place("never", 3);
        match self.run(&place, peer, false) {
            Some(ended) => format!("{} (exit {})", ended.turns, ended.code.unwrap_or(-1)),
            None => format!("**{} and counting**", turns(&place)),
        }
    }
}

/// Waits until the agent runs; no longer than the program.
fn agent_runs(place: &Place, child: &mut Child) -> bool {
    let running = place.trial.dir.join("running");
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && child.try_wait().is_ok_and(|status| status.is_none()) {
        if watch::wait_exists(&running, Some(Duration::from_secs(1))).unwrap_or(false) {
            return true;
        }
    }
    false
}

fn turns(place: &Place) -> u32 {
    let text = fs::read_to_string(place.trial.dir.join("turns")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// The exit code and the peak memory of the program, in MiB; kills it when its time is over.
fn wait(mut child: Child, time: Duration) -> Option<(Option<i32>, f64)> {
    let deadline = Instant::now() + time;
    let mut peak_mib = 0.0_f64;
    loop {
        peak_mib = peak_mib.max(highest(child.id()));
        if let Ok(Some(status)) = child.try_wait() {
            return Some((status.code(), peak_mib));
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        sleep(Duration::from_millis(10));
    }
}

/// What the agents of the trials consist of. Every other process is the program's own.
const OF_THE_AGENT: [&str; 8] = ["sh", "cat", "sed", "head", "tr", "fold", "sleep", "git"];

/// The highest memory of one process of the program, in MiB: of itself or of what it started. The kernel keeps the highest value of
/// each, so that only what follows the last look can be missed.
fn highest(pid: u32) -> f64 {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let own = if OF_THE_AGENT.contains(&name.trim()) { 0.0 } else { peak(pid) };
    children(pid).into_iter().map(highest).fold(own, f64::max)
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let text = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    text.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn peak(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}
