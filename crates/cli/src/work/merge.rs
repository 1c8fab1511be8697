//! `windlass merge`.

use std::path::Path;

use windlass_app::{App, MergeLoop, MergeReport};
use windlass_workspace::MergeOutcome;

use crate::args::MergeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::groups::merges;
use crate::run::print;
use crate::style::{json_line, one_line, short, warn};

pub async fn merge(app: &App, dir: Option<&Path>, args: &MergeArgs) -> Result<Exit, Failure> {
    if args.queue {
        return merges::merge_queue(app, dir, args).await;
    }
    if args.names.len() > 1 {
        return Err(Failure::usage("cannot merge several loops at once", "add them to the merge queue with --queue"));
    }
    let id = app.find(args.names.first().map(String::as_str)).await?.id;
    let (into, message) = (args.into.clone(), args.message.clone());
    let request = MergeLoop { id, into, squash: args.squash, no_gates: args.no_gates, message };
    shown(app.run(request).await?, args)
}

/// Tells what came of it.
fn shown(report: MergeReport, args: &MergeArgs) -> Result<Exit, Failure> {
    for warning in &report.warnings {
        warn(warning);
    }
    let conflicts = matches!(report.outcome, MergeOutcome::Conflicts { .. });
    if args.json {
        print(&json_line(&serde_json::json!(report)));
        return Ok(if conflicts { Exit::Failed } else { Exit::Completed });
    }
    match report.outcome {
        MergeOutcome::Merged { commit, into, checkout, .. } => {
            let how = if args.squash { ", as one commit" } else { "" };
            let files = checkout.map_or(String::new(), |dir| format!("  files    {}\n", dir.display()));
            print(&format!("{}: merged into {into} at {}{how}\n{files}", report.name, short(&commit)));
        }
        MergeOutcome::UpToDate { into } => {
            print(&format!("{}: already merged into {into}\n", report.name));
        }
        MergeOutcome::Conflicts { into, files } => {
            let by_hand = || format!("resolve them by hand: git switch {into} && git merge {}", report.branch);
            let hint = report.next.map(|command| format!("let the agent resolve them: {command}"));
            return Err(conflict(&report.name, &into, &files, hint.unwrap_or_else(by_hand)));
        }
    }
    Ok(Exit::Completed)
}

fn conflict(name: &str, into: &str, files: &[String], hint: String) -> Failure {
    const SHOWN: usize = 20;
    let mut causes: Vec<String> =
        files.iter().take(SHOWN).map(|file| format!("both sides changed {}", one_line(file, 200))).collect();
    if files.len() > SHOWN {
        causes.push(format!("and {} more", files.len() - SHOWN));
    }
    let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
    Failure {
        exit: Exit::Failed,
        message: format!("{name}: {count} in conflict with {into}; merge aborted"),
        causes,
        hint: Some(hint),
    }
}
