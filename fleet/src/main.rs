//! `windlass-fleet`: prepares the database of a fleet.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use windlass_fleet::PgStore;

#[derive(Debug, Parser)]
#[command(name = "windlass-fleet", version, about = "Journals of Windlass loops in PostgreSQL")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create the tables, or bring older ones up to date
    Migrate {
        /// The database, such as postgres://user@host/windlass
        #[arg(long, env = "WINDLASS_FLEET_DATABASE", hide_env_values = true)]
        database: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { command: Command::Migrate { database, json } } = Cli::parse();
    match PgStore::migrate(&database).await {
        Ok((from, to)) => {
            if json {
                println!("{{\"from\":{from},\"to\":{to}}}");
            } else if from == to {
                println!("the database is up to date (format {to})");
            } else {
                println!("migrated the database from format {from} to {to}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("caused by: {cause}");
                source = cause.source();
            }
            eprintln!("hint: check the address and that the user may create tables; nothing was changed");
            ExitCode::from(2)
        }
    }
}
