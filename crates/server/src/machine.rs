//! This machine: its agents, settings, milestones and what is trusted, as the commands tell and change it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_engine::view::LoopView;

use crate::app::App;
use crate::extract::{Body, Path, Query};
use crate::problem::{Kind, Problem};
use crate::reports::{AgentReport, CleanReport, DoctorReport, MilestoneView, TrustReport};
use crate::requests::{
    Agree, CallAgents, CleanLoops, MilestoneOrder, NewMilestone, ProjectQuery, SettingsChange, StartMilestone, Trust,
};
use crate::views::{MilestoneBoard, Revoked, SettingsView};

/// The project that is named: a directory that is there, as an absolute path.
fn project(query: &ProjectQuery) -> Result<Option<std::path::PathBuf>, Problem> {
    let Some(said) = query.project.as_ref().filter(|said| !said.is_empty()) else { return Ok(None) };
    let path = std::path::PathBuf::from(said);
    if path.is_absolute() && path.is_dir() {
        return Ok(Some(path));
    }
    Err(Problem::new(Kind::Invalid, "the project is no directory of this machine")
        .field("project")
        .hint("give its absolute path"))
}

fn needed(query: &ProjectQuery) -> Result<std::path::PathBuf, Problem> {
    project(query)?.ok_or_else(|| {
        Problem::new(Kind::Invalid, "the project is missing").field("project").hint("add ?project=/path/of/it")
    })
}

pub(crate) async fn agents(
    State(app): State<App>,
    Query(query): Query<ProjectQuery>,
) -> Result<Json<Vec<AgentReport>>, Problem> {
    Ok(Json(app.host.agents(project(&query)?.as_deref()).await?))
}

pub(crate) async fn doctor(
    State(app): State<App>,
    Query(query): Query<ProjectQuery>,
) -> Result<Json<DoctorReport>, Problem> {
    Ok(Json(app.host.doctor(project(&query)?.as_deref()).await?))
}

pub(crate) async fn settings(
    State(app): State<App>,
    Query(query): Query<ProjectQuery>,
) -> Result<Json<SettingsView>, Problem> {
    Ok(Json(app.host.settings(project(&query)?.as_deref()).await?))
}

pub(crate) async fn settings_schema() -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/schema+json"))];
    (headers, windlass_engine::config::schema()).into_response()
}

pub(crate) async fn change_settings(
    State(app): State<App>,
    Path(layer): Path<String>,
    Query(query): Query<ProjectQuery>,
    Body(change): Body<SettingsChange>,
) -> Result<Json<SettingsView>, Problem> {
    let project = match layer.as_str() {
        "user" => None,
        "project" => Some(needed(&query)?),
        _ => return Err(Problem::new(Kind::NotFound, "settings are those of `user` or of `project`")),
    };
    Ok(Json(app.host.change_settings(project.as_deref(), change).await?))
}

pub(crate) async fn milestones(
    State(app): State<App>,
    Query(query): Query<ProjectQuery>,
) -> Result<Json<MilestoneBoard>, Problem> {
    Ok(Json(app.host.milestones(&needed(&query)?).await?))
}

pub(crate) async fn add_milestone(
    State(app): State<App>,
    Body(request): Body<NewMilestone>,
) -> Result<Json<MilestoneBoard>, Problem> {
    Ok(Json(app.host.add_milestone(request).await?))
}

pub(crate) async fn order_milestones(
    State(app): State<App>,
    Body(request): Body<MilestoneOrder>,
) -> Result<Json<MilestoneBoard>, Problem> {
    Ok(Json(app.host.order_milestones(request).await?))
}

pub(crate) async fn start_milestone(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(request): Body<StartMilestone>,
) -> Result<(StatusCode, Json<LoopView>), Problem> {
    Ok((StatusCode::CREATED, Json(app.host.start_milestone(&id, request).await?)))
}

pub(crate) async fn milestone(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<ProjectQuery>,
) -> Result<Json<MilestoneView>, Problem> {
    Ok(Json(app.host.milestone(&needed(&query)?, &id).await?))
}

pub(crate) async fn call_agents(
    State(app): State<App>,
    Body(request): Body<CallAgents>,
) -> Result<Json<Vec<AgentReport>>, Problem> {
    Ok(Json(app.host.call_agents(request).await?))
}

pub(crate) async fn trust(State(app): State<App>, Query(query): Query<Trust>) -> Result<Json<TrustReport>, Problem> {
    Ok(Json(app.host.trust(query).await?))
}

pub(crate) async fn agree(State(app): State<App>, Body(request): Body<Agree>) -> Result<Json<TrustReport>, Problem> {
    Ok(Json(app.host.agree(request).await?))
}

pub(crate) async fn revoke(State(app): State<App>, Body(request): Body<Trust>) -> Result<Json<Revoked>, Problem> {
    Ok(Json(app.host.revoke(request).await?))
}

pub(crate) async fn clean_all(
    State(app): State<App>,
    Body(request): Body<CleanLoops>,
) -> Result<Json<CleanReport>, Problem> {
    Ok(Json(app.host.clean_all(request).await?))
}
