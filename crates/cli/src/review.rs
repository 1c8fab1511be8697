//! People and reviewers: `approve`, `reject`, `findings`, `takeover`.

use std::fmt::Write as _;

use windlass_app::{App, ApproveLoop, LoopFindings, RejectLoop, TakeOver, TakeoverReport};
use windlass_core::findings::Finding;

use crate::args::{ApproveArgs, FindingsArgs, LoopArgs, RejectArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::opening;
use crate::render::finding_line;
use crate::style::{Style, json_line, one_line};
use crate::terminal::print;

pub async fn approve(app: &App, args: &ApproveArgs) -> Result<Exit, Failure> {
    let id = app.find(args.name.get()).await?.id;
    let request = ApproveLoop { id: id.clone(), reason: args.reason.clone() };
    Ok(opening::open(app, request, Some(&id), args.watching()).await?)
}

pub async fn reject(app: &App, args: &RejectArgs) -> Result<Exit, Failure> {
    let id = app.find(args.name.get()).await?.id;
    let request = RejectLoop { id: id.clone(), reason: Some(args.reason.clone()) };
    Ok(opening::open(app, request, Some(&id), args.watching()).await?)
}

pub async fn findings(app: &App, args: &FindingsArgs) -> Result<Exit, Failure> {
    let found = app.find(args.name.get()).await?;
    let reviewed = found.review.is_some();
    let all = app.run(LoopFindings { id: found.id, ..LoopFindings::default() }).await?.findings;
    let wanted: Vec<&Finding> = all.iter().filter(|finding| args.all || finding.is_open()).collect();
    print(&findings_shown(&wanted, reviewed, args));
    Ok(Exit::Completed)
}

/// A loop's findings, in words or as JSON.
fn findings_shown(found: &[&Finding], reviewed: bool, args: &FindingsArgs) -> String {
    if args.json {
        return json_line(&found);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for finding in found {
        let line = finding_line(finding);
        let line = if finding.is_open() { style.warn(&line) } else { style.dim(&format!("{line} (resolved)")) };
        let _ = writeln!(text, "{}", line.trim_start());
        for detail in finding.description.lines().skip(1).chain(finding.scenario.iter().flat_map(|text| text.lines())) {
            let _ = writeln!(text, "    {}", one_line(detail, 200));
        }
    }
    if found.is_empty() {
        let none = match (reviewed, args.all) {
            (false, _) => "this loop has no reviewer; use --recipe audited or milestone\n",
            (true, true) => "no findings\n",
            (true, false) => "no open findings; use --all to include resolved ones\n",
        };
        text.push_str(none);
    }
    text
}

/// Pauses a loop and shows how a user opens its workspace.
pub async fn takeover(app: &App, args: &LoopArgs) -> Result<Exit, Failure> {
    let id = app.find(args.name.get()).await?.id;
    let report = app.run(TakeOver { id }).await?;
    print(&if args.json { json_line(&report) } else { takeover_words(&report) });
    Ok(Exit::Completed)
}

/// How a user opens the workspace and the agents' sessions.
fn takeover_words(report: &TakeoverReport) -> String {
    let mut text = format!("{} is {}; no processes are running\n", report.name, report.status);
    let _ =
        writeln!(text, "  workspace  cd {}", shlex::try_quote(&report.dir).unwrap_or_else(|_| (&report.dir).into()));
    for session in &report.sessions {
        let _ = writeln!(text, "  {:<8} {}", session.role.name(), session.command);
    }
    let verb = if report.status == "completed" { "continue" } else { "resume" };
    let _ = writeln!(text, "  {verb:<10} windlass {verb} {}", report.name);
    text
}
