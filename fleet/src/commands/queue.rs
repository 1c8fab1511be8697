//! `windlass-fleet queue` and `limit`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use windlass_engine::outside::{LimitView, QueuedView, WaitsFor};
use windlass_fleet::PgStore;
use windlass_store::StoreError;

use crate::Where;

#[derive(Debug, Args)]
pub struct LimitArgs {
    /// `project:NAME`, as in lists without `git:`, or `account:NAME`, as given to `run --account`
    #[arg(value_parser = name)]
    name: String,
    /// How many of its loops run at once, or `none`. Loops that run already go on
    #[arg(value_name = "N|none", value_parser = most)]
    most: Most,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Clone, Copy)]
struct Most(Option<u32>);

fn name(said: &str) -> Result<String, String> {
    match said.split_once(':') {
        Some(("project" | "account", name)) if !name.is_empty() => Ok(said.to_owned()),
        Some(_) | None => Err("expected project:NAME or account:NAME".to_owned()),
    }
}

fn most(said: &str) -> Result<Most, String> {
    let most = if said == "none" { None } else { Some(said.parse::<u32>().map_err(|error| error.to_string())?) };
    match most {
        Some(most) if i32::try_from(most).is_err() => Err("the number is too large".to_owned()),
        Some(_) | None => Ok(Most(most)),
    }
}

pub async fn list(at: &Where) -> Result<ExitCode, StoreError> {
    let queue = PgStore::connect(&at.database).await?.queue().await?;
    if at.json {
        println!("{}", json!(queue));
        return Ok(ExitCode::SUCCESS);
    }
    if queue.loops.is_empty() {
        println!("no loop waits for a worker");
    }
    for waiting in &queue.loops {
        println!("{}", line(waiting));
    }
    for limit in &queue.limits {
        println!("{}", limit_line(limit));
    }
    Ok(ExitCode::SUCCESS)
}

fn line(waiting: &QueuedView) -> String {
    let QueuedView { name, project, priority, waits_for, .. } = waiting;
    let what = match waits_for {
        WaitsFor::Slot => "for a free slot".to_owned(),
        WaitsFor::Limit { pool, max_running } => format!("for the limit {pool} of {max_running}"),
        WaitsFor::Account { account, until } => format!("until {until:.0}: account {account} is rate-limited"),
        WaitsFor::Time { until } => format!("until {until:.0}"),
        WaitsFor::Machine { worker } => format!("for worker {worker}, which has its files"),
    };
    format!("{name:<24} {project:<20} priority {priority}  waits {what}")
}

/// A limit on one line.
pub fn limit_line(limit: &LimitView) -> String {
    let LimitView { name, running, waiting, .. } = limit;
    let mut line = match limit.max_running {
        Some(most) => format!("limit  {name}: {running} of {most} loops run"),
        None => format!("limit  {name}: {running} loops run"),
    };
    if *waiting > 0 {
        line.push_str(&format!(", it holds {waiting} back"));
    }
    if let Some(until) = limit.limited_until {
        line.push_str(&format!(", rate-limited until {until:.0}"));
    }
    line
}

pub async fn limit(args: &LimitArgs) -> Result<ExitCode, StoreError> {
    let store = PgStore::connect(&args.at.database).await?;
    store.limit(&args.name, args.most.0).await?;
    if args.at.json {
        println!("{}", json!({ "name": args.name, "max_running": args.most.0 }));
    } else {
        match args.most.0 {
            Some(most) => println!("at most {most} loops of {} run at once; those that run already go on", args.name),
            None => println!("{} has no limit", args.name),
        }
    }
    Ok(ExitCode::SUCCESS)
}
