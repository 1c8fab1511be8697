//! Completions that know what there is: loops, agents, recipes and milestones of this directory, and settings.
//!
//! Nothing here writes or fails: whatever cannot be read completes to nothing.

use clap_complete::engine::CompletionCandidate;
use windlass_app::{App, ListLoops, LoopSummary, MilestonesOf, RecipesOf};
use windlass_engine::config::{KEYS, Options};

use crate::style::one_line;

/// More would not be read.
const MOST: usize = 200;

/// The loops of this project, newest first; of every project where this is none.
pub fn loops() -> Vec<CompletionCandidate> {
    let found = ask(async |app| {
        let request = ListLoops { project: project(app).await, limit: Some(MOST), ..ListLoops::default() };
        Some(app.run(request).await.ok()?.loops)
    });
    let about = |row: &LoopSummary| format!("{}: {}", row.view.status, one_line(&row.view.goal, 60));
    candidates(found.iter().flatten().map(|row| (row.view.name.clone(), about(row))))
}

/// The agents that have a profile here.
pub fn agents() -> Vec<CompletionCandidate> {
    let found = ask(async |app| {
        let App::Here(local) = app else { return None };
        let root = local.context.project_if_any().await;
        Some(local.context.settings(root.as_deref(), Options::default()).ok()?.agents)
    });
    let named = found.into_iter().flatten();
    candidates(named.map(|(name, agent)| {
        let about = agent.profile.display_name.clone().unwrap_or_else(|| name.clone());
        (name, about)
    }))
}

/// Every recipe: the project's, the user's and the built-in ones.
pub fn recipes() -> Vec<CompletionCandidate> {
    let rows = ask(async |app| app.run(RecipesOf { project: project(app).await, ..RecipesOf::default() }).await.ok());
    let named = rows.into_iter().flatten().filter(|row| !row.hidden && row.fault.is_none());
    candidates(named.map(|row| (row.name, one_line(&row.about, 60))))
}

/// The milestones of this project.
pub fn milestones() -> Vec<CompletionCandidate> {
    let board =
        ask(async |app| app.run(MilestonesOf { project: project(app).await?, ..MilestonesOf::default() }).await.ok());
    let named = board.into_iter().flat_map(|board| board.milestones);
    candidates(named.map(|milestone| (milestone.id, one_line(&milestone.title, 60))))
}

/// Every setting.
pub fn settings() -> Vec<CompletionCandidate> {
    candidates(KEYS.iter().map(|key| (key.name.to_owned(), one_line(key.doc, 60))))
}

fn candidates(named: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    named.map(|(name, about)| CompletionCandidate::new(name).help(Some(about.into()))).collect()
}

async fn project(app: &App) -> Option<String> {
    let App::Here(local) = app else { return None };
    local.context.project_if_any().await.map(|root| root.to_string_lossy().into_owned())
}

fn ask<T>(question: impl AsyncFnOnce(&App) -> Option<T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let app = crate::locally(None).ok()?;
    let answer = runtime.block_on(question(&app));
    runtime.shutdown_background();
    answer
}
