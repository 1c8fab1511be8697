//! Ended loops, cleared away: workspaces, merged branches, records.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_engine::config::Options;
use windlass_engine::engine::{Engine, EngineError, status_word};
use windlass_engine::journal;
use windlass_store::{ListFilter, Listed};
use windlass_workspace::{DiskUse, Landed, Removed};

use super::clean_groups::{Which, clean_groups};
use super::has_own_workspace;
use crate::context::Context;
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::reports::{CleanReport, CleanedLoop, Residue};
use crate::request::Request;
use crate::requests::{CleanLoop, CleanLoops};
use crate::words::count;

/// What is to go.
#[derive(Debug)]
struct Wanted {
    /// One loop was named, merged or not; what keeps it is an error.
    named: bool,
    branches: bool,
    records: bool,
    dry_run: bool,
    /// Ended longer ago than this, merged or not.
    older_than_ms: Option<u64>,
}

impl Request for CleanLoop {
    type Report = CleanReport;
    const NAME: &'static str = "clean";

    async fn perform(self, here: &Local) -> Result<CleanReport, Problem> {
        let listed = here.found(&self.id).await?;
        let days = retention_days(&here.context, Some(Path::new(&listed.entry.project)))?;
        let CleanLoop { branch: branches, records, dry_run, .. } = self;
        let wanted = Wanted { named: true, branches, records, dry_run, older_than_ms: None };
        let mut report = clean(here, std::slice::from_ref(&listed), &wanted, days).await?;
        report.groups = clean_groups(here, &Which::With(listed.entry.id), &gone(&report, &wanted), dry_run).await?;
        Ok(report)
    }
}

impl Request for CleanLoops {
    type Report = CleanReport;
    const NAME: &'static str = "clean_all";

    async fn perform(self, here: &Local) -> Result<CleanReport, Problem> {
        let root = match &self.project {
            Some(project) => Some(here.at(project).await?.1),
            None => None,
        };
        let days = retention_days(&here.context, root.as_deref())?;
        let project = root.map(|root| root.to_string_lossy().into_owned());
        let filter = ListFilter { project: project.clone(), ..ListFilter::default() };
        let mut listed = here.engine().await?.store.list(filter).await?;
        if self.demo {
            let demos = here.context.data().demos();
            listed.retain(|one| Path::new(&one.entry.project).starts_with(&demos) && !one.entry.open);
            if listed.is_empty() {
                return Err(Problem::new(Kind::NotFound, "there is no demo to clean").hint("`windlass demo` makes one"));
            }
        }
        let Self { branches, records, older_than_ms, dry_run, demo, .. } = self;
        let wanted = Wanted { named: demo, branches, records, dry_run, older_than_ms };
        let mut report = clean(here, &listed, &wanted, days).await?;
        if !demo {
            report.groups = clean_groups(here, &Which::Of(project.clone()), &gone(&report, &wanted), dry_run).await?;
            report.freed_bytes += clean_builds(here, project.as_deref(), &wanted, days).await?;
        }
        Ok(report)
    }
}

/// The loops that are no longer known afterwards.
fn gone(report: &CleanReport, wanted: &Wanted) -> Vec<String> {
    let removed = report.removed.iter().filter(|_| wanted.records);
    removed.map(|row| row.id.clone()).collect()
}

async fn clean(here: &Local, listed: &[Listed], wanted: &Wanted, days: u32) -> Result<CleanReport, Problem> {
    let (rows, residue, warnings) = look_at_all(&here.engine().await?, listed, wanted, days).await?;
    Ok(report(rows, residue, warnings, wanted.dry_run, days))
}

/// Removes builds that no loop of the project handed on again for as long as a workspace stays. Returns what they take.
async fn clean_builds(here: &Local, project: Option<&str>, wanted: &Wanted, days: u32) -> Result<u64, Problem> {
    let engine = here.engine().await?;
    let days = Duration::from_secs(u64::from(days) * 86_400);
    let age = wanted.older_than_ms.map_or(days, Duration::from_millis);
    let mut freed = 0;
    for (place, used) in engine.old_builds(project, age).await {
        if !wanted.dry_run {
            engine.workspaces.remove_own(&place)?;
        }
        freed += used.bytes;
    }
    Ok(freed)
}

/// How long a workspace stays after its work is merged.
fn retention_days(context: &Context, project: Option<&Path>) -> Result<u32, Problem> {
    Ok(context.settings(project, Options::default())?.retention_days.value.map_or(14, |days| days.get()))
}

/// Every loop, with what was left of some; one that cannot be looked at keeps nobody from clearing the others.
async fn look_at_all(
    engine: &Arc<Engine>,
    listed: &[Listed],
    wanted: &Wanted,
    days: u32,
) -> Result<(Vec<CleanedLoop>, Vec<Residue>, Vec<String>), Problem> {
    let (mut rows, mut residue, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for one in listed {
        residue.extend(super::residue::remove(engine, one, wanted.dry_run).await?);
        match look_at(engine, one, wanted, days).await {
            Ok(None) if wanted.named => warnings.push(format!("{}: the workspace is already removed", one.entry.name)),
            Ok(row) => rows.extend(row),
            Err(failure) if !wanted.named => warnings.push(format!("{}: {}", one.entry.name, failure.message)),
            Err(failure) => return Err(failure),
        }
    }
    Ok((rows, residue, warnings))
}

/// `None` where there is nothing on disk.
async fn look_at(
    engine: &Arc<Engine>,
    one: &Listed,
    wanted: &Wanted,
    days: u32,
) -> Result<Option<CleanedLoop>, Problem> {
    let state = journal::load(engine.store.as_ref(), &LoopId(one.entry.id.clone())).await?;
    let named = wanted.named;
    let own = has_own_workspace(&state);
    if !own && !wanted.records {
        let why =
            || Problem::refused(format!("{}: the loop has no separate workspace", state.name), "nothing to clean");
        return if named { Err(why()) } else { Ok(None) };
    }
    if !state.status().is_ended() {
        let word = status_word(one);
        if named {
            return Err(Problem::refused(
                format!("{} is {word}: only an ended loop can be removed", state.name),
                format!("stop it with `windlass stop {}`", state.name),
            ));
        }
        return Ok(Some(row(engine, &state, None, false, format!("the loop is {word}")).await?));
    }
    if own && !engine.workspace(&state)?.dir.exists() && !wanted.branches && !wanted.records {
        return Ok(None);
    }
    let landed = if own { engine.landed(&state).await? } else { Landed::Nothing };
    let demo = demo_place(engine, &state);
    let (goes, why, into) = judge(&state, &landed, demo.is_some(), wanted, days);
    let mut row = row(engine, &state, into.clone(), goes, why).await?;
    if goes && !wanted.dry_run {
        let held = match engine.take(&state.id).await {
            Ok(held) => held,
            Err(EngineError::Driven { .. }) if !named => {
                return Ok(Some(CleanedLoop {
                    removed: false,
                    why: "another process is running it".to_owned(),
                    ..row
                }));
            }
            Err(error) => return Err(error.into()),
        };
        // A branch without commits of its own has nothing that could be lost.
        let base = state.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone());
        let has_all = into.clone().or_else(|| base.filter(|_| landed == Landed::Nothing));
        let removed = match own {
            true => engine.clean(&held, has_all.as_deref().filter(|_| wanted.branches)).await,
            false => Ok(Removed::default()),
        };
        match removed.is_ok() && wanted.records {
            true => engine.forget(held).await?,
            false => engine.release(held).await?,
        }
        if let (Ok(_), Some(place)) = (&removed, &demo) {
            engine.workspaces.remove_own(place)?;
        }
        let Removed { saved, ignored_files, branch_deleted, notes, .. } = removed?;
        row.record_removed = wanted.records;
        row.saved = saved.into_iter().map(|saved| saved.name).collect();
        row.ignored_files = ignored_files;
        row.branch_deleted = branch_deleted;
        row.notes = notes;
    }
    Ok(Some(row))
}

/// The directory of a demo's repository, which is Windlass's own and goes with its loop.
fn demo_place(engine: &Engine, state: &LoopState) -> Option<PathBuf> {
    let below = Path::new(&state.project).strip_prefix(engine.data.demos()).ok()?;
    Some(engine.data.demos().join(below.components().next()?))
}

/// Whether it goes, why, and where its work is.
fn judge(state: &LoopState, landed: &Landed, demo: bool, wanted: &Wanted, days: u32) -> (bool, String, Option<String>) {
    let now = Timestamp::now();
    let stopped = state.stopped_at.map_or(0, |at| at.as_second());
    let age = |since: i64| u32::try_from((now.as_second() - since.max(stopped)) / 86_400).unwrap_or(0);
    let old = |limit: u64| state.stopped_at.is_some_and(|at| now.duration_since(at).as_millis() >= i128::from(limit));
    let named = wanted.named || wanted.older_than_ms.is_some_and(old);
    // An explicit age replaces the retention rule.
    let days = if wanted.older_than_ms.is_some() { u32::MAX } else { days };
    if demo {
        let age = age(stopped);
        return (named || age >= days, format!("a demo, ended {} ago", count(age, "day")), None);
    }
    match landed {
        Landed::Merged { into, since } => {
            let age = age(since.unwrap_or(stopped));
            let why = format!("merged into {into} {} ago", count(age, "day"));
            (named || age >= days, why, Some(into.clone()))
        }
        Landed::Nothing => {
            let age = age(stopped);
            (named || age >= days, format!("no commits, ended {} ago", count(age, "day")), None)
        }
        Landed::NotMerged => (named, "not merged; keeping the branch".to_owned(), None),
        // Removing saves what is on disk, but nobody has said that the rest may go.
        Landed::BranchGone => (named, "the branch does not exist".to_owned(), None),
    }
}

async fn row(
    engine: &Engine,
    state: &LoopState,
    merged_into: Option<String>,
    removed: bool,
    why: String,
) -> Result<CleanedLoop, Problem> {
    let used = if has_own_workspace(state) { engine.disk_use(state).await? } else { DiskUse::default() };
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
        record_removed: false,
        saved: Vec::new(),
        ignored_files: 0,
        notes: Vec::new(),
    })
}

fn report(
    rows: Vec<CleanedLoop>,
    residue: Vec<Residue>,
    warnings: Vec<String>,
    dry_run: bool,
    retention_days: u32,
) -> CleanReport {
    let (removed, kept): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.removed);
    let bytes = |rows: &[CleanedLoop]| rows.iter().map(|row| row.bytes).sum::<u64>();
    let (freed_bytes, kept_bytes) = (bytes(&removed), bytes(&kept));
    let groups = Vec::new();
    CleanReport { dry_run, retention_days, freed_bytes, kept_bytes, removed, kept, groups, residue, warnings }
}
