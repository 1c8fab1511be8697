//! `windlass rollback`.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_engine::engine::{Engine, Held};
use windlass_engine::work;
use windlass_server::RollbackReport;

use super::{hold, no_such_point};
use crate::args::RollbackArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::short;

pub async fn rollback(context: &Context, args: &RollbackArgs) -> Result<Exit, Failure> {
    let (engine, mut held) = hold(context, &args.name).await?;
    let done = take_back(&engine, &mut held, args.to).await;
    let status = held.state.status.name();
    engine.release(held).await?;
    print(&shown(&done?, status, args));
    Ok(Exit::Completed)
}

/// Takes a held loop back to an iteration.
pub async fn take_back(engine: &Arc<Engine>, held: &mut Held, to: u32) -> Result<RollbackReport, Failure> {
    let to = work::point(&held.state, to).map_err(|error| no_such_point(&error, &held.state.name))?;
    let restored = engine.rollback(held, &to).await?;
    let files: Vec<String> = restored.changed.iter().map(|file| file.path.to_string()).collect();
    Ok(RollbackReport {
        name: held.state.name.clone(),
        to_iteration: to.iteration,
        commit: to.commit,
        saved: restored.saved.map(|saved| saved.name),
        files_changed: files.len(),
        files,
        notes: restored.notes,
    })
}

/// What came of it, in words or as JSON.
pub fn shown(report: &RollbackReport, status: &str, args: &RollbackArgs) -> String {
    let name = &args.name;
    if args.json {
        return format!("{}\n", serde_json::json!(report));
    }
    let place = match report.to_iteration {
        0 => "where it began".to_owned(),
        iteration => format!("iteration {iteration}"),
    };
    let commit = short(&report.commit);
    let mut text = format!("{name}: back to {place} ({commit})\n");
    for note in &report.notes {
        let _ = writeln!(text, "  note     {note}");
    }
    match &report.saved {
        Some(saved) => {
            let _ = writeln!(text, "  undone   {saved}\n  look     git diff {commit} {saved}");
        }
        None => text.push_str("  it was there already: nothing is undone\n"),
    }
    // Completed is final: only its files went back.
    if status != "completed" {
        let _ = writeln!(text, "  go on    windlass resume {name}");
    }
    text
}
