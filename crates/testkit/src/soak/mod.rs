//! Many loops of all recipes for a long time, with the real program and random faults; what is measured must not grow beyond what
//! is stored.
//!
//! Loops run in the default sandbox, through `windlass serve` and, while that is killed, in processes of their own. Faults: kill -9 of
//! the server (in the first half, so that its memory can be followed in the second) and of any process of a loop; stop, pause,
//! resume, steer; agents that lie, crash, hang, flood, and leave processes behind.

mod figures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde::Serialize;
use serde_json::Value;

pub use figures::{Sample, Trend, table, trends};

use crate::process::Process;
use crate::world::World;

const AGENT: &str = include_str!("agent.sh");
const KINDS: [&str; 7] = ["good", "good", "liar", "crash", "hang", "flood", "leftover"];
const RECIPES: [&str; 4] = ["promise", "refine", "audited", "milestone"];
const PLAN: &str = "Do it.\n\n<!-- windlass-section -->\n## One\nFirst.\n";
/// Loops that an engine drives, or would if it were there.
const AT_WORK: [&str; 4] = ["queued", "running", "waiting", "interrupted"];
/// Loops that nobody drives until a user decides.
const RESTING: [&str; 2] = ["paused", "awaiting_review"];
/// More processes than this for each loop, and the soak ends.
const MOST_PROCESSES: usize = 40;
/// How long loops get to end once faults are over.
const PATIENCE: Duration = Duration::from_secs(120);

/// When it is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Time(Duration),
    /// So many loops were started.
    Started(usize),
}

#[derive(Debug, Clone)]
pub struct Options {
    pub windlass: PathBuf,
    pub until: Until,
    /// So many loops are at work at a time.
    pub loops: usize,
    pub seed: u64,
    pub sandbox: bool,
}

/// What a soak came to.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub seconds: f64,
    /// Loops by recipe and kind of agent.
    pub started: BTreeMap<String, usize>,
    pub faults: BTreeMap<&'static str, usize>,
    /// Commands that were refused, with the reason.
    pub refused: BTreeMap<String, usize>,
    /// Loops that were open when faults ended, by status.
    pub open: BTreeMap<String, usize>,
    /// Loops by status at the end.
    pub ended: BTreeMap<String, usize>,
    pub trends: Vec<Trend>,
    /// What must not happen.
    pub problems: Vec<String>,
    pub samples: Vec<Sample>,
}

impl Report {
    /// Whether something grew, or something happened that must not.
    pub fn failed(&self) -> bool {
        !self.problems.is_empty() || self.trends.iter().any(|trend| trend.grows)
    }
}

/// Runs it.
pub fn run(options: &Options) -> Report {
    let world = if options.sandbox { World::sandboxed() } else { World::new() };
    let repo = world.repo();
    repo.write("agent.sh", AGENT);
    repo.write("plan.md", PLAN);
    repo.write(".gitignore", "turns\n");
    repo.commit("The project of the soak");
    world.config(&format!("max_running = {}\nstall_timeout = \"5s\"\nturn_timeout = \"60s\"\n", options.loops));
    let mut soak = Soak {
        options,
        world: &world,
        dice: Dice(options.seed),
        begun: Instant::now(),
        server: None,
        restarts: 0,
        made: BTreeMap::new(),
        report: Report::default(),
    };
    soak.run();
    soak.report
}

struct Soak<'a> {
    options: &'a Options,
    world: &'a World,
    dice: Dice,
    begun: Instant,
    server: Option<Child>,
    restarts: u32,
    /// Loops by name, with the kind of their agent.
    made: BTreeMap<String, &'static str>,
    report: Report,
}

impl Soak<'_> {
    fn run(&mut self) {
        self.serve();
        while !self.is_over() {
            let rows = self.rows();
            for _ in names(&rows, &AT_WORK).len()..self.options.loops {
                if matches!(self.options.until, Until::Started(most) if self.made.len() >= most) {
                    break;
                }
                self.start_loop();
            }
            let resting = names(&rows, &RESTING);
            if resting.len() > self.options.loops / 2 {
                self.decide_about(&resting);
            }
            self.fault(&[names(&rows, &AT_WORK), resting].concat());
            self.sample();
            if self.world.processes().len() > MOST_PROCESSES * self.options.loops.max(1) {
                self.report.problems.push("too many processes".to_owned());
                break;
            }
            thread::sleep(Duration::from_millis(500));
        }
        self.end();
    }

    fn is_over(&self) -> bool {
        match self.options.until {
            Until::Time(time) => self.begun.elapsed() >= time,
            Until::Started(most) => self.made.len() >= most,
        }
    }

    fn is_first_half(&self) -> bool {
        match self.options.until {
            Until::Time(time) => self.begun.elapsed() < time / 2,
            Until::Started(most) => self.made.len() * 2 < most,
        }
    }

    fn windlass(&self, words: &[&str]) -> Command {
        let mut command = self.world.windlass(&self.options.windlass);
        command.args(words);
        command
    }

    /// What a command printed, if it succeeded.
    fn ask(&self, words: &[&str]) -> Option<String> {
        let output = self.windlass(words).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn rows(&self) -> Vec<Value> {
        let listed = self.ask(&["list", "--all", "--json"]).unwrap_or_default();
        let Ok(rows) = serde_json::from_str::<Value>(&listed) else { return Vec::new() };
        let rows = rows.as_array().or_else(|| rows["loops"].as_array()).cloned();
        rows.unwrap_or_default()
    }

    fn open_loops(&self) -> Vec<String> {
        let rows = self.rows();
        [names(&rows, &AT_WORK), names(&rows, &RESTING)].concat()
    }

    /// A user works through the loops that wait for one: some continue, most are given up.
    fn decide_about(&mut self, resting: &[String]) {
        let name = self.dice.pick(resting).clone();
        let words: &[&str] = match self.dice.throw(4) {
            0 => &["resume", "--detach", "--max-iterations", "+1"],
            1 => &["approve"],
            _ => &["stop"],
        };
        if self.command("a user's decision", &[words, &[&name]].concat()).is_some() {
            *self.report.faults.entry("a user's decision").or_default() += 1;
        }
    }

    fn serve(&mut self) {
        let log = self.world.root().join("serve.log");
        let Ok(log) = fs::File::options().create(true).append(true).open(log) else { return };
        let mut command = self.windlass(&["serve", "--port", "0"]);
        // What a killed server ran goes on when it is back.
        command.env("WINDLASS_RECOVER", "true").stdout(Stdio::null()).stderr(log);
        self.server = command.spawn().ok();
    }

    fn start_loop(&mut self) {
        let number = self.made.len() + 1;
        let recipe = *self.dice.pick(&RECIPES);
        let kind = *self.dice.pick(&KINDS);
        let mut name = format!("soak-{number}");
        let agent = format!("sh agent.sh {kind}");
        let mut words =
            vec!["--detach", "--agent-command", &agent, "--gate", "grep -q fixed state", "--max-iterations", "4"];
        if recipe == "milestone" {
            let dir = self.world.repo().path().join(".windlass/milestones");
            let text = "# Soak\n\n## Goal\nIt holds.\n\n## Features\n- [ ] F1: it holds (acceptance: it holds)\n\n\
                        ## Acceptance Criteria\n- [ ] it holds\n";
            let _ = fs::create_dir_all(&dir).and_then(|()| fs::write(dir.join(format!("{name}.md")), text));
            words.splice(..0, ["milestone", "start", &name, "--reviewer-command", "sh agent.sh reviewer", "--trust"]);
        } else {
            words.splice(..0, ["run", "make it fixed", "--name", &name, "--recipe", recipe, "--trust"]);
            match recipe {
                "refine" => words.extend(["--iter", "3"]),
                "audited" => words.extend(["--plan", "plan.md", "--reviewer-command", "sh agent.sh reviewer"]),
                _ => {}
            }
        }
        let output = self.windlass(&words).output();
        match output {
            Ok(output) if output.status.success() => {
                *self.report.started.entry(format!("{recipe}, {kind}")).or_default() += 1;
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                self.report.problems.push(format!("{recipe} did not start: {said}"));
                name.push_str("-not-started");
            }
            Err(error) => self.report.problems.push(format!("windlass did not start: {error}")),
        }
        self.made.insert(name, kind);
    }

    fn fault(&mut self, open: &[String]) {
        let name = if open.is_empty() { String::new() } else { self.dice.pick(open).clone() };
        let fault = match self.dice.throw(12) {
            0 if self.is_first_half() => self.kill_server(),
            0 | 1 => self.kill_any(),
            2 => self.command("stop", &["stop", &name]),
            3 => self.command("pause", &["pause", &name]),
            4 => self.command("pause --now", &["pause", "--now", &name]),
            5..=7 => self.command("resume", &["resume", "--detach", &name]),
            8 => self.command("steer", &["steer", &name, "and be quick"]),
            _ => None,
        };
        if let Some(fault) = fault {
            *self.report.faults.entry(fault).or_default() += 1;
        }
    }

    /// A command may be refused: the loop need not be in a state for it.
    fn command(&mut self, what: &'static str, words: &[&str]) -> Option<&'static str> {
        if words.contains(&"") {
            return None;
        }
        let output = self.windlass(words).output().ok()?;
        if output.status.success() {
            return Some(what);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or_default()
            .replace(words[words.len() - 1], "NAME");
        *self.report.refused.entry(format!("{what}: {why}")).or_default() += 1;
        None
    }

    fn kill_server(&mut self) -> Option<&'static str> {
        let mut server = self.server.take()?;
        server.kill().ok()?;
        let _ = server.wait();
        // Loops that start now have no server.
        self.start_loop();
        self.restarts += 1;
        self.serve();
        Some("kill -9 of the server")
    }

    fn kill_any(&mut self) -> Option<&'static str> {
        let server = self.server.as_ref().map(Child::id);
        let mut found: Vec<Process> = self.world.processes();
        found.retain(|process| Some(process.pid) != server);
        if found.is_empty() {
            return None;
        }
        self.dice.pick(&found).kill();
        Some("kill -9 of a driver, helper, or agent")
    }

    fn sample(&mut self) {
        if let Some(Ok(Some(status))) = self.server.as_mut().map(Child::try_wait) {
            self.report.problems.push(format!("the server ended by itself: {status}"));
            self.restarts += 1;
            self.serve();
        }
        let Some(server) = self.server.as_ref().map(Child::id) else { return };
        let begun = Instant::now();
        let listed = self.ask(&["list"]).is_some();
        let latency_ms = begun.elapsed().as_secs_f64() * 1e3;
        if !listed {
            self.report.problems.push("`windlass list` failed".to_owned());
        }
        let data = self.world.data_dir();
        let database = ["windlass.db", "windlass.db-wal"].map(|name| size_of_file(&data.join(name)));
        self.report.samples.push(Sample {
            at_s: self.begun.elapsed().as_secs_f64(),
            memory_kib: status_figure(server, "VmRSS:"),
            descriptors: fs::read_dir(format!("/proc/{server}/fd")).map_or(0.0, |fds| fds.count() as f64),
            threads: status_figure(server, "Threads:"),
            processes: self.world.processes().len() as f64,
            database_bytes: database.iter().sum(),
            disk_bytes: size_of(&data),
            latency_ms,
            loops: self.rows().len() as f64,
            restarts: self.restarts,
        });
    }

    /// Faults are over: what is open is stopped, and then nothing may be left.
    fn end(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let mut open = self.open_loops();
        for row in self.rows().iter().filter(|row| open.iter().any(|name| row["name"] == **name)) {
            *self.report.open.entry(row["status"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        while !open.is_empty() && Instant::now() < deadline {
            for name in &open {
                let _ = self.ask(&["stop", name]);
            }
            open = self.open_loops();
        }
        for name in open {
            self.report.problems.push(format!("{name} does not end by a stop"));
        }
        for row in self.rows() {
            let (name, status) = (row["name"].as_str().unwrap_or_default(), row["status"].as_str().unwrap_or_default());
            *self.report.ended.entry(status.to_owned()).or_default() += 1;
            if row["verified"] == true && self.made.get(name) == Some(&"liar") {
                self.report.problems.push(format!("{name} is verified, but its agent lies"));
            }
        }
        if let Some(mut server) = self.server.take() {
            let _ = rustix::process::Pid::from_raw(i32::try_from(server.id()).unwrap_or(0))
                .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
            let _ = server.wait();
        }
        while !self.world.processes().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(100));
        }
        for process in self.world.processes() {
            self.report.problems.push(format!("left behind: {} {}", process.pid, process.command));
        }
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        self.report.trends = trends(&self.report.samples);
    }
}

/// The names of loops in one of these states.
fn names(rows: &[Value], states: &[&str]) -> Vec<String> {
    let fits = |row: &&Value| row["status"].as_str().is_some_and(|status| states.contains(&status));
    rows.iter().filter(fits).filter_map(|row| row["name"].as_str().map(str::to_owned)).collect()
}

fn status_figure(pid: u32, key: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

fn size_of_file(path: &Path) -> f64 {
    path.symlink_metadata().map_or(0.0, |known| known.len() as f64)
}

/// What a tree takes on the disk. What disappears meanwhile counts nothing.
fn size_of(path: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let own = path.symlink_metadata().map_or(0.0, |known| known.blocks() as f64 * 512.0);
    let is_dir = path.symlink_metadata().is_ok_and(|known| known.is_dir());
    let Some(entries) = is_dir.then(|| fs::read_dir(path).ok()).flatten() else { return own };
    own + entries.flatten().map(|entry| size_of(&entry.path())).sum::<f64>()
}

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = usize::try_from(self.throw(from.len() as u64)).unwrap_or(0);
        &from[index.min(from.len() - 1)]
    }
}
