//! Turns, their prompts as they were sent, and their output and that of gates byte for byte.
//!
//! Invariant: a path is made of a loop that the catalogue knows and a turn that can be read as one, so that nothing
//! else on this machine can be named. Bytes go out as an attachment that no browser takes for a page.

use std::io::{Read, Seek, SeekFrom};

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_core::ids::TurnKey;
use windlass_engine::data::TurnFiles;
use windlass_engine::engine::EngineError;

use crate::app::App;
use crate::http::extract::{Path, Query};
use crate::http::refused::Refused;
use windlass_app::{GateLogQuery, RawQuery};
use windlass_app::{Kind, Problem};

async fn files(app: &App, id: &str, turn: &str) -> Result<TurnFiles, Problem> {
    let id = app.loop_id(id).await?;
    let none = || Problem::new(Kind::NotFound, "turn not found").hint("list turns with GET /api/loops/{id}/turns");
    let key: TurnKey = turn.parse().map_err(|_| none())?;
    app.engine.fetch_turn(&id, key).await.map_err(EngineError::from)?;
    let files = app.engine.data.turn(&id, key);
    if files.dir.is_dir() { Ok(files) } else { Err(none()) }
}

pub(crate) async fn prompt(
    State(app): State<App>,
    Path((id, turn)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let files = files(&app, &id, &turn).await?;
    let text = tokio::task::spawn_blocking(move || std::fs::read(files.prompt())).await.map_err(lost)?;
    let text = text.map_err(|_| Problem::new(Kind::NotFound, "this turn has no prompt"))?;
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
) -> Result<Response, Refused> {
    let path = files(&app, &id, &turn).await?.stdout();
    Ok(raw(path, query, "stdout").await?)
}

pub(crate) async fn stderr(
    State(app): State<App>,
    Path((id, turn)): Path<(String, String)>,
    Query(query): Query<RawQuery>,
) -> Result<Response, Refused> {
    let path = files(&app, &id, &turn).await?.stderr();
    Ok(raw(path, query, "stderr").await?)
}

/// What a gate printed, as it is stored: its report has only the end.
pub(crate) async fn gate_log(
    State(app): State<App>,
    Path((id, iteration, gate)): Path<(String, u32, u32)>,
    Query(query): Query<GateLogQuery>,
) -> Result<Response, Refused> {
    let id = app.loop_id(&id).await?;
    let GateLogQuery { sha256, offset, limit } = query;
    let data = app.engine.data.clone();
    let find = move || {
        let runs = data.runs(&id, &format!("{iteration}.gate-{gate}"));
        let printed = |files: &TurnFiles| sha256.is_none() || files.stdout_sha256() == sha256;
        runs.into_iter().rev().find(printed)
    };
    let found = tokio::task::spawn_blocking(find).await.map_err(lost)?;
    let none = || {
        Problem::new(Kind::NotFound, "gate output not found")
            .hint("find iteration, gate, and hash in GET /api/loops/{id}/iterations; gates count from 1")
    };
    let path = found.ok_or_else(none)?.stdout();
    Ok(raw(path, RawQuery { offset, limit }, "stdout").await?)
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
        // A turn without output so far.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Vec::new(), 0),
        Err(error) => return Err(Problem::new(Kind::Failed, format!("cannot read the output: {error}"))),
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
