//! `windlass-fleet`: the database of a fleet, its workers, and new loops for them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

mod commands;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use windlass_app::StartLoop;
use windlass_fleet::submit::{self, Fleet};
use windlass_fleet::worker::{self, Failure};
use windlass_fleet::{Archive, FORMAT, Habits, PgStore, Placing, doctor, trial};
use windlass_store::{ListFilter, Listed, Rows, Store, StoreError};

#[derive(Debug, Parser)]
#[command(name = "windlass-fleet", version, about = "Windlass loops on many machines")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The database of a fleet
    #[command(subcommand)]
    Store(StoreCommand),
    /// Drive loops of the fleet on this machine until SIGTERM, which leaves each loop at its next commit
    Worker(WorkerArgs),
    /// Create a loop that the next free worker takes
    Run(RunArgs),
    /// List the loops of the fleet and its workers
    List(Where),
    /// Serve the dashboard and the API of the fleet's loops, for browsers and for `windlass --server`
    Serve(commands::desk::DeskArgs),
    /// List the workers and desks that were seen in the last minute
    Workers(Where),
    /// List the loops that no worker has, what each one waits for, and the limits
    Queue(Where),
    /// Set how many loops of a project or an account run at once
    Limit(commands::queue::LimitArgs),
    /// Let a worker finish its turns and exit
    Drain(commands::workers::DrainArgs),
    Try(trial::TryArgs),
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
struct WorkerArgs {
    #[command(flatten)]
    at: Address,
    /// How many loops run at once
    #[arg(long, default_value_t = 2)]
    slots: u32,
    /// The worker's own directory: mirrors, workspaces, transcripts
    #[arg(long)]
    data: PathBuf,
    /// The worker's name in lists. Default: the host name
    #[arg(long)]
    name: Option<String>,
    /// Give a loop back that waits for more seconds, so that another one runs meanwhile
    #[arg(long, value_name = "SECONDS", default_value_t = worker::PARK_AFTER.as_secs())]
    park_after: u64,
    /// Save the files of a running turn on the hub every so many seconds, for a worker that takes over. 0 does not
    #[arg(long, value_name = "SECONDS", default_value_t = worker::SNAPSHOT_EVERY.as_secs())]
    snapshot_every: u64,
    /// Move the output of ended loops from the database to file:///DIR, which all machines see, or to
    /// s3://BUCKET/PREFIX?region=REGION&endpoint=URL with its login in WINDLASS_FLEET_ARCHIVE_KEY_ID and _SECRET
    #[arg(long, value_name = "URL", env = "WINDLASS_FLEET_ARCHIVE")]
    archive: Option<String>,
    /// Serve numbers for Prometheus at http://ADDR:PORT/metrics, without a login
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    temporal: Temporal,
}

/// Check this machine's connections, versions, settings, and clock, and show how to fix problems
#[derive(Debug, Args)]
struct DoctorArgs {
    /// The database, such as postgres://user@host/windlass
    #[arg(long, env = "WINDLASS_FLEET_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// The hub, as workers are given it
    #[arg(long, env = "WINDLASS_FLEET_HUB")]
    hub: Option<String>,
    #[command(flatten)]
    temporal: Temporal,
    /// The directory of this machine's worker
    #[arg(long)]
    data: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    fn fleet(&self) -> doctor::Fleet {
        doctor::Fleet {
            database: self.database.clone(),
            hub: self.hub.clone(),
            temporal: self.temporal.clone().address(),
            data: self.data.clone(),
        }
    }
}

/// Placement with Temporal.
#[derive(Debug, Clone, Args)]
struct Temporal {
    /// Let Temporal at HOST:PORT or https://HOST:PORT place loops. Default: the workers place them by the database
    #[arg(long, value_name = "HOST:PORT", env = "WINDLASS_FLEET_TEMPORAL")]
    temporal: Option<String>,
    /// Temporal's namespace
    #[arg(long, value_name = "NAME", env = "WINDLASS_FLEET_TEMPORAL_NAMESPACE", default_value = "default")]
    temporal_namespace: String,
}

impl Temporal {
    fn address(self) -> Option<windlass_fleet::temporal::Address> {
        let namespace = self.temporal_namespace;
        self.temporal.map(|at| windlass_fleet::temporal::Address { at, namespace })
    }
}

#[derive(Debug, Args)]
struct RunArgs {
    /// What the agent shall do
    goal: String,
    #[command(flatten)]
    at: Address,
    /// The repository, whose commit goes to the hub
    #[arg(long, default_value = ".")]
    repo: PathBuf,
    /// The project's name in the fleet. Default: the name of its directory
    #[arg(long)]
    project: Option<String>,
    /// The loop's name. Default: made from the goal
    #[arg(long)]
    name: Option<String>,
    /// A command that runs as the agent, on the worker
    #[arg(long)]
    agent_command: Option<String>,
    /// How soon a worker takes the loop: 1 first, 5 last
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    priority: u8,
    /// The login of the agent that the loop uses, for limits by account
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    account: Option<String>,
    /// A setting of the configuration, such as gates='["npm test"]'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Print the loop as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Address {
    /// The database, such as postgres://user@host/windlass
    #[arg(long, env = "WINDLASS_FLEET_DATABASE", hide_env_values = true)]
    database: String,
    /// The hub: a directory that all workers see, or a git address in front of /PROJECT.git
    #[arg(long, env = "WINDLASS_FLEET_HUB")]
    hub: String,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Create the tables, or bring older ones up to date
    Migrate(Where),
    /// Connect, compare the format, and check the hash chain of every journal
    Check(Where),
}

#[derive(Debug, Args)]
struct Where {
    /// The database, such as postgres://user@host/windlass
    #[arg(long, env = "WINDLASS_FLEET_DATABASE", hide_env_values = true)]
    database: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    // Before anything else is set up: a shim is one small process for each running agent.
    if std::env::args_os().nth(1).is_some_and(|word| word == "shim") {
        windlass_supervise::shim::main();
    }
    start()
}

#[tokio::main]
async fn start() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Store(StoreCommand::Migrate(at)) => migrate(&at).await.map_err(hinted),
        Command::Store(StoreCommand::Check(at)) => check(&at).await.map_err(hinted),
        Command::Worker(args) => work(args).await,
        Command::Run(args) => run(args).await,
        Command::List(at) => list(&at).await.map_err(hinted),
        Command::Serve(args) => commands::desk::serve(args).await,
        Command::Workers(at) => commands::workers::list(&at).await.map_err(hinted),
        Command::Queue(at) => commands::queue::list(&at).await.map_err(hinted),
        Command::Limit(args) => commands::queue::limit(&args).await.map_err(hinted),
        Command::Drain(args) => commands::workers::drain(&args).await.map_err(hinted),
        Command::Try(args) => trial::run(&args).await,
        Command::Doctor(args) => doctor::run(args.fleet(), args.json).await,
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            eprintln!("caused by: {cause}");
            source = cause.source();
        }
        ExitCode::from(2)
    })
}

/// A database that cannot be used, with what to check.
#[derive(Debug)]
struct Hinted(StoreError);

impl std::fmt::Display for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = Error::source(&self.0);
        while let Some(cause) = source {
            write!(f, "\ncaused by: {cause}")?;
            source = cause.source();
        }
        write!(f, "\nhint: check the address, the login, and the rights of the user; nothing was changed")
    }
}

impl Error for Hinted {}

fn hinted(error: StoreError) -> Failure {
    Hinted(error).into()
}

fn log_to_stderr() {
    let filter = std::env::var("WINDLASS_LOG")
        .unwrap_or_else(|_| "info,temporalio_sdk_core=error,temporalio_client=error".to_owned());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

async fn work(args: WorkerArgs) -> Result<ExitCode, Failure> {
    log_to_stderr();
    worker::work(worker::Options {
        database: args.at.database,
        hub: submit::hub(&args.at.hub)?,
        slots: args.slots,
        data: args.data,
        name: args.name.unwrap_or_else(host_name),
        temporal: args.temporal.address(),
        habits: Habits {
            park_after: Duration::from_secs(args.park_after),
            snapshot_every: Some(Duration::from_secs(args.snapshot_every)).filter(|every| !every.is_zero()),
        },
        archive: args.archive.as_deref().map(Archive::parse).transpose()?,
        metrics: args.metrics,
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    let mut settings = BTreeMap::new();
    for said in &args.settings {
        let (key, value) = said.split_once('=').ok_or_else(|| format!("--set {said}: expected KEY=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        settings.insert(key.to_owned(), value);
    }
    let start = StartLoop {
        project: args.repo.canonicalize()?.to_string_lossy().into_owned(),
        goal: args.goal,
        name: args.name,
        settings,
        agent_command: args.agent_command,
        ..StartLoop::default()
    };
    let placing = Placing { priority: args.priority, account: args.account };
    let fleet = Fleet { database: args.at.database, hub: args.at.hub, project: args.project, placing };
    let view = submit::run(&fleet, start).await?;
    if args.json {
        println!("{}", serde_json::to_string(&view)?);
    } else {
        println!("{} waits for a worker", view.name);
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(at: &Where) -> Result<ExitCode, StoreError> {
    let store = PgStore::connect(&at.database).await?;
    let loops = store.list(ListFilter::default()).await?;
    let workers = store.workers().await?;
    let holder = |listed: &Listed| listed.holder.as_ref().map(|held| held.holder.seat.to_string());
    if at.json {
        let loops: Vec<_> = loops
            .iter()
            .map(|listed| {
                let entry = &listed.entry;
                json!({ "id": entry.id, "name": entry.name, "project": entry.project, "status": entry.status,
                        "iterations": entry.iterations, "stop_reason": entry.stop_reason,
                        "holder": holder(listed), "driven": listed.is_driven(), "events": listed.head })
            })
            .collect();
        let workers: Vec<_> = workers
            .iter()
            .map(|one| json!({ "name": one.name, "seen_s_ago": one.seen_s_ago, "loops": one.loops }))
            .collect();
        println!("{}", json!({ "loops": loops, "workers": workers }));
        return Ok(ExitCode::SUCCESS);
    }
    for listed in &loops {
        let entry = &listed.entry;
        let (status, place) = (&entry.status, holder(listed).unwrap_or_default());
        println!("{:<24} {:<20} {status:<10} {:>3} iterations  {place}", entry.name, entry.project, entry.iterations);
    }
    for worker in &workers {
        println!("{}", commands::workers::line(worker));
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate(at: &Where) -> Result<ExitCode, StoreError> {
    let (from, to) = PgStore::migrate(&at.database).await?;
    if at.json {
        println!("{}", json!({ "from": from, "to": to }));
    } else if from == to {
        println!("the database is up to date (format {to})");
    } else {
        println!("migrated the database from format {from} to {to}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Exits with 1 if a journal was changed.
async fn check(at: &Where) -> Result<ExitCode, StoreError> {
    let store = PgStore::connect(&at.database).await?;
    let (mut loops, mut events, mut changed) = (0_u64, 0, Vec::new());
    for listed in store.list(ListFilter { rows: Rows::All, ..ListFilter::default() }).await? {
        let chain = match store.check_chain(&listed.entry.id, u64::MAX).await {
            Ok(chain) => chain,
            Err(StoreError::UnknownLoop { .. }) => continue,
            Err(error) => return Err(error),
        };
        loops += 1;
        events += chain.events;
        if let Some(event) = chain.broken_at {
            changed.push((listed.entry, event));
        }
    }
    if at.json {
        let changed: Vec<_> = changed
            .iter()
            .map(|(entry, event)| json!({ "id": entry.id, "name": entry.name, "event": event }))
            .collect();
        println!("{}", json!({ "format": FORMAT, "loops": loops, "events": events, "changed": changed }));
    } else {
        for (entry, event) in &changed {
            println!("{} ({}): event {event} does not fit the hash chain", entry.name, entry.id);
        }
        println!("format {FORMAT}; {loops} journals with {events} events checked, {} changed", changed.len());
    }
    Ok(if changed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
