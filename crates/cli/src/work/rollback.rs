//! `windlass rollback`.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_core::stop::StopReason;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::work::{self, Point};
use windlass_engine::workspace::Restored;

use super::{hold, no_such_point};
use crate::args::RollbackArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::short;

pub async fn rollback(context: &Context, args: &RollbackArgs) -> Result<Exit, Failure> {
    let (engine, mut held) = hold(context, &args.name).await?;
    let done = go_back(&engine, &mut held, args).await;
    engine.release(held).await?;
    print(&done?);
    Ok(Exit::Completed)
}

/// Takes a held loop back to an iteration.
pub async fn take_back(engine: &Arc<Engine>, held: &mut Held, to: u32) -> Result<(Point, Restored), Failure> {
    let to = work::point(&held.state, to).map_err(|error| no_such_point(&error, &held.state.name))?;
    let restored = engine.rollback(held, &to).await?;
    Ok((to, restored))
}

async fn go_back(engine: &Arc<Engine>, held: &mut Held, args: &RollbackArgs) -> Result<String, Failure> {
    let name = &args.name;
    let (to, restored) = take_back(engine, held, args.to).await?;
    let saved = restored.saved.as_ref().map(|saved| saved.name.clone());
    if args.json {
        let files: Vec<String> = restored.changed.iter().map(|file| file.path.to_string()).collect();
        return Ok(format!(
            "{}\n",
            serde_json::json!({
                "name": name, "to_iteration": to.iteration, "commit": to.commit, "saved": saved,
                "files_changed": files.len(), "files": files, "notes": restored.notes,
            })
        ));
    }
    let place = if to.iteration == 0 { "where it began".to_owned() } else { format!("iteration {}", to.iteration) };
    let mut text = format!("{name}: back to {place} ({})\n", short(&to.commit));
    for note in &restored.notes {
        let _ = writeln!(text, "  note     {note}");
    }
    match &saved {
        Some(saved) => {
            let _ = writeln!(text, "  undone   {saved}\n  look     git diff {} {saved}", short(&to.commit));
        }
        None => text.push_str("  it was there already: nothing is undone\n"),
    }
    // Completed is final: only its files went back.
    if held.state.is_open() || held.state.stop_reason != Some(StopReason::Completed) {
        let _ = writeln!(text, "  go on    windlass resume {name}");
    }
    Ok(text)
}
