//! Builds a request from the path, the query, and the body of an HTTP request.
//!
//! Invariant: nothing here depends on a particular request. `windlass-app` performs it and makes the report.
//!
//! What is generic is compiled once for each request, so it does nothing that could be done for all of them.

mod words;

use std::pin::Pin;

use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use windlass_app::{Kind, Local, Problem};

use crate::app::App;
use crate::http::extract::Body;
use crate::http::refused::Refused;

/// Performs a request of one kind, whose fields are given, and answers with its report as JSON.
pub(crate) type Perform = fn(App, Map<String, Value>) -> Performed;
type Performed = Pin<Box<dyn Future<Output = Result<Vec<u8>, Problem>> + Send>>;

/// With fields from path and query: numbers and switches are text.
pub(crate) fn perform_words<R: windlass_app::Request>(app: App, words: Map<String, Value>) -> Performed {
    performed(app, words::read::<R>(words))
}

/// With fields from the body.
pub(crate) fn perform_body<R: windlass_app::Request>(app: App, fields: Map<String, Value>) -> Performed {
    performed(app, serde_json::from_value::<R>(Value::Object(fields)))
}

fn performed<R: windlass_app::Request>(app: App, request: Result<R, serde_json::Error>) -> Performed {
    Box::pin(async move {
        let request = request.map_err(unreadable)?;
        written(&run(request, &app.local).await?)
    })
}

/// In a box of its own: otherwise the future of each use case is part of the one above, and moved with it.
fn run<R: windlass_app::Request>(
    request: R,
    here: &Local,
) -> Pin<Box<dyn Future<Output = Result<R::Report, Problem>> + Send + '_>> {
    Box::pin(request.perform(here))
}

fn written(report: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(report).map_err(|error| Problem::new(Kind::Failed, error.to_string()))
}

fn unreadable(error: serde_json::Error) -> Problem {
    Problem::new(Kind::Invalid, format!("invalid request: {error}"))
        .hint("send what /api/openapi.json describes; a body as application/json")
}

pub(crate) async fn answer(
    State(app): State<App>,
    status: StatusCode,
    perform: Perform,
    request: Request,
) -> Result<Response, Refused> {
    let asked = read(request).await?;
    let report = perform(app, asked).await?;
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Ok((status, kind, report).into_response())
}

async fn read(request: Request) -> Result<Map<String, Value>, Refused> {
    let (mut parts, body) = request.into_parts();
    let named = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(named) => Some(named),
        Err(error) if error.status() == StatusCode::BAD_REQUEST => {
            return Err(Problem::new(Kind::Invalid, error.body_text()).into());
        }
        // The path has no variable part.
        Err(_) => None,
    };
    let asked = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(asked) = asked.map_err(|error| Problem::new(Kind::Invalid, error.body_text()))?;
    let mut said = Map::new();
    for (name, value) in asked {
        if said.contains_key(&name) {
            return Err(Problem::new(Kind::Invalid, format!("duplicate field '{name}' in the query")).into());
        }
        said.insert(name, Value::String(value));
    }
    // The path wins.
    said.extend(named.iter().flatten().map(|(name, value)| (name.to_owned(), Value::String(value.to_owned()))));
    if parts.method == Method::GET {
        return Ok(said);
    }
    let Body(mut fields): Body<Map<String, Value>> = Body::from_request(Request::from_parts(parts, body), &()).await?;
    fields.extend(said);
    Ok(fields)
}
