//! The routes as the OpenAPI document describes them, and that document.
//!
//! Describing every type takes a megabyte of code, so the program only carries the checked-in document, compressed.
//! A test makes it from the routes and compares.

#[cfg(test)]
mod describe;
#[cfg(not(test))]
#[path = "undescribed.rs"]
mod describe;
#[cfg(test)]
mod tests;

use axum::http::{Method, StatusCode};
use schemars::JsonSchema;

use describe::{Described, type_of};

/// `schemas/openapi.json`, compressed by `build.rs`.
const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.z"));

/// The OpenAPI document as it is checked in.
pub fn text() -> String {
    let text = miniz_oxide::inflate::decompress_to_vec_zlib(COMPRESSED).ok();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    text.unwrap_or_else(|| unreachable!("build.rs compressed this text"))
}

/// One method of one path.
#[derive(Debug, Clone)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests make the document"))]
pub(crate) struct Route {
    pub path: &'static str,
    method: &'static str,
    summary: &'static str,
    query: Option<Described>,
    body: Option<Described>,
    status: &'static str,
    kind: &'static str,
    answer: Option<Described>,
}

impl Route {
    fn new(method: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self { path, method, summary, query: None, body: None, status: "200", kind: "application/json", answer: None }
    }

    pub(crate) fn get(path: &'static str, summary: &'static str) -> Self {
        Self::new("get", path, summary)
    }

    pub(crate) fn post(path: &'static str, summary: &'static str) -> Self {
        Self::new("post", path, summary)
    }

    pub(crate) fn put(path: &'static str, summary: &'static str) -> Self {
        Self::new("put", path, summary)
    }

    /// A request with its report, unless they are described already.
    pub(crate) fn asks<R: windlass_app::Request>(mut self) -> Self {
        if self.method == "get" {
            self.query = self.query.or(Some(type_of::<R>()));
        } else {
            self.body = self.body.or(Some(type_of::<R>()));
        }
        self.answers::<R::Report>()
    }

    /// It makes something.
    pub(crate) fn created(mut self) -> Self {
        self.status = "201";
        self
    }

    pub(crate) fn method(&self) -> Method {
        match self.method {
            "get" => Method::GET,
            "put" => Method::PUT,
            _ => Method::POST,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        if self.status == "201" { StatusCode::CREATED } else { StatusCode::OK }
    }

    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(type_of::<T>());
        self
    }

    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(type_of::<T>());
        self
    }

    pub(crate) fn answers<T: JsonSchema>(mut self) -> Self {
        self.answer = Some(type_of::<T>());
        self
    }

    /// Server-sent events, each with such an object.
    pub(crate) fn streams<T: JsonSchema>(self) -> Self {
        self.of_kind("text/event-stream").answers::<T>()
    }

    /// The content type of the answer, if it is not plain JSON.
    pub(crate) fn of_kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn text(self) -> Self {
        self.of_kind("text/plain").answers::<String>()
    }

    pub(crate) fn bytes(self) -> Self {
        self.of_kind("application/octet-stream")
    }
}
