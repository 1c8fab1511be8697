//! `windlass clean`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::machine::LoopState;
use windlass_engine::config::Options;
use windlass_engine::engine::{Engine, EngineError};
use windlass_server::{CleanReport, CleanedLoop, Residue};
use windlass_store::{ListFilter, Listed};
use windlass_workspace::{Landed, Removed};

use super::has_own_workspace;
use crate::args::CleanArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::size;
use crate::run::print;
use crate::{follow, loops};

pub async fn clean(context: &Context, args: &CleanArgs) -> Result<Exit, Failure> {
    let project = context.project_if_any().await;
    let days = retention_days(context, project.as_deref())?;
    let engine = context.engine().await?;
    let here = project.map(|path| path.to_string_lossy().into_owned());
    let listed = match &args.name {
        Some(name) => vec![loops::find(&engine, here.as_deref(), name).await?],
        None if args.all => engine.store.list(ListFilter::default()).await?,
        None => {
            let project = Some(here.ok_or_else(|| {
                Failure::usage(
                    "this is no git repository",
                    "`windlass clean --all` looks at the loops of every project",
                )
            })?);
            engine.store.list(ListFilter { project, ..ListFilter::default() }).await?
        }
    };
    let (rows, residue, warnings) = look_at_all(&engine, &listed, args, days).await?;
    shown(&report(rows, residue, warnings, args.dry_run, days), args.json);
    Ok(Exit::Completed)
}

/// Tells what went and what stays.
pub fn shown(report: &CleanReport, json: bool) {
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    print(&if json {
        format!("{}\n", serde_json::json!(report))
    } else {
        super::residue::words(&report.residue, report.dry_run) + &words(report)
    });
}

/// How long a workspace stays after its work is merged.
pub fn retention_days(context: &Context, project: Option<&Path>) -> Result<u32, Failure> {
    Ok(context.settings(project, Options::default())?.retention_days.value.map_or(14, |days| days.get()))
}

/// Every loop, with what was left of some; one that cannot be looked at keeps nobody from clearing the others.
pub async fn look_at_all(
    engine: &Arc<Engine>,
    listed: &[Listed],
    args: &CleanArgs,
    days: u32,
) -> Result<(Vec<CleanedLoop>, Vec<Residue>, Vec<String>), Failure> {
    let (mut rows, mut residue, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for one in listed {
        residue.extend(super::residue::remove(engine, one, args.dry_run).await?);
        match look_at(engine, one, args, days).await {
            Ok(row) => rows.extend(row),
            Err(failure) if args.name.is_none() => warnings.push(format!("{}: {}", one.entry.name, failure.message)),
            Err(failure) => return Err(failure),
        }
    }
    Ok((rows, residue, warnings))
}

/// `None` where there is nothing on disk.
async fn look_at(
    engine: &Arc<Engine>,
    one: &Listed,
    args: &CleanArgs,
    days: u32,
) -> Result<Option<CleanedLoop>, Failure> {
    let state = follow::state(engine, &loops::id(one)).await?;
    let named = args.name.is_some();
    if !has_own_workspace(&state) {
        let why =
            || Failure::usage(format!("{}: the loop has no workspace of its own", state.name), "nothing to clean");
        return if named { Err(why()) } else { Ok(None) };
    }
    if !state.status.is_ended() {
        let word = loops::word(one);
        if named {
            return Err(Failure::usage(
                format!("{} is {word}: only the workspace of an ended loop can be removed", state.name),
                format!("`windlass stop {}` ends it", state.name),
            ));
        }
        return Ok(Some(row(engine, &state, None, false, format!("the loop is {word}")).await?));
    }
    let workspace = engine.workspace(&state)?;
    if !workspace.dir.exists() && !args.branches {
        let gone = format!("{}: the workspace is gone already\n", state.name);
        if named && !args.json {
            print(&gone);
        }
        return Ok(None);
    }
    let landed = engine.landed(&state).await?;
    let (goes, why, into) = judge(&state, &landed, named, days);
    let mut row = row(engine, &state, into.clone(), goes, why).await?;
    if goes && !args.dry_run {
        let held = match engine.take(&state.id).await {
            Ok(held) => held,
            Err(EngineError::Driven { .. }) if !named => {
                return Ok(Some(CleanedLoop { removed: false, why: "somebody drives it".to_owned(), ..row }));
            }
            Err(error) => return Err(error.into()),
        };
        let removed = engine.clean(&held, into.as_deref().filter(|_| args.branches)).await;
        engine.release(held).await?;
        let Removed { saved, ignored_files, branch_deleted, notes, .. } = removed?;
        row.saved = saved.into_iter().map(|saved| saved.name).collect();
        row.ignored_files = ignored_files;
        row.branch_deleted = branch_deleted;
        row.notes = notes;
    }
    Ok(Some(row))
}

/// Whether it goes, why, and where its work is.
fn judge(state: &LoopState, landed: &Landed, named: bool, days: u32) -> (bool, String, Option<String>) {
    let stopped = state.stopped_at.map_or(0, |at| at.as_second());
    let age = |since: i64| u32::try_from((Timestamp::now().as_second() - since.max(stopped)) / 86_400).unwrap_or(0);
    match landed {
        Landed::Merged { into, since } => {
            let age = age(since.unwrap_or(stopped));
            let why = format!("merged into {into} {} ago", crate::status::count(age, "day"));
            (named || age >= days, why, Some(into.clone()))
        }
        Landed::Nothing => {
            let age = age(stopped);
            (named || age >= days, format!("no commits, ended {} ago", crate::status::count(age, "day")), None)
        }
        Landed::NotMerged => (named, "not merged: the branch stays".to_owned(), None),
        // Removing saves what is on disk, but nobody has said that the rest may go.
        Landed::BranchGone => (named, "the branch is gone".to_owned(), None),
    }
}

async fn row(
    engine: &Engine,
    state: &LoopState,
    merged_into: Option<String>,
    removed: bool,
    why: String,
) -> Result<CleanedLoop, Failure> {
    let used = engine.disk_use(state).await?;
    let workspace = state.workspace.as_ref();
    Ok(CleanedLoop {
        id: state.id.0.clone(),
        name: state.name.clone(),
        project: state.project.clone(),
        worktree: workspace.map(|workspace| workspace.dir.clone()).unwrap_or_default(),
        branch: workspace.and_then(|workspace| workspace.branch.clone()),
        bytes: used.bytes,
        files: used.files,
        merged_into,
        removed,
        why,
        branch_deleted: false,
        saved: Vec::new(),
        ignored_files: 0,
        notes: Vec::new(),
    })
}

pub fn report(
    rows: Vec<CleanedLoop>,
    residue: Vec<Residue>,
    warnings: Vec<String>,
    dry_run: bool,
    retention_days: u32,
) -> CleanReport {
    let (removed, kept): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.removed);
    let bytes = |rows: &[CleanedLoop]| rows.iter().map(|row| row.bytes).sum::<u64>();
    let (freed_bytes, kept_bytes) = (bytes(&removed), bytes(&kept));
    CleanReport { dry_run, retention_days, freed_bytes, kept_bytes, removed, kept, residue, warnings }
}

fn words(report: &CleanReport) -> String {
    let mut text = String::new();
    let rows = || report.removed.iter().chain(&report.kept);
    let width = rows().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in rows() {
        let what = match (row.removed, report.dry_run) {
            (true, true) => "would go",
            (true, false) => "removed",
            (false, _) => "kept",
        };
        let _ = writeln!(text, "{what:<8}  {:<width$}  {:>8}  {}", row.name, size(row.bytes), row.why);
        for saved in &row.saved {
            let _ = writeln!(text, "          what was not committed is at {saved}");
        }
        if row.ignored_files > 0 {
            let count = crate::status::count(u32::try_from(row.ignored_files).unwrap_or(u32::MAX), "ignored file");
            let _ = writeln!(text, "          {count} went with it");
        }
        if row.branch_deleted {
            let _ = writeln!(text, "          the branch {} is deleted", row.branch.as_deref().unwrap_or_default());
        }
        for note in &row.notes {
            let _ = writeln!(text, "          note: {note}");
        }
    }
    let freed = if report.dry_run { "would be freed" } else { "freed" };
    let _ = writeln!(
        text,
        "{} {freed}, {} kept (workspaces go {} days after the merge)",
        size(report.freed_bytes),
        size(report.kept_bytes),
        report.retention_days
    );
    text
}
