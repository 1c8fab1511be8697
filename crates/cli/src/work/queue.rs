//! `windlass merge --queue`.

use std::path::Path;
use std::sync::Arc;

use windlass_app::{App, Local, MergesReport, Problem, QueueMerges, Request, ShowMerges, WorkMerges};
use windlass_core::group::merges::{PausedBecause, RefusedBecause};
use windlass_engine::driver::Left;
use windlass_engine::groups::{MergesEntryView, MergesKind, MergesView};

use crate::args::MergeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{print, project, watch_signals};
use crate::style::{Style, json_line, one_line, short};

pub async fn queue(app: &App, dir: Option<&Path>, args: &MergeArgs) -> Result<Exit, Failure> {
    let into = args.into.clone();
    if !args.names.is_empty() {
        let mut loops = Vec::new();
        for name in &args.names {
            loops.push(app.find(Some(name)).await?.id);
        }
        let report = app.run(QueueMerges { loops, into, remove: args.remove }).await?;
        shown(&report, args.json);
        if !args.json && !args.remove {
            print("work it off  windlass merge --queue\n");
        }
        return Ok(Exit::Completed);
    }
    let request = WorkMerges { project: project(app, dir)?, into };
    match app {
        App::Here(local) => Ok(work(local, request, args.json).await?),
        App::There(_) => {
            let report = app.run(request).await?;
            shown(&report, args.json);
            Ok(exit(&report))
        }
    }
}

/// Works the queue off in this process, and prints what becomes of each entry.
async fn work(local: &Local, request: WorkMerges, json: bool) -> Result<Exit, Problem> {
    let show = ShowMerges { project: request.project.clone(), into: request.into.clone() };
    let mut signal = None;
    if let Some((engine, held)) = request.open(local).await? {
        let (signals, shutdown) = watch_signals()?;
        let driving = engine.drive_group(Arc::new(MergesKind), held, shutdown)?;
        let mut news = driving.news.clone();
        let ended = driving.ended();
        tokio::pin!(ended);
        let mut told: Vec<String> = Vec::new();
        let left = loop {
            tokio::select! {
                left = &mut ended => break left?,
                changed = news.changed() => if changed.is_err() { break (&mut ended).await? },
            }
            if let (false, Some(view)) = (json, show.clone().perform(local).await?.queue) {
                let lines = view.entries.iter().map(|entry| format!("{}: {}", entry.name, words(entry)));
                for line in lines.filter(|line| !line.ends_with(": queued")) {
                    if !told.contains(&line) {
                        print(&format!("{line}\n"));
                        told.push(line);
                    }
                }
            }
        };
        signal = signals.borrow().filter(|_| left == Left::ShutDown);
        if !json && !told.is_empty() {
            print("\n");
        }
    }
    let report = show.perform(local).await?;
    shown(&report, json);
    Ok(signal.map_or_else(|| exit(&report), Exit::Signal))
}

/// Everything is merged, a person is needed, or something was refused.
fn exit(report: &MergesReport) -> Exit {
    let Some(queue) = &report.queue else { return Exit::Completed };
    if queue.status != "completed" {
        return Exit::of_status(&queue.status);
    }
    let merged = queue.entries.iter().all(|entry| entry.status == "merged");
    if merged { Exit::Completed } else { Exit::Failed }
}

fn shown(report: &MergesReport, json: bool) {
    print(&match (json, &report.queue) {
        (true, _) => json_line(report),
        (false, None) => "the merge queue is empty\n".to_owned(),
        (false, Some(queue)) => table(queue, Style::for_stdout()),
    });
}

fn table(queue: &MergesView, style: Style) -> String {
    let mut text = style.bold(&format!("{} · into {} · {}", queue.name, queue.target, queue.status));
    text.push('\n');
    let widest = queue.entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0).min(40);
    for entry in &queue.entries {
        text.push_str(&format!("  {:<widest$}  {}\n", one_line(&entry.name, 40), words(entry)));
    }
    if let Some(why) = &queue.paused {
        text.push_str(&style.field("paused", 7, &paused(why)));
        text.push_str(&style.field("resume", 7, "windlass merge --queue"));
    }
    text
}

fn words(entry: &MergesEntryView) -> String {
    match (entry.status.as_str(), &entry.commit, &entry.refused) {
        ("merged", Some(commit), _) => format!("✔ merged at {}", short(commit)),
        ("returned", _, _) => {
            let files = one_line(&entry.conflicts.join(", "), 60);
            format!("in conflict ({files}); its agent resolves it, attempt {}", entry.returns)
        }
        (_, _, Some(why)) => format!("✗ {}", refused(why)),
        ("batched", _, _) => "in the current batch".to_owned(),
        (status, _, _) => status.to_owned(),
    }
}

fn refused(why: &RefusedBecause) -> String {
    match why {
        RefusedBecause::Gate { gate, .. } => format!("refused: {} fails with it", one_line(gate, 60)),
        RefusedBecause::Conflict { files } => {
            format!("refused: still in conflict ({})", one_line(&files.join(", "), 60))
        }
        RefusedBecause::Loop { message } => format!("refused: {}", one_line(message, 100)),
        RefusedBecause::Removed => "removed from the queue".to_owned(),
    }
}

fn paused(why: &PausedBecause) -> String {
    match why {
        PausedBecause::TargetRed { commit, gate, .. } => {
            format!("{} already fails on the target at {}; no loop is to blame", one_line(gate, 80), short(commit))
        }
        PausedBecause::Blocked { message } => one_line(message, 200),
    }
}
