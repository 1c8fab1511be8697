//! A problem as a response: the status code follows from its kind.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_app::{ErrorBody, Kind, Problem};

/// What a handler answers instead of a report.
#[derive(Debug)]
pub(crate) struct Refused(pub Problem);

impl<E: Into<Problem>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

pub(crate) fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Unauthorized => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::Misdirected => StatusCode::MISDIRECTED_REQUEST,
        Kind::Refused | Kind::TrustNeeded | Kind::AgentMissing => StatusCode::CONFLICT,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = self.0.code;
        let mut response = (status(code), Json(ErrorBody { error: self.0.into() })).into_response();
        let headers = response.headers_mut();
        match code {
            Kind::TooMany => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            Kind::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Kind::Invalid
            | Kind::NotFound
            | Kind::Forbidden
            | Kind::Misdirected
            | Kind::Refused
            | Kind::TrustNeeded
            | Kind::AgentMissing
            | Kind::TooLarge
            | Kind::Failed => {}
        }
        response
    }
}
