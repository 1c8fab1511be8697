//! `windlass diff`.

use std::io::{IsTerminal, Write};

use windlass_app::{App, PatchLoop, diff};
use windlass_engine::view::LoopView;

use crate::args::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{self, json_line};
use crate::terminal::print;

pub async fn diff(app: &App, args: &DiffArgs) -> Result<Exit, Failure> {
    let LoopView { id, name, .. } = app.find(args.name.get()).await?;
    let color = !args.json && colours();
    let DiffArgs { iteration, worktree, since, target, .. } = *args;
    let request = PatchLoop { id, iteration, worktree, since, target, color };
    let patch = match app {
        // Byte for byte: what changed is not always text.
        App::Here(local) if !args.json => diff::changed(local, &request).await?.bytes,
        App::Here(_) | App::There(_) => {
            let view = app.run(request).await?;
            if args.json {
                print(&json_line(&serde_json::json!(view)));
                return Ok(Exit::Completed);
            }
            view.patch.into_bytes()
        }
    };
    shown(&name, patch);
    Ok(Exit::Completed)
}

/// Prints a patch.
fn shown(name: &str, patch: Vec<u8>) {
    if patch.is_empty() {
        eprintln!("{name}: no changes");
    }
    // For a program a patch is what it is.
    let shown = if std::io::stdout().is_terminal() {
        style::printable(&String::from_utf8_lossy(&patch)).into_bytes()
    } else {
        patch
    };
    // A reader that stops in the middle has seen enough.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&shown).and_then(|()| out.flush());
}

fn colours() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    wanted && std::io::stdout().is_terminal()
}
