//! `windlass rollback`.

use std::fmt::Write as _;

use windlass_app::{App, RollbackLoop, RollbackReport, ShowLoop};

use crate::args::RollbackArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{json_line, short};
use crate::terminal::print;

pub async fn rollback(app: &App, args: &RollbackArgs) -> Result<Exit, Failure> {
    let id = app.find(args.name.get()).await?.id;
    let report = app.run(RollbackLoop { id: id.clone(), to: args.to }).await?;
    let status = app.run(ShowLoop { id }).await?.status;
    print(&shown(&report, &status, args));
    Ok(Exit::Completed)
}

/// What came of it, in words or as JSON.
fn shown(report: &RollbackReport, status: &str, args: &RollbackArgs) -> String {
    let name = &report.name;
    if args.json {
        return json_line(&serde_json::json!(report));
    }
    let place = match report.to_iteration {
        0 => "the base commit".to_owned(),
        iteration => format!("iteration {iteration}"),
    };
    let commit = short(&report.commit);
    let mut text = format!("{name}: rolled back to {place} ({commit})\n");
    for note in &report.notes {
        let _ = writeln!(text, "  note     {note}");
    }
    match &report.saved {
        Some(saved) => {
            let _ = writeln!(text, "  undone   {saved}\n  review   git diff {commit} {saved}");
        }
        None => text.push_str("  already there; nothing undone\n"),
    }
    // Completed is final: only its files went back.
    if status != "completed" {
        let _ = writeln!(text, "  resume   windlass resume {name}");
    }
    text
}
