//! A storm: many loops on a few workers, of which one after the other is killed. Prints what it measured, and fails if a promise
//! was broken. `cargo bench`, or without an optimized build `cargo test --bench storm`.
//!
//! `STORM_LOOPS` (100), `STORM_KILLS` (6) and `STORM_TEMPORAL` (not set: placement by the database) change it. At most
//! `WORKERS` × `SLOTS` loops run at once, each with one small agent, and the storm is given up after `LONGEST`.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sqlx::postgres::PgPool;
use windlass_fleet::PgStore;
use windlass_fleet::trial::services::{Place, Temporal, postgres};
use windlass_store::{ListFilter, Listed, Seat, Store};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const WORKERS: usize = 4;
const SLOTS: usize = 6;
const TURNS: usize = 3;
const LONGEST: Duration = Duration::from_secs(540);
const BETWEEN_KILLS: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(100);
const AGENT: &str = r#"cat >/dev/null; n=$(($(wc -l < done.txt) + 1)); sleep 1; echo "step $n" >> done.txt
[ "$n" -lt 3 ] || echo "<promise>COMPLETE</promise>"; exit 0
"#;

fn main() -> Outcome<()> {
    tokio::runtime::Runtime::new()?.block_on(storm())
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|said| said.parse().ok()).unwrap_or(otherwise)
}

struct Storm {
    place: Place,
    url: String,
    temporal: Option<String>,
    /// The name and the process of each worker that lives.
    workers: Vec<(String, u32)>,
    begun: usize,
}

impl Storm {
    fn program(&self, args: &[&str]) -> Command {
        let dir = self.place.dir();
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command.args(args).env("HOME", dir.join("home")).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        command.env("WINDLASS_FLEET_DATABASE", &self.url).env("WINDLASS_FLEET_HUB", dir.join("hub"));
        command.env_remove("WINDLASS_FLEET_TEMPORAL");
        if let Some(at) = &self.temporal {
            command.env("WINDLASS_FLEET_TEMPORAL", at);
        }
        command
    }

    fn worker(&mut self) -> Outcome<()> {
        self.begun += 1;
        let name = format!("worker{}", self.begun);
        let data = self.place.dir().join(&name).display().to_string();
        let slots = SLOTS.to_string();
        let mut command = self.program(&["worker", "--name", &name, "--data", &data, "--slots", &slots]);
        let process = self.place.start(&mut command, &format!("{name}.log"))?;
        self.workers.push((name, process));
        Ok(())
    }

    fn submit(&self, name: &str, repo: &Path) -> Outcome<()> {
        let repo = repo.display().to_string();
        let args = ["run", "three steps", "--name", name, "--repo", &repo, "--agent-command", "sh agent.sh"];
        let gate = format!(r#"gates=["test $(wc -l < done.txt) = {TURNS}"]"#);
        let said = self.program(&args).args(["--set", "sandbox=off", "--set", &gate]).output()?;
        match said.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&said.stderr).into()),
        }
    }
}

/// The token of each loop, by the name of the worker that holds it.
fn held(rows: &[Listed]) -> HashMap<String, (String, String)> {
    let lease = |row: &Listed| {
        let holder = &row.holder.as_ref()?.holder;
        let Seat::Worker { name, .. } = &holder.seat else { return None };
        Some((row.entry.id.clone(), (name.clone(), holder.token.clone())))
    };
    rows.iter().filter_map(lease).collect()
}

fn repository(dir: &Path) -> Outcome<PathBuf> {
    let repo = dir.join("repo");
    std::fs::create_dir(&repo)?;
    std::fs::write(repo.join("agent.sh"), AGENT)?;
    std::fs::write(repo.join("done.txt"), "")?;
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base"],
    ] {
        git(&repo, args)?;
    }
    Ok(repo)
}

fn git(dir: &Path, args: &[&str]) -> Outcome<String> {
    let said = Command::new("git").args(["-c", "safe.directory=*", "-C"]).arg(dir).args(args).output()?;
    match said.status.success() {
        true => Ok(String::from_utf8(said.stdout)?),
        false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&said.stderr)).into()),
    }
}

/// Transactions and written rows so far. The database counts a little late.
async fn written(pool: &PgPool) -> Outcome<(i64, i64)> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let sql = "SELECT xact_commit, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = current_database()";
    Ok(sqlx::query_as(sql).fetch_one(pool).await?)
}

/// A loop of a killed worker, until another one has it.
struct Victim {
    token: String,
    since: Instant,
}

async fn storm() -> Outcome<()> {
    if !Path::new("/usr/lib/postgresql").exists() {
        println!("SKIPPED: PostgreSQL is not installed (apt install postgresql)");
        return Ok(());
    }
    let (loops, kills) = (number("STORM_LOOPS", 100), number("STORM_KILLS", 6));
    let mut place = Place::new()?;
    let (url, _) = postgres(&mut place).await?;
    let temporal = match std::env::var_os("STORM_TEMPORAL") {
        Some(_) => Some(Temporal::start(&mut place, true).await?.address.at),
        None => None,
    };
    PgStore::migrate(&url).await?;
    let (store, pool) = (PgStore::connect(&url).await?, PgPool::connect(&url).await?);
    let repo = repository(place.dir())?;
    let mut storm = Storm { place, url, temporal, workers: Vec::new(), begun: 0 };
    let began = Instant::now();
    for number in 0..loops {
        storm.submit(&format!("loop{number}"), &repo)?;
    }
    println!("{loops} loops created in {:.1} s", began.elapsed().as_secs_f64());
    let (began, before) = (Instant::now(), written(&pool).await?);
    for _ in 0..WORKERS {
        storm.worker()?;
    }
    let mut victims: HashMap<String, Victim> = HashMap::new();
    let (mut takeovers, mut lost, mut killed, mut next_kill) = (Vec::new(), 0, 0, Instant::now() + BETWEEN_KILLS);
    loop {
        let rows = store.list(ListFilter { limit: None, ..ListFilter::default() }).await?;
        let held = held(&rows);
        victims.retain(|id, victim| {
            let is_over = held.get(id).is_none_or(|(_, token)| *token != victim.token);
            if is_over {
                takeovers.push(victim.since.elapsed());
            }
            !is_over
        });
        if rows.iter().all(|row| !row.entry.open && row.holder.is_none()) {
            break;
        }
        if began.elapsed() > LONGEST {
            return Err(format!(
                "{} loops are open after {} s",
                rows.iter().filter(|row| row.entry.open).count(),
                LONGEST.as_secs()
            )
            .into());
        }
        if killed < kills && next_kill <= Instant::now() {
            let (name, process) = storm.workers.remove(killed % storm.workers.len());
            storm.place.kill(process)?;
            let since = Instant::now();
            for (id, (worker, token)) in held {
                if worker == name {
                    lost += 1;
                    victims.insert(id, Victim { token, since });
                }
            }
            (killed, next_kill) = (killed + 1, since + BETWEEN_KILLS);
            storm.worker()?;
        }
        tokio::time::sleep(LOOK).await;
    }
    let took = began.elapsed();
    let after = written(&pool).await?;
    takeovers.sort();
    let moves = check(&storm, &store, loops).await?;
    let iterations = (loops * TURNS) as f64;
    let at =
        |part: f64| takeovers.get(((takeovers.len() as f64 * part) as usize).min(takeovers.len().saturating_sub(1)));
    let seconds = |time: Option<&Duration>| time.map_or("-".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
    println!("{loops} loops × {TURNS} turns on {WORKERS} workers of {SLOTS} slots: {:.1} s", took.as_secs_f64());
    println!("workers killed: {killed}, with {lost} loops");
    println!("takeover: p50 {}, p99 {}, longest {}", seconds(at(0.5)), seconds(at(0.99)), seconds(takeovers.last()));
    println!("needless takeovers: {}", moves.saturating_sub(lost));
    println!("transactions per iteration: {:.1}", (after.0 - before.0) as f64 / iterations);
    println!("rows written per iteration: {:.1}", (after.1 - before.1) as f64 / iterations);
    match moves > lost {
        true => Err("a living worker lost a loop".into()),
        false => Ok(()),
    }
}

/// Every loop is completed, with one commit for each turn and an intact journal. Returns how often loops moved.
async fn check(storm: &Storm, store: &PgStore, loops: usize) -> Outcome<usize> {
    let (mut moves, mut doubled) = (0, 0);
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let hub = storm.place.dir().join("hub/repo.git");
    for row in store.list(ListFilter { limit: None, ..ListFilter::default() }).await? {
        *ends.entry(row.entry.status.clone()).or_default() += 1;
        let events = store.read(&row.entry.id, 0, usize::MAX).await?;
        let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
        moves += count("loop_moved");
        let branch = format!("windlass/{}", row.entry.name);
        let commits = git(&hub, &["rev-list", "--count", &branch])?.trim().parse::<usize>()? - 1;
        let lines = git(&hub, &["show", &format!("{branch}:done.txt")])?;
        if (commits, count("checkpointed"), lines.as_str()) != (TURNS, TURNS, "step 1\nstep 2\nstep 3\n") {
            doubled += 1;
            println!("{}: {commits} commits, {} checkpoints: {lines:?}", row.entry.name, count("checkpointed"));
        }
        if store.check_chain(&row.entry.id, u64::MAX).await?.broken_at.is_some() {
            return Err(format!("the journal of {} is broken", row.entry.name).into());
        }
    }
    println!("loops by their end: {ends:?}; with doubled or missing turns: {doubled}");
    match doubled == 0 && ends.get("completed") == Some(&loops) {
        true => Ok(moves),
        false => Err("work was doubled or lost".into()),
    }
}
