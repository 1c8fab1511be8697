//! The dashboard's files, from the binary.
//!
//! They are in it as they are sent: compressed with gzip, which every browser takes.

use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::http::refused::Refused;
use windlass_app::{Kind, Problem};

#[path = "../../dashboard/files.rs"]
mod files;

const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// A file, or the page itself, which knows its own paths.
pub(crate) async fn page(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/") || path == "api" {
        return Refused(Problem::new(Kind::NotFound, "route not found").hint("see GET /api/openapi.json"))
            .into_response();
    }
    if let Some(bytes) = file(path) {
        let mut response = bytes.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(path)));
        headers.insert(header::CONTENT_ENCODING, GZIP);
        // Names of built files change with their content.
        let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
        return response;
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if last.contains('.') { Refused(Problem::new(Kind::NotFound, "file not found")).into_response() } else { index() }
}

fn index() -> Response {
    let page = file("index.html").unwrap_or_default();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_ENCODING, GZIP),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, page).into_response()
}

fn file(path: &str) -> Option<&'static [u8]> {
    files::FILES.iter().find(|(name, _)| *name == path).map(|(_, bytes)| *bytes)
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
