//! `windlass report` and `windlass pr`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use windlass_app::{App, Document, OpenPull, PullReport, ReportLoop, ReportOutcomes, ReportUsage};

use crate::args::{PrArgs, ReportFormat, ReportsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{json_line, warn};
use crate::terminal::print;

pub async fn report(app: &App, args: &ReportsArgs) -> Result<Exit, Failure> {
    let (json, document) = match &args.name {
        Some(name) => {
            let report = app.run(ReportLoop { id: app.find(Some(name)).await?.id }).await?;
            (serde_json::json!(report), report.document())
        }
        None => {
            let project = match app {
                App::Here(local) if !args.all => {
                    local.context.project_if_any().await.map(|root| root.to_string_lossy().into_owned())
                }
                App::Here(_) | App::There(_) => None,
            };
            let of = project.as_ref().map_or("Loops of every project".to_owned(), |root| format!("Loops of {root}"));
            let since = args.since.map_or(String::new(), |since| format!(" since {}", since.strftime("%Y-%m-%d")));
            if args.outcomes {
                let report = app.run(ReportOutcomes { project, since: args.since }).await?;
                (serde_json::json!(report), report.document(&format!("{of}{since}")))
            } else {
                let report = app.run(ReportUsage { project, since: args.since, ..ReportUsage::default() }).await?;
                (serde_json::json!(report), report.document(&format!("{of}{since}")))
            }
        }
    };
    let text = match args.format() {
        ReportFormat::Json => json_line(&json),
        ReportFormat::Markdown => Document::markdown(&document),
        ReportFormat::Html => document.html(),
    };
    match &args.output {
        Some(file) => {
            write(file, &text)?;
            eprintln!("wrote {}", file.display());
        }
        None => print(&text),
    }
    Ok(Exit::Completed)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| {
        Failure::usage(format!("cannot write {}: {error}", file.display()), "choose another with --output")
    })
}

pub async fn pr(app: &App, args: &PrArgs) -> Result<Exit, Failure> {
    let id = app.find(args.name.get()).await?.id;
    let request = OpenPull {
        id,
        base: args.base.clone(),
        title: args.title.clone(),
        draft: args.draft,
        tool: args.with.map(Into::into),
        dry_run: args.print,
    };
    let report = app.run(request).await?;
    for warning in &report.warnings {
        warn(warning);
    }
    if args.json {
        print(&json_line(&serde_json::json!(report)));
        return Ok(Exit::Completed);
    }
    print(&match report.opened {
        true => opened(&report),
        false => by_hand(&report)?,
    });
    Ok(Exit::Completed)
}

fn opened(report: &PullReport) -> String {
    let base = report.base.as_ref().map_or(String::new(), |base| format!(" into {base}"));
    let url = report.url.as_ref().map_or(String::new(), |url| format!("  page     {url}\n"));
    format!("{}: pushed {} and opened a request{base}\n{url}", report.name, report.branch)
}

/// The exact commands, with the text in a file.
fn by_hand(report: &PullReport) -> Result<String, Failure> {
    let why = report.why_not.as_deref().unwrap_or_default();
    let file = kept(report)?;
    let quoted = |word: &str| match word {
        "BODY" => format!("\"$(cat {})\"", quoted(&file.to_string_lossy())),
        word => quoted(word),
    };
    let mut text = format!("{}: nothing was pushed ({why}); run:\n", report.name);
    for words in &report.commands {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let _ = writeln!(text, "  {}", words.join(" "));
    }
    Ok(text)
}

/// The text in a new file that only this user can read: others can make files and links in the same directory.
fn kept(report: &PullReport) -> Result<PathBuf, Failure> {
    let named = tempfile::Builder::new().prefix(&format!("windlass-{}-", report.name)).suffix(".md").tempfile();
    let kept = named.and_then(|file| Ok(file.keep()?.1));
    let file = kept.map_err(|error| {
        let hint = "set TMPDIR to a directory that you can write to";
        Failure::usage(format!("cannot write the text of the request: {error}"), hint)
    })?;
    write(&file, &report.body)?;
    Ok(file)
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| format!("{word:?}"), |quoted| quoted.into_owned())
}
