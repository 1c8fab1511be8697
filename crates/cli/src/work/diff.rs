//! `windlass diff`.

use std::io::{IsTerminal, Write};

use windlass_engine::work;
use windlass_engine::workspace::DiffTo;

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
    if args.json {
        let to = if args.worktree { serde_json::Value::Null } else { span.to.into() };
        let patch = String::from_utf8_lossy(&patch);
        print(&format!(
            "{}\n",
            serde_json::json!({ "name": args.name, "iteration": args.iteration, "from": span.from, "to": to, "patch": patch })
        ));
        return Ok(Exit::Completed);
    }
    if patch.is_empty() {
        eprintln!("{}: nothing changed", args.name);
    }
    // For a program a patch is what it is.
    let shown = if std::io::stdout().is_terminal() { style::safe_patch(&patch).into_bytes() } else { patch };
    // A reader that stops in the middle has seen enough.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&shown).and_then(|()| out.flush());
    Ok(Exit::Completed)
}

fn colours() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    wanted && std::io::stdout().is_terminal()
}
