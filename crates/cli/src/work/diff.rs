//! `windlass diff`.

use std::io::{IsTerminal, Write};

use windlass_engine::work;
use windlass_server::PatchView;
use windlass_workspace::DiffTo;

use super::no_such_point;
use crate::args::DiffArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::{follow, loops, style};

pub async fn diff(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    let engine = context.reader().await?.ok_or_else(|| {
        Failure::usage("there are no loops yet", "start one with `windlass run`, or watch `windlass demo`")
    })?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), &args.name).await?;
    let state = follow::state(&engine, &loops::id(&listed)).await?;
    let span = work::span(&state, args.iteration).map_err(|error| no_such_point(&error, &args.name))?;
    let to = if args.worktree { DiffTo::Worktree } else { DiffTo::Commit(span.to.clone()) };
    let workspace = engine.workspace(&state)?;
    let patch = engine.workspaces.shown_diff(&workspace, &span.from, &to, !args.json && colours()).await?;
    let to = (!args.worktree).then_some(span.to);
    let from = span.from;
    if args.json {
        let patch = String::from_utf8_lossy(&patch).into_owned();
        let view = PatchView { name: args.name.clone(), iteration: args.iteration, from, to, patch };
        print(&format!("{}\n", serde_json::json!(view)));
        return Ok(Exit::Completed);
    }
    shown(&args.name, patch);
    Ok(Exit::Completed)
}

/// Prints a patch.
pub fn shown(name: &str, patch: Vec<u8>) {
    if patch.is_empty() {
        eprintln!("{name}: nothing changed");
    }
    // For a program a patch is what it is.
    let shown = if std::io::stdout().is_terminal() { style::safe_patch(&patch).into_bytes() } else { patch };
    // A reader that stops in the middle has seen enough.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&shown).and_then(|()| out.flush());
}

fn colours() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    wanted && std::io::stdout().is_terminal()
}
