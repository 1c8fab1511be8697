//! `windlass-fleet workers` and `drain`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use windlass_engine::outside::WorkerView;
use windlass_fleet::PgStore;
use windlass_store::StoreError;

use super::queue::limit_line;
use crate::Where;

#[derive(Debug, Args)]
pub struct DrainArgs {
    /// The worker's name or ID; all living workers of that name drain
    worker: String,
    #[command(flatten)]
    at: Where,
}

pub async fn list(at: &Where) -> Result<ExitCode, StoreError> {
    let store = PgStore::connect(&at.database).await?;
    let workers = store.workers().await?;
    if at.json {
        println!("{}", json!(workers));
        return Ok(ExitCode::SUCCESS);
    }
    if workers.is_empty() {
        println!("no worker or desk was seen in the last minute");
    }
    for worker in &workers {
        println!("{}", line(worker));
    }
    for limit in &store.queue().await?.limits {
        println!("{}", limit_line(limit));
    }
    Ok(ExitCode::SUCCESS)
}

/// A worker or desk on one line.
pub fn line(worker: &WorkerView) -> String {
    let WorkerView { name, loops, seen_s_ago, .. } = worker;
    let what = match worker.slots {
        Some(slots) => format!("worker {name}: {loops} of {slots} loops"),
        None => format!("desk   {name}"),
    };
    let how = match (worker.is_alive, worker.is_draining) {
        (false, _) => ", gone",
        (true, true) => ", draining",
        (true, false) => "",
    };
    format!("{what}, seen {seen_s_ago:.1} s ago{how}")
}

/// Exits with 1 if there is no such worker.
pub async fn drain(args: &DrainArgs) -> Result<ExitCode, StoreError> {
    let asked = PgStore::connect(&args.at.database).await?.drain(&args.worker).await?;
    if args.at.json {
        println!("{}", json!({ "draining": asked }));
    } else {
        for name in &asked {
            println!("worker {name} takes no new loops, leaves each one after its next commit, and exits");
        }
    }
    if asked.is_empty() {
        eprintln!("error: no living worker is called '{}'", args.worker);
        eprintln!("hint: see `windlass-fleet workers`");
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
