//! `windlass minimise`.

use std::fmt::Write as _;

use windlass_app::words::count;
use windlass_app::{App, DroppedHunk, MinimiseLoop, MinimiseReport};

use crate::args::MinimiseArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::{json_line, one_line, short};

/// Dropped hunks that are named.
const NAMED: usize = 40;

pub async fn minimise(app: &App, args: &MinimiseArgs) -> Result<Exit, Failure> {
    let found = app.find(args.name.get()).await?;
    if !args.json {
        eprintln!("{}: running the gates on smaller and smaller parts of the work", found.name);
    }
    let request =
        MinimiseLoop { id: found.id, max_runs: args.max_runs, duration_ms: Some(args.duration.get()), take: args.take };
    let report = app.run(request).await?;
    print(&if args.json { json_line(&serde_json::json!(report)) } else { shown(&report) });
    Ok(Exit::Completed)
}

fn shown(report: &MinimiseReport) -> String {
    let mut text = String::new();
    let name = &report.name;
    let runs = count(report.runs, "run");
    if report.gates_need_nothing {
        let _ = writeln!(
            text,
            "{name}: the gates pass without any of its {} hunks, so they do not check it ({runs})",
            report.hunks
        );
        return text;
    }
    let _ = match &report.commit {
        None if report.complete => writeln!(text, "{name}: the gates need all of its {} hunks ({runs})", report.hunks),
        None => writeln!(text, "{name}: nothing found that can be dropped yet ({runs})"),
        Some(commit) => writeln!(
            text,
            "{name}: the gates pass with {} of {} hunks ({runs})\n  commit   {}\n  branch   {}\n  dropped",
            report.kept,
            report.hunks,
            short(commit),
            report.branch.as_deref().unwrap_or_default()
        ),
    };
    if report.commit.is_some() {
        for hunk in report.dropped.iter().take(NAMED) {
            let _ = writeln!(text, "    {}", line(hunk));
        }
        if report.dropped.len() > NAMED {
            let _ = writeln!(text, "    and {} more; --json lists all", report.dropped.len() - NAMED);
        }
    }
    if !report.complete {
        let _ = writeln!(text, "  resume   windlass minimise {name}");
    }
    if let Some(taken) = &report.taken {
        let _ = writeln!(text, "  taken    the loop's branch is at {} now: windlass merge {name}", short(taken));
    }
    if let Some(branch) = &report.branch {
        let _ = writeln!(text, "  review   git diff {branch} {}", short(&report.head));
    }
    text
}

fn line(hunk: &DroppedHunk) -> String {
    let path = one_line(&hunk.path, 120);
    match (hunk.line, &hunk.from) {
        (Some(line), _) => format!("{path}:{line}  +{} -{}", hunk.lines_added, hunk.lines_removed),
        (None, Some(from)) => format!("{path}  renamed from {}", one_line(from, 120)),
        (None, None) => format!("{path}  {}", hunk.kind),
    }
}
