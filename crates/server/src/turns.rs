//! Turns, their prompts as they were sent, and their output byte for byte.
//!
//! Invariant: a path is made of a loop that the catalogue knows and a turn that can be read as one, so that nothing
//! else on this machine can be named. Bytes go out as an attachment that no browser takes for a page.

use std::io::{Read, Seek, SeekFrom};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::agent::TurnOutcome;
use windlass_core::ids::{LoopId, Role, TurnKey};
use windlass_core::machine::Event;
use windlass_core::spec::LoopSpec;
use windlass_core::usage::Usage;
use windlass_engine::data::TurnFiles;
use windlass_engine::journal;

use crate::app::App;
use crate::extract::{Path, Query};
use crate::problem::{Kind, Problem};
use crate::requests::RawQuery;

/// A turn as it went.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TurnView {
    /// `iteration.role.attempt`, as the routes below take it.
    pub turn: String,
    pub iteration: u32,
    pub role: Role,
    pub attempt: u32,
    pub agent: String,
    pub model: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// It went on after a crash.
    pub recovery: bool,
    pub outcome: Option<TurnOutcome>,
    pub claim: bool,
    pub usage: Option<Usage>,
    pub last_words: Option<String>,
    pub duration_ms: Option<u64>,
    pub prompt_bytes: Option<u64>,
    pub stdout_bytes: Option<u64>,
    pub stderr_bytes: Option<u64>,
}

impl TurnView {
    pub(crate) fn started(turn: TurnKey, agent: usize, recovery: bool, at: Timestamp, spec: Option<&LoopSpec>) -> Self {
        let choice = spec.map(|spec| spec.agent_of(turn.role, agent));
        Self {
            turn: turn.to_string(),
            iteration: turn.iteration,
            role: turn.role,
            attempt: turn.attempt,
            agent: choice.map(|choice| choice.name.clone()).unwrap_or_default(),
            model: choice.and_then(|choice| choice.profile.model.clone()),
            started_at: at,
            ended_at: None,
            recovery,
            outcome: None,
            claim: false,
            usage: None,
            last_words: None,
            duration_ms: None,
            prompt_bytes: None,
            stdout_bytes: None,
            stderr_bytes: None,
        }
    }

    pub(crate) fn ended(&mut self, report: windlass_core::agent::TurnReport, at: Timestamp) {
        self.ended_at = Some(at);
        self.claim = report.claim;
        self.usage = Some(windlass_core::usage::total(&report.usage));
        self.last_words = Some(report.last_words);
        self.duration_ms = Some(report.duration_ms);
        self.outcome = Some(report.outcome);
    }

    fn measure(&mut self, files: &TurnFiles) {
        let length = |path: std::path::PathBuf| std::fs::metadata(path).ok().map(|meta| meta.len());
        self.prompt_bytes = length(files.prompt());
        self.stdout_bytes = length(files.stdout());
        self.stderr_bytes = length(files.stderr());
    }
}

/// The events of a loop, one by one.
pub(crate) async fn each_event(
    app: &App,
    id: &LoopId,
    mut see: impl FnMut(u64, Timestamp, Event),
) -> Result<(), Problem> {
    let mut after = 0;
    loop {
        let page = app.engine.store.read(&id.0, after, 500).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.seq;
        for stored in &page {
            see(stored.seq, stored.at, journal::decode(id, stored)?);
        }
    }
}

pub(crate) async fn list(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Vec<TurnView>>, Problem> {
    let id = app.loop_id(&id).await?;
    let mut turns: Vec<TurnView> = Vec::new();
    let mut spec: Option<Box<LoopSpec>> = None;
    each_event(&app, &id, |_, at, event| {
        if let Event::LoopCreated { spec: made, .. } = event {
            spec = Some(made);
        } else if let Event::TurnStarted { turn, agent, recovery, .. } = event {
            turns.push(TurnView::started(turn, agent, recovery, at, spec.as_deref()));
        } else if let Event::TurnEnded { turn, report } = event {
            let key = turn.to_string();
            if let Some(view) = turns.iter_mut().rev().find(|view| view.turn == key) {
                view.ended(report, at);
            }
        }
    })
    .await?;
    for view in &mut turns {
        if let Ok(key) = view.turn.parse() {
            view.measure(&app.engine.data.turn(&id, key));
        }
    }
    Ok(Json(turns))
}

async fn files(app: &App, id: &str, turn: &str) -> Result<TurnFiles, Problem> {
    let id = app.loop_id(id).await?;
    let none = || Problem::new(Kind::NotFound, "there is no such turn").hint("GET /api/loops/{id}/turns lists them");
    let key: TurnKey = turn.parse().map_err(|_| none())?;
    let files = app.engine.data.turn(&id, key);
    if files.dir.is_dir() { Ok(files) } else { Err(none()) }
}

pub(crate) async fn prompt(
    State(app): State<App>,
    Path((id, turn)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let files = files(&app, &id, &turn).await?;
    let text = tokio::task::spawn_blocking(move || std::fs::read(files.prompt())).await.map_err(lost)?;
    let text = text.map_err(|_| Problem::new(Kind::NotFound, "the prompt of this turn is not there"))?;
    let plain = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
    Ok((plain, text).into_response())
}

fn lost(error: tokio::task::JoinError) -> Problem {
    Problem::new(Kind::Failed, error.to_string())
}

pub(crate) async fn stdout(
    State(app): State<App>,
    Path((id, turn)): Path<(String, String)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Problem> {
    let path = files(&app, &id, &turn).await?.stdout();
    raw(path, query, "stdout").await
}

pub(crate) async fn stderr(
    State(app): State<App>,
    Path((id, turn)): Path<(String, String)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Problem> {
    let path = files(&app, &id, &turn).await?.stderr();
    raw(path, query, "stderr").await
}

async fn raw(path: std::path::PathBuf, query: RawQuery, name: &'static str) -> Result<Response, Problem> {
    const USUAL: u64 = 256 * 1024;
    const MOST: u64 = 4 * 1024 * 1024;
    let limit = query.limit.unwrap_or(USUAL).clamp(1, MOST);
    let offset = query.offset;
    let read = move || -> std::io::Result<(Vec<u8>, u64)> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        if offset < length {
            file.seek(SeekFrom::Start(offset))?;
            file.take(limit).read_to_end(&mut bytes)?;
        }
        Ok((bytes, length))
    };
    let (bytes, length) = match tokio::task::spawn_blocking(read).await.map_err(lost)? {
        Ok(read) => read,
        // A turn that has not said anything yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Vec::new(), 0),
        Err(error) => return Err(Problem::new(Kind::Failed, format!("the output cannot be read: {error}"))),
    };
    let range = match bytes.len() as u64 {
        0 => format!("bytes */{length}"),
        count => format!("bytes {offset}-{}/{length}", offset + count - 1),
    };
    let status = if bytes.len() as u64 == length { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT };
    let mut response = (status, bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    if let Ok(value) = HeaderValue::from_str(&range) {
        headers.insert(header::CONTENT_RANGE, value);
    }
    Ok(response)
}
