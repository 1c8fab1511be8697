//! `windlass clean`.

use std::fmt::Write as _;

use windlass_app::{App, CleanLoop, CleanLoops, CleanReport};
use windlass_engine::config::Millis;

use crate::args::CleanArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::size;
use crate::style::{json_line, warn};
use crate::terminal::print;

pub async fn clean(app: &App, args: &CleanArgs) -> Result<Exit, Failure> {
    let report = match (&args.name, app) {
        (Some(name), _) => {
            let (branch, records) = (!args.keep_branches, !args.keep_records);
            match app.find(Some(name)).await {
                // Each demo has a project of its own, so that there may be many of that name.
                found if name == "demo" && found.as_ref().map_or(true, |found| found.agent == "demo") => {
                    app.run(CleanLoops { demo: true, ..everything(None, args) }).await?
                }
                found => app.run(CleanLoop { id: found?.id, branch, records, dry_run: args.dry_run }).await?,
            }
        }
        (None, _) if args.all => app.run(everything(None, args)).await?,
        (None, App::Here(local)) => {
            let root = local.context.project_if_any().await.ok_or_else(|| {
                Failure::usage("not a git repository", "clean up loops of every project with `windlass clean --all`")
            })?;
            app.run(everything(Some(root.to_string_lossy().into_owned()), args)).await?
        }
        (None, App::There(_)) => {
            let hint = "give the name of a loop, or use --all for all loops on the server";
            return Err(Failure::usage("no loop given", hint));
        }
    };
    shown(&report, args.json);
    Ok(Exit::Completed)
}

fn everything(project: Option<String>, args: &CleanArgs) -> CleanLoops {
    CleanLoops {
        project,
        branches: !args.keep_branches,
        records: !args.keep_records,
        older_than_ms: args.older_than.map(Millis::get),
        demo: false,
        dry_run: args.dry_run,
    }
}

/// Tells what went and what stays.
fn shown(report: &CleanReport, json: bool) {
    for warning in &report.warnings {
        warn(warning);
    }
    print(&if json {
        json_line(&serde_json::json!(report))
    } else {
        super::residue::words(&report.residue, report.dry_run) + &words(report)
    });
}

fn words(report: &CleanReport) -> String {
    let mut text = String::new();
    let rows = || report.removed.iter().chain(&report.kept);
    let names = rows().map(|row| &row.name).chain(report.groups.iter().map(|group| &group.name));
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let wide = if report.dry_run { "would remove".len() } else { "removed".len() + 1 };
    for row in rows() {
        let what = match (row.removed, report.dry_run) {
            (true, true) => "would remove",
            (true, false) => "removed",
            (false, _) => "kept",
        };
        let _ = writeln!(text, "{what:<wide$}  {:<width$}  {:>8}  {}", row.name, size(row.bytes), row.why);
        for saved in &row.saved {
            let _ = writeln!(text, "          saved uncommitted changes at {saved}");
        }
        if row.ignored_files > 0 {
            let count = crate::status::count(u32::try_from(row.ignored_files).unwrap_or(u32::MAX), "ignored file");
            let _ = writeln!(text, "          also removed {count}");
        }
        if row.branch_deleted {
            let _ = writeln!(text, "          deleted branch {}", row.branch.as_deref().unwrap_or_default());
        }
        if row.record_removed && row.branch.is_some() && !row.branch_deleted && !row.why.starts_with("a demo") {
            let _ = writeln!(text, "          kept branch {}", row.branch.as_deref().unwrap_or_default());
        }
        for note in &row.notes {
            let _ = writeln!(text, "          note: {note}");
        }
    }
    for group in &report.groups {
        let what = if report.dry_run { "would remove" } else { "removed" };
        let _ = writeln!(text, "{what:<wide$}  {:<width$}  {:>8}  best of N without loops", group.name, "");
    }
    let freed = if report.dry_run { "would be freed" } else { "freed" };
    let _ = writeln!(
        text,
        "{} {freed}, {} kept (Windlass removes loops {} days after the merge)",
        size(report.freed_bytes),
        size(report.kept_bytes),
        report.retention_days
    );
    text
}
