//! `windlass-fleet`: prepares and checks the database of a fleet.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use windlass_fleet::{FORMAT, PgStore};
use windlass_store::{ListFilter, Rows, Store, StoreError};

#[derive(Debug, Parser)]
#[command(name = "windlass-fleet", version, about = "Journals of Windlass loops in PostgreSQL")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The database of a fleet
    #[command(subcommand)]
    Store(StoreCommand),
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

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { command: Command::Store(command) } = Cli::parse();
    let done = match &command {
        StoreCommand::Migrate(at) => migrate(at).await,
        StoreCommand::Check(at) => check(at).await,
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            eprintln!("caused by: {cause}");
            source = cause.source();
        }
        eprintln!("hint: check the address, the login, and the rights of the user; nothing was changed");
        ExitCode::from(2)
    })
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
