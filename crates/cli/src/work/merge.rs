//! `windlass merge`.

use std::path::Path;

use windlass_app::{App, MergeLoop, MergePreviewReport, MergeReport, PreviewMerge};
use windlass_workspace::MergeOutcome;

use crate::args::MergeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::groups::merges;
use crate::style::{json_line, one_line, short, warn};
use crate::terminal::print;

pub async fn merge(app: &App, dir: Option<&Path>, args: &MergeArgs) -> Result<Exit, Failure> {
    if args.queue {
        return merges::merge_queue(app, dir, args).await;
    }
    if args.names.len() > 1 {
        return Err(Failure::usage("cannot merge several loops at once", "add them to the merge queue with --queue"));
    }
    let id = app.find(args.names.first().map(String::as_str)).await?.id;
    if args.dry_run {
        let request = PreviewMerge { id, into: args.into.clone(), squash: args.squash };
        return Ok(previewed(&app.run(request).await?, args));
    }
    let (into, message) = (args.into.clone(), args.message.clone());
    let request = MergeLoop { id, into, squash: args.squash, no_gates: args.no_gates, message };
    shown(app.run(request).await?, args)
}

/// Shows what a merge would do.
fn previewed(report: &MergePreviewReport, args: &MergeArgs) -> Exit {
    for warning in &report.warnings {
        warn(warning);
    }
    let refused = !report.conflicts.is_empty() || !report.in_the_way.is_empty();
    let text = if args.json { json_line(&serde_json::json!(report)) } else { preview(report, args.no_gates) };
    print(&text);
    if refused { Exit::Failed } else { Exit::Completed }
}

fn preview(report: &MergePreviewReport, no_gates: bool) -> String {
    const SHOWN: usize = 20;
    let MergePreviewReport { name, branch, into, commits, behind, size, .. } = report;
    if *commits == 0 {
        return format!("{name}: already merged into {into}\n");
    }
    let mut text = format!("{name}: {branch} into {into}\n");
    let mut row = |label: &str, value: String| text.push_str(&format!("  {label:<10} {value}\n"));
    let files = counted(size.files, "file");
    row("size", format!("{}, {files}, +{} -{}", counted(*commits, "commit"), size.added, size.removed));
    if *behind > 0 {
        row("target", format!("has {} that the loop does not have", counted(*behind, "new commit")));
    }
    let mut list = |label: &str, files: &[String]| {
        let more = (files.len() > SHOWN).then(|| format!("and {} more", files.len() - SHOWN));
        let named = files.iter().take(SHOWN).map(|file| one_line(file, 200)).chain(more);
        named.enumerate().for_each(|(index, line)| row(if index == 0 { label } else { "" }, line));
    };
    match report.conflicts.is_empty() {
        true => list("conflicts", &["none".to_owned()]),
        false => list("conflicts", &report.conflicts),
    }
    list("in the way", &report.in_the_way);
    let gates = match (report.gates.is_empty(), report.gates_passed, no_gates) {
        (true, _, _) => "none".to_owned(),
        (false, true, _) => "passed on exactly this result".to_owned(),
        (false, false, true) => "skipped".to_owned(),
        (false, false, false) => format!("run on the merged result first: {}", one_line(&report.gates.join(", "), 200)),
    };
    row("gates", gates);
    if let Some(command) = &report.next {
        row("resolve", command.clone());
    }
    text
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
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
