//! `windlass-fleet doctor`: every connection, version, setting and clock of a fleet, each problem with its fix.
#![allow(clippy::print_stdout, reason = "a command line")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use sqlx::{Connection, PgConnection};
use windlass_engine::outside::{FleetQueue, LimitView, WaitsFor};

use crate::store::{FORMAT, PgStore};
use crate::temporal;
use crate::worker::Failure;

/// Whoever waits longer for a connection looks at the wrong address.
const PATIENCE: Duration = Duration::from_secs(10);
/// Loops' times come from the workers; lists and limits look odd with a clock that is off by more.
const CLOCK: f64 = 2.0;
/// Before the lease is decided on, an answer should take a small part of the 3.5 s.
const SLOW: Duration = Duration::from_millis(250);
/// A worker needs room for a clone of the repository and the agent's output.
const FREE: u64 = 2 << 30;
const OLDEST_POSTGRES: i32 = 140_000;
/// Each worker and each desk keeps up to 16 connections and 3 listeners.
const CONNECTIONS: i64 = 20;

/// What shall be checked; what is not given is said.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    pub database: Option<String>,
    pub hub: Option<String>,
    pub temporal: Option<temporal::Address>,
    pub data: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Warning,
    Bad,
}

#[derive(Clone, Debug)]
struct Finding {
    about: &'static str,
    verdict: Verdict,
    said: String,
    fix: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, about: &'static str, said: impl Into<String>) {
        self.0.push(Finding { about, verdict: Verdict::Good, said: said.into(), fix: None });
    }

    fn warn(&mut self, about: &'static str, said: impl Into<String>, fix: &'static str) {
        self.0.push(Finding { about, verdict: Verdict::Warning, said: said.into(), fix: Some(fix) });
    }

    fn bad(&mut self, about: &'static str, said: impl Into<String>, fix: &'static str) {
        self.0.push(Finding { about, verdict: Verdict::Bad, said: said.into(), fix: Some(fix) });
    }
}

/// Exit code 1 if something is wrong.
pub async fn run(fleet: Fleet, as_json: bool) -> Result<ExitCode, Failure> {
    let mut found = Findings::default();
    programs(&mut found);
    match &fleet.database {
        Some(url) => database(&mut found, url).await,
        None => found.bad("database", "no database given", "set WINDLASS_FLEET_DATABASE or use --database"),
    }
    match &fleet.hub {
        Some(hub) => hub_answers(&mut found, hub).await,
        None => found.bad("hub", "no hub given", "set WINDLASS_FLEET_HUB or use --hub"),
    }
    match &fleet.temporal {
        Some(at) => temporal_answers(&mut found, at).await,
        None => found.good("temporal", "not used: the workers place loops by the database"),
    }
    if let Some(data) = &fleet.data {
        room(&mut found, data);
    }
    let is_well = found.0.iter().all(|finding| finding.verdict != Verdict::Bad);
    if as_json {
        let all: Vec<_> = found
            .0
            .iter()
            .map(|finding| {
                let verdict = match finding.verdict {
                    Verdict::Good => "good",
                    Verdict::Warning => "warning",
                    Verdict::Bad => "bad",
                };
                json!({ "about": finding.about, "verdict": verdict, "said": finding.said, "fix": finding.fix })
            })
            .collect();
        println!("{}", json!({ "ok": is_well, "checks": all }));
    } else {
        for finding in &found.0 {
            let sign = match finding.verdict {
                Verdict::Good => "✓",
                Verdict::Warning => "!",
                Verdict::Bad => "✗",
            };
            println!("{sign} {:<9} {}", finding.about, finding.said);
            if let Some(fix) = finding.fix {
                println!("            fix: {fix}");
            }
        }
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn programs(found: &mut Findings) {
    found.good("program", format!("windlass-fleet {}, database format {FORMAT}", env!("CARGO_PKG_VERSION")));
    match Command::new("git").arg("--version").stdin(Stdio::null()).output() {
        Ok(said) if said.status.success() => {
            found.good("git", String::from_utf8_lossy(&said.stdout).trim().to_owned());
        }
        Ok(_) | Err(_) => found.bad("git", "git is not on PATH", "install git"),
    }
    let path = std::env::var("PATH").unwrap_or_default();
    match windlass_supervise::probe_sandbox(&path) {
        Ok(_) => found.good("sandbox", "available"),
        Err(missing) => found.warn(
            "sandbox",
            format!("not available: {}", missing.reason),
            "install bubblewrap; loops that need a sandbox fail on this machine",
        ),
    }
}

async fn database(found: &mut Findings, url: &str) {
    const ABOUT: &str = "database";
    let connected = tokio::time::timeout(PATIENCE, PgConnection::connect(url)).await;
    let mut db = match connected {
        Ok(Ok(db)) => db,
        Ok(Err(error)) => {
            return found.bad(
                ABOUT,
                format!("cannot connect: {error}"),
                "check the address, the login, and the firewall",
            );
        }
        Err(_) => {
            let said = format!("no answer within {} s", PATIENCE.as_secs());
            return found.bad(ABOUT, said, "check the address and the firewall");
        }
    };
    if let Err(error) = settings(found, &mut db, url).await {
        found.bad(ABOUT, format!("a query failed: {error}"), "check the rights of the user");
    }
    let _ = db.close().await;
    match PgStore::connect(url).await {
        Ok(store) => {
            match store.workers().await.map(|all| all.into_iter().filter(|one| !one.is_desk).collect::<Vec<_>>()) {
                Ok(workers) if workers.is_empty() => {
                    found.warn(
                        "workers",
                        "no worker was seen in the last minute",
                        "start `windlass-fleet worker` on a machine",
                    );
                }
                Ok(workers) => {
                    let silent = workers.iter().filter(|one| !one.is_alive).count();
                    found.good(
                        "workers",
                        format!("{} seen in the last minute, {silent} of them silent now", workers.len()),
                    );
                }
                Err(error) => found.bad("workers", error.to_string(), "check the rights of the user"),
            }
            match store.queue().await {
                Ok(queue) => waits(found, &queue),
                Err(error) => found.bad("queue", error.to_string(), "check the rights of the user"),
            }
        }
        Err(error) => found.bad("tables", crate::worker::with_causes(&error), "run `windlass-fleet store migrate`"),
    }
}

/// What waits, and the limits that hold it back.
fn waits(found: &mut Findings, queue: &FleetQueue) {
    let parked = queue.loops.iter().filter(|one| matches!(one.waits_for, WaitsFor::Time { .. })).count();
    let held_back: u32 = queue.limits.iter().map(|limit| limit.waiting).sum();
    let all = queue.loops.len();
    found.good("queue", format!("{all} loops wait: {parked} for a time, {held_back} for a limit"));
    for limit in &queue.limits {
        let LimitView { name, running, waiting, .. } = limit;
        match (limit.max_running, limit.limited_until) {
            (Some(0), _) => found.warn(
                "limits",
                format!("{name}: no loop may run, {waiting} wait"),
                "raise it with `windlass-fleet limit`, if that is not what you want",
            ),
            (_, Some(until)) => found.warn(
                "limits",
                format!("{name} is rate-limited until {until:.0}; {waiting} loops wait"),
                "wait, or use another account with `windlass-fleet run --account`",
            ),
            (Some(most), None) => {
                found.good("limits", format!("{name}: {running} of {most} loops run, {waiting} wait"));
            }
            (None, None) => {}
        }
    }
}

async fn settings(found: &mut Findings, db: &mut PgConnection, url: &str) -> sqlx::Result<()> {
    const ABOUT: &str = "database";
    let asked = SystemTime::now();
    let now: f64 =
        sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp())::float8").fetch_one(&mut *db).await?;
    let took = asked.elapsed().unwrap_or_default();
    let here = asked.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() + took.as_secs_f64() / 2.0;
    let (version, number): (String, i32) =
        sqlx::query_as("SELECT current_setting('server_version'), current_setting('server_version_num')::int")
            .fetch_one(&mut *db)
            .await?;
    match number {
        OLDEST_POSTGRES.. => found.good(ABOUT, format!("PostgreSQL {version}, answers in {} ms", took.as_millis())),
        _ => found.bad(ABOUT, format!("PostgreSQL {version} is too old"), "use PostgreSQL 14 or newer"),
    }
    if took > SLOW {
        let said = format!("one query took {} ms", took.as_millis());
        found.warn(ABOUT, said, "put workers near the database: a worker that is heard of late looks dead");
    }
    let off = here - now;
    match off.abs() {
        ..CLOCK => found.good("clock", format!("within {:.2} s of the database's", off.abs())),
        _ => found.warn(
            "clock",
            format!(
                "{off:+.1} s from the database's; leases use the database's clock, but the times of loops are wrong"
            ),
            "synchronize the clock, for example with chrony or systemd-timesyncd",
        ),
    }
    let ssl: Option<bool> =
        sqlx::query_scalar("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetch_optional(&mut *db).await?;
    let is_here = ["@localhost", "@127.0.0.1", "@[::1]", "host=/", "host=%2F"].iter().any(|local| url.contains(local));
    match (ssl, is_here) {
        (Some(true), _) => found.good("tls", "the connection to the database is encrypted"),
        (_, true) => found.good("tls", "the database is on this machine"),
        (_, false) => found.bad(
            "tls",
            "the connection to the database is not encrypted",
            "add `?sslmode=verify-full` to the address: whoever can read it can run commands on workers",
        ),
    }
    let (role, superuser): (String, bool) =
        sqlx::query_as("SELECT current_user::text, rolsuper FROM pg_roles WHERE rolname = current_user")
            .fetch_one(&mut *db)
            .await?;
    match superuser && !is_here {
        true => {
            found.warn("role", format!("{role} is a superuser"), "give workers a role that owns only this database")
        }
        false => found.good("role", role),
    }
    let (most, fsync, commits): (i32, String, String) = sqlx::query_as(
        "SELECT current_setting('max_connections')::int, current_setting('fsync'), current_setting('synchronous_commit')",
    )
    .fetch_one(&mut *db)
    .await?;
    let tables: bool = sqlx::query_scalar("SELECT to_regclass('workers') IS NOT NULL").fetch_one(&mut *db).await?;
    let workers: i64 = match tables {
        true => {
            sqlx::query_scalar("SELECT count(*) FROM workers WHERE seen_at > now() - interval '1 minute'")
                .fetch_one(&mut *db)
                .await?
        }
        false => 0,
    };
    match i64::from(most) < (workers + 1) * CONNECTIONS {
        true => found.warn(
            "settings",
            format!("max_connections = {most} is tight for {workers} workers and this one"),
            "raise max_connections to 20 for each worker and desk",
        ),
        false => found.good("settings", format!("max_connections = {most}")),
    }
    if fsync != "on" || commits == "off" {
        found.bad(
            "settings",
            format!("fsync = {fsync}, synchronous_commit = {commits}: a power cut loses steps of journals"),
            "set fsync = on and synchronous_commit = on",
        );
    }
    Ok(())
}

async fn hub_answers(found: &mut Findings, hub: &str) {
    const ABOUT: &str = "hub";
    let is_directory = Path::new(hub).is_absolute() || !hub.contains(':');
    if is_directory {
        let here = Path::new(hub);
        if !here.is_dir() {
            return found.bad(ABOUT, format!("{hub} is no directory"), "create or mount it on every machine");
        }
        return match tempfile::tempfile_in(here) {
            Ok(_) => found.good(ABOUT, format!("{hub} can be written")),
            Err(error) => {
                found.bad(ABOUT, format!("{hub} cannot be written: {error}"), "give the worker's user the right")
            }
        };
    }
    // A repository that is not there is an answer too; what counts is that somebody answers.
    let mut asked = Command::new("git");
    asked.args(["ls-remote", "--heads", &format!("{}/doctor.git", hub.trim_end_matches('/'))]);
    asked.env("GIT_TERMINAL_PROMPT", "0").env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=8");
    asked.stdin(Stdio::null());
    let said = match tokio::task::spawn_blocking(move || asked.output()).await {
        Ok(Ok(said)) => String::from_utf8_lossy(&said.stderr).to_lowercase(),
        Ok(Err(_)) | Err(_) => return found.bad(ABOUT, "git is not on PATH", "install git"),
    };
    let unreachable =
        ["could not resolve", "connection refused", "timed out", "permission denied", "host key", "authentication"];
    match unreachable.iter().any(|words| said.contains(words)) {
        true => {
            let line = said.lines().next().unwrap_or_default().to_owned();
            found.bad(ABOUT, format!("{hub}: {line}"), "check the address, and that this user's SSH key may log in");
        }
        false => found.good(ABOUT, format!("{hub} answers")),
    }
}

async fn temporal_answers(found: &mut Findings, at: &temporal::Address) {
    const ABOUT: &str = "temporal";
    match tokio::time::timeout(PATIENCE, at.ready()).await {
        Ok(Ok(open)) => found.good(ABOUT, format!("{} answers; {open} workflows open in `{}`", at.at, at.namespace)),
        Ok(Err(error)) => found.bad(
            ABOUT,
            format!("{}: {}", at.at, crate::worker::with_causes(&*error)),
            "check the address and the namespace; running turns go on, but nothing new is placed",
        ),
        Err(_) => found.bad(ABOUT, format!("{} does not answer", at.at), "check the address and the firewall"),
    }
    let is_local = ["127.0.0.1", "localhost", "[::1]"].iter().any(|local| at.at.starts_with(local));
    if !is_local && !at.at.starts_with("https://") {
        found.warn("tls", "the connection to Temporal is not encrypted", "use --temporal https://HOST:PORT");
    }
}

fn room(found: &mut Findings, data: &Path) {
    const ABOUT: &str = "disk";
    let made = windlass_engine::data::private_dir(data);
    if let Err(error) = made.and_then(|()| tempfile::tempfile_in(data).map(drop)) {
        return found.bad(
            ABOUT,
            format!("{} cannot be written: {error}", data.display()),
            "give the worker's user the right",
        );
    }
    match rustix::fs::statvfs(data) {
        Ok(state) => {
            let free = state.f_bavail * state.f_frsize;
            let said = format!("{}: {} MiB free", data.display(), free >> 20);
            match free < FREE {
                true => found.warn(ABOUT, said, "a worker needs room for a clone of each repository and its output"),
                false => found.good(ABOUT, said),
            }
        }
        Err(error) => found.warn(ABOUT, format!("{}: {error}", data.display()), "check the file system"),
    }
}
