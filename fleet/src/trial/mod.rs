//! `windlass-fleet try`: a whole fleet on this machine, a worker that is killed, and a check that nothing is doubled.
#![allow(clippy::print_stdout, reason = "a command line")]

pub mod services;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use sqlx::postgres::PgListener;
use windlass_store::{Listed, Seat, Store};
use windlass_workspace::Workspaces;

use self::services::Place;
use crate::store::{NEWS, PgStore, WORK};
use crate::temporal;
use crate::worker::Failure;

/// Start a fleet on this machine, kill a worker in the middle of a loop, and check that another one finishes it
#[derive(Debug, Args)]
#[command(after_help = "\
Needs PostgreSQL's programs and git. Temporal's development server is taken from PATH, or downloaded once with pip; if it is not
available, the workers place loops by the database. Everything runs on loopback in a temporary directory, which is removed.")]
pub struct TryArgs {
    /// How many workers to kill, one after the other
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    kills: u32,
    /// Do not use Temporal
    #[arg(long)]
    without_temporal: bool,
    /// Download nothing
    #[arg(long)]
    offline: bool,
    /// Save the histories of Temporal's workflows to DIR
    #[arg(long, value_name = "DIR", conflicts_with = "without_temporal")]
    histories: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Each turn adds a line and takes a while; the last one claims to be done.
const AGENT: &str = r#"cat >/dev/null
n=$(($(wc -l < done.txt) + 1))
echo "Step $n of $1."
sleep 2
echo "step $n" >> done.txt
[ "$n" -lt "$1" ] || echo "<promise>COMPLETE</promise>"
"#;
/// A worker is killed when its turn has run for so long.
const INTO_THE_TURN: Duration = Duration::from_millis(700);
/// A takeover takes 3.5 to 5 s; a loaded machine may need longer.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(20);
const INTERRUPTED: &str = "interrupted";

/// Runs it; exit code 1 if a promise was broken.
pub async fn run(args: &TryArgs) -> Result<ExitCode, Failure> {
    let mut place = Place::new()?;
    let mut trial = Trial { args, began: Instant::now(), report: json!({}) };
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let outcome = tokio::select! {
        outcome = trial.perform(&mut place) => outcome,
        _ = tokio::signal::ctrl_c() => Err(INTERRUPTED.into()),
        _ = terminated.recv() => Err(INTERRUPTED.into()),
    };
    if outcome.as_ref().is_err_and(|error| error.to_string() != INTERRUPTED) && !args.json {
        for log in ["one.log", "two.log", "temporal.log"] {
            let said = place.log(log);
            for line in said.lines().rev().take(8).collect::<Vec<_>>().into_iter().rev() {
                println!("    {log}: {line}");
            }
        }
    }
    let dir = place.dir().to_owned();
    // Before the result is printed: what follows it runs without anything of this.
    tokio::task::spawn_blocking(move || drop(place)).await?;
    let left_dir = dir.exists();
    let is_well = outcome?;
    trial.say(if left_dir { "✗" } else { "✓" }, "stopped everything and removed the directory");
    if args.json {
        trial.report["removed"] = json!(!left_dir);
        trial.report["ok"] = json!(is_well && !left_dir);
        println!("{}", trial.report);
    } else if is_well {
        println!("\nNext: docs/fleet.md, \"Set up\". Check your own fleet with `windlass-fleet doctor`.");
    }
    Ok(if is_well && !left_dir { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

struct Trial<'a> {
    args: &'a TryArgs,
    began: Instant,
    report: Value,
}

/// A worker of this fleet.
struct Hand {
    name: String,
    process: u32,
}

impl Trial<'_> {
    fn say(&self, sign: &str, text: &str) {
        if !self.args.json {
            println!("{:>6.1} s  {sign} {text}", self.began.elapsed().as_secs_f64());
        }
    }

    async fn perform(&mut self, place: &mut Place) -> Result<bool, Failure> {
        self.say("·", &format!("a fleet in {}", place.dir().display()));
        let began = Instant::now();
        let (database, version) = services::postgres(place).await?;
        PgStore::migrate(&database).await?;
        self.report["postgres"] = json!({ "version": version, "start_ms": ms(began) });
        self.say("✓", &format!("PostgreSQL {version}, started in {} ms", ms(began)));
        let temporal = self.temporal(place).await;
        let fleet = Fleet::new(place.dir(), database, temporal, self.args.kills).await?;

        let mut hands = Vec::new();
        for number in 0..2 {
            hands.push(fleet.worker(place, &name_of(number))?);
        }
        let began = Instant::now();
        let store = PgStore::connect(&fleet.database).await?;
        let mut news = store.listener(&[NEWS, WORK]).await?;
        while store.workers().await?.len() < hands.len() {
            hands_live(place, &hands)?;
            tokio::time::sleep(LOOK).await;
        }
        self.report["workers"] = json!({ "count": hands.len(), "start_ms": ms(began) });
        self.say("✓", &format!("a hub, and two workers, started in {} ms", ms(began)));

        let began = Instant::now();
        fleet.submit().await?;
        let id = store.list(Default::default()).await?.remove(0).entry.id;
        self.say("✓", &format!("loop `steps`: {} turns, each adds a line and is one commit", fleet.turns));
        let mut first = true;
        let mut kills = Vec::new();
        let mut journal = Journal { store: &store, id: &id, seen: 0, turns: 0, commits: 0 };
        for round in 0..self.args.kills {
            // At least one turn ends between two kills, so that each kill is seen to have lost no more than that.
            let commits = journal.commits + 1;
            self.until(&mut journal, &mut news, |journal| journal.commits >= commits).await?;
            if std::mem::take(&mut first) {
                self.report["first_commit_ms"] = json!(ms(began));
            }
            let turns = journal.turns + u32::from(journal.turns == journal.commits);
            self.until(&mut journal, &mut news, |journal| journal.turns >= turns).await?;
            tokio::time::sleep(INTO_THE_TURN).await;
            let Some((_, name)) = holder(&store, &id).await? else { return Err("nobody drives the loop".into()) };
            let at = hands.iter().position(|hand| hand.name == name).ok_or("another worker drives the loop")?;
            let dead = hands.remove(at);
            let (token, _) = holder(&store, &id).await?.unwrap_or_default();
            place.kill(dead.process)?;
            let killed = Instant::now();
            self.say("✗", &format!("kill -9 of worker {} during step {}", dead.name, journal.commits + 1));
            // Meanwhile the machine gets a new worker, as a supervisor would start it.
            hands.push(fleet.worker(place, &name_of(round + 2))?);
            let (by, lease_ms) = loop {
                if let Some((now, by)) = holder(&store, &id).await?
                    && now != token
                {
                    break (by, ms(killed));
                }
                if killed.elapsed() > PATIENCE {
                    return Err(format!("no worker took the loop within {} s", PATIENCE.as_secs()).into());
                }
                tokio::time::sleep(LOOK).await;
            };
            let turns = journal.turns + 1;
            self.until(&mut journal, &mut news, |journal| journal.turns >= turns).await?;
            let turn_ms = ms(killed);
            self.say("✓", &format!("worker {by} took it after {lease_ms} ms; the turn runs again after {turn_ms} ms"));
            kills.push(json!({ "worker": dead.name, "taken_by": by, "lease_ms": lease_ms, "turn_ms": turn_ms }));
        }
        self.ended(&mut journal, &mut news).await?;
        let is_well = self.check(&fleet, &store, &id, kills).await?;
        if let (Some(dir), Some(at)) = (&self.args.histories, &fleet.temporal) {
            // Workflows end a moment after their loops, and are listed a moment later.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let saved = temporal::save_histories(at, dir).await?;
            self.say("·", &format!("{saved} histories are in {}", dir.display()));
        }
        Ok(is_well)
    }

    async fn temporal(&mut self, place: &mut Place) -> Option<temporal::Address> {
        let began = Instant::now();
        let started = match self.args.without_temporal {
            true => Err("--without-temporal".into()),
            false => services::Temporal::start(place, !self.args.offline).await,
        };
        match started {
            Ok(services::Temporal { address, version, .. }) => {
                self.report["temporal"] = json!({ "version": version, "start_ms": ms(began) });
                self.say("✓", &format!("Temporal {version}, started in {} ms", ms(began)));
                Some(address)
            }
            Err(error) => {
                self.report["temporal"] = Value::Null;
                self.report["without_temporal"] = json!(error.to_string());
                self.say("–", &format!("no Temporal ({error}): the workers place loops by the database"));
                None
            }
        }
    }

    /// Reads the journal until something is so.
    async fn until(
        &self,
        journal: &mut Journal<'_>,
        news: &mut PgListener,
        is_so: impl Fn(&Journal<'_>) -> bool,
    ) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let listed = journal.read(|text| self.say("·", text)).await?;
            if is_so(journal) {
                return Ok(());
            }
            let status = &listed.entry.status;
            if !listed.entry.open {
                return Err(format!("the loop is {status} too early: {:?}", listed.entry.stop_reason).into());
            }
            if Instant::now() > until {
                return Err(format!("nothing happened for {} s; the loop is {status}", PATIENCE.as_secs()).into());
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), news.recv()).await;
        }
    }

    async fn ended(&self, journal: &mut Journal<'_>, news: &mut PgListener) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let listed = journal.read(|text| self.say("·", text)).await?;
            if !listed.entry.open && listed.holder.is_none() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("the loop did not end within {} s", PATIENCE.as_secs()).into());
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), news.recv()).await;
        }
    }

    /// What a fleet promises, looked at in the journal, on the hub, and in the list of processes.
    async fn check(&mut self, fleet: &Fleet, store: &PgStore, id: &str, kills: Vec<Value>) -> Result<bool, Failure> {
        let events = store.read(id, 0, usize::MAX).await?;
        let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
        let (checkpoints, moves) = (count("checkpointed"), count("loop_moved"));
        let hub = fleet.hub.join("steps.git");
        let git = |args: &[&str]| -> Result<String, Failure> {
            let said = Command::new("git").arg("-C").arg(&hub).args(args).output()?;
            Ok(String::from_utf8(said.stdout)?)
        };
        // All but the commit that the loop started from.
        let commits = git(&["rev-list", "--count", "windlass/steps"])?.trim().parse::<usize>().map_or(0, |all| all - 1);
        let lines = git(&["show", "windlass/steps:done.txt"])?;
        let wanted: String = (1..=fleet.turns).map(|turn| format!("step {turn}\n")).collect();
        let chain = store.check_chain(id, u64::MAX).await?;
        let status = store.get(id).await?.map(|listed| listed.entry.status).unwrap_or_default();
        let turns = fleet.turns as usize;
        let left = processes_in(&fleet.dir, &kills);
        let checks = [
            (status == "completed", "the loop is completed".to_owned()),
            (commits == turns && checkpoints == turns, format!("{commits} commits on the hub for {turns} turns")),
            (lines == wanted, "each line of work is there once".to_owned()),
            (chain.broken_at.is_none(), format!("the hash chain of {} events is intact", chain.events)),
            (moves == kills.len(), format!("{moves} takeovers for {} kills", kills.len())),
            (left == 0, format!("{left} processes of killed workers left")),
        ];
        for (is_so, text) in &checks {
            self.say(if *is_so { "✓" } else { "✗" }, text);
        }
        let report = &mut self.report;
        report["loop"] = json!({ "status": status, "turns": turns, "commits": commits, "checkpoints": checkpoints,
                                 "events": chain.events, "broken_at": chain.broken_at });
        report["takeovers"] = json!(moves);
        report["needless_takeovers"] = json!(moves.saturating_sub(kills.len()));
        report["processes_left"] = json!(left);
        for key in ["lease_ms", "turn_ms"] {
            let mut times: Vec<u64> = kills.iter().filter_map(|kill| kill[key].as_u64()).collect();
            times.sort_unstable();
            if let (Some(p50), Some(p99)) = (times.get(times.len() / 2), times.last()) {
                self.report[format!("{key}_p50")] = json!(p50);
                self.report[format!("{key}_max")] = json!(p99);
                let what = if key == "lease_ms" { "takeover" } else { "kill to next turn" };
                if times.len() > 1 {
                    self.say("·", &format!("{what}: median {p50} ms, longest {p99} ms of {}", times.len()));
                }
            }
        }
        self.report["kills"] = json!(kills);
        self.report["total_ms"] = json!(ms(self.began));
        Ok(checks.iter().all(|(is_so, _)| *is_so))
    }
}

/// Processes that work in the directories of killed workers.
fn processes_in(dir: &Path, kills: &[Value]) -> usize {
    let dead: Vec<PathBuf> = kills.iter().filter_map(|kill| Some(dir.join(kill["worker"].as_str()?))).collect();
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let places = processes.flatten().filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.filter(|place| dead.iter().any(|dead| place.starts_with(dead))).count()
}

fn hands_live(place: &Place, hands: &[Hand]) -> Result<(), Failure> {
    for hand in hands {
        let log = place.log(&format!("{}.log", hand.name));
        if let Some(line) = log.lines().find(|line| line.starts_with("error: ")) {
            return Err(format!("worker {}: {line}", hand.name).into());
        }
    }
    Ok(())
}

/// The token and the worker of the lease.
async fn holder(store: &PgStore, id: &str) -> Result<Option<(String, String)>, Failure> {
    let held = store.holder(id).await?;
    Ok(held.and_then(|held| match held.holder.seat {
        Seat::Worker { name, .. } => Some((held.holder.token, name)),
        Seat::Process { .. } => None,
    }))
}

/// What was read of the loop's events.
struct Journal<'a> {
    store: &'a PgStore,
    id: &'a str,
    seen: u64,
    turns: u32,
    commits: u32,
}

impl Journal<'_> {
    async fn read(&mut self, say: impl Fn(&str)) -> Result<Listed, Failure> {
        for event in self.store.read(self.id, self.seen, usize::MAX).await? {
            self.seen = event.seq;
            match event.kind.as_str() {
                "turn_started" => self.turns += 1,
                "checkpointed" => {
                    self.commits += 1;
                    say(&format!("step {} is committed", self.commits));
                }
                _ => {}
            }
        }
        Ok(self.store.get(self.id).await?.ok_or("the loop is gone")?)
    }
}

struct Fleet {
    dir: PathBuf,
    database: String,
    hub: PathBuf,
    repo: PathBuf,
    temporal: Option<temporal::Address>,
    program: PathBuf,
    turns: u32,
}

impl Fleet {
    async fn new(
        dir: &Path,
        database: String,
        temporal: Option<temporal::Address>,
        kills: u32,
    ) -> Result<Self, Failure> {
        let repo = dir.join("steps");
        std::fs::create_dir(&repo)?;
        std::fs::write(repo.join("agent.sh"), AGENT)?;
        std::fs::write(repo.join("done.txt"), "")?;
        Workspaces::from_env()?.make_repository(&repo, "nothing done yet").await?;
        let hub = dir.join("hub");
        std::fs::create_dir(&hub)?;
        let program = std::env::current_exe()?;
        Ok(Self { dir: dir.to_owned(), database, hub, repo, temporal, program, turns: 2 * kills + 2 })
    }

    /// This program, with settings of its own only.
    fn program(&self, words: &[&str]) -> Command {
        let home = self.dir.join("home");
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.dir);
        command.env("HOME", &home).env("WINDLASS_HOME", home.join("data")).env_remove("XDG_CONFIG_HOME");
        command.env_remove("WINDLASS_CONFIG").env_remove("XDG_DATA_HOME");
        command.env("WINDLASS_FLEET_DATABASE", &self.database).env("WINDLASS_FLEET_HUB", &self.hub);
        command.env_remove("WINDLASS_FLEET_TEMPORAL");
        if let Some(at) = &self.temporal {
            command.env("WINDLASS_FLEET_TEMPORAL", &at.at).env("WINDLASS_FLEET_TEMPORAL_NAMESPACE", &at.namespace);
        }
        command
    }

    fn worker(&self, place: &mut Place, name: &str) -> Result<Hand, Failure> {
        let data = self.dir.join(name);
        let mut command = self.program(&["worker", "--name", name, "--data", &data.to_string_lossy()]);
        let process = place.start(&mut command, &format!("{name}.log"))?;
        Ok(Hand { name: name.to_owned(), process })
    }

    async fn submit(&self) -> Result<(), Failure> {
        let turns = self.turns;
        let (agent, gate) =
            (format!("sh agent.sh {turns}"), format!(r#"gates=["test $(wc -l < done.txt) = {turns}"]"#));
        let repo = self.repo.to_string_lossy();
        let limit = format!("max_iterations={}", turns * 3);
        let words = ["run", "add one line in each turn", "--name", "steps", "--repo", &repo, "--agent-command", &agent];
        let mut command = self.program(&words);
        command.args(["--set", "sandbox=off", "--set", &gate, "--set", &limit]);
        let said = tokio::task::spawn_blocking(move || command.output()).await??;
        if !said.status.success() {
            return Err(format!("the loop was not created: {}", String::from_utf8_lossy(&said.stderr).trim()).into());
        }
        Ok(())
    }
}

fn name_of(number: u32) -> String {
    const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    NAMES.get(number as usize).map_or_else(|| (number + 1).to_string(), |name| (*name).to_owned())
}

fn ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
