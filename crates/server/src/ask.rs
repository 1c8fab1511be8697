//! Builds a request from the path, the query, and the body of an HTTP request.
//!
//! Invariant: nothing here depends on a particular request. `windlass-app` performs it and makes the report.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use windlass_app::{Kind, Problem};

use crate::app::App;
use crate::extract::Body;
use crate::refused::Refused;

pub(crate) async fn answer<R: windlass_app::Request>(
    State(app): State<App>,
    status: StatusCode,
    request: Request,
) -> Result<Response, Refused> {
    let request: R = read(request).await?;
    let report = request.perform(&app.local).await?;
    Ok((status, Json(report)).into_response())
}

async fn read<R: windlass_app::Request>(request: Request) -> Result<R, Refused> {
    let (mut parts, body) = request.into_parts();
    let named = match RawPathParams::from_request_parts(&mut parts, &()).await {
        Ok(named) => Some(named),
        Err(error) if error.status() == StatusCode::BAD_REQUEST => {
            return Err(Problem::new(Kind::Invalid, error.body_text()).into());
        }
        // The path has no variable part.
        Err(_) => None,
    };
    let mut said: Vec<(String, String)> =
        named.iter().flatten().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let asked = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(asked) = asked.map_err(|error| Problem::new(Kind::Invalid, error.body_text()))?;
    // The path wins.
    said.extend(
        asked.into_iter().filter(|(name, _)| !named.iter().flatten().any(|(path, _)| path == name)).collect::<Vec<_>>(),
    );
    if parts.method == Method::GET {
        return Ok(from_words(&said)?);
    }
    let Body(mut fields): Body<Map<String, Value>> = Body::from_request(Request::from_parts(parts, body), &()).await?;
    fields.extend(said.into_iter().map(|(name, value)| (name, Value::String(value))));
    let request = serde_json::from_value(Value::Object(fields));
    Ok(request.map_err(|error| {
        Problem::new(Kind::Invalid, format!("invalid request body: {error}"))
            .hint("send application/json as described in /api/openapi.json")
    })?)
}

/// Numbers and switches are words in a query.
fn from_words<R: windlass_app::Request>(said: &[(String, String)]) -> Result<R, Problem> {
    let invalid = |why: String| Problem::new(Kind::Invalid, why);
    let words: Vec<String> = said.iter().map(|(name, value)| format!("{}={}", quoted(name), quoted(value))).collect();
    let uri: Uri = format!("/?{}", words.join("&")).parse().map_err(|_| invalid("the query is too long".to_owned()))?;
    let Query(request) = Query::<R>::try_from_uri(&uri).map_err(|error| invalid(error.body_text()))?;
    Ok(request)
}

fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
