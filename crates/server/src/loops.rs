//! Loops as they stand, and what people tell them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windlass_core::ids::LoopId;
use windlass_core::machine::{LoopState, Opener, Raise};
use windlass_engine::activity;
use windlass_engine::command::{Answer, Command};
use windlass_engine::engine::{Engine, is_alive, status_word};
use windlass_engine::journal;
use windlass_engine::view::{LoopView, UsageView};
use windlass_store::{ListFilter, Listed};

use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::host::Opening;
use crate::problem::{Kind, Problem};
use crate::reports::{CleanReport, MergeReport, RollbackReport, TakeoverReport};
use crate::requests::{
    CleanLoop, ListQuery, MergeLoop, OpenLoop, PauseLoop, RollbackLoop, RuleLoop, StartLoop, SteerLoop,
};
use crate::views::{FindingsView, LoopList, LoopSummary, PlanView, Preview, ProjectView};

/// A loop's `status --json`, with the word that readers put in.
pub(crate) fn view(listed: &Listed) -> Result<LoopView, Problem> {
    let mut view: LoopView = serde_json::from_str(&listed.entry.summary)
        .map_err(|error| Problem::new(Kind::Failed, format!("the catalogue's row cannot be read: {error}")))?;
    view.status = status_word(listed).to_owned();
    Ok(view)
}

/// A row of the list.
pub(crate) fn summary(engine: &Engine, listed: &Listed) -> Result<LoopSummary, Problem> {
    let mut view = view(listed)?;
    view.history = Vec::new();
    let seen = if listed.entry.open {
        activity::activity(&engine.data, &listed.entry.id, engine.clock.now())
    } else {
        activity::Activity::default()
    };
    let last_activity_at = seen.last_at.filter(|at| *at > view.updated_at).unwrap_or(view.updated_at);
    let driven = listed.holder.as_ref().is_some_and(is_alive);
    Ok(LoopSummary { view, activity: seen.intervals, last_activity_at, driven })
}

pub(crate) async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Json<LoopList>, Problem> {
    const USUAL: usize = 100;
    let limit = query.limit.unwrap_or(USUAL).clamp(1, 1000);
    let filter = ListFilter { project: query.project.clone(), ..ListFilter::default() };
    let all = app.engine.store.list(filter).await?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for listed in &all {
        *counts.entry(status_word(listed).to_owned()).or_default() += 1;
    }
    let words = query.q.unwrap_or_default().to_lowercase();
    let statuses: Vec<&str> = query.status.iter().flat_map(|said| said.split(',')).map(str::trim).collect();
    let wanted = |listed: &&Listed| {
        let word = status_word(listed);
        let status =
            statuses.is_empty() || statuses.iter().any(|said| *said == word || (*said == "open" && listed.entry.open));
        let entry = &listed.entry;
        let text = format!("{}\n{}\n{}", entry.name, entry.goal, entry.project).to_lowercase();
        status && words.split_whitespace().all(|part| text.contains(part))
    };
    let mut found: Vec<&Listed> = all.iter().filter(wanted).collect();
    if let Some(after) = &query.after {
        let passed = found.iter().position(|listed| listed.entry.id == *after);
        found.drain(..passed.map_or(0, |index| index + 1));
    }
    let next = (found.len() > limit).then(|| found[limit - 1].entry.id.clone());
    let mut loops = Vec::new();
    for listed in found.into_iter().take(limit) {
        // With its summary, which the list does without.
        if let Some(listed) = app.engine.store.get(&listed.entry.id).await? {
            loops.push(summary(&app.engine, &listed)?);
        }
    }
    Ok(Json(LoopList { loops, next, counts }))
}

pub(crate) async fn projects(State(app): State<App>) -> Result<Json<Vec<ProjectView>>, Problem> {
    let mut projects: BTreeMap<String, ProjectView> = BTreeMap::new();
    let new = |path: &str| ProjectView {
        path: path.to_owned(),
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        loops: 0,
        open: 0,
    };
    if let Some(here) = &app.facts.project {
        let path = here.to_string_lossy().into_owned();
        projects.insert(path.clone(), new(&path));
    }
    for listed in app.engine.store.list(ListFilter::default()).await? {
        let path = listed.entry.project.clone();
        let project = projects.entry(path).or_insert_with_key(|path| new(path));
        project.loops += 1;
        project.open += usize::from(listed.entry.open);
    }
    Ok(Json(projects.into_values().collect()))
}

pub(crate) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Json<LoopView>, Problem> {
    Ok(Json(view(&app.find(&id).await?)?))
}

pub(crate) async fn state_of(app: &App, id: &str) -> Result<LoopState, Problem> {
    let id = app.loop_id(id).await?;
    Ok(journal::load(app.engine.store.as_ref(), &id).await?)
}

pub(crate) async fn findings(State(app): State<App>, Path(id): Path<String>) -> Result<Json<FindingsView>, Problem> {
    let state = state_of(&app, &id).await?;
    let findings = state.review.map(|review| review.findings.all().to_vec()).unwrap_or_default();
    Ok(Json(FindingsView { findings }))
}

pub(crate) async fn plan(State(app): State<App>, Path(id): Path<String>) -> Result<Json<PlanView>, Problem> {
    let state = state_of(&app, &id).await?;
    let sections = LoopView::of(&state).review.map(|review| review.sections).unwrap_or_default();
    let plan = state.review.as_ref().and_then(|review| review.plan.clone());
    Ok(Json(PlanView { plan, sections, text: state.spec.context.plan.clone() }))
}

pub(crate) async fn usage(State(app): State<App>, Path(id): Path<String>) -> Result<Json<UsageView>, Problem> {
    Ok(Json(view(&app.find(&id).await?)?.usage))
}

pub(crate) async fn start(
    State(app): State<App>,
    Body(request): Body<StartLoop>,
) -> Result<(StatusCode, Json<LoopView>), Problem> {
    Ok((StatusCode::CREATED, Json(app.host.start(request).await?)))
}

pub(crate) async fn preview(State(app): State<App>, Body(request): Body<StartLoop>) -> Result<Json<Preview>, Problem> {
    Ok(Json(app.host.preview(request).await?))
}

/// Asks the loop's driver, or does it itself where nobody drives, and shows how the loop stands then.
async fn ask(app: &App, id: &str, command: Command) -> Result<Json<LoopView>, Problem> {
    let id = app.loop_id(id).await?;
    match app.engine.command(&id, &command).await? {
        Answer::Accepted { .. } | Answer::Done { .. } => now(app, &id).await,
        Answer::Refused { message } => {
            Err(Problem::new(Kind::Refused, message).hint("`windlass status` shows how it stands"))
        }
    }
}

async fn now(app: &App, id: &LoopId) -> Result<Json<LoopView>, Problem> {
    Ok(Json(view(&app.find(&id.0).await?)?))
}

pub(crate) async fn stop(State(app): State<App>, Path(id): Path<String>) -> Result<Json<LoopView>, Problem> {
    ask(&app, &id, Command::Stop).await
}

pub(crate) async fn pause(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<PauseLoop>,
) -> Result<Json<LoopView>, Problem> {
    ask(&app, &id, Command::Pause { now: request.now }).await
}

pub(crate) async fn steer(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<SteerLoop>,
) -> Result<Json<LoopView>, Problem> {
    if request.message.trim().is_empty() {
        return Err(Problem::new(Kind::Invalid, "the message is empty")
            .field("message")
            .hint("say what the agent is to know"));
    }
    ask(&app, &id, Command::Steer { text: request.message, now: request.now }).await
}

fn again(by: Opener, request: OpenLoop) -> Opening {
    let raise = request.raise;
    Opening::Again {
        by,
        raise: Raise {
            max_iterations: raise.max_iterations,
            duration_ms: raise.duration_ms,
            budget_usd: raise.budget_usd,
            max_tokens: raise.max_tokens,
            disk_bytes: raise.disk_bytes,
        },
    }
}

pub(crate) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<OpenLoop>,
) -> Result<Json<LoopView>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.open(&id, again(Opener::Resume, request)).await?))
}

pub(crate) async fn restart(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<OpenLoop>,
) -> Result<Json<LoopView>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.open(&id, again(Opener::Restart, request)).await?))
}

pub(crate) async fn approve(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<RuleLoop>,
) -> Result<Json<LoopView>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.open(&id, Opening::Approve { reason: request.said() }).await?))
}

pub(crate) async fn reject(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<RuleLoop>,
) -> Result<Json<LoopView>, Problem> {
    let reason = request.said().ok_or_else(|| {
        Problem::new(Kind::Invalid, "a rejection needs a reason")
            .field("reason")
            .hint("say what is to be done differently")
    })?;
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.open(&id, Opening::Reject { reason }).await?))
}

pub(crate) async fn rollback(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<RollbackLoop>,
) -> Result<Json<RollbackReport>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.rollback(&id, request.to).await?))
}

pub(crate) async fn take_over(State(app): State<App>, Path(id): Path<String>) -> Result<Json<TakeoverReport>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.take_over(&id).await?))
}

pub(crate) async fn merge(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<MergeLoop>,
) -> Result<Json<MergeReport>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.merge(&id, request).await?))
}

pub(crate) async fn clean(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<CleanLoop>,
) -> Result<Json<CleanReport>, Problem> {
    let id = app.loop_id(&id).await?;
    Ok(Json(app.host.clean(&id, request).await?))
}
