//! `windlass merge --queue`: a merge queue in the terminal.

use std::path::Path;
use std::sync::Arc;

use windlass_app::{
    App, Local, MergesReport, OpenedMerges, Problem, QueueMerges, Request, ShowMerges, StopMerges, WorkMerges,
};
use windlass_core::group::merges::{PausedBecause, RefusedBecause};
use windlass_engine::driver::Left;
use windlass_engine::groups::{MergesEntryView, MergesKind, MergesView};

use crate::args::MergeArgs;
use crate::args::Watching;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::project;
use crate::style::{Style, json_line, one_line, short};
use crate::terminal::{print, watch_signals};

pub async fn merge_queue(app: &App, dir: Option<&Path>, args: &MergeArgs) -> Result<Exit, Failure> {
    let into = args.into.clone();
    if args.names.is_empty() {
        return work(app, WorkMerges { project: project(app, dir)?, into, wait: true }, args.json).await;
    }
    let mut loops = Vec::new();
    for name in &args.names {
        loops.push(app.find(Some(name)).await?.id);
    }
    let report = app.run(QueueMerges { loops, into, start: false, remove: args.remove }).await?;
    shown(&report, args.json);
    if !args.json && report.queue.is_some_and(|queue| queue.status == "queued") {
        print("start it with `windlass merge --queue`\n");
    }
    Ok(Exit::Completed)
}

/// Works a queue off that was interrupted or is paused.
pub async fn resume(app: &App, queue: MergesView, watching: Watching) -> Result<Exit, Failure> {
    if !queue.is_open() {
        let message = format!("the merge queue {} is already {}", queue.name, queue.status);
        return Err(Failure::usage(message, "add loops to a new one with `windlass merge NAME --queue`"));
    }
    let wait = !watching.detach;
    let request = WorkMerges { project: queue.project, into: Some(queue.target), wait };
    if wait {
        return work(app, request, watching.json).await;
    }
    shown(&app.run(request).await?, watching.json);
    Ok(Exit::Completed)
}

pub async fn stop(app: &App, queue: MergesView, json: bool) -> Result<Exit, Failure> {
    let report = app.run(StopMerges { id: queue.id }).await?;
    let text = format!("{}: stopped; what is not merged was taken out of the queue\n", queue.name);
    print(&if json { json_line(&report) } else { text });
    Ok(Exit::Completed)
}

async fn work(app: &App, request: WorkMerges, json: bool) -> Result<Exit, Failure> {
    if let App::Here(local) = app
        && let Some((_, Some(opened))) = request.open(local).await?
    {
        return Ok(drive(local, &request, opened, json).await?);
    }
    // A server or another process drives it.
    let report = app.run(request).await?;
    shown(&report, json);
    Ok(exit(&report))
}

/// Works the queue off in this process, and prints what becomes of each entry.
async fn drive(local: &Local, request: &WorkMerges, opened: OpenedMerges, json: bool) -> Result<Exit, Problem> {
    let show = ShowMerges {
        project: request.project.clone(),
        into: Some(opened.held.state.spec.target.clone()),
        ..ShowMerges::default()
    };
    let (signals, shutdown) = watch_signals()?;
    let driving = opened.engine.drive_group(Arc::new(MergesKind), opened.held, shutdown)?;
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
            for entry in view.entries.iter().filter(|entry| entry.status != "queued") {
                let line = format!("{}: {}\n", entry.name, words(entry));
                if !told.contains(&line) {
                    print(&line);
                    told.push(line);
                }
            }
        }
    };
    let report = show.perform(local).await?;
    if !json && !told.is_empty() {
        print("\n");
    }
    shown(&report, json);
    let signal = signals.borrow().filter(|_| left == Left::ShutDown);
    Ok(signal.map_or_else(|| exit(&report), Exit::Signal))
}

/// Everything is merged, a person is needed, or something was refused.
fn exit(report: &MergesReport) -> Exit {
    let Some(queue) = &report.queue else { return Exit::Completed };
    if queue.status != "completed" {
        return Exit::of_status(&queue.status);
    }
    let is_fine =
        |entry: &MergesEntryView| entry.status == "merged" || matches!(entry.refused, Some(RefusedBecause::Removed));
    if queue.entries.iter().all(is_fine) { Exit::Completed } else { Exit::Failed }
}

fn shown(report: &MergesReport, json: bool) {
    print(&match (json, &report.queue) {
        (true, _) => json_line(report),
        (false, None) => "the merge queue is empty\n".to_owned(),
        (false, Some(queue)) => table(queue, Style::for_stdout()),
    });
}

/// The queue with what became of each entry.
pub fn table(queue: &MergesView, style: Style) -> String {
    let mut text = format!("{} · into {} · {}\n", style.bold(&queue.name), queue.target, style.status(&queue.status));
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
        RefusedBecause::Stopped => "not merged: the queue was stopped".to_owned(),
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
